#include "exchange/exchange_partitions.hpp"

#include "exchange/exchange_file.hpp"
#include "exchange/exchange_scan.hpp"
#include "listed_rows.hpp"

#include "duckdb/main/extension/extension_loader.hpp"

namespace merganser {

namespace {

unique_ptr<FunctionData> Bind(ClientContext &context, TableFunctionBindInput &input, vector<LogicalType> &types,
                              vector<Identifier> &names) {
	auto result = make_uniq<ListedRows>();
	auto files = ExchangeScan::FileList(input.inputs[0], ExchangePartitions::NAME);
	for (auto &size : ExchangeFiles::Of(FileSystem::GetFileSystem(context), files).partitions) {
		result->rows.push_back(
		    {Value::UBIGINT(result->rows.size()), Value::UBIGINT(size.rows), Value::UBIGINT(size.bytes)});
	}
	for (auto name : {"partition", "rows", "bytes"}) {
		names.emplace_back(name);
		types.push_back(LogicalType::UBIGINT);
	}
	return std::move(result);
}

} // namespace

void ExchangePartitions::Register(ExtensionLoader &loader) {
	loader.RegisterFunction(ListedRows::Function(NAME, {LogicalType::LIST(LogicalType::VARCHAR)}, Bind));
}

} // namespace merganser
