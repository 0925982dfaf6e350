#include "stages/sliced_files.hpp"

#include "session_connection.hpp"
#include "stages/slice_scan.hpp"

#include "duckdb/common/hive_partitioning.hpp"
#include "duckdb/common/multi_file/multi_file_reader.hpp"
#include "duckdb/common/multi_file/multi_file_states.hpp"
#include "duckdb/common/path.hpp"
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

string NameOf(const LogicalGet &get) {
	return get.function.GetName().GetIdentifierName();
}

bool IsParquet(const LogicalGet &get) {
	return SliceScan::IsParquet(NameOf(get));
}

//! Files of text, which are divided file by file.
bool IsText(const LogicalGet &get) {
	return SliceScan::IsText(NameOf(get));
}

//! Options that only the session can fulfil: it has the keys, and the table of rejects.
bool HasOptionsOfTheSession(const LogicalGet &get) {
	for (auto &option : get.named_parameters) {
		auto name = StringUtil::Lower(option.first.GetIdentifierName());
		if (name == "encryption_config" || name == "store_rejects" || StringUtil::StartsWith(name, "rejects_")) {
			return true;
		}
	}
	return false;
}

//! Paths, not files with options of their own.
bool IsGivenByPaths(const Value &files) {
	auto &type = files.type();
	return type.id() == LogicalTypeId::VARCHAR ||
	       (type.id() == LogicalTypeId::LIST && ListType::GetChildType(type).id() == LogicalTypeId::VARCHAR);
}

bool HasColumn(const LogicalGet &get, const string &name) {
	return std::find(get.names.begin(), get.names.end(), Identifier(name)) != get.names.end();
}

bool ReadsRowNumbers(const LogicalGet &get) {
	return get.bind_data->Cast<MultiFileBindData>().reader_bind.file_row_number_idx.IsValid() ||
	       !HasColumn(get, "file_row_number");
}

//! The virtual columns that are read, or nothing where a slice has others than the scan.
optional<vector<string>> VirtualColumns(const LogicalGet &get) {
	vector<string> result;
	for (auto &column : get.GetColumnIds()) {
		if (!column.IsVirtualColumn() || column.IsEmptyColumn()) {
			continue;
		}
		auto entry = get.virtual_columns.find(column.GetPrimaryIndex());
		if (column.GetPrimaryIndex() == MultiFileReader::COLUMN_IDENTIFIER_FILE_INDEX ||
		    entry == get.virtual_columns.end() || HasColumn(get, entry->second.name.GetIdentifierName())) {
			return {};
		}
		result.push_back(entry->second.name.GetIdentifierName());
	}
	return result;
}

bool ReadsFilename(const LogicalGet &get) {
	if (get.bind_data->Cast<MultiFileBindData>().file_options.filename) {
		return true;
	}
	auto &columns = get.GetColumnIds();
	return std::any_of(columns.begin(), columns.end(), [](const ColumnIndex &column) {
		return column.GetPrimaryIndex() == MultiFileReader::COLUMN_IDENTIFIER_FILENAME;
	});
}

//! Whether what a scan reads of a path is the same of its absolute path.
bool MayBeAbsolute(const LogicalGet &get, const string &path) {
	auto absolute = FileVersion::AbsolutePath(path);
	if (absolute == path) {
		return true;
	}
	auto hive = get.bind_data->Cast<MultiFileBindData>().file_options.hive_partitioning;
	return !ReadsFilename(get) && (!hive || HivePartitioning::Parse(path) == HivePartitioning::Parse(absolute));
}

//! DuckDB has listed a regular file, or it is one elsewhere; not a pipe, which can be read once.
bool MayBeReadAgain(const OpenFileInfo &file) {
	return file.extended_info || !Path::FromString(file.path).IsLocal();
}

string Source(const LogicalGet &get) {
	auto result = "system.main." + NameOf(get) + "(" + get.parameters[0].ToSQLString();
	for (auto &parameter : get.named_parameters) {
		result += ", " + parameter.first.GetIdentifierName() + " := " + parameter.second.ToSQLString();
	}
	return result + ")";
}

vector<FileVersion> Versions(ClientContext &context, const vector<OpenFileInfo> &files) {
	vector<FileVersion> result;
	for (auto &file : files) {
		auto version = FileVersion::Listed(context, file, FileVersion::AbsolutePath(file.path));
		if (!version) {
			throw NotImplementedException("the size of \"%s\" is not known", file.path);
		}
		result.push_back(std::move(*version));
	}
	return result;
}

//! Rows and row groups of each file. Read on a connection of its own: this one is planning a statement.
vector<SlicedScan::File> ReadFooters(ClientContext &context, const vector<FileVersion> &versions) {
	vector<Value> paths;
	for (auto &version : versions) {
		paths.push_back(Value::STRUCT({{OpenFileInfo::PATH_FIELD, Value(version.path)}}));
	}
	auto connection = SessionConnection::Open(context);
	auto footers = connection->Query("SELECT file_name, num_rows, num_row_groups FROM parquet_file_metadata(" +
	                                 Value::LIST(std::move(paths)).ToSQLString() + ")");
	if (footers->HasError()) {
		footers->ThrowError();
	}
	unordered_map<string, SlicedScan::File> by_path;
	for (auto &row : *footers) {
		by_path[row.GetValue<string>(0)] = {
		    NumericCast<idx_t>(row.GetValue<int64_t>(1)), NumericCast<idx_t>(row.GetValue<int64_t>(2)), 0, {}};
	}
	vector<SlicedScan::File> result;
	for (auto &version : versions) {
		auto footer = by_path.find(version.path);
		if (footer == by_path.end()) {
			throw NotImplementedException("the rows of \"%s\" are not known", version.path);
		}
		result.push_back(footer->second);
		result.back().version = version;
	}
	return result;
}

vector<SlicedScan::File> WholeFiles(const vector<FileVersion> &versions) {
	vector<SlicedScan::File> result;
	for (auto &version : versions) {
		result.push_back({version.bytes, 1, 0, version});
	}
	return result;
}

//! As DuckDB listed them before it left out those that a filter on their paths leaves out.
shared_ptr<MultiFileList> AllFiles(ClientContext &context, const LogicalGet &get) {
	if (!get.extra_info.total_files.IsValid()) {
		return get.bind_data->Cast<MultiFileBindData>().file_list;
	}
	return MultiFileReader::CreateDefault(NameOf(get))
	    ->CreateFileList(context, get.parameters[0], FileGlobInput(FileGlobOptions::ALLOW_EMPTY));
}

//! Files DuckDB looks at for the columns; at least two, as a file is read otherwise where it is the only one.
vector<Value> Sample(ClientContext &context, const LogicalGet &get) {
	auto &options = get.bind_data->Cast<MultiFileBindData>().file_options;
	auto most =
	    options.union_by_name ? NumericLimits<idx_t>::Maximum() : MaxValue<idx_t>(options.maximum_sample_files, 2);
	vector<OpenFileInfo> files;
	auto all = AllFiles(context, get);
	MultiFileListScanData scan;
	all->InitializeScan(scan);
	OpenFileInfo file;
	while (files.size() < most && all->Scan(scan, file)) {
		files.push_back(file);
	}
	vector<Value> result;
	for (auto &version : Versions(context, files)) {
		result.push_back(SliceScan::FileValue(version, optional_idx()));
	}
	return result;
}

} // namespace

bool SlicedFiles::MaySlice(const LogicalGet &get) {
	if ((!IsParquet(get) && !IsText(get)) || get.function.get_multi_file_reader) {
		return false;
	}
	if (get.parameters.size() != 1 || !IsGivenByPaths(get.parameters[0]) || !get.scan_partition_indices.empty() ||
	    get.ordinality_idx.IsValid() || get.has_pushed_projection || get.bind_info || get.extra_info.sample_options ||
	    HasOptionsOfTheSession(get) || !VirtualColumns(get)) {
		return false;
	}
	auto files = Files(get);
	if (files.empty() || (IsText(get) && files.size() == 1)) {
		return false;
	}
	return std::all_of(files.begin(), files.end(),
	                   [&](const OpenFileInfo &file) { return MayBeReadAgain(file) && MayBeAbsolute(get, file.path); });
}

vector<OpenFileInfo> SlicedFiles::Files(const LogicalGet &get) {
	return get.bind_data->Cast<MultiFileBindData>().file_list->GetAllFiles();
}

unique_ptr<SlicedScan> SlicedFiles::TrySlice(ClientContext &context, const LogicalGet &get) {
	if (!MaySlice(get)) {
		return nullptr;
	}
	auto versions = Versions(context, Files(get));
	auto result = make_uniq<SlicedScan>();
	result->rows_are_known = IsParquet(get);
	result->whole_files = IsText(get) || !ReadsRowNumbers(get);
	result->files = IsParquet(get) ? ReadFooters(context, versions) : WholeFiles(versions);
	result->source = Source(get);
	result->function = NameOf(get);
	result->description = SliceScan::Describe(get, IsText(get));
	if (IsText(get)) {
		result->sample = Sample(context, get);
	}
	result->virtual_columns = *VirtualColumns(get);
	return result;
}

string SlicedFiles::Relation(const LogicalGet &get) {
	return "merganser_scan_" + to_string(get.table_index.index);
}

void SlicedFiles::ReadSlice(LogicalGet &get) {
	get.function.to_sql = ReadRelation;
}

} // namespace merganser
