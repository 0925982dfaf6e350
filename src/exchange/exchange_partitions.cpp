#include "exchange/exchange_partitions.hpp"

#include "exchange/exchange_file.hpp"

#include "duckdb/function/table_function.hpp"
#include "duckdb/main/extension/extension_loader.hpp"

namespace merganser {

namespace {

struct PartitionsData : public TableFunctionData {
	vector<PartitionSize> sizes;
};

struct PartitionsState : public GlobalTableFunctionState {
	idx_t next = 0;
};

void AddSizes(vector<PartitionSize> &sizes, const vector<PartitionSize> &of_file, const string &path) {
	if (sizes.empty()) {
		sizes.resize(of_file.size());
	}
	if (sizes.size() != of_file.size()) {
		throw BinderException("Exchange file \"%s\" has %llu partitions, those before it in the list have %llu; give "
		                      "only files of one stage",
		                      path, of_file.size(), sizes.size());
	}
	for (idx_t i = 0; i < sizes.size(); i++) {
		sizes[i].rows += of_file[i].rows;
		sizes[i].bytes += of_file[i].bytes;
	}
}

unique_ptr<FunctionData> Bind(ClientContext &context, TableFunctionBindInput &input, vector<LogicalType> &types,
                              vector<Identifier> &names) {
	if (input.inputs[0].IsNull() || ListValue::GetChildren(input.inputs[0]).empty()) {
		throw BinderException("%s needs a list with at least one file", ExchangePartitions::NAME);
	}
	auto result = make_uniq<PartitionsData>();
	for (auto &file : ListValue::GetChildren(input.inputs[0])) {
		if (file.IsNull()) {
			throw BinderException("The list of files of %s must not contain NULL", ExchangePartitions::NAME);
		}
		auto path = file.GetValue<string>();
		ExchangeFileReader reader(FileSystem::GetFileSystem(context), path);
		AddSizes(result->sizes, reader.Index().Sizes(), path);
	}
	for (auto name : {"partition", "rows", "bytes"}) {
		names.emplace_back(name);
		types.push_back(LogicalType::UBIGINT);
	}
	return std::move(result);
}

unique_ptr<GlobalTableFunctionState> Initialize(ClientContext &context, TableFunctionInitInput &input) {
	return make_uniq<PartitionsState>();
}

void Scan(ClientContext &context, TableFunctionInput &input, DataChunk &output) {
	auto &sizes = input.bind_data->Cast<PartitionsData>().sizes;
	auto &next = input.global_state->Cast<PartitionsState>().next;
	idx_t count = 0;
	for (; next < sizes.size() && count < STANDARD_VECTOR_SIZE; next++, count++) {
		output.data[0].Append(Value::UBIGINT(next));
		output.data[1].Append(Value::UBIGINT(sizes[next].rows));
		output.data[2].Append(Value::UBIGINT(sizes[next].bytes));
	}
	output.SetChildCardinality(count);
}

} // namespace

void ExchangePartitions::Register(ExtensionLoader &loader) {
	TableFunction function(NAME, {LogicalType::LIST(LogicalType::VARCHAR)}, Scan, Bind, Initialize);
	loader.RegisterFunction(function);
}

} // namespace merganser
