#include "catch.hpp"

#include "stages/stage.hpp"

namespace merganser {

using namespace duckdb;

namespace {

SlicedScan Scan(vector<SlicedScan::File> files) {
	SlicedScan result;
	result.name = "scan";
	result.source = "read_parquet('*')";
	result.files = std::move(files);
	return result;
}

//! Fails unless every row of every file is in exactly one slice, in the order of the scan.
void RequireComplete(const SlicedScan &scan, idx_t tasks) {
	idx_t file = 0;
	idx_t row = 0;
	for (idx_t task = 0; task < tasks; task++) {
		for (auto &piece : scan.Pieces({task, task + 1}, tasks)) {
			while (row == scan.files[file].size) {
				file++;
				row = 0;
			}
			REQUIRE(piece.file.get().path == scan.files[file].path);
			REQUIRE(piece.start == row);
			REQUIRE(piece.end > piece.start);
			row = piece.end;
		}
	}
	while (file < scan.files.size() && row == scan.files[file].size) {
		file++;
		row = 0;
	}
	REQUIRE(file == scan.files.size());
}

} // namespace

TEST_CASE("Slices hold every row once", "[sliced_scan]") {
	vector<vector<SlicedScan::File>> scans {
	    {{"a", 1, 1}},
	    {{"a", 1000, 1}},
	    {{"a", 122880, 60}, {"b", 5, 1}, {"c", 70000, 35}},
	    {{"a", 0, 0}, {"b", 7, 1}, {"c", 0, 0}, {"d", 9, 3}, {"e", 0, 0}},
	    {{"a", 999, 500}, {"b", 1001, 500}},
	};
	for (auto &files : scans) {
		for (auto whole_files : {false, true}) {
			auto scan = Scan(files);
			scan.whole_files = whole_files;
			for (idx_t tasks : {1, 2, 3, 4, 7, 64}) {
				RequireComplete(scan, tasks);
			}
		}
	}
}

TEST_CASE("Where there are enough row groups, slices begin with one", "[sliced_scan]") {
	auto scan = Scan({{"a", 16 * 2048, 16}});
	for (idx_t task = 0; task < 3; task++) {
		for (auto &piece : scan.Pieces({task, task + 1}, 3)) {
			REQUIRE(piece.start % 2048 == 0);
		}
	}
}

TEST_CASE("Whole files are not cut", "[sliced_scan]") {
	auto scan = Scan({{"a", 100, 50}, {"b", 100, 50}, {"c", 100, 50}});
	scan.whole_files = true;
	REQUIRE(scan.Pieces({0, 1}, 2).size() == 2);
	REQUIRE(scan.Pieces({1, 2}, 2).size() == 1);
	REQUIRE(scan.SliceSql({0, 1}, 2) ==
	        "SELECT * FROM read_parquet('*') WHERE list_position(['a', 'b'], filename) IS NOT NULL");
	scan.rows_are_known = false;
	REQUIRE(scan.Rows() == 0);
	REQUIRE(scan.Size() == 300);
}

TEST_CASE("A slice without rows is empty, and paths are quoted", "[sliced_scan]") {
	auto scan = Scan({{"it's", 3, 1}});
	REQUIRE(scan.SliceSql({0, 1}, 64) == "SELECT * FROM read_parquet('*') WHERE false");
	REQUIRE(scan.SliceSql({0, 1}, 1) ==
	        "SELECT * FROM read_parquet('*') WHERE list_position(['it''s'], filename) IS NOT NULL");
	REQUIRE(scan.SliceSql({1, 2}, 2) ==
	        "SELECT * FROM read_parquet('*') WHERE filename = 'it''s' AND file_row_number BETWEEN 1 AND 2");
}

TEST_CASE("Files of a variable are selected by their positions", "[sliced_scan]") {
	auto scan = Scan({{"a", 2, 1}, {"b", 2, 1}, {"c", 0, 0}, {"d", 2, 1}, {"e", 2, 1}});
	scan.whole_files = true;
	scan.source_in_tasks = "read_parquet(getvariable('v'))";
	scan.files_variable = "v";
	REQUIRE(scan.SliceSql({0, 1}, 2) == "SELECT * FROM read_parquet(getvariable('v')) WHERE "
	                                    "list_position(getvariable('v')[1:2], filename) IS NOT NULL");
	REQUIRE(scan.SliceSql({1, 2}, 2) == "SELECT * FROM read_parquet(getvariable('v')) WHERE "
	                                    "list_position(getvariable('v')[4:5], filename) IS NOT NULL");
}

TEST_CASE("A table is cut into ranges of row ids, at row groups", "[sliced_scan]") {
	auto scan = Scan({{"t", 1000, 10, 110}});
	scan.by_row_id = true;
	scan.source = "db.main.t";
	RequireComplete(scan, 4);
	REQUIRE(scan.SliceSql({0, 1}, 4) == "SELECT *, rowid FROM db.main.t WHERE rowid BETWEEN 0 AND 219");
	REQUIRE(scan.SliceSql({3, 4}, 4) == "SELECT *, rowid FROM db.main.t WHERE rowid BETWEEN 770 AND 999");
	scan.files = {{"t", 0, 0}};
	REQUIRE(scan.SliceSql({1, 2}, 4) == "SELECT *, rowid FROM db.main.t WHERE false");
}

} // namespace merganser
