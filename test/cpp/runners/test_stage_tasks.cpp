#include "open_database.hpp"
#include "runners/stage_tasks.hpp"

#include "duckdb/parser/statement/select_statement.hpp"

namespace merganser {

using namespace duckdb;

namespace {

StageInput Reads(idx_t stage, ReadMode mode = ReadMode::PARTITION) {
	StageInput result;
	result.stage = stage;
	result.mode = mode;
	return result;
}

//! A query of stages that have `shares` shares each.
struct Stages {
	explicit Stages(idx_t shares) : shares(shares), query(make_shared_ptr<QueryStages>()) {
	}

	Stage &Add(const string &sql, vector<StageInput> inputs) {
		auto stage = make_uniq<Stage>();
		stage->number = query->stages.size() + 1;
		stage->tasks = shares;
		stage->shares = shares;
		stage->partitions = shares;
		stage->inputs = std::move(inputs);
		auto statements = database.connection.ExtractStatements(sql);
		stage->query = std::move(statements[0]->Cast<SelectStatement>().node);
		query->stages.push_back(std::move(stage));
		return *query->stages.back();
	}

	OpenDatabase database;
	const idx_t shares;
	shared_ptr<QueryStages> query;
};

//! The shares of each task of a stage that reads these partitions.
vector<vector<idx_t>> Tasks(const vector<idx_t> &bytes, idx_t task_bytes, idx_t read_whole = 0) {
	Stages stages(bytes.size());
	stages.Add("SELECT 1 AS c0", {});
	stages.Add("SELECT 1 AS c0", {});
	stages.Add("SELECT * FROM merganser_stage_1, merganser_all_of_stage_2", {Reads(1), Reads(2, ReadMode::ALL)});
	StageTasks tasks(stages.query, task_bytes);
	tasks.StageEnds(1, bytes);
	tasks.StageEnds(2, {read_whole});
	vector<vector<idx_t>> result;
	for (auto &shares : tasks.Decide(3).tasks) {
		result.emplace_back();
		for (auto share = shares.first; share < shares.last; share++) {
			result.back().push_back(share);
		}
	}
	return result;
}

using TaskList = vector<vector<idx_t>>;

//! Stages 1 and 2 are hashed for the join in stage 3; either may turn out to have at most 100 bytes.
struct Join {
	Join() : stages(4) {
		stages.Add("SELECT 'small' AS c0", {});
		SlicedScan scan;
		scan.name = "merganser_scan_7";
		scan.function = "read_parquet";
		scan.files = {{400, 1, 0, {}}};
		scan.width = 8;
		auto &other = stages.Add("SELECT c0 FROM merganser_scan_7", {});
		other.scans.push_back(std::move(scan));
		stages.Add("SELECT * FROM merganser_stage_2 JOIN merganser_stage_1 USING (c0)", {Reads(2), Reads(1)});
		LateBroadcast late;
		late.small = 1;
		late.other = 2;
		late.reader = 3;
		late.max_bytes = 100;
		stages.query->late_broadcasts.push_back(late);
	}

	Stages stages;
};

string Text(const vector<SqlPart> &parts) {
	string result;
	for (auto &part : parts) {
		auto placeholder = part.kind == SqlPart::Kind::FILES        ? "<" + part.text + ">"
		                   : part.kind == SqlPart::Kind::IDENTITIES ? "<identities of " + part.text + ">"
		                                                            : part.text;
		result += placeholder;
	}
	return result;
}

} // namespace

TEST_CASE("Neighbouring shares are one task as long as they are small together", "[stage_tasks]") {
	REQUIRE(Tasks({5, 0, 3, 90, 1, 1}, 16) == TaskList {{0, 1, 2}, {3}, {4, 5}});
	REQUIRE(Tasks({8, 8, 8, 8}, 16) == TaskList {{0, 1}, {2, 3}});
	REQUIRE(Tasks({9, 8, 7, 9}, 16) == TaskList {{0, 1}, {2, 3}});
	REQUIRE(Tasks({15, 15, 15, 15}, 16) == TaskList {{0}, {1}, {2}, {3}});
}

TEST_CASE("Empty shares cost no task", "[stage_tasks]") {
	REQUIRE(Tasks({0, 0, 0, 0}, 16) == TaskList {{0, 1, 2, 3}});
	REQUIRE(Tasks({0, 0, 50, 0}, 16) == TaskList {{0, 1, 2, 3}});
	REQUIRE(Tasks({50, 0, 0, 50}, 16) == TaskList {{0, 1, 2}, {3}});
}

TEST_CASE("Without a size every share is a task", "[stage_tasks]") {
	REQUIRE(Tasks({0, 1, 0}, 0) == TaskList {{0}, {1}, {2}});
}

TEST_CASE("What every task reads whole makes tasks larger", "[stage_tasks]") {
	REQUIRE(Tasks({20, 20, 20, 20}, 16, 0) == TaskList {{0}, {1}, {2}, {3}});
	REQUIRE(Tasks({20, 20, 20, 20}, 16, 10) == TaskList {{0, 1}, {2, 3}});
}

TEST_CASE("Every share is computed by exactly one task", "[stage_tasks]") {
	for (idx_t task_bytes : {0, 1, 7, 100, 10000}) {
		for (idx_t shares : {1, 2, 5, 64}) {
			vector<idx_t> bytes;
			for (idx_t share = 0; share < shares; share++) {
				bytes.push_back(share * share * 37 % 101);
			}
			vector<idx_t> all;
			for (auto &task : Tasks(bytes, task_bytes)) {
				REQUIRE_FALSE(task.empty());
				all.insert(all.end(), task.begin(), task.end());
			}
			REQUIRE(all.size() == shares);
			REQUIRE(std::is_sorted(all.begin(), all.end()));
		}
	}
}

TEST_CASE("A decision is made once, by the first sizes", "[stage_tasks]") {
	Stages stages(2);
	stages.Add("SELECT 1 AS c0", {});
	stages.Add("SELECT * FROM merganser_stage_1", {Reads(1)});
	StageTasks tasks(stages.query, 10);
	REQUIRE_THROWS_WITH(tasks.Decide(2), Catch::Contains("merganser_stage_1 has not ended"));
	REQUIRE_THAT(tasks.ToJson(2), Catch::Contains("has not ended"));
	tasks.StageEnds(1, {1, 1});
	tasks.StageEnds(1, {100, 100});
	REQUIRE(tasks.Decide(2).tasks.size() == 1);
	tasks.StageEnds(1, {100, 100});
	REQUIRE(tasks.Decide(2).tasks.size() == 1);
	REQUIRE(tasks.Decide(2).reasons == vector<string> {"2 shares of 2 bytes in 1 tasks"});
}

TEST_CASE("A task reads its partitions and its slice", "[stage_tasks]") {
	Join join;
	StageTasks tasks(join.stages.query, 1450);
	tasks.StageEnds(1, {400, 400, 400, 400});
	REQUIRE_FALSE(tasks.Decide(2).inside.IsValid());
	REQUIRE(tasks.Decide(2).ScannedRows() == 400);
	REQUIRE(
	    Text(tasks.Sql(2, 1)) ==
	    "COPY (WITH merganser_scan_7 AS NOT MATERIALIZED (SELECT * FROM system.main.merganser_slice('read_parquet', "
	    "[{'filename': '', 'bytes': 0, 'changed': 0, 'tag': '', 'rows': 400}], '') WHERE "
	    "file_row_number BETWEEN 200 AND 399) FROM (SELECT c0 FROM merganser_scan_7)) TO  (FORMAT "
	    "merganser_exchange, PARTITIONS 4)");
	tasks.StageEnds(2, {300, 0, 0, 1000});
	REQUIRE(tasks.Decide(3).tasks.size() == 2);
	REQUIRE_THAT(Text(tasks.Sql(3, 0)),
	             Catch::Contains("merganser_exchange(<merganser_stage_2>, identities := <identities of "
	                             "merganser_stage_2>, partitions := [0, 1, 2])") &&
	                 Catch::Contains("merganser_exchange(<merganser_stage_1>, identities := <identities of "
	                                 "merganser_stage_1>, partitions := [0, 1, 2])"));
	REQUIRE_THAT(Text(tasks.Sql(3, 1)), Catch::Contains("<identities of merganser_stage_2>, partitions := [3])"));
}

TEST_CASE("A side that turned out small goes to all tasks, and the other is not exchanged", "[stage_tasks]") {
	Join join;
	StageTasks tasks(join.stages.query, 800);
	REQUIRE(tasks.Awaited(2) == vector<idx_t> {1});
	REQUIRE(tasks.Awaited(3) == vector<idx_t> {2, 1});
	tasks.StageEnds(1, {10, 50, 0, 40});
	REQUIRE(tasks.Decide(2).inside == optional_idx(3));
	REQUIRE(tasks.Decide(2).tasks.empty());
	auto &decision = tasks.Decide(3);
	REQUIRE(decision.tasks.size() == 4);
	REQUIRE(decision.ScannedRows() == 400);
	REQUIRE(decision.InputOf("merganser_stage_1").mode == ReadMode::ALL);
	REQUIRE(decision.reasons ==
	        vector<string> {"stage 1, only 100 bytes, goes to all tasks; stage 2 is computed here"});
	REQUIRE_THAT(Text(tasks.Sql(3, 0)),
	             Catch::Contains("merganser_stage_2 AS NOT MATERIALIZED (SELECT c0 FROM merganser_scan_7)") &&
	                 Catch::Contains("file_row_number BETWEEN 0 AND 99") &&
	                 Catch::Contains("merganser_stage_1 AS NOT MATERIALIZED (FROM system.main."
	                                 "merganser_exchange(<merganser_stage_1>, identities := <identities of "
	                                 "merganser_stage_1>))"));
	REQUIRE_THAT(tasks.ToJson(3), Catch::Contains(R"("inputs":[{"name":"merganser_stage_1","stage":1,"all":true}])") &&
	                                  Catch::Contains(R"({"files":"merganser_stage_1"})") &&
	                                  Catch::Contains(R"({"identities":"merganser_stage_1"})"));
}

TEST_CASE("A stage is as repeatable as what it computes and as those that read it need", "[stage_tasks]") {
	for (auto small : {false, true}) {
		for (auto other_repeats : {false, true}) {
			Join join;
			auto &stages = join.stages.query->stages;
			stages[1]->repeatability = other_repeats ? Repeatability::InOrder() : Repeatability::None("random()");
			stages[2]->repeatability = Repeatability::InAnyOrder("a join");
			StageTasks tasks(join.stages.query, 800);
			tasks.StageEnds(1, {small ? 10u : 400u, 50, 0, 40});
			REQUIRE(tasks.Decide(2).repeatable == other_repeats);
			tasks.StageEnds(2, {400, 400, 400, 400});
			// where stage 3 computes stage 2 itself, it is no better than that one
			REQUIRE(tasks.Decide(2).inside.IsValid() == small);
			REQUIRE(tasks.Decide(3).repeatable == (other_repeats || !small));
			REQUIRE_THAT(tasks.ToJson(3), Catch::Contains(tasks.Decide(3).repeatable ? R"("repeatable":true)"
			                                                                         : R"("repeatable":false)"));
		}
	}
	Join join;
	auto &stage = *join.stages.query->stages[0];
	stage.repeatability = Repeatability::InAnyOrder("a join");
	REQUIRE(stage.IsRepeatable());
	stage.needed = Repeatability::Level::ROWS_IN_ORDER;
	REQUIRE_FALSE(stage.IsRepeatable());
}

namespace {

//! Stage 3 reads stage 1, hashed, in its first four shares and even pieces of stage 2 in the others; at most four
//! tasks.
struct TwoBranches {
	TwoBranches() : stages(4) {
		stages.Add("SELECT 1 AS c0", {});
		stages.Add("SELECT 2 AS c0", {});
		auto first = Reads(1);
		first.placement.count = 4;
		auto second = Reads(2, ReadMode::CONSECUTIVE);
		second.placement = {4, 4};
		stages.Add("SELECT 1 AS c0", {first, second}).shares = 8;
	}

	//! What each task reads of the first and of the second branch.
	vector<string> Read(idx_t task_bytes) {
		StageTasks tasks(stages.query, task_bytes);
		tasks.StageEnds(1, {100, 100, 100, 100});
		tasks.StageEnds(2, {400});
		vector<string> result;
		for (idx_t task = 0; task < tasks.Decide(3).tasks.size(); task++) {
			auto sql = Text(tasks.Sql(3, task));
			result.push_back(sql.substr(0, sql.find(" FROM (SELECT 1")));
		}
		return result;
	}

	Stages stages;
};

string Reads(const string &first, const string &second) {
	return "COPY (WITH merganser_stage_1 AS NOT MATERIALIZED (FROM system.main.merganser_exchange(<merganser_stage_1>, "
	       "identities := <identities of merganser_stage_1>" +
	       first +
	       "), merganser_pieces_of_stage_2_from_share_4 AS NOT MATERIALIZED (FROM "
	       "system.main.merganser_exchange(<merganser_pieces_of_stage_2_from_share_4>, "
	       "identities := <identities of merganser_pieces_of_stage_2_from_share_4>" +
	       second + ")";
}

} // namespace

TEST_CASE("The shares of one branch lie behind those of the branch before it", "[stage_tasks]") {
	vector<string> two_shares_each {
	    Reads(", partitions := [0, 1])", ") WHERE false"), Reads(", partitions := [2, 3])", ") WHERE false"),
	    Reads(") WHERE false", ", consecutive := [0, 2, 4])"), Reads(") WHERE false", ", consecutive := [2, 4, 4])")};
	REQUIRE(TwoBranches().Read(0) == two_shares_each);
	// however small the bytes of a task shall be, no more tasks than the stage may have
	REQUIRE(TwoBranches().Read(1).size() <= 4);
	REQUIRE(TwoBranches().Read(10000) == vector<string> {Reads(")", ")")});
}

TEST_CASE("An input in its place has the shares of its branch", "[stage_tasks]") {
	Placement branch {3, 4};
	REQUIRE(branch.Of({0, 3}, 9).Count() == 0);
	REQUIRE(branch.Of({7, 9}, 9).Count() == 0);
	auto part = branch.Of({2, 5}, 9);
	REQUIRE(part.first == 0);
	REQUIRE(part.last == 2);
	auto rest = branch.Of({5, 9}, 9);
	REQUIRE(rest.first == 2);
	REQUIRE(rest.last == 4);
	auto everywhere = Placement().Of({2, 5}, 9);
	REQUIRE(everywhere.first == 2);
	REQUIRE(everywhere.last == 5);
	REQUIRE(branch.Fits(4, 7));
	REQUIRE_FALSE(branch.Fits(4, 6));
	REQUIRE(Placement().Fits(4, 4));
	REQUIRE_FALSE(Placement().Fits(4, 8));
}

} // namespace merganser
