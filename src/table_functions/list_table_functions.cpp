#include "table_functions/list_table_functions.hpp"

#include "table_functions/table_function_registry.hpp"

#include "duckdb/function/table_function.hpp"
#include "duckdb/main/extension/extension_loader.hpp"

namespace merganser {

namespace {

struct ListState : public GlobalTableFunctionState {
	idx_t next = 0;
};

LogicalType ParameterType() {
	child_list_t<LogicalType> fields;
	fields.emplace_back("name", LogicalType::VARCHAR);
	fields.emplace_back("type", LogicalType::VARCHAR);
	fields.emplace_back("required", LogicalType::BOOLEAN);
	fields.emplace_back("default_value", LogicalType::VARCHAR);
	fields.emplace_back("allowed", LogicalType::VARCHAR);
	return LogicalType::STRUCT(std::move(fields));
}

unique_ptr<FunctionData> Bind(ClientContext &context, TableFunctionBindInput &input, vector<LogicalType> &types,
                              vector<Identifier> &names) {
	names = {"name", "description", "semantics", "parameters", "output", "preserves_order", "splittable"};
	types = {LogicalType::VARCHAR, LogicalType::VARCHAR, LogicalType::VARCHAR, LogicalType::LIST(ParameterType()),
	         LogicalType::VARCHAR, LogicalType::BOOLEAN, LogicalType::BOOLEAN};
	return nullptr;
}

unique_ptr<GlobalTableFunctionState> Init(ClientContext &context, TableFunctionInitInput &input) {
	return make_uniq<ListState>();
}

Value Allowed(const ParameterDefinition &parameter) {
	if (!parameter.allowed.empty()) {
		return Value(StringUtil::Join(parameter.allowed, ", "));
	}
	if (parameter.positive) {
		return Value("positive");
	}
	return parameter.non_negative ? Value("non-negative") : Value(LogicalType::VARCHAR);
}

Value Parameter(const string &name, const string &type, bool required, Value default_value, Value allowed) {
	return Value::STRUCT(ParameterType(), {Value(name), Value(type), Value::BOOLEAN(required), std::move(default_value),
	                                       std::move(allowed)});
}

Value Parameters(const TableFunctionDefinition &function) {
	vector<Value> result;
	result.push_back(
	    Parameter(function.table_parameter, "TABLE", true, Value(LogicalType::VARCHAR), Value(LogicalType::VARCHAR)));
	for (auto &parameter : function.parameters) {
		auto default_value =
		    parameter.default_value.IsNull() ? Value(LogicalType::VARCHAR) : Value(parameter.default_value.ToString());
		result.push_back(
		    Parameter(parameter.name, parameter.TypeName(), parameter.required, default_value, Allowed(parameter)));
	}
	return Value::LIST(ParameterType(), std::move(result));
}

void Execute(ClientContext &context, TableFunctionInput &input, DataChunk &output) {
	auto &state = input.global_state->Cast<ListState>();
	auto &functions = TableFunctionRegistry::Functions();
	idx_t row = 0;
	for (; state.next < functions.size() && row < STANDARD_VECTOR_SIZE; state.next++, row++) {
		auto &function = *functions[state.next];
		output.data[0].Append(Value(function.name));
		output.data[1].Append(Value(function.description));
		output.data[2].Append(Value(function.semantics == TableSemantics::ROW ? "row" : "set"));
		output.data[3].Append(Parameters(function));
		output.data[4].Append(Value(function.pass_through ? "pass_through" : "own_rows"));
		output.data[5].Append(Value::BOOLEAN(function.preserves_order));
		output.data[6].Append(Value::BOOLEAN(function.splittable));
	}
	output.CheckCardinality(row);
}

} // namespace

void ListTableFunctions::Register(ExtensionLoader &loader) {
	loader.RegisterFunction(TableFunction("merganser_table_functions", {}, Execute, Bind, Init));
}

} // namespace merganser
