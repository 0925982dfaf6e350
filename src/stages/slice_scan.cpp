#include "stages/slice_scan.hpp"

#include "duckdb/catalog/catalog.hpp"
#include "duckdb/catalog/catalog_entry/table_function_catalog_entry.hpp"
#include "duckdb/common/multi_file/multi_file_reader.hpp"
#include "duckdb/common/multi_file/multi_file_states.hpp"
#include "duckdb/common/multi_file/table_function_multi_file.hpp"
#include "duckdb/common/serializer/binary_deserializer.hpp"
#include "duckdb/common/serializer/binary_serializer.hpp"
#include "duckdb/common/serializer/memory_stream.hpp"
#include "duckdb/common/types/blob.hpp"
#include "duckdb/main/extension/extension_loader.hpp"

namespace merganser {

namespace {

const char *const SCAN = "merganser_scan";
//! Options of a file as it is opened; what a version is made of.
const char *const BYTES = "merganser_bytes";
const char *const CHANGED = "merganser_changed";
const char *const TAG = "merganser_tag";
const char *const ROWS = "merganser_rows";

LogicalType FileType() {
	return LogicalType::STRUCT({{"filename", LogicalType::VARCHAR},
	                            {"bytes", LogicalType::BIGINT},
	                            {"changed", LogicalType::BIGINT},
	                            {"tag", LogicalType::VARCHAR},
	                            {"rows", LogicalType::BIGINT}});
}

//! A scan of files as the session has bound it.
struct BoundScan {
	vector<string> names;
	vector<LogicalType> types;
	//! Options as the user gave them.
	vector<string> option_names;
	vector<Value> option_values;
	MultiFileOptions options;
	MultiFileReaderBindData reader;
	bool sampled = false;
	//! The first file, as an error about a column that another one lacks names it.
	string first;

	string Write() const {
		MemoryStream stream;
		BinarySerializer serializer(stream);
		serializer.Begin();
		serializer.WriteProperty(100, "names", names);
		serializer.WriteProperty(101, "types", types);
		serializer.WriteProperty(102, "option_names", option_names);
		serializer.WriteProperty(103, "option_values", option_values);
		serializer.WriteProperty(104, "options", options);
		serializer.WriteProperty(105, "reader", reader);
		serializer.WriteProperty(106, "sampled", sampled);
		serializer.WriteProperty(107, "first", first);
		serializer.End();
		return Blob::ToBase64(
		    string_t(const_char_ptr_cast(stream.GetData()), NumericCast<uint32_t>(stream.GetPosition())));
	}

	//! BinderException where it is not what Write gives.
	static shared_ptr<BoundScan> Read(ClientContext &context, const string &text) {
		auto written = Blob::FromBase64(string_t(text));
		MemoryStream stream(data_ptr_cast(&written[0]), written.size());
		BinaryDeserializer deserializer(stream);
		deserializer.Set<ClientContext &>(context);
		auto result = make_shared_ptr<BoundScan>();
		deserializer.Begin();
		deserializer.ReadProperty(100, "names", result->names);
		deserializer.ReadProperty(101, "types", result->types);
		deserializer.ReadProperty(102, "option_names", result->option_names);
		deserializer.ReadProperty(103, "option_values", result->option_values);
		deserializer.ReadProperty(104, "options", result->options);
		deserializer.ReadProperty(105, "reader", result->reader);
		deserializer.ReadProperty(106, "sampled", result->sampled);
		deserializer.ReadProperty(107, "first", result->first);
		deserializer.End();
		if (!result->IsComplete()) {
			throw BinderException("%s must be given a scan as a stage describes it", SliceScan::NAME);
		}
		return result;
	}

	bool IsComplete() const {
		for (auto &key : reader.hive_partitioning_indexes) {
			if (key.index >= names.size()) {
				return false;
			}
		}
		auto fits = [&](const optional_idx &index) {
			return !index.IsValid() || index.GetIndex() < names.size() || IsVirtualColumn(index.GetIndex());
		};
		return names.size() == types.size() && option_names.size() == option_values.size() &&
		       fits(reader.filename_idx) && fits(reader.file_row_number_idx);
	}

	bool IsGenerated(idx_t column) const {
		auto is = [&](const optional_idx &index) {
			return index.IsValid() && index.GetIndex() == column;
		};
		auto &keys = reader.hive_partitioning_indexes;
		return is(reader.filename_idx) || is(reader.file_row_number_idx) ||
		       std::any_of(keys.begin(), keys.end(),
		                   [&](const HivePartitioningIndex &key) { return key.index == column; });
	}

	//! Whether files with these columns, and the columns DuckDB adds, give those of the scan.
	bool Has(const vector<Identifier> &file_names, const vector<LogicalType> &file_types) const {
		for (idx_t i = 0; i < file_names.size(); i++) {
			if (i >= names.size() || file_names[i] != Identifier(names[i]) ||
			    (!IsGenerated(i) && file_types[i] != types[i])) {
				return false;
			}
		}
		for (auto i = file_names.size(); i < names.size(); i++) {
			if (!IsGenerated(i)) {
				return false;
			}
		}
		return true;
	}
};

FileVersion VersionOf(const OpenFileInfo &file) {
	auto &info = *file.extended_info;
	FileVersion result;
	result.path = file.path;
	info.TryGetOption(BYTES, result.bytes);
	result.changed = timestamp_t(info.options.at(CHANGED).GetValue<int64_t>());
	info.TryGetOption(TAG, result.tag);
	return result;
}

OpenFileInfo FileOf(const Value &value) {
	auto &fields = StructValue::GetChildren(value);
	for (auto &field : fields) {
		if (field.IsNull()) {
			throw BinderException("A file of %s must have a filename, bytes, changed, tag and rows", SliceScan::NAME);
		}
	}
	OpenFileInfo result(StringValue::Get(fields[0]));
	result.extended_info = make_shared_ptr<ExtendedOpenFileInfo>();
	auto &options = result.extended_info->options;
	options[BYTES] = fields[1].DefaultCastAs(LogicalType::UBIGINT);
	options[CHANGED] = fields[2];
	options[TAG] = fields[3];
	options[ROWS] = fields[4];
	auto &tag = StringValue::Get(fields[3]);
	if (FileSystem::IsRemoteFile(result.path) && !tag.empty()) {
		// What its file system lists: it then compares the ETag with each answer.
		options["file_size"] = options[BYTES];
		options["last_modified"] = Value::TIMESTAMP(timestamp_t(BigIntValue::Get(fields[2])));
		options["etag"] = Value(Blob::FromBase64(string_t(tag)));
	}
	return result;
}

//! The files of a slice, with the rows they have.
class SliceFiles : public SimpleMultiFileList {
public:
	explicit SliceFiles(vector<OpenFileInfo> files) : SimpleMultiFileList(std::move(files)) {
	}

	unique_ptr<MultiFileList> Copy() const override {
		return make_uniq<SliceFiles>(paths);
	}
	unique_ptr<NodeStatistics> GetCardinality(ClientContext &context) const override {
		idx_t result = 0;
		for (auto &file : paths) {
			auto rows = BigIntValue::Get(file.extended_info->options.at(ROWS));
			if (rows < 0) {
				return nullptr;
			}
			result += NumericCast<idx_t>(rows);
		}
		return make_uniq<NodeStatistics>(result, result);
	}
};

class SliceReader : public MultiFileReader {
public:
	static unique_ptr<MultiFileReader> Create(const BoundTableFunction &function) {
		return make_uniq<SliceReader>();
	}

	unique_ptr<MultiFileReader> Copy() const override {
		auto result = make_uniq<SliceReader>();
		result->function_name = function_name;
		result->scan = scan;
		return std::move(result);
	}

	bool ParseOption(const Identifier &key, const Value &value, MultiFileOptions &options,
	                 ClientContext &context) override {
		if (key != SCAN) {
			return MultiFileReader::ParseOption(key, value, options, context);
		}
		scan = BoundScan::Read(context, StringValue::Get(value));
		return true;
	}

	vector<OpenFileInfo> ParseFileList(const Value &input) override {
		vector<OpenFileInfo> result;
		for (auto &file : ListValue::GetChildren(input)) {
			result.push_back(FileOf(file));
		}
		return result;
	}

	shared_ptr<MultiFileList> CreateFileList(ClientContext &context, vector<OpenFileInfo> files,
	                                         const FileGlobInput &) override {
		return make_shared_ptr<SliceFiles>(std::move(files));
	}

	bool Bind(MultiFileOptions &options, MultiFileList &files, vector<LogicalType> &types, vector<Identifier> &names,
	          MultiFileReaderBindData &bind_data) override {
		columns_are_given = MultiFileReader::Bind(options, files, types, names, bind_data) || !scan->sampled;
		return columns_are_given;
	}

	//! The columns of the scan, and which of them are generated.
	void BindOptions(MultiFileOptions &options, MultiFileList &files, vector<LogicalType> &types,
	                 vector<Identifier> &names, MultiFileReaderBindData &bind_data) override {
		if (!columns_are_given && !scan->Has(names, types)) {
			throw IOException("The columns of \"%s\" and the other files its scan looks at are not what they were when "
			                  "the query was planned",
			                  files.GetFirstFile().path);
		}
		options = scan->options;
		types = scan->types;
		names = StringsToIdentifiers(scan->names);
		bind_data.filename_idx = scan->reader.filename_idx;
		bind_data.file_row_number_idx = scan->reader.file_row_number_idx;
		bind_data.hive_partitioning_indexes = scan->reader.hive_partitioning_indexes;
	}

	using MultiFileReader::CreateMapping;
	ReaderInitializeType CreateMapping(ClientContext &context, MultiFileReaderData &reader,
	                                   const vector<MultiFileColumnDefinition> &columns,
	                                   const vector<ColumnIndex> &column_ids, optional_ptr<TableFilterSet> filters,
	                                   MultiFileList &files, const MultiFileReaderBindData &bind_data,
	                                   const virtual_column_map_t &virtual_columns,
	                                   MultiFileColumnMappingMode mode) override {
		SimpleMultiFileList first({OpenFileInfo(scan->first)});
		return MultiFileReader::CreateMapping(context, reader, columns, column_ids, filters, first, bind_data,
		                                      virtual_columns, mode);
	}

	shared_ptr<BaseFileReader> CreateReader(ClientContext &context, GlobalTableFunctionState &gstate,
	                                        BaseUnionData &union_data, const MultiFileBindData &bind_data) override {
		Opens(context, union_data.file);
		return Checked(MultiFileReader::CreateReader(context, gstate, union_data, bind_data), union_data.file);
	}
	shared_ptr<BaseFileReader> CreateReader(ClientContext &context, GlobalTableFunctionState &gstate,
	                                        const OpenFileInfo &file, idx_t index,
	                                        const MultiFileBindData &bind_data) override {
		Opens(context, file);
		return Checked(MultiFileReader::CreateReader(context, gstate, file, index, bind_data), file);
	}
	shared_ptr<BaseFileReader> CreateReader(ClientContext &context, const OpenFileInfo &file,
	                                        BaseFileReaderOptions &options, const MultiFileOptions &file_options,
	                                        MultiFileReaderInterface &interface) override {
		Opens(context, file);
		return Checked(MultiFileReader::CreateReader(context, file, options, file_options, interface), file);
	}

	//! DuckDB has statistics of the columns where a scan is of one file and has exactly its columns.
	void ReadStatistics(ClientContext &context, MultiFileBindData &bind_data) {
		if (scan->sampled || bind_data.file_list->GetTotalFileCount() != 1) {
			return;
		}
		auto &options = bind_data.bind_data->Cast<TableFunctionMultiFileData>().options;
		auto reader = CreateReader(context, bind_data.file_list->GetFirstFile(), options, bind_data.file_options,
		                           *bind_data.interface);
		vector<Identifier> names;
		vector<LogicalType> types;
		for (idx_t i = 0; i < reader->GetColumns().size(); i++) {
			if (scan->IsGenerated(i)) {
				return;
			}
			names.push_back(reader->GetColumns()[i].name);
			types.push_back(reader->GetColumns()[i].type);
		}
		if (scan->Has(names, types) && bind_data.reader_bind.schema.empty()) {
			bind_data.initial_reader = std::move(reader);
		}
	}

private:
	shared_ptr<const BoundScan> scan;
	bool columns_are_given = false;

	static void Opens(ClientContext &context, const OpenFileInfo &file) {
		auto version = VersionOf(file);
		version.Check(context);
		OpenedFiles::Add(context, version);
	}

	static shared_ptr<BaseFileReader> Checked(shared_ptr<BaseFileReader> reader, const OpenFileInfo &file) {
		auto expected = BigIntValue::Get(file.extended_info->options.at(ROWS));
		auto rows = expected < 0 ? optional_idx() : reader->Cast<TableFunctionFileReader>().GetCardinality();
		if (rows.IsValid() && rows.GetIndex() != NumericCast<idx_t>(expected)) {
			throw IOException("File \"%s\" is not what it was when the query was planned: it had %lld rows, and has "
			                  "%llu now. The files of a query must stay as they are while it runs",
			                  file.path, expected, rows.GetIndex());
		}
		return reader;
	}
};

TableFunction FunctionNamed(ClientContext &context, const string &name) {
	if (!SliceScan::IsParquet(name) && !SliceScan::IsText(name)) {
		throw BinderException("%s reads files by read_parquet, read_csv, read_json and their like, not by \"%s\"",
		                      SliceScan::NAME, name);
	}
	auto &entry = Catalog::GetSystemCatalog(context).GetEntry<TableFunctionCatalogEntry>(
	    context, QualifiedName(Identifier(SYSTEM_CATALOG), Identifier(DEFAULT_SCHEMA), Identifier(name)));
	auto result = *entry.functions.GetFunctionByOffset(0);
	result.get_multi_file_reader = SliceReader::Create;
	return result;
}

named_argument_map_t OptionsOf(ClientContext &context, const Value &description) {
	named_argument_map_t result;
	auto scan = BoundScan::Read(context, StringValue::Get(description));
	for (idx_t i = 0; i < scan->option_names.size(); i++) {
		result[Identifier(scan->option_names[i])] = scan->option_values[i];
	}
	result[Identifier(SCAN)] = description;
	return result;
}

void NotBound(ClientContext &context, TableFunctionInput &input, DataChunk &output) {
	throw InternalException("%s is read by the function it names", SliceScan::NAME);
}

//! From then on the call is one of the function it names, with another list of files.
unique_ptr<FunctionData> Bind(ClientContext &context, TableFunctionBindInput &input, vector<LogicalType> &types,
                              vector<Identifier> &names) {
	for (auto &argument : input.inputs) {
		if (argument.IsNull()) {
			throw BinderException("%s must not be called with NULL", SliceScan::NAME);
		}
	}
	BoundTableFunction function(FunctionNamed(context, StringValue::Get(input.inputs[0])));
	auto options = OptionsOf(context, input.inputs[2]);
	auto sample = input.named_parameters.find("sample");
	auto is_sampled = sample != input.named_parameters.end();
	vector<Value> files {is_sampled ? sample->second : input.inputs[1]};
	TableFunctionBindInput file_input(files, options, input.input_table_types, input.input_table_names,
	                                  function.function_info.get(), input.binder, function, input.ref);
	auto result = function.bind(context, file_input, types, names);
	auto &bind_data = result->Cast<MultiFileBindData>();
	auto &reader = dynamic_cast<SliceReader &>(*bind_data.multi_file_reader);
	if (is_sampled) {
		bind_data.file_list = reader.CreateFileList(context, reader.ParseFileList(input.inputs[1]),
		                                            FileGlobInput(FileGlobOptions::ALLOW_EMPTY));
		bind_data.union_readers.clear();
		bind_data.initial_reader.reset();
	}
	reader.ReadStatistics(context, bind_data);
	input.table_function = std::move(function);
	return result;
}

} // namespace

bool SliceScan::IsParquet(const string &function) {
	return function == "read_parquet" || function == "parquet_scan";
}

bool SliceScan::IsText(const string &function) {
	static const unordered_set<string> names {"read_csv",       "read_csv_auto", "read_json",
	                                          "read_json_auto", "read_ndjson",   "read_ndjson_auto"};
	return names.count(function) > 0;
}

string SliceScan::Describe(const LogicalGet &get, bool sampled) {
	auto &bind_data = get.bind_data->Cast<MultiFileBindData>();
	BoundScan scan;
	scan.names = IdentifiersToStrings(bind_data.names);
	scan.types = bind_data.types;
	for (auto &option : get.named_parameters) {
		scan.option_names.push_back(option.first.GetIdentifierName());
		scan.option_values.push_back(option.second);
	}
	scan.options = bind_data.file_options;
	scan.reader = bind_data.reader_bind;
	scan.sampled = sampled;
	scan.first = bind_data.file_list->GetFirstFile().path;
	return scan.Write();
}

Value SliceScan::FileValue(const FileVersion &version, optional_idx rows) {
	return Value::STRUCT({{"filename", Value(version.path)},
	                      {"bytes", Value::BIGINT(NumericCast<int64_t>(version.bytes))},
	                      {"changed", Value::BIGINT(version.changed.value)},
	                      {"tag", Value(version.tag)},
	                      {"rows", Value::BIGINT(rows.IsValid() ? NumericCast<int64_t>(rows.GetIndex()) : -1)}});
}

void SliceScan::Register(ExtensionLoader &loader) {
	auto files = LogicalType::LIST(FileType());
	TableFunction function(NAME, {LogicalType::VARCHAR, files, LogicalType::VARCHAR}, NotBound, Bind);
	function.GetSignature().WithTypedKwargs("options", [&](TypedKwargs &options) { options.Add("sample", files); });
	loader.RegisterFunction(function);
}

} // namespace merganser
