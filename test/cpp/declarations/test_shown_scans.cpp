#include "declarations/shown_scans.hpp"
#include "open_database.hpp"

#include <filesystem>

using namespace merganser; // NOLINT

namespace {

//! A hundred declared views over files of their own, and one over the files that are asked for.
struct ManyViews {
	OpenDatabase database;
	std::filesystem::path folder = std::filesystem::temp_directory_path() / "merganser_shown_scans";

	ManyViews() {
		std::filesystem::create_directories(folder);
		database.Run("CREATE TABLE rows (a INTEGER)");
		database.Run("COPY (SELECT 1 AS device, 2 AS time) TO '" + File("asked") + "'");
		database.Run("COPY (SELECT 1 AS device, 2 AS time) TO '" + File("other") + "'");
		for (idx_t i = 0; i < 100; i++) {
			Declare("v" + to_string(i),
			        "FROM read_parquet('" + File("other") + "', filename = 'f" + to_string(i) + "')");
		}
		Declare("asked", "FROM '" + File("asked") + "'");
	}
	~ManyViews() {
		std::filesystem::remove_all(folder);
	}

	string File(const string &name) const {
		return (folder / (name + ".parquet")).string();
	}

	void Declare(const string &view, const string &query) {
		database.Run("CREATE VIEW " + view + " AS " + query);
		database.Run("ALTER VIEW " + view + " SET PARTITIONED BY (device)");
		database.Run("ALTER VIEW " + view + " SET SORTED BY (device, time)");
		database.Run("ALTER VIEW " + view + " ADD PRIMARY KEY (device) NOT ENFORCED RELY");
	}

	//! How many views are bound while the query is planned.
	idx_t Bound(const string &query) {
		auto &context = *database.connection.context;
		auto before = ShownScans::ViewsBound(context);
		database.Run("EXPLAIN " + query);
		return ShownScans::ViewsBound(context) - before;
	}
};

const char *const SESSION = "SELECT * FROM SESSION(DATA => asked PARTITION BY device ORDER BY time, GAP => 1)";
const char *const REPORT =
    "SELECT l.device, l.time, count(*) AS n FROM asked l JOIN asked r USING (device) GROUP BY ALL "
    "ORDER BY n LIMIT 1";

} // namespace

TEST_CASE("Only views over a query's own files are bound, each once for a version of the catalog", "[shown_scans]") {
	ManyViews views;
	REQUIRE(views.Bound(SESSION) == 1);
	REQUIRE(views.Bound(SESSION) == 0);
	REQUIRE(views.Bound(REPORT) == 0);
	views.database.Run("INSERT INTO memory.main.rows VALUES (1)"); // rows are no version of the catalog
	REQUIRE(views.Bound(REPORT) == 0);
	views.database.Run("CREATE TABLE another (a INTEGER)");
	REQUIRE(views.Bound(REPORT) == 1);
	REQUIRE(views.Bound(SESSION) == 0);
}

TEST_CASE("A view whose files got other columns is bound again, and so is one with functions", "[shown_scans]") {
	ManyViews views;
	REQUIRE(views.Bound(SESSION) == 1);
	views.database.Run("COPY (SELECT 2 AS time, 1 AS device) TO '" + views.File("asked") + "'");
	REQUIRE(views.Bound(SESSION) == 1);
	REQUIRE(views.Bound(SESSION) == 0);
	views.database.Run("CREATE MACRO same(a) AS a");
	views.Declare("called", "SELECT same(device) AS device, time FROM '" + views.File("asked") + "'");
	REQUIRE(views.Bound(REPORT) == 3); // the report has two scans
	REQUIRE(views.Bound(REPORT) == 2);
}

TEST_CASE("A query of tables binds no view, and a view that is more than a scan is not bound for layouts' sake",
          "[shown_scans]") {
	ManyViews views;
	REQUIRE(views.Bound("SELECT a, count(*) AS n FROM rows GROUP BY a ORDER BY n LIMIT 1") == 0);
	views.Declare("filtered", "FROM '" + views.File("asked") + "' WHERE time > 0");
	REQUIRE(views.Bound(SESSION) == 1);
	REQUIRE(views.Bound(SESSION) == 0);
}
