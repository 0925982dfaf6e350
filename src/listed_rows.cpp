#include "listed_rows.hpp"

namespace merganser {

namespace {

struct Position : public GlobalTableFunctionState {
	idx_t next = 0;
};

unique_ptr<GlobalTableFunctionState> Initialize(ClientContext &context, TableFunctionInitInput &input) {
	return make_uniq<Position>();
}

void Scan(ClientContext &context, TableFunctionInput &input, DataChunk &output) {
	ListedRows::Emit(input.bind_data->Cast<ListedRows>().rows, input.global_state->Cast<Position>().next, output);
}

} // namespace

TableFunction ListedRows::Function(const char *name, const vector<LogicalType> &arguments, table_function_bind_t bind) {
	return TableFunction(name, arguments, Scan, bind, Initialize);
}

void ListedRows::Emit(const vector<vector<Value>> &rows, idx_t &next, DataChunk &output) {
	idx_t count = 0;
	for (; next < rows.size() && count < STANDARD_VECTOR_SIZE; next++, count++) {
		for (idx_t column = 0; column < output.ColumnCount(); column++) {
			output.data[column].Append(rows[next][column]);
		}
	}
	output.SetChildCardinality(count);
}

} // namespace merganser
