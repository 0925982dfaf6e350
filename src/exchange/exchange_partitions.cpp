#include "exchange/exchange_partitions.hpp"

#include "exchange/exchange_file.hpp"
#include "exchange/exchange_scan.hpp"

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

unique_ptr<FunctionData> Bind(ClientContext &context, TableFunctionBindInput &input, vector<LogicalType> &types,
                              vector<Identifier> &names) {
	auto result = make_uniq<PartitionsData>();
	auto files = ExchangeScan::FileList(input.inputs[0], ExchangePartitions::NAME);
	result->sizes = ExchangeFiles::Of(FileSystem::GetFileSystem(context), files).partitions;
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
