#include "stages/sliced_files.hpp"

#include "session_connection.hpp"

#include "duckdb/common/multi_file/multi_file_states.hpp"
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

//! Rows that cannot be read go to tables of the session.
bool StoresRejects(const LogicalGet &get) {
	for (auto &parameter : get.named_parameters) {
		auto name = parameter.first.GetIdentifierName();
		if (name == "store_rejects" || StringUtil::StartsWith(name, "rejects_")) {
			return true;
		}
	}
	return false;
}

//! Files of text, which are divided file by file.
bool IsText(const LogicalGet &get) {
	static const unordered_set<string> names {"read_csv",       "read_csv_auto", "read_json",
	                                          "read_json_auto", "read_ndjson",   "read_ndjson_auto"};
	return names.count(get.function.GetName().GetIdentifierName()) > 0 && !StoresRejects(get);
}

//! More paths than these are not written into SQL.
const idx_t MOST_PATHS = 64;

string Source(const LogicalGet &get, const string &files) {
	auto result = "system.main." + get.function.GetName().GetIdentifierName() + "(" + files;
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
	auto connection = SessionConnection::Open(context);
	auto footers = connection->Query("SELECT file_name, num_rows, num_row_groups FROM parquet_file_metadata(" +
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

vector<string> ListedPaths(const Value &files) {
	vector<string> result;
	if (files.type().id() == LogicalTypeId::LIST) {
		for (auto &path : ListValue::GetChildren(files)) {
			result.push_back(path.ToString());
		}
	}
	return result;
}

//! The name of a variable that holds `paths`.
string AddList(SlicedScan &scan, const LogicalGet &get, vector<string> paths) {
	for (auto &list : scan.lists) {
		if (list.paths == paths) {
			return list.variable;
		}
	}
	auto variable = StringUtil::Format("merganser_files_%llu_%llu", get.table_index.index, scan.lists.size() + 1);
	scan.lists.push_back({variable, std::move(paths)});
	return variable;
}

void ReferToLists(SlicedScan &scan, const LogicalGet &get) {
	auto listed = ListedPaths(get.parameters[0]);
	if (listed.size() > MOST_PATHS) {
		auto variable = AddList(scan, get, std::move(listed));
		scan.source_in_tasks = Source(get, "getvariable('" + variable + "')");
	}
	if (scan.files.size() > MOST_PATHS) {
		vector<string> paths;
		for (auto &file : scan.files) {
			paths.push_back(file.path);
		}
		scan.files_variable = AddList(scan, get, std::move(paths));
	}
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
	result->source = Source(get, get.parameters[0].ToSQLString());
	ReferToLists(*result, get);
	return result;
}

string SlicedFiles::Relation(const LogicalGet &get) {
	return "merganser_scan_" + to_string(get.table_index.index);
}

void SlicedFiles::ReadSlice(LogicalGet &get) {
	get.function.to_sql = ReadRelation;
}

} // namespace merganser
