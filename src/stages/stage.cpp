#include "stages/stage.hpp"

#include "stages/key_ranges.hpp"
#include "stages/slice_scan.hpp"

#include "duckdb/parser/keyword_helper.hpp"

namespace merganser {

namespace {

string Quoted(const string &text) {
	return "'" + StringUtil::Replace(text, "'", "''") + "'";
}

//! More files than these are not written into SQL.
const idx_t MOST_FILES = 64;

string FilesVariable(const string &scan) {
	return scan + "_files";
}

string SampleVariable(const string &scan) {
	return scan + "_sample";
}

string List(const vector<Value> &files, const string &variable) {
	if (files.size() > MOST_FILES) {
		return "system.main.getvariable(" + Quoted(variable) + ")";
	}
	vector<string> result;
	for (auto &file : files) {
		result.push_back(file.ToSQLString());
	}
	return "[" + StringUtil::Join(result, ", ") + "]";
}

//! Where a slice begins in `file`, moved to the start of a row group where there are many, or one is no more than the
//! rows of a slice: two tasks that share a row group both read it.
idx_t CutPoint(idx_t position, const SlicedScan::File &file, bool many_row_groups, idx_t rows_of_slice) {
	if (file.row_groups == 0 || position >= file.size) {
		return MinValue(position, file.size);
	}
	auto group =
	    file.group_rows > 0 ? file.group_rows : MaxValue<idx_t>((file.size + file.row_groups - 1) / file.row_groups, 1);
	if (!many_row_groups && group > rows_of_slice) {
		return position;
	}
	return MinValue((position + group / 2) / group * group, file.size);
}

} // namespace

bool Partitioning::KeepsTogether(const vector<ColumnBinding> &columns) const {
	if (keys.empty()) {
		return IsOneTask();
	}
	auto is_there = [&](const ColumnBinding &key) {
		return std::find(columns.begin(), columns.end(), key) != columns.end();
	};
	return distribution == Distribution::RANGED ? std::any_of(keys.begin(), keys.end(), is_there)
	                                            : std::all_of(keys.begin(), keys.end(), is_there);
}

Partitioning Partitioning::Renamed(const std::function<optional<ColumnBinding>(const ColumnBinding &)> &name) const {
	auto result = *this;
	result.keys.clear();
	for (auto &key : keys) {
		auto renamed = name(key);
		if (renamed) {
			result.keys.push_back(*renamed);
		}
	}
	auto are_enough = distribution == Distribution::RANGED ? !result.keys.empty() : result.keys.size() == keys.size();
	return are_enough ? result : WithoutColumns();
}

Partitioning Partitioning::WithoutColumns() const {
	return {Distribution::SPLIT, {}, order.WithoutColumns(), shares};
}

Shares Placement::Of(const Shares &shares, idx_t of_stage) const {
	auto inside = [&](idx_t share) {
		return MinValue(share > first ? share - first : 0, Count(of_stage));
	};
	return {inside(shares.first), inside(shares.last)};
}

bool Placement::Fits(idx_t usual, idx_t of_stage) const {
	return count == 0 ? of_stage == usual : first + count <= of_stage;
}

idx_t SlicedScan::Rows() const {
	return rows_are_known ? Size() : 0;
}

idx_t SlicedScan::Size() const {
	idx_t result = 0;
	for (auto &file : files) {
		result += file.size;
	}
	return result;
}

vector<SlicedScan::Piece> SlicedScan::Pieces(const Shares &shares, idx_t of) const {
	auto size = Size();
	idx_t row_groups = 0;
	for (auto &file : files) {
		row_groups += file.row_groups;
	}
	auto many = row_groups >= 2 * of;
	auto first = size * shares.first / of;
	auto last = size * shares.last / of;
	vector<Piece> result;
	idx_t before = 0;
	for (auto &file : files) {
		auto start = CutPoint(first > before ? first - before : 0, file, many, size / of);
		auto end = last > before ? CutPoint(last - before, file, many, size / of) : 0;
		if (whole_files) {
			start = 0;
			end = before >= first && before < last ? file.size : 0;
		}
		before += file.size;
		if (start < end) {
			result.push_back({file, start, end});
		}
	}
	return result;
}

Value SlicedScan::FileValue(const File &file) const {
	return SliceScan::FileValue(file.version, rows_are_known ? optional_idx(file.size) : optional_idx());
}

vector<Value> SlicedScan::Whole(const vector<Piece> &pieces) const {
	vector<Value> result;
	for (auto &piece : pieces) {
		if (piece.start == 0 && piece.end == piece.file.get().size) {
			result.push_back(FileValue(piece.file));
		}
	}
	return result;
}

vector<FileList> SlicedScan::Lists(const Shares &shares, idx_t of) const {
	vector<FileList> result;
	if (by_row_id) {
		return result;
	}
	auto whole = ranged ? FilesOfRanges(shares) : Whole(Pieces(shares, of));
	if (whole.size() > MOST_FILES) {
		result.push_back({FilesVariable(name), std::move(whole)});
	}
	if (sample.size() > MOST_FILES) {
		result.push_back({SampleVariable(name), sample});
	}
	return result;
}

string SlicedScan::Columns() const {
	auto result = virtual_columns;
	result.insert(result.begin(), "*");
	return StringUtil::Join(result, ", ");
}

string SlicedScan::Select(const vector<Value> &slice) const {
	auto sampled = sample.empty() ? string() : ", sample := " + List(sample, SampleVariable(name));
	return StringUtil::Format("SELECT %s FROM system.main.%s(%s, %s, %s%s)", Columns(), SliceScan::NAME,
	                          Quoted(function), List(slice, FilesVariable(name)), Quoted(description), sampled);
}

vector<Value> SlicedScan::FilesOfRanges(const Shares &shares) const {
	vector<Value> result;
	for (auto file : ranged->Files(shares)) {
		result.push_back(FileValue(files[file]));
	}
	if (result.empty()) {
		result.push_back(FileValue(files[0]));
	}
	return result;
}

string SlicedScan::RangeSql(const Shares &shares) const {
	return Select(FilesOfRanges(shares)) + " WHERE " + ranged->Ranges()->Condition(ranged->column, shares);
}

vector<idx_t> SlicedScan::BytesOfShares(idx_t count) const {
	if (!ranged) {
		return vector<idx_t>(count, Size() * width / count);
	}
	auto result = ranged->RowsOfShares(count);
	for (auto &of_share : result) {
		of_share *= width;
	}
	return result;
}

string SlicedScan::SliceSql(const Shares &shares, idx_t of) const {
	if (ranged) {
		return RangeSql(shares);
	}
	auto pieces = Pieces(shares, of);
	auto whole = Whole(pieces);
	vector<string> selects;
	for (auto &piece : pieces) {
		auto &file = piece.file.get();
		if (by_row_id) {
			selects.push_back(StringUtil::Format("SELECT %s FROM %s WHERE rowid BETWEEN %llu AND %llu", Columns(),
			                                     source, piece.start, piece.end - 1));
		} else if (piece.start > 0 || piece.end < file.size) {
			selects.push_back(Select({FileValue(file)}) + StringUtil::Format(" WHERE file_row_number BETWEEN %llu AND "
			                                                                 "%llu",
			                                                                 piece.start, piece.end - 1));
		} else if (!whole.empty()) {
			// Those of a slice stand side by side.
			selects.push_back(Select(whole));
			whole.clear();
		}
	}
	if (!selects.empty()) {
		return StringUtil::Join(selects, " UNION ALL ");
	}
	return (by_row_id ? "SELECT " + Columns() + " FROM " + source : Select({FileValue(files[0])})) + " WHERE false";
}

string StageInput::Name() const {
	auto part = mode == ReadMode::ALL ? "all_of_" : mode == ReadMode::CONSECUTIVE ? "pieces_of_" : "";
	auto whole = stage.IsValid() ? StringUtil::Format("merganser_%sstage_%llu", part, stage.GetIndex())
	                             : StringUtil::Format("merganser_%ssent_%llu", part, sent.GetIndex() + 1);
	auto placed = mode != ReadMode::ALL && placement.first > 0;
	return placed ? whole + "_from_share_" + to_string(placement.first) : whole;
}

string Stage::PartitioningText() const {
	if (!files.empty()) {
		return "files";
	}
	if (!keys.empty()) {
		return StringUtil::Format("hash of %llu columns into %llu", keys.size(), partitions);
	}
	if (partition_number.IsValid()) {
		return StringUtil::Format("ranges into %llu", partitions);
	}
	return partitions > 1 ? StringUtil::Format("even shares into %llu", partitions) : "gather";
}

string Stage::InputsText() const {
	vector<string> result;
	for (auto &scan : scans) {
		auto division = scan.ranged ? "ranges of " + scan.ranged->column : "slices";
		result.push_back(scan.by_row_id ? "a table in slices"
		                                : StringUtil::Format("%llu files in %s", scan.files.size(), division));
	}
	for (auto &input : inputs) {
		auto mode = input.mode == ReadMode::ALL           ? "all of "
		            : input.mode == ReadMode::CONSECUTIVE ? "consecutive pieces of "
		                                                  : "";
		result.push_back(
		    mode + (input.stage.IsValid() ? "stage " + to_string(input.stage.GetIndex()) : "rows sent by the session"));
	}
	return StringUtil::Join(result, ", ");
}

string Stage::ReasonText() const {
	auto all = reasons;
	if (!RowOrder().Satisfies(order)) {
		all.push_back("rows " + order.ToString({}));
	}
	return StringUtil::Join(all, "; ");
}

string Stage::Sql() const {
	vector<string> relations;
	for (auto &scan : scans) {
		relations.push_back(scan.name + " AS (SELECT " + scan.Columns() + " FROM " + scan.source + ")");
	}
	return (relations.empty() ? "" : "WITH " + StringUtil::Join(relations, ", ") + " ") + query->ToString();
}

string Stage::WriteOptions() const {
	if (!files.empty()) {
		return files;
	}
	string result = "FORMAT merganser_exchange";
	if (partition_number.IsValid()) {
		result += ", PARTITION_NUMBER ['c" + to_string(partition_number.GetIndex()) + "']";
	} else if (!keys.empty()) {
		vector<string> names;
		for (auto key : keys) {
			names.push_back("'c" + to_string(key) + "'");
		}
		result += ", PARTITION_BY [" + StringUtil::Join(names, ", ") + "]";
	}
	if (!RowOrder().Satisfies(order)) {
		result += ", PRESERVE_ORDER";
	}
	return result + ", PARTITIONS " + to_string(partitions);
}

} // namespace merganser
