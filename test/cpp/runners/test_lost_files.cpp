#include "open_database.hpp"
#include "runners/local_runner.hpp"

#include <filesystem>
#include <set>

namespace merganser {

using namespace duckdb;

namespace {

//! What each query returns whichever rows it takes: every id of t once, in one group.
struct Query {
	const char *name;
	const char *sql;
	const char *expected;
};

const Query QUERIES[] = {
    {"volatile function",
	 "SELECT count(DISTINCT x), count(*) FROM (SELECT unnest(l) AS x FROM (SELECT b, list(id) AS l FROM (SELECT id, "
	 "floor(random() * 100)::INT AS b FROM t) GROUP BY b))",
	 "9000 9000 "},
    {"limit", "SELECT count(DISTINCT id), count(*) FROM (SELECT id FROM t LIMIT 5000)", "5000 5000 "},
    {"sample", "SELECT count(DISTINCT id), count(*) FROM (SELECT id FROM t USING SAMPLE 5000 ROWS)", "5000 5000 "},
    {"sort",
	 "SELECT count(*), count(DISTINCT id) FROM (SELECT id, row_number() OVER () AS n FROM (SELECT id FROM t ORDER BY "
	 "g, id))",
	 "9000 9000 "},
    {"shared CTE",
	 "WITH c AS MATERIALIZED (SELECT id, floor(random() * 100)::INT AS b FROM t) SELECT count(DISTINCT l.id), count(*) "
	 "FROM c l JOIN c r ON l.id = r.id AND l.b = r.b",
	 "9000 9000 "},
    {"DISTINCT", "SELECT count(*), sum(id) FROM (SELECT DISTINCT id, g FROM (FROM t UNION ALL FROM t))",
	 "9000 40495500 "},
    {"even shares",
	 "WITH c AS MATERIALIZED (SELECT l.id, l.g FROM t l JOIN t r USING (id)) SELECT count(DISTINCT a.id), count(*) "
	 "FROM c a JOIN c b ON a.id = b.id",
	 "9000 9000 "},
    {"lists",
	 "SELECT count(DISTINCT x), count(*) FROM (SELECT unnest(l) AS x FROM (SELECT g, list(id) AS l FROM t "
	 "GROUP BY g))",
	 "9000 9000 "},
};

struct StagedDatabase : public OpenDatabase {
	StagedDatabase() {
		Run("CREATE TABLE t AS SELECT i AS id, i % 7 AS g FROM range(9000) r(i)");
		for (auto setting : {"runner = 'local'", "tasks = 3", "slots = 2", "task_bytes = 0", "distribute_min_bytes = 0",
		                     "broadcast_max_bytes = 0"}) {
			Run(string("SET merganser_") + setting);
		}
	}
	~StagedDatabase() {
		LocalRunner::OnStageEnd() = nullptr;
	}
};

void Remove(const string &folder, idx_t stage) {
	for (auto &file : std::filesystem::directory_iterator(folder + "/s" + to_string(stage))) {
		std::filesystem::remove(file.path());
	}
}

//! The stages of `sql`.
idx_t CountStages(OpenDatabase &database, const string &sql) {
	idx_t result = 0;
	LocalRunner::OnStageEnd() = [&](const string &, idx_t stage) {
		result = MaxValue(result, stage);
	};
	database.Run(sql);
	return result;
}

string Text(QueryResult &result) {
	string text;
	for (auto &row : result) {
		for (idx_t column = 0; column < result.ColumnCount(); column++) {
			text += row.GetValue<Value>(column).ToString() + " ";
		}
	}
	return text;
}

} // namespace

TEST_CASE("A lost file of any stage at any time is an error or changes nothing", "[lost_files]") {
	StagedDatabase database;
	for (auto &query : QUERIES) {
		INFO(query.name);
		auto stages = CountStages(database, query.sql);
		REQUIRE(stages >= 2);
		idx_t errors = 0;
		for (idx_t lost = 1; lost <= stages; lost++) {
			// before a reader, between readers if there are several, after all
			for (auto after : std::set<idx_t> {lost, MinValue(lost + 1, stages), stages}) {
				LocalRunner::OnStageEnd() = [&](const string &folder, idx_t stage) {
					if (stage == after && std::filesystem::exists(folder + "/s" + to_string(lost))) {
						Remove(folder, lost);
					}
				};
				auto result = database.connection.Query(query.sql);
				INFO("stage " << lost << " lost after stage " << after);
				if (result->HasError()) {
					errors++;
					REQUIRE(result->GetErrorObject().Type() == ExceptionType::IO);
					REQUIRE_THAT(result->GetError(), Catch::Contains("/s" + to_string(lost) + "/") &&
					                                     Catch::Contains("is gone; run the stage that wrote it again"));
				} else {
					REQUIRE(Text(*result) == query.expected);
				}
			}
		}
		// at least where a stage is lost at once, which a later one, or the session, reads
		REQUIRE(errors >= stages);
		LocalRunner::OnStageEnd() = nullptr;
		REQUIRE(Text(*database.Run(query.sql)) == query.expected);
	}
}

TEST_CASE("A file in the place of another is not read", "[lost_files]") {
	StagedDatabase database;
	auto sql = "SELECT g, list(id) FROM t GROUP BY g";
	for (auto file : {"s1/t1-a0", "s2/t1-a0"}) {
		auto last = string(file) == "s2/t1-a0";
		LocalRunner::OnStageEnd() = [&](const string &folder, idx_t stage) {
			if (stage == (last ? 2 : 1)) {
				auto path = std::filesystem::path(folder) / file;
				std::filesystem::copy_file(path.parent_path() / "t0-a0", path,
				                           std::filesystem::copy_options::overwrite_existing);
			}
		};
		auto result = database.connection.Query(sql);
		REQUIRE(result->HasError());
		REQUIRE_THAT(result->GetError(), Catch::Contains(file) &&
		                                     Catch::Contains("is not the one that was to be read") &&
		                                     Catch::Contains("/t0-a0\""));
	}
}

} // namespace merganser
