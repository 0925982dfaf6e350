#include "grouping/table_function_binding.hpp"

#include "grouping/logical_table_function.hpp"
#include "table_functions/table_function_registry.hpp"

#include "duckdb/function/table_function.hpp"
#include "duckdb/main/extension/extension_loader.hpp"
#include "duckdb/parser/parsed_data/create_table_function_info.hpp"
#include "duckdb/parser/tableref/table_function_ref.hpp"
#include "duckdb/planner/expression/bound_columnref_expression.hpp"
#include "duckdb/planner/logical_operator_visitor.hpp"

namespace merganser {

namespace {

struct DefinitionInfo : public TableFunctionInfo {
	explicit DefinitionInfo(shared_ptr<const TableFunctionDefinition> definition_p)
	    : definition(std::move(definition_p)) {
	}
	shared_ptr<const TableFunctionDefinition> definition;
};

//! Turns what DuckDB passes to a bind callback into a TableArgument and named values.
class ArgumentReader {
public:
	ArgumentReader(const TableFunctionDefinition &definition, TableFunctionBindInput &input)
	    : function(definition.name), definition(definition), input(input) {
		for (idx_t i = 0; i < input.input_table_names.size(); i++) {
			table.names.push_back(input.input_table_names[i].GetIdentifierName());
		}
		table.types = input.input_table_types;
		ReadNamed();
		ReadPositional();
	}

	const string &function;
	const TableFunctionDefinition &definition;
	TableFunctionBindInput &input;
	TableArgument table;
	case_insensitive_map_t<Value> passed;

private:
	void ReadNamed() {
		for (auto &entry : input.named_parameters) {
			auto &name = entry.first;
			if (name == TableArgument::PARTITION_BY) {
				ReadPartition(entry.second);
			} else if (name == TableArgument::ORDER_BY) {
				ReadOrdering(entry.second);
			} else {
				passed[Parameter(name.GetIdentifierName()).name] = entry.second;
			}
		}
	}

	void ReadPositional() {
		auto positional = input.inputs.size() - 1;
		auto passed_count = positional + passed.size();
		if (passed_count > definition.parameters.size()) {
			throw BinderException("%s: Too many arguments. Expected at most %llu arguments, got %llu arguments",
			                      function, definition.parameters.size() + 1, passed_count + 1);
		}
		if (positional > 0 && !passed.empty()) {
			throw BinderException("%s: All arguments must be passed by name or all must be passed positionally",
			                      function);
		}
		for (idx_t i = 0; i < positional; i++) {
			passed[definition.parameters[i].name] = input.inputs[i + 1];
		}
	}

	const ParameterDefinition &Parameter(const string &name) const {
		vector<string> names {definition.table_parameter};
		for (auto &parameter : definition.parameters) {
			if (StringUtil::CIEquals(parameter.name, name)) {
				return parameter;
			}
			names.push_back(parameter.name);
		}
		if (StringUtil::CIEquals(definition.table_parameter, name)) {
			throw BinderException("%s: Invalid argument %s. Expected table argument, got expression", function,
			                      definition.table_parameter);
		}
		throw BinderException("%s: Unexpected argument name: %s. The arguments are: %s", function, name,
		                      StringUtil::Join(names, ", "));
	}

	vector<string> Texts(const char *argument, const Value &value) const {
		vector<string> result;
		if (value.IsNull()) {
			throw BinderException("%s: Invalid argument %s, should not be NULL", function, argument);
		}
		if (value.type().id() == LogicalTypeId::VARCHAR) {
			return {StringValue::Get(value)};
		}
		if (value.type().id() == LogicalTypeId::LIST) {
			for (auto &item : ListValue::GetChildren(value)) {
				if (item.IsNull() || item.type().id() != LogicalTypeId::VARCHAR) {
					throw BinderException("%s: Invalid argument %s. Expected column names, got %s", function, argument,
					                      item.ToString());
				}
				result.push_back(StringValue::Get(item));
			}
			return result;
		}
		throw BinderException("%s: Invalid argument %s. Expected a list of column names, got %s", function, argument,
		                      value.type().ToString());
	}

	bool FindColumn(const string &name, idx_t &column) const {
		auto found = false;
		for (idx_t i = 0; i < table.names.size(); i++) {
			if (StringUtil::CIEquals(table.names[i], name)) {
				column = i;
				found = true;
				break;
			}
		}
		return found;
	}

	[[noreturn]] void ThrowNoColumn(const string &name) const {
		throw BinderException("%s: Column %s is not present in the input relation, which has: %s", function, name,
		                      StringUtil::Join(table.names, ", "));
	}

	void ReadPartition(const Value &value) {
		if (definition.semantics == TableSemantics::ROW) {
			throw BinderException(
			    "%s: Invalid argument %s. Partitioning can not be specified for table argument with row "
			    "semantics",
			    function, definition.table_parameter);
		}
		for (auto &name : Texts(TableArgument::PARTITION_BY, value)) {
			idx_t column;
			if (!FindColumn(name, column)) {
				ThrowNoColumn(name);
			}
			auto &columns = table.partition_columns;
			if (std::find(columns.begin(), columns.end(), column) == columns.end()) {
				columns.push_back(column);
			}
		}
	}

	void ReadOrdering(const Value &value) {
		if (definition.semantics == TableSemantics::ROW) {
			throw BinderException(
			    "%s: Invalid argument %s. Ordering can not be specified for table argument with row semantics",
			    function, definition.table_parameter);
		}
		for (auto &text : Texts(TableArgument::ORDER_BY, value)) {
			auto item = ReadOrderItem(text);
			auto repeated = std::any_of(table.ordering.begin(), table.ordering.end(),
			                            [&](const OrderItem &other) { return other.column == item.column; });
			if (!repeated) {
				table.ordering.push_back(item);
			}
		}
	}

	//! "time", "time DESC", "time DESC NULLS FIRST"; a column whose name ends like that is taken as the column.
	OrderItem ReadOrderItem(const string &text) const {
		OrderItem item {0, OrderType::ASCENDING, OrderByNullType::NULLS_LAST};
		if (FindColumn(text, item.column)) {
			return item;
		}
		auto name = text;
		if (CutSuffix(name, " NULLS FIRST")) {
			item.null_order = OrderByNullType::NULLS_FIRST;
		} else {
			CutSuffix(name, " NULLS LAST");
		}
		if (CutSuffix(name, " DESC")) {
			item.direction = OrderType::DESCENDING;
		} else {
			CutSuffix(name, " ASC");
		}
		if (!FindColumn(name, item.column)) {
			ThrowNoColumn(name);
		}
		return item;
	}

	static bool CutSuffix(string &text, const string &suffix) {
		if (text.size() < suffix.size() || !StringUtil::CIEquals(text.substr(text.size() - suffix.size()), suffix)) {
			return false;
		}
		text = text.substr(0, text.size() - suffix.size());
		return true;
	}
};

vector<Identifier> UniqueNames(const LogicalTableFunction &function) {
	vector<Identifier> result;
	identifier_set_t taken;
	for (auto &output : function.outputs) {
		Identifier name(output.name);
		for (idx_t suffix = 1; !taken.insert(name).second; suffix++) {
			name = Identifier(output.name + "_" + to_string(suffix));
		}
		result.push_back(name);
	}
	return result;
}

class OuterColumns : public LogicalOperatorVisitor {
public:
	optional_ptr<const BoundColumnRefExpression> found;

protected:
	unique_ptr<Expression> VisitReplace(BoundColumnRefExpression &expression, unique_ptr<Expression> *) override {
		if (expression.Depth() > 0) {
			found = expression;
		}
		return nullptr;
	}
};

void RefuseOuterColumns(const string &function, LogicalOperator &input) {
	OuterColumns outer;
	outer.VisitOperator(input);
	if (outer.found) {
		throw BinderException(
		    "%s: the table argument refers to column %s of another table (LATERAL), which is not supported", function,
		    outer.found->GetName().GetIdentifierName());
	}
}

unique_ptr<LogicalOperator> BindCall(ClientContext &context, TableFunctionBindInput &input, TableIndex bind_index,
                                     vector<Identifier> &return_names) {
	auto &definition = *input.info->Cast<DefinitionInfo>().definition;
	if (!input.input_plan || !*input.input_plan) {
		throw BinderException("%s: Missing required argument: %s", definition.name, definition.table_parameter);
	}
	if (input.ref.with_ordinality == OrdinalityType::WITH_ORDINALITY) {
		throw BinderException("%s: WITH ORDINALITY is not supported; use row_number() OVER ()", definition.name);
	}
	RefuseOuterColumns(definition.name, **input.input_plan);
	ArgumentReader reader(definition, input);
	BoundArguments arguments(definition.name, definition.parameters, reader.table, reader.passed);
	shared_ptr<BoundProcessor> bound(definition.Bind(context, arguments));
	auto result = make_uniq<LogicalTableFunction>(context, bind_index, definition, std::move(bound), reader.table,
	                                              std::move(reader.passed), std::move(*input.input_plan));
	return_names = UniqueNames(*result);
	auto &aliases = input.ref.column_name_alias;
	if (aliases.size() > return_names.size()) {
		throw BinderException("%s: %llu column aliases for %llu columns", definition.name, aliases.size(),
		                      return_names.size());
	}
	std::copy(aliases.begin(), aliases.end(), return_names.begin());
	for (idx_t i = 0; i < return_names.size(); i++) {
		result->outputs[i].name = return_names[i].GetIdentifierName();
	}
	return std::move(result);
}

} // namespace

void TableFunctionBinding::Register(ExtensionLoader &loader) {
	for (auto &definition : TableFunctionRegistry::Functions()) {
		TableFunction function(Identifier(StringUtil::Lower(definition->name)), {LogicalType::TABLE}, nullptr);
		function.GetSignature().AddArgs("args", LogicalType::ANY);
		function.GetSignature().AddKwargs("kwargs", LogicalType::ANY);
		function.bind_operator = BindCall;
		function.function_info = make_shared_ptr<DefinitionInfo>(definition);
		CreateTableFunctionInfo info(function);
		info.on_conflict = OnCreateConflict::ERROR_ON_CONFLICT;
		FunctionDescription description;
		description.description = definition->description;
		info.descriptions.push_back(std::move(description));
		loader.RegisterFunction(std::move(info));
	}
}

} // namespace merganser
