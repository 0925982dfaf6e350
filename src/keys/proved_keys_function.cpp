#include "keys/proved_keys_function.hpp"

#include "keys/proved_keys.hpp"

#include "duckdb/function/table_function.hpp"
#include "duckdb/main/extension/extension_loader.hpp"

namespace merganser {

namespace {

struct ProvedKeysState : public GlobalTableFunctionState {
	vector<shared_ptr<const ProvedKey>> keys;
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

unique_ptr<GlobalTableFunctionState> InitProvedKeys(ClientContext &context, TableFunctionInitInput &input) {
	auto result = make_uniq<ProvedKeysState>();
	result->keys = ProvedKeys::Get(context)->All();
	return std::move(result);
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

void ListProvedKeys(ClientContext &context, TableFunctionInput &input, DataChunk &output) {
	auto &state = input.global_state->Cast<ProvedKeysState>();
	idx_t count = 0;
	for (; count < STANDARD_VECTOR_SIZE && state.offset < state.keys.size(); count++) {
		auto row = RowOf(*state.keys[state.offset++]);
		for (idx_t column = 0; column < row.size(); column++) {
			output.data[column].Append(row[column]);
		}
	}
	output.SetChildCardinality(count);
}

} // namespace

void ProvedKeysFunction::Register(ExtensionLoader &loader) {
	loader.RegisterFunction(
	    TableFunction("merganser_proved_keys", vector<LogicalType>(), ListProvedKeys, BindProvedKeys, InitProvedKeys));
}

} // namespace merganser
