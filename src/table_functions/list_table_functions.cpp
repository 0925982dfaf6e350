#include "table_functions/list_table_functions.hpp"

#include "listed_rows.hpp"
#include "table_functions/table_function_registry.hpp"

#include "duckdb/main/extension/extension_loader.hpp"

namespace merganser {

namespace {

LogicalType ParameterType() {
	child_list_t<LogicalType> fields;
	fields.emplace_back("name", LogicalType::VARCHAR);
	fields.emplace_back("type", LogicalType::VARCHAR);
	fields.emplace_back("required", LogicalType::BOOLEAN);
	fields.emplace_back("default_value", LogicalType::VARCHAR);
	fields.emplace_back("allowed", LogicalType::VARCHAR);
	return LogicalType::STRUCT(std::move(fields));
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

unique_ptr<FunctionData> Bind(ClientContext &context, TableFunctionBindInput &input, vector<LogicalType> &types,
                              vector<Identifier> &names) {
	names = {"name", "description", "semantics", "parameters", "output", "preserves_order", "splittable"};
	types = {LogicalType::VARCHAR, LogicalType::VARCHAR, LogicalType::VARCHAR, LogicalType::LIST(ParameterType()),
	         LogicalType::VARCHAR, LogicalType::BOOLEAN, LogicalType::BOOLEAN};
	auto result = make_uniq<ListedRows>();
	for (auto &function : TableFunctionRegistry::Functions()) {
		result->rows.push_back({Value(function->name), Value(function->description),
		                        Value(function->semantics == TableSemantics::ROW ? "row" : "set"),
		                        Parameters(*function), Value(function->pass_through ? "pass_through" : "own_rows"),
		                        Value::BOOLEAN(function->preserves_order), Value::BOOLEAN(function->splittable)});
	}
	return std::move(result);
}

} // namespace

void ListTableFunctions::Register(ExtensionLoader &loader) {
	loader.RegisterFunction(ListedRows::Function("merganser_table_functions", {}, Bind));
}

} // namespace merganser
