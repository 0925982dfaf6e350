#include "grouping/row_group_statistics.hpp"
#include "open_database.hpp"

#include <filesystem>

using namespace merganser; // NOLINT

namespace {

//! Ten files with two devices each, and ten with all of them.
struct ManyFiles {
	OpenDatabase database;
	std::filesystem::path folder = std::filesystem::temp_directory_path() / "merganser_row_group_statistics";

	ManyFiles() {
		std::filesystem::create_directories(folder);
		database.Run("SET merganser_ordered_windows_min_rows = 0");
		for (idx_t i = 0; i < 10; i++) {
			auto file = to_string(i) + ".parquet'";
			database.Run("COPY (SELECT 2 * " + to_string(i) +
			             " + j % 2 AS device, j AS time, j AS v FROM range(100) r(j)) TO '" +
			             (folder / "own_").string() + file);
			database.Run("COPY (SELECT j % 20 AS device, j AS time, j AS v FROM range(100) r(j)) TO '" +
			             (folder / "all_").string() + file);
		}
	}
	~ManyFiles() {
		std::filesystem::remove_all(folder);
	}

	string Files(const string &kind) const {
		return "'" + (folder / kind).string() + "_*.parquet'";
	}

	//! How many footers are read while the query is planned.
	idx_t Read(const string &query) {
		auto &context = *database.connection.context;
		auto before = RowGroupStatistics::FootersRead(context);
		database.Run("EXPLAIN " + query);
		return RowGroupStatistics::FootersRead(context) - before;
	}
};

string Lag(const string &source, const string &key = "device") {
	return "SELECT v - lag(v) OVER (PARTITION BY " + key + " ORDER BY time) AS d, * FROM " + source;
}

} // namespace

TEST_CASE("Footers are read once a statement, and only for a call or window that can use them", "[found_layouts]") {
	ManyFiles files;
	auto own = files.Files("own");
	REQUIRE(files.Read(Lag(own)) == 3 + 10);
	REQUIRE(files.Read(Lag(own) + " UNION ALL " + Lag(own)) == 3 + 10);
	REQUIRE(files.Read("SELECT lag(d) OVER (PARTITION BY device ORDER BY time) FROM (" + Lag(own) + ")") == 3 + 10);
	REQUIRE(files.Read("SELECT device, sum(v) FROM " + own + " GROUP BY ALL ORDER BY ALL") == 0);
	REQUIRE(files.Read("SELECT lag(v) OVER (ORDER BY time) FROM " + own) == 0);
	REQUIRE(files.Read(Lag(own, "v::DOUBLE")) == 0);
}

TEST_CASE("Three footers tell that every file has all devices", "[found_layouts]") {
	ManyFiles files;
	REQUIRE(files.Read(Lag(files.Files("all"))) == 3);
}

TEST_CASE("No footer is read for few rows, or for small files", "[found_layouts]") {
	ManyFiles files;
	files.database.Run("SET merganser_ordered_windows_min_rows = 100000");
	REQUIRE(files.Read(Lag(files.Files("own"))) == 0);
	files.database.Run("SET merganser_ordered_windows_min_rows = 1");
	REQUIRE(files.Read(Lag(files.Files("own"))) == 0);
}
