#include "exchange/exchange_scan.hpp"

#include "exchange/exchange_file.hpp"
#include "exchange/full_vectors.hpp"

#include "duckdb/function/table_function.hpp"
#include "duckdb/main/extension/extension_loader.hpp"

#include <atomic>

namespace merganser {

namespace {

struct PlacedBlock {
	idx_t file;
	ExchangeBlock block;
};

struct ExchangeScanData : public TableFunctionData {
	vector<string> files;
	//! Of each file.
	vector<uint64_t> identities;
	vector<LogicalType> types;
	vector<PlacedBlock> blocks;
	idx_t rows = 0;
	//! One thread hands on the blocks, in their order.
	bool ordered = false;
};

//! As many as DuckDB reads a table of so many rows with: rows that fit in one of its row groups come in their order.
idx_t MostThreads(const ExchangeScanData &data) {
	auto groups = (data.rows + DEFAULT_ROW_GROUP_SIZE - 1) / DEFAULT_ROW_GROUP_SIZE;
	return MaxValue<idx_t>(MinValue<idx_t>(groups, data.blocks.size()), 1);
}

struct ExchangeScanGlobalState : public GlobalTableFunctionState {
	explicit ExchangeScanGlobalState(const ExchangeScanData &data)
	    : blocks(data.blocks.size()), threads(data.ordered ? 1 : MostThreads(data)) {
	}
	idx_t MaxThreads() const override {
		return threads;
	}

	const idx_t blocks;
	const idx_t threads;
	vector<column_t> columns;
	std::atomic<idx_t> next {0};
};

//! Blocks come file after file, so a thread that is at a file has done with the one before.
struct ExchangeScanLocalState : public LocalTableFunctionState {
	unique_ptr<ExchangeFileReader> reader;
	//! The file it reads.
	idx_t file = 0;
	DataChunk rows;
	//! Of rows in their order.
	unique_ptr<FullVectors> vectors;
	idx_t block = 0;
};

void AddBlocks(ExchangeScanData &data, const ExchangeIndex &index, idx_t file, const set<idx_t> &partitions) {
	for (auto &block : index.blocks) {
		if (partitions.empty() || partitions.count(block.partition)) {
			data.blocks.push_back({file, block});
			data.rows += block.rows;
		}
	}
}

//! Shares first to last - 1 of so many even ones.
struct Consecutive {
	idx_t first = 0;
	idx_t last = 1;
	idx_t of = 1;
};

Consecutive ReadConsecutive(TableFunctionBindInput &input) {
	Consecutive result;
	auto entry = input.named_parameters.find("consecutive");
	if (entry == input.named_parameters.end()) {
		return result;
	}
	vector<idx_t> numbers;
	if (!entry->second.IsNull()) {
		for (auto &number : ListValue::GetChildren(entry->second)) {
			numbers.push_back(number.IsNull() ? 0 : number.GetValue<uint64_t>());
		}
	}
	if (numbers.size() != 3 || numbers[0] >= numbers[1] || numbers[1] > numbers[2]) {
		throw BinderException("consecutive of %s must be [first, last, of]: the shares from first to before last of so "
		                      "many even shares",
		                      ExchangeScan::NAME);
	}
	return {numbers[0], numbers[1], numbers[2]};
}

//! Leaves the blocks of these shares of all rows. A block belongs to the share its first row is in.
void KeepConsecutive(ExchangeScanData &data, const Consecutive &shares) {
	auto rows = MaxValue<idx_t>(data.rows, 1);
	idx_t before = 0;
	vector<PlacedBlock> kept;
	data.rows = 0;
	for (auto &placed : data.blocks) {
		auto share = before * shares.of / rows;
		before += placed.block.rows;
		if (share >= shares.first && share < shares.last) {
			kept.push_back(placed);
			data.rows += placed.block.rows;
		}
	}
	data.blocks = std::move(kept);
}

set<idx_t> ReadPartitions(TableFunctionBindInput &input) {
	set<idx_t> result;
	auto entry = input.named_parameters.find("partitions");
	if (entry == input.named_parameters.end()) {
		return result;
	}
	if (entry->second.IsNull() || ListValue::GetChildren(entry->second).empty()) {
		throw BinderException("partitions of %s must name at least one partition", ExchangeScan::NAME);
	}
	for (auto &partition : ListValue::GetChildren(entry->second)) {
		if (partition.IsNull()) {
			throw BinderException("partitions of %s must not contain NULL", ExchangeScan::NAME);
		}
		result.insert(partition.GetValue<uint64_t>());
	}
	return result;
}

//! One for each file, or none.
vector<uint64_t> ReadIdentities(TableFunctionBindInput &input, idx_t files) {
	vector<uint64_t> result;
	auto entry = input.named_parameters.find("identities");
	if (entry == input.named_parameters.end() || entry->second.IsNull()) {
		return result;
	}
	for (auto &identity : ListValue::GetChildren(entry->second)) {
		if (identity.IsNull()) {
			throw BinderException("identities of %s must not contain NULL", ExchangeScan::NAME);
		}
		result.push_back(identity.GetValue<uint64_t>());
	}
	if (result.size() != files) {
		throw BinderException("identities of %s must be one for each of the %llu files, not %llu", ExchangeScan::NAME,
		                      files, result.size());
	}
	return result;
}

unique_ptr<FunctionData> Bind(ClientContext &context, TableFunctionBindInput &input, vector<LogicalType> &types,
                              vector<Identifier> &names) {
	auto result = make_uniq<ExchangeScanData>();
	auto partitions = ReadPartitions(input);
	auto ordered = input.named_parameters.find("ordered");
	result->ordered =
	    ordered != input.named_parameters.end() && !ordered->second.IsNull() && BooleanValue::Get(ordered->second);
	auto files = ExchangeScan::FileList(input.inputs[0], ExchangeScan::NAME);
	auto expected = ReadIdentities(input, files.size());
	for (auto &path : files) {
		context.InterruptCheck();
		ExchangeFileReader reader(FileSystem::GetFileSystem(context), path);
		if (!expected.empty()) {
			reader.Verify(expected[result->files.size()]);
		}
		auto &index = reader.Index();
		if (result->files.empty()) {
			types = index.types;
			names = index.names;
		} else if (index.types != types) {
			throw BinderException(
			    "Exchange files \"%s\" and \"%s\" have different columns; read only files of one stage",
			    result->files[0], path);
		}
		AddBlocks(*result, index, result->files.size(), partitions);
		result->identities.push_back(reader.Identity());
		result->files.push_back(path);
	}
	KeepConsecutive(*result, ReadConsecutive(input));
	result->types = types;
	return std::move(result);
}

unique_ptr<GlobalTableFunctionState> InitializeGlobal(ClientContext &context, TableFunctionInitInput &input) {
	auto result = make_uniq<ExchangeScanGlobalState>(input.bind_data->Cast<ExchangeScanData>());
	result->columns = input.column_ids;
	return std::move(result);
}

unique_ptr<LocalTableFunctionState> InitializeLocal(ExecutionContext &context, TableFunctionInitInput &input,
                                                    GlobalTableFunctionState *) {
	auto &data = input.bind_data->Cast<ExchangeScanData>();
	auto result = make_uniq<ExchangeScanLocalState>();
	if (data.ordered) {
		result->vectors = make_uniq<FullVectors>(context.client, data.types);
	} else {
		result->rows.Initialize(context.client, data.types);
	}
	return std::move(result);
}

//! False after the last.
bool ReadNextBlock(ClientContext &context, TableFunctionInput &input, DataChunk &rows) {
	auto &data = input.bind_data->Cast<ExchangeScanData>();
	auto &lstate = input.local_state->Cast<ExchangeScanLocalState>();
	auto next = input.global_state->Cast<ExchangeScanGlobalState>().next++;
	if (next >= data.blocks.size()) {
		lstate.reader.reset();
		return false;
	}
	lstate.block = next;
	auto &placed = data.blocks[next];
	if (!lstate.reader || lstate.file != placed.file) {
		lstate.reader.reset();
		lstate.reader = make_uniq<ExchangeFileReader>(FileSystem::GetFileSystem(context), data.files[placed.file]);
		lstate.reader->Verify(data.identities[placed.file]);
		lstate.file = placed.file;
	}
	lstate.reader->ReadBlock(placed.block, rows);
	return true;
}

//! None after the last.
optional_ptr<DataChunk> ReadNextRows(ClientContext &context, TableFunctionInput &input) {
	auto &lstate = input.local_state->Cast<ExchangeScanLocalState>();
	if (!lstate.vectors) {
		return ReadNextBlock(context, input, lstate.rows) ? &lstate.rows : nullptr;
	}
	auto more = lstate.vectors->Next([&](DataChunk &block) { return ReadNextBlock(context, input, block); });
	return more ? &lstate.vectors->Rows() : nullptr;
}

void Scan(ClientContext &context, TableFunctionInput &input, DataChunk &output) {
	auto rows = ReadNextRows(context, input);
	if (!rows) {
		return;
	}
	auto &columns = input.global_state->Cast<ExchangeScanGlobalState>().columns;
	for (idx_t i = 0; i < columns.size(); i++) {
		if (columns[i] < rows->ColumnCount()) {
			output.data[i].Reference(rows->data[columns[i]]);
		} else {
			output.data[i].Reference(Value(output.data[i].GetType()), count_t(rows->size()));
		}
	}
	output.SetChildCardinality(rows->size());
}

OperatorPartitionData PartitionData(ClientContext &context, TableFunctionGetPartitionInput &input) {
	if (input.partition_info.RequiresPartitionColumns()) {
		throw InternalException("%s does not deliver partition columns", ExchangeScan::NAME);
	}
	return OperatorPartitionData(input.local_state->Cast<ExchangeScanLocalState>().block);
}

unique_ptr<NodeStatistics> Cardinality(ClientContext &context, const FunctionData *bind_data) {
	auto rows = bind_data->Cast<ExchangeScanData>().rows;
	return make_uniq<NodeStatistics>(rows, rows);
}

double Progress(ClientContext &context, const FunctionData *bind_data, const GlobalTableFunctionState *state) {
	auto &gstate = state->Cast<ExchangeScanGlobalState>();
	auto done = MinValue<idx_t>(gstate.next, gstate.blocks);
	return gstate.blocks == 0 ? 100.0 : 100.0 * static_cast<double>(done) / static_cast<double>(gstate.blocks);
}

} // namespace

vector<string> ExchangeScan::FileList(const Value &argument, const char *function) {
	if (argument.IsNull() || ListValue::GetChildren(argument).empty()) {
		throw BinderException("%s needs a list with at least one file", function);
	}
	vector<string> result;
	for (auto &file : ListValue::GetChildren(argument)) {
		if (file.IsNull()) {
			throw BinderException("The list of files of %s must not contain NULL", function);
		}
		result.push_back(file.GetValue<string>());
	}
	return result;
}

void ExchangeScan::Register(ExtensionLoader &loader) {
	TableFunction function(NAME, {LogicalType::LIST(LogicalType::VARCHAR)}, Scan, Bind, InitializeGlobal,
	                       InitializeLocal);
	function.GetSignature().WithTypedKwargs("options", [](TypedKwargs &options) {
		options.Add("partitions", LogicalType::LIST(LogicalType::UBIGINT));
		options.Add("ordered", LogicalType::BOOLEAN);
		options.Add("identities", LogicalType::LIST(LogicalType::UBIGINT));
		options.Add("consecutive", LogicalType::LIST(LogicalType::UBIGINT));
	});
	function.projection_pushdown = true;
	function.get_partition_data = PartitionData;
	function.cardinality = Cardinality;
	function.table_scan_progress = Progress;
	loader.RegisterFunction(function);
}

} // namespace merganser
