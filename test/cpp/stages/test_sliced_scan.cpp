#include "catch.hpp"

#include "stages/stage.hpp"

namespace merganser {

using namespace duckdb;

namespace {

SlicedScan::File File(const string &path, idx_t rows, idx_t row_groups, idx_t group_rows = 0) {
	FileVersion version;
	version.path = path;
	version.bytes = 10;
	version.changed = timestamp_t(20);
	return {rows, row_groups, group_rows, version};
}

//! What a slice has of a file.
string Listed(const string &path, int64_t rows) {
	return "{'filename': '" + path + "', 'bytes': 10, 'changed': 20, 'tag': '', 'rows': " + to_string(rows) + "}";
}

SlicedScan Scan(vector<SlicedScan::File> files) {
	SlicedScan result;
	result.name = "scan";
	result.source = "read_parquet('*')";
	result.function = "read_parquet";
	result.description = "as bound";
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
			REQUIRE(piece.file.get().version.path == scan.files[file].version.path);
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
	    {File("a", 1, 1)},
	    {File("a", 1000, 1)},
	    {File("a", 122880, 60), File("b", 5, 1), File("c", 70000, 35)},
	    {File("a", 0, 0), File("b", 7, 1), File("c", 0, 0), File("d", 9, 3), File("e", 0, 0)},
	    {File("a", 999, 500), File("b", 1001, 500)},
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
	auto scan = Scan({File("a", 16 * 2048, 16)});
	for (idx_t task = 0; task < 3; task++) {
		for (auto &piece : scan.Pieces({task, task + 1}, 3)) {
			REQUIRE(piece.start % 2048 == 0);
		}
	}
}

TEST_CASE("Whole files are not cut", "[sliced_scan]") {
	auto scan = Scan({File("a", 100, 50), File("b", 100, 50), File("c", 100, 50)});
	scan.whole_files = true;
	REQUIRE(scan.Pieces({0, 1}, 2).size() == 2);
	REQUIRE(scan.Pieces({1, 2}, 2).size() == 1);
	REQUIRE(scan.SliceSql({0, 1}, 2) == "SELECT * FROM system.main.merganser_slice('read_parquet', [" +
	                                        Listed("a", 100) + ", " + Listed("b", 100) + "], 'as bound')");
	scan.rows_are_known = false;
	REQUIRE(scan.Rows() == 0);
	REQUIRE(scan.Size() == 300);
	scan.sample = {Value("x")};
	REQUIRE(scan.SliceSql({1, 2}, 2) == "SELECT * FROM system.main.merganser_slice('read_parquet', [" +
	                                        Listed("c", -1) + "], 'as bound', sample := ['x'])");
}

TEST_CASE("A slice without rows is empty, and paths are quoted", "[sliced_scan]") {
	auto scan = Scan({File("it's", 3, 1)});
	auto file =
	    "SELECT *, filename FROM system.main.merganser_slice('read_parquet', [" + Listed("it''s", 3) + "], 'as bound')";
	scan.virtual_columns = {"filename"};
	REQUIRE(scan.SliceSql({0, 1}, 64) == file + " WHERE false");
	REQUIRE(scan.SliceSql({0, 1}, 1) == file);
	REQUIRE(scan.SliceSql({1, 2}, 2) == file + " WHERE file_row_number BETWEEN 1 AND 2");
}

TEST_CASE("A slice is rows of a file, whole files, rows of a file, in their order", "[sliced_scan]") {
	auto scan = Scan({File("a", 4, 1), File("b", 2, 1), File("empty", 0, 0), File("c", 2, 1), File("d", 8, 1)});
	auto of = [](const string &files) {
		return "SELECT * FROM system.main.merganser_slice('read_parquet', [" + files + "], 'as bound')";
	};
	REQUIRE(scan.SliceSql({1, 3}, 4) == of(Listed("b", 2) + ", " + Listed("c", 2)) + " UNION ALL " +
	                                        of(Listed("d", 8)) + " WHERE file_row_number BETWEEN 0 AND 3");
	REQUIRE(scan.SliceSql({1, 7}, 8) == of(Listed("a", 4)) + " WHERE file_row_number BETWEEN 2 AND 3 UNION ALL " +
	                                        of(Listed("b", 2) + ", " + Listed("c", 2)) + " UNION ALL " +
	                                        of(Listed("d", 8)) + " WHERE file_row_number BETWEEN 0 AND 5");
}

TEST_CASE("Many files are a variable, which has those of the slice only", "[sliced_scan]") {
	vector<SlicedScan::File> files;
	for (idx_t i = 0; i < 300; i++) {
		files.push_back(File("f" + to_string(i), 1, 1));
	}
	auto scan = Scan(std::move(files));
	REQUIRE(
	    scan.SliceSql({0, 1}, 3) ==
	    "SELECT * FROM system.main.merganser_slice('read_parquet', system.main.getvariable('scan_files'), 'as bound')");
	auto lists = scan.Lists({1, 2}, 3);
	REQUIRE(lists.size() == 1);
	REQUIRE(lists[0].variable == "scan_files");
	REQUIRE(lists[0].files.size() == 100);
	REQUIRE(lists[0].files[0].ToSQLString() == Listed("f100", 1));
	REQUIRE(scan.Lists({0, 1}, 10).empty());
	scan.sample = lists[0].files;
	REQUIRE(scan.Lists({0, 1}, 10)[0].variable == "scan_sample");
}

TEST_CASE("A table is cut into ranges of row ids, at row groups", "[sliced_scan]") {
	auto scan = Scan({File("t", 1000, 10, 110)});
	scan.by_row_id = true;
	scan.virtual_columns = {"rowid"};
	scan.source = "db.main.t";
	RequireComplete(scan, 4);
	REQUIRE(scan.SliceSql({0, 1}, 4) == "SELECT *, rowid FROM db.main.t WHERE rowid BETWEEN 0 AND 219");
	REQUIRE(scan.SliceSql({3, 4}, 4) == "SELECT *, rowid FROM db.main.t WHERE rowid BETWEEN 770 AND 999");
	scan.files = {File("t", 0, 0)};
	REQUIRE(scan.SliceSql({1, 2}, 4) == "SELECT *, rowid FROM db.main.t WHERE false");
}

} // namespace merganser
