#include "stages/sliced_files.hpp"

#include "stages/stages_pause.hpp"

#include "duckdb/common/multi_file/multi_file_states.hpp"
#include "duckdb/main/connection.hpp"
#include "duckdb/parser/tableref/basetableref.hpp"

namespace merganser {

namespace {

TableFunctionToSQLResult ReadRelation(ClientContext &context, const LogicalGet &get) {
	TableFunctionToSQLResult result;
	auto table = make_uniq<BaseTableRef>();
	table->SetTable(Identifier(SlicedFiles::Relation(get)));
	result.source = std::move(table);
	return result;
}

bool IsParquet(const LogicalGet &get) {
	auto name = get.function.GetName().GetIdentifierName();
	return name == "read_parquet" || name == "parquet_scan";
}

//! Files of text, which are divided file by file.
bool IsText(const LogicalGet &get) {
	static const unordered_set<string> names {"read_csv",       "read_csv_auto", "read_json",
	                                          "read_json_auto", "read_ndjson",   "read_ndjson_auto"};
	auto stores_rejects = get.named_parameters.find("store_rejects") != get.named_parameters.end();
	return names.count(get.function.GetName().GetIdentifierName()) > 0 && !stores_rejects;
}

string Source(const LogicalGet &get) {
	auto result = get.function.GetName().GetIdentifierName() + "(" + get.parameters[0].ToSQLString();
	for (auto &parameter : get.named_parameters) {
		result += ", " + parameter.first.GetIdentifierName() + " := " + parameter.second.ToSQLString();
	}
	return result + ")";
}

//! Reads the footers on a connection of its own: this one is planning a statement.
unordered_map<string, SlicedScan::File> ReadFooters(ClientContext &context, const vector<OpenFileInfo> &files) {
	vector<Value> paths;
	for (auto &file : files) {
		paths.emplace_back(file.path);
	}
	Connection connection(*context.db);
	StagesPause pause(*connection.context);
	auto footers = connection.Query("SELECT file_name, num_rows, num_row_groups FROM parquet_file_metadata(" +
	                                Value::LIST(LogicalType::VARCHAR, paths).ToSQLString() + ")");
	if (footers->HasError()) {
		footers->ThrowError();
	}
	unordered_map<string, SlicedScan::File> result;
	for (auto &row : *footers) {
		auto path = row.GetValue<string>(0);
		result[path] = {path, NumericCast<idx_t>(row.GetValue<int64_t>(1)),
		                NumericCast<idx_t>(row.GetValue<int64_t>(2))};
	}
	return result;
}

unordered_map<string, SlicedScan::File> ReadSizes(ClientContext &context, const vector<OpenFileInfo> &files) {
	auto &file_system = FileSystem::GetFileSystem(context);
	unordered_map<string, SlicedScan::File> result;
	for (auto &file : files) {
		auto handle = file_system.OpenFile(file, FileFlags::FILE_FLAGS_READ);
		result[file.path] = {file.path, handle->GetFileSize(), 1};
	}
	return result;
}

//! In the order of the scan. A slice selects by path, so it reads a file that is listed twice as often as the whole
//! scan does: it is listed once here.
vector<SlicedScan::File> InOrder(const vector<OpenFileInfo> &files,
                                 const unordered_map<string, SlicedScan::File> &by_path) {
	vector<SlicedScan::File> result;
	unordered_set<string> listed;
	for (auto &file : files) {
		auto entry = by_path.find(file.path);
		if (entry == by_path.end()) {
			throw NotImplementedException("the size of \"%s\" is not known", file.path);
		}
		if (listed.insert(file.path).second) {
			result.push_back(entry->second);
		}
	}
	return result;
}

} // namespace

bool SlicedFiles::MaySlice(const LogicalGet &get) {
	if (!IsParquet(get) && !IsText(get)) {
		return false;
	}
	if (get.parameters.size() != 1 || !get.scan_partition_indices.empty() || get.ordinality_idx.IsValid() ||
	    get.has_pushed_projection || get.bind_info || get.extra_info.sample_options) {
		return false;
	}
	auto files = get.bind_data->Cast<MultiFileBindData>().file_list->GetTotalFileCount();
	if (files == 0 || (IsText(get) && files == 1)) {
		return false;
	}
	for (auto &column : get.names) {
		if (column == "filename" || column == "file_row_number") {
			return false;
		}
	}
	for (auto &column : get.GetColumnIds()) {
		if (column.IsVirtualColumn() && !column.IsEmptyColumn()) {
			return false;
		}
	}
	return true;
}

vector<OpenFileInfo> SlicedFiles::Files(const LogicalGet &get) {
	return get.bind_data->Cast<MultiFileBindData>().file_list->GetAllFiles();
}

unique_ptr<SlicedScan> SlicedFiles::TrySlice(ClientContext &context, const LogicalGet &get) {
	if (!MaySlice(get)) {
		return nullptr;
	}
	auto files = Files(get);
	auto result = make_uniq<SlicedScan>();
	result->rows_are_known = IsParquet(get);
	result->whole_files = !result->rows_are_known;
	result->files = InOrder(files, IsParquet(get) ? ReadFooters(context, files) : ReadSizes(context, files));
	result->source = Source(get);
	return result;
}

string SlicedFiles::Relation(const LogicalGet &get) {
	return "merganser_scan_" + to_string(get.table_index.index);
}

void SlicedFiles::ReadSlice(LogicalGet &get) {
	get.function.to_sql = ReadRelation;
}

} // namespace merganser
