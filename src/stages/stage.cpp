#include "stages/stage.hpp"

#include "duckdb/parser/keyword_helper.hpp"

namespace merganser {

namespace {

string Quoted(const string &text) {
	return "'" + StringUtil::Replace(text, "'", "''") + "'";
}

//! Where a slice begins in `file`, moved to the start of a row group where that is fine enough.
idx_t CutPoint(idx_t position, const SlicedScan::File &file, bool at_row_groups) {
	if (!at_row_groups || file.row_groups == 0 || position >= file.size) {
		return MinValue(position, file.size);
	}
	auto group =
	    file.group_rows > 0 ? file.group_rows : MaxValue<idx_t>((file.size + file.row_groups - 1) / file.row_groups, 1);
	return MinValue((position + group / 2) / group * group, file.size);
}

} // namespace

bool Partitioning::KeepsTogether(const vector<ColumnBinding> &columns) const {
	if (keys.empty()) {
		return IsOneTask();
	}
	for (auto &key : keys) {
		if (std::find(columns.begin(), columns.end(), key) == columns.end()) {
			return false;
		}
	}
	return true;
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
	auto at_row_groups = row_groups >= 2 * of;
	auto first = size * shares.first / of;
	auto last = size * shares.last / of;
	vector<Piece> result;
	idx_t before = 0;
	for (auto &file : files) {
		auto start = CutPoint(first > before ? first - before : 0, file, at_row_groups);
		auto end = last > before ? CutPoint(last - before, file, at_row_groups) : 0;
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

//! Not IN, which DuckDB turns into a join where the list is long.
string SlicedScan::SelectFiles(const vector<idx_t> &whole) const {
	string paths;
	if (files_variable.empty()) {
		vector<string> quoted;
		for (auto file : whole) {
			quoted.push_back(Quoted(files[file].path));
		}
		paths = "[" + StringUtil::Join(quoted, ", ") + "]";
	} else {
		paths = StringUtil::Format("getvariable(%s)[%llu:%llu]", Quoted(files_variable), whole.front() + 1,
		                           whole.back() + 1);
	}
	return "list_position(" + paths + ", filename) IS NOT NULL";
}

string SlicedScan::SliceSql(const Shares &shares, idx_t of) const {
	auto all_columns = "SELECT * FROM " + (source_in_tasks.empty() ? source : source_in_tasks) + " WHERE ";
	vector<idx_t> whole;
	vector<string> selects;
	auto add_whole = [&]() {
		if (!whole.empty()) {
			selects.push_back(all_columns + SelectFiles(whole));
			whole.clear();
		}
	};
	for (auto &piece : Pieces(shares, of)) {
		auto &file = piece.file.get();
		if (by_row_id) {
			selects.push_back(StringUtil::Format("SELECT *, rowid FROM %s WHERE rowid BETWEEN %llu AND %llu", source,
			                                     piece.start, piece.end - 1));
			continue;
		}
		if (piece.start == 0 && piece.end == file.size) {
			whole.push_back(NumericCast<idx_t>(&file - files.data()));
			continue;
		}
		add_whole();
		selects.push_back(all_columns + StringUtil::Format("filename = %s AND file_row_number BETWEEN %llu AND %llu",
		                                                   Quoted(file.path), piece.start, piece.end - 1));
	}
	add_whole();
	if (selects.empty() && by_row_id) {
		return "SELECT *, rowid FROM " + source + " WHERE false";
	}
	return selects.empty() ? all_columns + "false" : StringUtil::Join(selects, " UNION ALL ");
}

string StageInput::Name() const {
	auto all = mode == ReadMode::ALL ? "all_of_" : "";
	return stage.IsValid() ? StringUtil::Format("merganser_%sstage_%llu", all, stage.GetIndex())
	                       : StringUtil::Format("merganser_%ssent_%llu", all, sent.GetIndex() + 1);
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
		result.push_back(scan.by_row_id ? "a table in slices"
		                                : StringUtil::Format("%llu files in slices", scan.files.size()));
	}
	for (auto &input : inputs) {
		auto mode = input.mode == ReadMode::ALL ? "all of " : "";
		result.push_back(
		    mode + (input.stage.IsValid() ? "stage " + to_string(input.stage.GetIndex()) : "rows sent by the session"));
	}
	return StringUtil::Join(result, ", ");
}

string Stage::ReasonText() const {
	return StringUtil::Join(reasons, "; ");
}

string Stage::Sql() const {
	vector<string> relations;
	for (auto &scan : scans) {
		auto columns = scan.by_row_id ? "*, rowid" : "*";
		relations.push_back(scan.name + " AS (SELECT " + columns + " FROM " + scan.source + ")");
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
	return result + ", PARTITIONS " + to_string(partitions);
}

} // namespace merganser
