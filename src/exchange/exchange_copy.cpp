#include "exchange/exchange_copy.hpp"

#include "exchange/exchange_compression.hpp"
#include "exchange/partitioned_rows.hpp"
#include "file_version.hpp"

#include "duckdb/catalog/catalog.hpp"
#include "duckdb/catalog/catalog_entry/copy_function_catalog_entry.hpp"
#include "duckdb/common/serializer/deserializer.hpp"
#include "duckdb/common/serializer/serializer.hpp"
#include "duckdb/function/copy_function.hpp"
#include "duckdb/main/extension/extension_loader.hpp"
#include "duckdb/main/query_result.hpp"
#include "duckdb/parser/statement/copy_statement.hpp"
#include "duckdb/planner/binder.hpp"
#include "duckdb/planner/operator/logical_copy_to_file.hpp"

#include <mutex>

namespace merganser {

namespace {

const char *const FORMAT_NAME = ExchangeCopy::NAME;
const idx_t MOST_PARTITIONS = 65536;

struct ExchangeCopyData : public TableFunctionData {
	vector<Identifier> names;
	vector<LogicalType> types;
	vector<idx_t> keys;
	idx_t partitions = 1;
	optional_idx number;
	bool compress = false;
	//! Whatever DuckDB knows of the order of the rows, one thread writes them as they come.
	bool preserve_order = false;

	unique_ptr<FunctionData> Copy() const override {
		auto result = make_uniq<ExchangeCopyData>();
		result->names = names;
		result->types = types;
		result->keys = keys;
		result->partitions = partitions;
		result->number = number;
		result->compress = compress;
		result->preserve_order = preserve_order;
		return std::move(result);
	}
};

//! DuckDB makes a local state for every chunk. The rows collected for each partition stay here between chunks, so that
//! blocks are full; while one thread writes there is one collection, and the file is in the order of the rows.
class ExchangeCopyGlobalState : public GlobalFunctionData {
public:
	ExchangeCopyGlobalState(ClientContext &context, const ExchangeCopyData &data, const string &path)
	    // After an error, DuckDB's threads may drop this when the connection and its file system are gone already.
	    : file(FileSystem::GetFileSystem(*context.db), path, data.names, data.types, data.partitions, data.compress) {
	}

	ExchangeFileWriter file;

	//! Of this thread until it gives them back.
	unique_ptr<PartitionedRows> Take(ClientContext &context, const ExchangeCopyData &data) {
		std::lock_guard<std::mutex> guard(lock);
		if (collected.empty()) {
			return make_uniq<PartitionedRows>(context, data.types, data.keys, data.partitions, data.number);
		}
		auto result = std::move(collected.back());
		collected.pop_back();
		return result;
	}
	void GiveBack(unique_ptr<PartitionedRows> rows) {
		std::lock_guard<std::mutex> guard(lock);
		collected.push_back(std::move(rows));
	}
	void Flush() {
		for (auto &rows : collected) {
			rows->Flush(file);
		}
	}

private:
	std::mutex lock;
	vector<unique_ptr<PartitionedRows>> collected;
};

struct ExchangeCopyLocalState : public LocalFunctionData {
	unique_ptr<PartitionedRows> rows;
};

idx_t FindColumn(const char *option, const vector<Identifier> &names, const Identifier &name) {
	for (idx_t i = 0; i < names.size(); i++) {
		if (names[i] == name) {
			return i;
		}
	}
	throw BinderException("%s of FORMAT %s names the column \"%s\", which the query does not return", option,
	                      FORMAT_NAME, name.GetIdentifierName());
}

idx_t ReadPartitions(ClientContext &context, const vector<Value> &values) {
	if (values.size() == 1) {
		auto value = values[0].DefaultCastAs(LogicalType::BIGINT);
		if (!value.IsNull() && value.GetValue<int64_t>() >= 1 &&
		    value.GetValue<int64_t>() <= NumericCast<int64_t>(MOST_PARTITIONS)) {
			return NumericCast<idx_t>(value.GetValue<int64_t>());
		}
	}
	throw BinderException("PARTITIONS of FORMAT %s must be one number from 1 to %llu", FORMAT_NAME, MOST_PARTITIONS);
}

void ReadKeys(ExchangeCopyData &data, const vector<Value> &values) {
	for (auto &value : values) {
		if (value.type().id() == LogicalTypeId::LIST) {
			ReadKeys(data, ListValue::GetChildren(value));
			continue;
		}
		data.keys.push_back(FindColumn("PARTITION_BY", data.names, Identifier(value.ToString())));
	}
}

idx_t ReadNumberColumn(const vector<Identifier> &names, const vector<LogicalType> &types, const vector<Value> &values) {
	if (values.size() == 1 && values[0].type().id() == LogicalTypeId::LIST) {
		return ReadNumberColumn(names, types, ListValue::GetChildren(values[0]));
	}
	if (values.size() != 1) {
		throw BinderException("PARTITION_NUMBER of FORMAT %s must be one column", FORMAT_NAME);
	}
	auto result = FindColumn("PARTITION_NUMBER", names, Identifier(values[0].ToString()));
	if (types[result] != LogicalType::BIGINT) {
		throw BinderException("PARTITION_NUMBER of FORMAT %s must be a column of type BIGINT, not %s", FORMAT_NAME,
		                      types[result].ToString());
	}
	return result;
}

unique_ptr<ExchangeCopyData> ReadOptions(ClientContext &context, const CopyInfo &info, const vector<Identifier> &names,
                                         const vector<LogicalType> &types) {
	auto result = make_uniq<ExchangeCopyData>();
	result->names = names;
	result->types = types;
	result->compress = ExchangeCompression::IsOn(context);
	for (auto &option : info.options) {
		if (option.first == "partition_by") {
			ReadKeys(*result, option.second);
		} else if (option.first == "partitions") {
			result->partitions = ReadPartitions(context, option.second);
		} else if (option.first == "partition_number") {
			result->number = ReadNumberColumn(names, types, option.second);
		} else if (option.first == "compression") {
			auto name = option.second.empty() ? string() : option.second[0].ToString();
			result->compress = ExchangeCompression::IsOn(name, string("COMPRESSION of FORMAT ") + FORMAT_NAME);
		} else if (option.first == "preserve_order") {
			result->preserve_order = option.second.empty() || option.second[0].GetValue<bool>();
		} else {
			throw BinderException(
			    "FORMAT %s has no option \"%s\"; it knows COMPRESSION, PARTITION_BY, PARTITION_NUMBER, PARTITIONS and "
			    "PRESERVE_ORDER",
			    FORMAT_NAME, option.first.GetIdentifierName());
		}
	}
	return result;
}

//! DuckDB reads PARTITION_BY as a folder per value; here it means a hash, so the statement is planned here.
BoundStatement Plan(Binder &binder, CopyStatement &statement) {
	auto &info = *statement.info;
	auto query = info.select_statement->Copy();
	auto select = binder.Bind(*query);
	auto names = select.names;
	QueryResult::DeduplicateColumns(names);
	auto data = ReadOptions(binder.context, info, names, select.types);

	auto &entry = Catalog::GetSystemCatalog(binder.context)
	                  .GetEntry<CopyFunctionCatalogEntry>(binder.context, QualifiedName(Identifier(SYSTEM_CATALOG),
	                                                                                    Identifier(DEFAULT_SCHEMA),
	                                                                                    Identifier(FORMAT_NAME)));
	auto path = info.file_path;
	auto preserve_order = data->preserve_order ? PreserveOrderType::PRESERVE_ORDER : PreserveOrderType::AUTOMATIC;
	auto copy = make_uniq<LogicalCopyToFile>(entry.function, std::move(data), std::move(statement.info),
	                                         binder.GenerateTableIndex());
	copy->file_path = path;
	copy->use_tmp_file = false;
	copy->overwrite_mode = CopyOverwriteMode::COPY_OVERWRITE_OR_IGNORE;
	copy->per_thread_output = false;
	copy->preserve_order = preserve_order;
	copy->rotate = false;
	copy->return_type = CopyFunctionReturnType::CHANGED_ROWS;
	copy->partition_output = false;
	copy->write_partition_columns = true;
	copy->names = std::move(names);
	copy->expected_types = select.types;
	copy->AddChild(std::move(select.plan));

	binder.GetStatementProperties().return_type = StatementReturnType::CHANGED_ROWS;
	BoundStatement result;
	result.names = GetCopyFunctionReturnNames(copy->return_type);
	result.types = GetCopyFunctionReturnLogicalTypes(copy->return_type);
	result.plan = std::move(copy);
	return result;
}

//! DuckDB copies plans by writing and reading them, for example under debug_verify_serializer.
void Serialize(Serializer &serializer, const FunctionData &bind_data, const CopyFunction &) {
	auto &data = bind_data.Cast<ExchangeCopyData>();
	serializer.WriteProperty(100, "names", data.names);
	serializer.WriteProperty(101, "types", data.types);
	serializer.WriteProperty(102, "keys", data.keys);
	serializer.WriteProperty(103, "partitions", data.partitions);
	serializer.WriteProperty(104, "number", data.number);
	serializer.WriteProperty(105, "compress", data.compress);
	serializer.WriteProperty(106, "preserve_order", data.preserve_order);
}

unique_ptr<FunctionData> Deserialize(Deserializer &deserializer, CopyFunction &) {
	auto result = make_uniq<ExchangeCopyData>();
	result->names = deserializer.ReadProperty<vector<Identifier>>(100, "names");
	result->types = deserializer.ReadProperty<vector<LogicalType>>(101, "types");
	result->keys = deserializer.ReadProperty<vector<idx_t>>(102, "keys");
	result->partitions = deserializer.ReadProperty<idx_t>(103, "partitions");
	result->number = deserializer.ReadProperty<optional_idx>(104, "number");
	result->compress = deserializer.ReadProperty<bool>(105, "compress");
	result->preserve_order = deserializer.ReadProperty<bool>(106, "preserve_order");
	return std::move(result);
}

unique_ptr<GlobalFunctionData> InitializeGlobal(ClientContext &context, FunctionData &bind_data, const string &path) {
	return make_uniq<ExchangeCopyGlobalState>(context, bind_data.Cast<ExchangeCopyData>(), path);
}

unique_ptr<LocalFunctionData> InitializeLocal(ExecutionContext &context, FunctionData &bind_data) {
	return make_uniq<ExchangeCopyLocalState>();
}

void Sink(ExecutionContext &context, FunctionData &bind_data, GlobalFunctionData &gstate, LocalFunctionData &lstate,
          DataChunk &input) {
	auto &global = gstate.Cast<ExchangeCopyGlobalState>();
	auto &rows = lstate.Cast<ExchangeCopyLocalState>().rows;
	if (!rows) {
		rows = global.Take(context.client, bind_data.Cast<ExchangeCopyData>());
	}
	rows->Append(input, global.file);
}

void Combine(ExecutionContext &context, FunctionData &bind_data, GlobalFunctionData &gstate,
             LocalFunctionData &lstate) {
	auto &rows = lstate.Cast<ExchangeCopyLocalState>().rows;
	if (rows) {
		gstate.Cast<ExchangeCopyGlobalState>().GiveBack(std::move(rows));
	}
}

void Finalize(ClientContext &context, FunctionData &bind_data, GlobalFunctionData &gstate) {
	auto &global = gstate.Cast<ExchangeCopyGlobalState>();
	global.Flush();
	auto &file = global.file;
	auto &data = bind_data.Cast<ExchangeCopyData>();
	if (data.keys.empty() && !data.number.IsValid()) {
		file.SpreadBlocks();
	}
	OpenedFiles::Check(context); // only now: rows of another version must not count
	file.Finish();
}

CopyFunctionExecutionMode ExecutionMode(bool preserve_insertion_order, bool supports_batch_index) {
	return preserve_insertion_order ? CopyFunctionExecutionMode::REGULAR_COPY_TO_FILE
	                                : CopyFunctionExecutionMode::PARALLEL_COPY_TO_FILE;
}

} // namespace

void ExchangeCopy::Register(ExtensionLoader &loader) {
	CopyFunction function(FORMAT_NAME);
	function.plan = Plan;
	function.copy_to_initialize_global = InitializeGlobal;
	function.copy_to_initialize_local = InitializeLocal;
	function.copy_to_sink = Sink;
	function.copy_to_combine = Combine;
	function.copy_to_finalize = Finalize;
	function.execution_mode = ExecutionMode;
	function.serialize = Serialize;
	function.deserialize = Deserialize;
	function.extension = "exchange";
	loader.RegisterFunction(function);
}

} // namespace merganser
