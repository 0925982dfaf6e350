#include "declarations/declare_functions.hpp"

#include "declarations/declaration_binding.hpp"
#include "declarations/declaration_change.hpp"
#include "declarations/declaration_store.hpp"

#include "duckdb/main/extension/extension_loader.hpp"
#include "duckdb/parser/tableref/table_function_ref.hpp"
#include "duckdb/planner/binder.hpp"

namespace merganser {

namespace {

struct DeclareBindData : public TableFunctionData {
	explicit DeclareBindData(DeclarationChange change)
	    : change(make_shared_ptr<const DeclarationChange>(std::move(change))) {
	}

	shared_ptr<const DeclarationChange> change;
};

struct DeclareState : public GlobalTableFunctionState {
	bool done = false;
};

unique_ptr<GlobalTableFunctionState> InitDeclare(ClientContext &context, TableFunctionInitInput &input) {
	return make_uniq<DeclareState>();
}

void Declare(ClientContext &context, TableFunctionInput &input, DataChunk &output) {
	auto &state = input.global_state->Cast<DeclareState>();
	if (!state.done) {
		input.bind_data->Cast<DeclareBindData>().change->Apply(context);
		state.done = true;
	}
}

//! The arguments of one call, with errors that name the function and the argument.
class Call {
public:
	Call(ClientContext &context, TableFunctionBindInput &input, const char *function)
	    : context(context), input(input), function(function) {
	}

	string Text(idx_t position, const char *argument) const {
		auto &value = input.inputs[position];
		if (value.IsNull()) {
			throw BinderException(input.ref, "%s: %s cannot be NULL", function, argument);
		}
		return StringValue::Get(value);
	}

	vector<string> Names(idx_t position, const char *argument) const {
		return Names(input.inputs[position], argument);
	}

	vector<string> NamedNames(const char *argument) const {
		auto entry = input.named_parameters.find(argument);
		bool given = entry != input.named_parameters.end() && !entry->second.IsNull();
		return given ? Names(entry->second, argument) : vector<string>();
	}

	idx_t Count() const {
		return input.inputs.size();
	}

	QualifiedName Object(idx_t position, const char *argument) const {
		return QualifiedName::Parse(Text(position, argument));
	}

	BinderException Error(const string &message) const {
		return BinderException(input.ref, "%s: %s", function, message);
	}

	CatalogEntry &Find(const QualifiedName &name) const {
		auto object = DeclarationStore::Find(context, name);
		if (!object) {
			throw Error("there is no table or view " + name.ToString());
		}
		return *object;
	}

	unique_ptr<FunctionData> Change(CatalogEntry &object, vector<Declaration> declarations,
	                                vector<LogicalType> &return_types, vector<Identifier> &names) const {
		return_types = {LogicalType::BOOLEAN};
		names = {"Success"};
		if (!DeclarationStore::KeptInSession(object)) {
			input.binder->GetStatementProperties().RegisterDBModify(object.ParentCatalog(), context,
			                                                        DatabaseModificationType::ALTER_TABLE);
		}
		DeclarationChange change;
		change.objects.push_back({DeclarationStore::NameOf(object), std::move(declarations)});
		return make_uniq<DeclareBindData>(std::move(change));
	}

	vector<Declaration> Apply(CatalogEntry &object, DeclarationAction action, Declaration stated) const {
		return DeclarationBinding(context, object, input.ref.query_location).Apply(action, std::move(stated));
	}

private:
	//! A list of names, or one name.
	vector<string> Names(const Value &names, const char *argument) const {
		if (names.IsNull()) {
			throw BinderException(input.ref, "%s: %s cannot be NULL", function, argument);
		}
		if (names.type().id() == LogicalTypeId::VARCHAR) {
			return {StringValue::Get(names)};
		}
		auto list = names.DefaultTryCastAs(LogicalType::LIST(LogicalType::VARCHAR));
		if (!list || !names.type().IsNested()) {
			throw BinderException(input.ref, "%s: %s is a name or a list of names, not %s", function, argument,
			                      names.ToSQLString());
		}
		vector<string> result;
		for (auto &item : ListValue::GetChildren(*list)) {
			if (item.IsNull()) {
				throw BinderException(input.ref, "%s: %s cannot contain NULL", function, argument);
			}
			result.push_back(StringValue::Get(item));
		}
		return result;
	}

	ClientContext &context;
	TableFunctionBindInput &input;
	const char *function;
};

unique_ptr<FunctionData> DeclareColumns(Call call, DeclarationKind kind, vector<LogicalType> &types,
                                        vector<Identifier> &names) {
	auto &object = call.Find(call.Object(0, "object"));
	Declaration declaration;
	declaration.kind = kind;
	declaration.columns = call.Names(1, "columns");
	return call.Change(object, call.Apply(object, DeclarationAction::ADD, std::move(declaration)), types, names);
}

unique_ptr<FunctionData> BindDeclareKey(ClientContext &context, TableFunctionBindInput &input,
                                        vector<LogicalType> &types, vector<Identifier> &names) {
	return DeclareColumns(Call(context, input, "merganser_declare_key"), DeclarationKind::PRIMARY_KEY, types, names);
}

unique_ptr<FunctionData> BindDeclareUnique(ClientContext &context, TableFunctionBindInput &input,
                                           vector<LogicalType> &types, vector<Identifier> &names) {
	return DeclareColumns(Call(context, input, "merganser_declare_unique"), DeclarationKind::UNIQUE, types, names);
}

unique_ptr<FunctionData> BindDeclareForeignKey(ClientContext &context, TableFunctionBindInput &input,
                                               vector<LogicalType> &types, vector<Identifier> &names) {
	Call call(context, input, "merganser_declare_foreign_key");
	auto &object = call.Find(call.Object(0, "object"));
	Declaration declaration;
	declaration.kind = DeclarationKind::FOREIGN_KEY;
	declaration.columns = call.Names(1, "columns");
	declaration.referenced = call.Object(2, "referenced");
	if (call.Count() > 3) {
		declaration.referenced_columns = call.Names(3, "referenced_columns");
	}
	return call.Change(object, call.Apply(object, DeclarationAction::ADD, std::move(declaration)), types, names);
}

OrderType ToDirection(const Call &call, const string &text) {
	auto direction = StringUtil::Lower(text);
	if (direction != "asc" && direction != "desc") {
		throw call.Error("directions are 'asc' and 'desc', not '" + text + "'");
	}
	return direction == "asc" ? OrderType::ASCENDING : OrderType::DESCENDING;
}

OrderByNullType ToNullOrder(const Call &call, const string &text) {
	auto null_order = StringUtil::Lower(text);
	if (null_order != "first" && null_order != "last") {
		throw call.Error("null_orders are 'first' and 'last', not '" + text + "'");
	}
	return null_order == "first" ? OrderByNullType::NULLS_FIRST : OrderByNullType::NULLS_LAST;
}

Declaration SortedBy(const Call &call, vector<string> columns) {
	Declaration result;
	result.kind = DeclarationKind::SORTED_BY;
	result.columns = std::move(columns);
	for (auto &text : call.NamedNames("directions")) {
		result.directions.push_back(ToDirection(call, text));
	}
	for (auto &text : call.NamedNames("null_orders")) {
		result.null_orders.push_back(ToNullOrder(call, text));
	}
	auto count = result.columns.size();
	if (result.directions.empty()) {
		result.directions.resize(count, OrderType::ORDER_DEFAULT);
	}
	if (result.null_orders.empty()) {
		result.null_orders.resize(count, OrderByNullType::ORDER_DEFAULT);
	}
	if (result.directions.size() != count || result.null_orders.size() != count) {
		throw call.Error("directions and null_orders need one item for each column of sorted_by");
	}
	return result;
}

unique_ptr<FunctionData> BindDeclareLayout(ClientContext &context, TableFunctionBindInput &input,
                                           vector<LogicalType> &types, vector<Identifier> &names) {
	Call call(context, input, "merganser_declare_layout");
	auto &object = call.Find(call.Object(0, "object"));
	Declaration partitioned;
	partitioned.kind = DeclarationKind::PARTITIONED_BY;
	partitioned.columns = call.NamedNames("partitioned_by");
	auto sorted = SortedBy(call, call.NamedNames("sorted_by"));
	if (partitioned.columns.empty() && sorted.columns.empty()) {
		throw call.Error("give partitioned_by, sorted_by, or both");
	}
	auto set_partitioned = !partitioned.columns.empty();
	auto declarations =
	    call.Apply(object, set_partitioned ? DeclarationAction::SET : DeclarationAction::RESET, partitioned);
	if (!set_partitioned) {
		return call.Change(object, call.Apply(object, DeclarationAction::SET, std::move(sorted)), types, names);
	}
	if (!sorted.columns.empty()) {
		auto bound = call.Apply(object, DeclarationAction::SET, std::move(sorted)).back();
		declarations.erase(std::remove_if(declarations.begin(), declarations.end(),
		                                  [&](const Declaration &stored) { return stored.IsReplacedBy(bound); }),
		                   declarations.end());
		declarations.push_back(std::move(bound));
	}
	return call.Change(object, std::move(declarations), types, names);
}

DeclarationKind ToKind(const Call &call, const string &text) {
	const DeclarationKind kinds[] = {DeclarationKind::PRIMARY_KEY, DeclarationKind::UNIQUE,
	                                 DeclarationKind::FOREIGN_KEY, DeclarationKind::PARTITIONED_BY,
	                                 DeclarationKind::SORTED_BY};
	for (auto kind : kinds) {
		if (StringUtil::CIEquals(Declaration::KindName(kind), text)) {
			return kind;
		}
	}
	throw call.Error("there is no declaration of kind '" + text +
	                 "'; kinds are 'primary key', 'unique', 'foreign key', 'partitioned by', 'sorted by'");
}

unique_ptr<FunctionData> BindDropDeclaration(ClientContext &context, TableFunctionBindInput &input,
                                             vector<LogicalType> &types, vector<Identifier> &names) {
	Call call(context, input, "merganser_drop_declaration");
	auto &object = call.Find(call.Object(0, "object"));
	Declaration declaration;
	declaration.kind = ToKind(call, call.Text(1, "kind"));
	if (call.Count() > 2) {
		declaration.columns = call.Names(2, "columns");
	}
	bool needs_columns =
	    declaration.kind == DeclarationKind::UNIQUE || declaration.kind == DeclarationKind::FOREIGN_KEY;
	if (needs_columns != !declaration.columns.empty()) {
		throw call.Error(string("a declaration of kind '") + Declaration::KindName(declaration.kind) + "' is dropped " +
		                 (needs_columns ? "by its columns" : "without naming columns"));
	}
	return call.Change(object, call.Apply(object, DeclarationAction::DROP, std::move(declaration)), types, names);
}

TableFunction Function(const char *name, const vector<LogicalType> &arguments, table_function_bind_t bind) {
	TableFunction result(Identifier(name), arguments, Declare, bind, InitDeclare);
	result.call_return_type = StatementReturnType::NOTHING;
	return result;
}

} // namespace

void DeclareFunctions::Register(ExtensionLoader &loader) {
	auto text = LogicalType::VARCHAR;
	// a name or a list of names; Call::Names checks which.
	auto names = LogicalType::ANY;
	loader.RegisterFunction(Function("merganser_declare_key", {text, names}, BindDeclareKey));
	loader.RegisterFunction(Function("merganser_declare_unique", {text, names}, BindDeclareUnique));

	TableFunctionSet foreign_key("merganser_declare_foreign_key");
	foreign_key.AddFunction(Function("merganser_declare_foreign_key", {text, names, text}, BindDeclareForeignKey));
	foreign_key.AddFunction(
	    Function("merganser_declare_foreign_key", {text, names, text, names}, BindDeclareForeignKey));
	loader.RegisterFunction(std::move(foreign_key));

	auto layout = Function("merganser_declare_layout", {text}, BindDeclareLayout);
	for (auto argument : {"partitioned_by", "sorted_by", "directions", "null_orders"}) {
		layout.GetSignature().AddKeywordOnly(argument, names, Value(LogicalType::LIST(text)));
	}
	loader.RegisterFunction(std::move(layout));

	TableFunctionSet drop("merganser_drop_declaration");
	drop.AddFunction(Function("merganser_drop_declaration", {text, text}, BindDropDeclaration));
	drop.AddFunction(Function("merganser_drop_declaration", {text, text, names}, BindDropDeclaration));
	loader.RegisterFunction(std::move(drop));
}

} // namespace merganser
