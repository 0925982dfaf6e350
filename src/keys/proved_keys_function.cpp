#include "keys/proved_keys_function.hpp"

#include "keys/proved_keys.hpp"
#include "listed_rows.hpp"

#include "duckdb/main/extension/extension_loader.hpp"

namespace merganser {

namespace {

struct ProvedKeysState : public GlobalTableFunctionState {
	vector<vector<Value>> rows;
	idx_t offset = 0;
};

unique_ptr<FunctionData> BindProvedKeys(ClientContext &context, TableFunctionBindInput &input,
                                        vector<LogicalType> &types, vector<Identifier> &names) {
	types = {LogicalType::VARCHAR, LogicalType::LIST(LogicalType::VARCHAR),
	         LogicalType::BOOLEAN, LogicalType::VARCHAR,
	         LogicalType::UBIGINT, LogicalType::VARCHAR,
	         LogicalType::DOUBLE,  LogicalType::TIMESTAMP_TZ};
	names = {"relation", "columns", "holds", "found", "rows", "seen", "milliseconds", "taken_at"};
	return nullptr;
}

vector<Value> RowOf(const ProvedKey &key) {
	vector<Value> columns;
	for (auto &column : key.columns) {
		columns.emplace_back(column);
	}
	return {Value(key.relation),
	        Value::LIST(LogicalType::VARCHAR, std::move(columns)),
	        Value::BOOLEAN(key.proof.Holds()),
	        Value(key.proof.ToString()),
	        Value::UBIGINT(key.proof.rows),
	        Value(key.seen->ToString()),
	        Value::DOUBLE(key.proof.milliseconds),
	        Value::TIMESTAMPTZ(timestamp_tz_t(key.taken.value))};
}

unique_ptr<GlobalTableFunctionState> InitProvedKeys(ClientContext &context, TableFunctionInitInput &input) {
	auto result = make_uniq<ProvedKeysState>();
	for (auto &key : ProvedKeys::Get(context)->All()) {
		result->rows.push_back(RowOf(*key));
	}
	return std::move(result);
}

void ListProvedKeys(ClientContext &context, TableFunctionInput &input, DataChunk &output) {
	auto &state = input.global_state->Cast<ProvedKeysState>();
	ListedRows::Emit(state.rows, state.offset, output);
}

} // namespace

void ProvedKeysFunction::Register(ExtensionLoader &loader) {
	loader.RegisterFunction(
	    TableFunction("merganser_proved_keys", vector<LogicalType>(), ListProvedKeys, BindProvedKeys, InitProvedKeys));
}

} // namespace merganser
