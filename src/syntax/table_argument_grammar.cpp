#include "syntax/table_argument_grammar.hpp"

#include "table_functions/duration.hpp"
#include "table_functions/table_function_registry.hpp"

#include "duckdb/parser/expression/cast_expression.hpp"
#include "duckdb/parser/expression/columnref_expression.hpp"
#include "duckdb/parser/expression/constant_expression.hpp"
#include "duckdb/parser/expression/function_expression.hpp"
#include "duckdb/parser/expression/star_expression.hpp"
#include "duckdb/parser/expression/subquery_expression.hpp"
#include "duckdb/parser/peg/transformer/peg_transformer.hpp"
#include "duckdb/parser/query_node/select_node.hpp"
#include "duckdb/parser/statement/select_statement.hpp"
#include "duckdb/parser/tableref/basetableref.hpp"
#include "duckdb/parser/tableref/subqueryref.hpp"
#include "duckdb/parser/tableref/table_function_ref.hpp"

namespace merganser {

namespace {

//===--------------------------------------------------------------------===//
// Parse results
//===--------------------------------------------------------------------===//
ListParseResult &Parts(ParseResult &result) {
	return result.Cast<ListParseResult>();
}

//! What a rule that is a choice of other rules matched.
ParseResult &Chosen(ParseResult &rule) {
	return Parts(rule).Child<ChoiceParseResult>(0).GetResult();
}

optional_ptr<ParseResult> OptionalPart(ListParseResult &parts, idx_t index) {
	auto &part = parts.Child<OptionalParseResult>(index);
	return part.HasResult() ? &part.GetResult() : nullptr;
}

//! The items of Parens(List(...)) or Parens(List(...)?).
vector<reference<ParseResult>> ParenthesizedItems(ParseResult &parens) {
	reference<ParseResult> list(PEGTransformerFactory::ExtractResultFromParens(parens));
	if (list.get().type == ParseResultType::OPTIONAL) {
		auto &optional_list = list.get().Cast<OptionalParseResult>();
		if (!optional_list.HasResult()) {
			return {};
		}
		list = optional_list.GetResult();
	}
	return PEGTransformerFactory::ExtractParseResultsFromList(list);
}

//===--------------------------------------------------------------------===//
// Arguments
//===--------------------------------------------------------------------===//
//! One argument as written.
struct WrittenArgument {
	//! Empty for a positional argument.
	string name;
	//! TABLE(...), or nothing.
	unique_ptr<TableRef> table;
	unique_ptr<ParsedExpression> expression;
	optional<TableAlias> alias;
	bool partitioned = false;
	vector<unique_ptr<ParsedExpression>> partition;
	vector<OrderByNode> ordering;

	bool IsTable() const {
		return table || expression->GetExpressionClass() == ExpressionClass::COLUMN_REF ||
		       expression->GetExpressionClass() == ExpressionClass::SUBQUERY || partitioned || !ordering.empty();
	}
};

unique_ptr<TableRef> TransformTable(PEGTransformer &transformer, ParseResult &result) {
	auto &input = Chosen(PEGTransformerFactory::ExtractResultFromParens(Parts(result).GetChild(1)));
	auto &content = Parts(input).GetChild(0);
	if (input.Name() == "MerganserQueryInput") {
		return make_uniq<SubqueryRef>(transformer.Transform<unique_ptr<SelectStatement>>(content));
	}
	return transformer.Transform<unique_ptr<TableRef>>(content);
}

void TransformPartition(PEGTransformer &transformer, ParseResult &result, WrittenArgument &argument) {
	argument.partitioned = true;
	auto &keys = Chosen(Parts(result).GetChild(2));
	if (keys.Name() != "MerganserKeyList") {
		argument.partition.push_back(transformer.Transform<unique_ptr<ParsedExpression>>(Parts(keys).GetChild(0)));
		return;
	}
	for (auto &key : ParenthesizedItems(Parts(keys).GetChild(0))) {
		argument.partition.push_back(transformer.Transform<unique_ptr<ParsedExpression>>(key.get()));
	}
}

void TransformOrdering(PEGTransformer &transformer, ParseResult &result, WrittenArgument &argument) {
	auto &items = Chosen(Parts(result).GetChild(2));
	if (items.Name() != "MerganserItemList") {
		argument.ordering.push_back(transformer.Transform<OrderByNode>(Parts(items).GetChild(0)));
		return;
	}
	for (auto &item : ParenthesizedItems(Parts(items).GetChild(0))) {
		argument.ordering.push_back(transformer.Transform<OrderByNode>(item.get()));
	}
}

void TransformRelation(PEGTransformer &transformer, ParseResult &result, WrittenArgument &argument) {
	auto &relation = Chosen(result);
	if (relation.Name() == "MerganserTableRelation") {
		argument.table = TransformTable(transformer, relation);
	} else {
		argument.expression = transformer.Transform<unique_ptr<ParsedExpression>>(Parts(relation).GetChild(0));
	}
}

WrittenArgument TransformArgument(PEGTransformer &transformer, ParseResult &result) {
	WrittenArgument argument;
	auto &parts = Parts(result);
	auto name = OptionalPart(parts, 0);
	if (name) {
		argument.name = transformer.Transform<Identifier>(Parts(*name).GetChild(0)).GetIdentifierName();
	}
	for (auto &part : Parts(Chosen(parts.GetChild(1))).GetChildren()) {
		reference<ParseResult> child(part.get());
		if (child.get().type == ParseResultType::OPTIONAL) {
			auto &optional_part = child.get().Cast<OptionalParseResult>();
			if (!optional_part.HasResult()) {
				continue;
			}
			child = optional_part.GetResult();
		}
		auto &rule = child.get().Name();
		if (rule == "MerganserPartition" && !argument.ordering.empty()) {
			throw ParserException(child.get().GetLocation(), "PARTITION BY comes before ORDER BY");
		}
		if (rule == "TableAlias") {
			argument.alias = transformer.Transform<TableAlias>(child.get());
		} else if (rule == "MerganserPartition") {
			TransformPartition(transformer, child.get(), argument);
		} else if (rule == "MerganserOrder") {
			TransformOrdering(transformer, child.get(), argument);
		} else {
			TransformRelation(transformer, child.get(), argument);
		}
	}
	return argument;
}

//===--------------------------------------------------------------------===//
// The call in DuckDB's own form
//===--------------------------------------------------------------------===//
class CallBuilder {
public:
	CallBuilder(const TableFunctionDefinition &definition, vector<WrittenArgument> arguments)
	    : definition(definition), function(definition.name), written(std::move(arguments)) {
	}

	//! Without a table argument the call is none of ours and stays as it is.
	vector<FunctionArgument> Build() {
		auto tables = std::count_if(written.begin(), written.end(),
		                            [](const WrittenArgument &argument) { return argument.IsTable(); });
		if (tables == 0 && !NamesTableParameter()) {
			return Unchanged();
		}
		CheckNames();
		vector<FunctionArgument> result;
		vector<FunctionArgument> scalars;
		for (idx_t i = 0; i < written.size(); i++) {
			auto &argument = written[i];
			auto wants_table = argument.name.empty() ? i == 0 : IsTableParameter(argument.name);
			if (wants_table) {
				AddTable(argument, result);
			} else {
				scalars.push_back(Scalar(argument, i));
			}
		}
		if (result.empty()) {
			throw BinderException("%s: Missing required argument: %s", function, definition.table_parameter);
		}
		for (auto &scalar : scalars) {
			result.push_back(std::move(scalar));
		}
		MovePositionalFirst(result);
		return result;
	}

private:
	bool IsTableParameter(const string &name) const {
		return StringUtil::CIEquals(name, definition.table_parameter);
	}

	bool NamesTableParameter() const {
		return std::any_of(written.begin(), written.end(),
		                   [&](const WrittenArgument &argument) { return IsTableParameter(argument.name); });
	}

	vector<FunctionArgument> Unchanged() {
		vector<FunctionArgument> result;
		for (idx_t i = 0; i < written.size(); i++) {
			result.push_back(Scalar(written[i], i));
		}
		return result;
	}

	void CheckNames() const {
		auto maximum = definition.parameters.size() + 1;
		idx_t extra = 0;
		case_insensitive_set_t seen;
		idx_t named = 0;
		for (auto &argument : written) {
			extra += IsClauseArgument(argument.name);
			named += !argument.name.empty() && !IsClauseArgument(argument.name);
		}
		auto count = written.size() - extra;
		if (count > maximum) {
			throw BinderException("%s: Too many arguments. Expected at most %llu arguments, got %llu arguments",
			                      function, maximum, count);
		}
		for (auto &argument : written) {
			if (!argument.name.empty() && !seen.insert(argument.name).second) {
				throw BinderException("%s: Duplicate argument name: %s", function, argument.name);
			}
		}
		if (named != 0 && named != count && !OnlyTheTableIsPositional(named, count)) {
			throw BinderException("%s: All arguments must be passed by name or all must be passed positionally",
			                      function);
		}
	}

	//! The spelling without grammar: (query) first, the rest by name.
	bool OnlyTheTableIsPositional(idx_t named, idx_t count) const {
		auto &first = written[0];
		return named + 1 == count && first.name.empty() && first.expression &&
		       first.expression->GetExpressionClass() == ExpressionClass::SUBQUERY && !first.partitioned &&
		       first.ordering.empty();
	}

	static bool IsClauseArgument(const string &name) {
		return StringUtil::CIEquals(name, TableArgument::PARTITION_BY) ||
		       StringUtil::CIEquals(name, TableArgument::ORDER_BY);
	}

	string ParameterName(const WrittenArgument &argument, idx_t position) const {
		if (!argument.name.empty()) {
			return argument.name;
		}
		return position <= definition.parameters.size() && position > 0 ? definition.parameters[position - 1].name
		                                                                : definition.table_parameter;
	}

	FunctionArgument Scalar(WrittenArgument &argument, idx_t position) {
		auto name = ParameterName(argument, position);
		if (argument.table || argument.partitioned || !argument.ordering.empty() ||
		    IsQualifiedName(*argument.expression)) {
			throw BinderException("%s: Invalid argument %s. Expected scalar argument, got table", function, name);
		}
		if (argument.expression->GetExpressionClass() == ExpressionClass::SUBQUERY) {
			throw BinderException("%s: At most one table argument can be passed to a table function", function);
		}
		auto expression = std::move(argument.expression);
		if (argument.alias) {
			expression = Duration(*expression, *argument.alias, name);
		}
		if (argument.name.empty()) {
			return FunctionArgument(std::move(expression));
		}
		return Named(argument.name, std::move(expression));
	}

	//! An unqualified name stays: it may be a macro's parameter, and DuckDB takes it as text otherwise.
	static bool IsQualifiedName(const ParsedExpression &expression) {
		return expression.GetExpressionClass() == ExpressionClass::COLUMN_REF &&
		       expression.Cast<ColumnRefExpression>().IsQualified();
	}

	//! "1" followed by "h30m" is how the tokenizer sees 1h30m.
	unique_ptr<ParsedExpression> Duration(const ParsedExpression &number, const TableAlias &unit,
	                                      const string &name) const {
		if (number.GetExpressionClass() != ExpressionClass::CONSTANT || !unit.column_name_alias.empty()) {
			throw BinderException("%s: Invalid argument %s. Expected scalar argument, got %s with alias %s", function,
			                      name, number.ToString(), unit.name.GetIdentifierName());
		}
		auto micros = ParseDuration(number.ToString() + unit.name.GetIdentifierName());
		auto text = Value::INTERVAL(0, 0, micros).ToString();
		return make_uniq<CastExpression>(LogicalType::INTERVAL, ConstantExpression::String(text));
	}

	static FunctionArgument Named(const string &name, unique_ptr<ParsedExpression> expression) {
		expression->SetAlias(Identifier(StringUtil::Lower(name)));
		return FunctionArgument(Identifier(StringUtil::Lower(name)), std::move(expression));
	}

	void AddTable(WrittenArgument &argument, vector<FunctionArgument> &result) {
		if (!argument.IsTable()) {
			throw BinderException("%s: Invalid argument %s. Expected table argument, got expression", function,
			                      definition.table_parameter);
		}
		auto qualifier = Qualifier(argument);
		result.emplace_back(Query(argument));
		if (argument.partitioned) {
			if (definition.semantics == TableSemantics::ROW) {
				throw BinderException(
				    "%s: Invalid argument %s. Partitioning can not be specified for table argument with row "
				    "semantics",
				    function, definition.table_parameter);
			}
			vector<string> names;
			for (auto &key : argument.partition) {
				names.push_back(ColumnName(*key, qualifier));
			}
			result.push_back(Named(TableArgument::PARTITION_BY, TextList(names)));
		}
		if (!argument.ordering.empty()) {
			vector<string> items;
			for (auto &item : argument.ordering) {
				items.push_back(OrderText(item, qualifier));
			}
			result.push_back(Named(TableArgument::ORDER_BY, TextList(items)));
		}
	}

	//! The name that may qualify the table argument's columns.
	static Identifier Qualifier(const WrittenArgument &argument) {
		if (argument.alias) {
			return argument.alias->name;
		}
		if (argument.table) {
			if (!argument.table->alias.empty()) {
				return argument.table->alias;
			}
			return argument.table->type == TableReferenceType::BASE_TABLE ? argument.table->Cast<BaseTableRef>().Table()
			                                                              : Identifier();
		}
		return argument.expression->GetExpressionClass() == ExpressionClass::COLUMN_REF
		           ? argument.expression->Cast<ColumnRefExpression>().GetColumnName()
				   : Identifier();
	}

	unique_ptr<ParsedExpression> Query(WrittenArgument &argument) {
		unique_ptr<TableRef> table;
		if (argument.table) {
			table = std::move(argument.table);
		} else if (argument.expression->GetExpressionClass() == ExpressionClass::COLUMN_REF) {
			table = BaseTable(argument.expression->Cast<ColumnRefExpression>());
		} else if (argument.expression->GetExpressionClass() == ExpressionClass::SUBQUERY) {
			auto &subquery = argument.expression->Cast<SubqueryExpression>();
			if (subquery.GetSubqueryType() != SubqueryType::SCALAR) {
				throw BinderException("%s: Invalid argument %s. Expected table argument, got expression", function,
				                      definition.table_parameter);
			}
			if (!argument.alias) {
				return std::move(argument.expression);
			}
			table = make_uniq<SubqueryRef>(std::move(subquery.SubqueryMutable()));
		} else {
			throw BinderException("%s: Invalid argument %s. Expected table argument, got expression", function,
			                      definition.table_parameter);
		}
		if (argument.alias) {
			table->alias = argument.alias->name;
			table->column_name_alias = argument.alias->column_name_alias;
		}
		return SelectAll(std::move(table));
	}

	static unique_ptr<TableRef> BaseTable(const ColumnRefExpression &reference) {
		auto &names = reference.ColumnNames();
		if (names.size() > 3) {
			throw BinderException("%s is no table name", reference.ToString());
		}
		auto result = make_uniq<BaseTableRef>();
		vector<Identifier> parts(3 - names.size());
		parts.insert(parts.end(), names.begin(), names.end());
		result->SetQualifiedName(QualifiedName(parts[0], parts[1], parts[2]));
		return std::move(result);
	}

	static unique_ptr<ParsedExpression> SelectAll(unique_ptr<TableRef> table) {
		auto node = make_uniq<SelectNode>();
		node->select_list.push_back(make_uniq<StarExpression>());
		node->from_table = std::move(table);
		auto select = make_uniq<SelectStatement>();
		select->node = std::move(node);
		auto result = make_uniq<SubqueryExpression>();
		result->GetSubqueryTypeMutable() = SubqueryType::SCALAR;
		result->SubqueryMutable() = std::move(select);
		return std::move(result);
	}

	string ColumnName(const ParsedExpression &expression, const Identifier &qualifier) const {
		if (expression.GetExpressionClass() != ExpressionClass::COLUMN_REF) {
			throw BinderException("%s: Expected column reference. Actual: %s", function, expression.ToString());
		}
		auto &reference = expression.Cast<ColumnRefExpression>();
		auto &names = reference.ColumnNames();
		if (names.size() > 1 && (qualifier.empty() || names[names.size() - 2] != qualifier)) {
			throw BinderException("%s: Column %s is not present in the input relation", function, reference.ToString());
		}
		return names.back().GetIdentifierName();
	}

	string OrderText(const OrderByNode &item, const Identifier &qualifier) const {
		auto result = ColumnName(*item.expression, qualifier);
		if (item.type == OrderType::DESCENDING) {
			result += " DESC";
		}
		if (item.null_order == OrderByNullType::NULLS_FIRST) {
			result += " NULLS FIRST";
		}
		return result;
	}

	static unique_ptr<ParsedExpression> TextList(const vector<string> &texts) {
		vector<FunctionArgument> items;
		for (auto &text : texts) {
			items.emplace_back(ConstantExpression::String(text));
		}
		return make_uniq<FunctionExpression>(Identifier("list_value"), std::move(items));
	}

	static void MovePositionalFirst(vector<FunctionArgument> &arguments) {
		std::stable_partition(arguments.begin(), arguments.end(),
		                      [](const FunctionArgument &argument) { return !argument.HasName(); });
	}

	const TableFunctionDefinition &definition;
	const string &function;
	vector<WrittenArgument> written;
};

arena_ptr<TransformResultValue> TransformCall(PEGTransformer &transformer, ParseResult &result) {
	auto &parts = result.Cast<ListParseResult>();
	auto &name_rule = Parts(parts.GetChild(2)).GetChild(0);
	auto &keyword =
	    name_rule.type == ParseResultType::CHOICE ? name_rule.Cast<ChoiceParseResult>().GetResult() : name_rule;
	auto name = keyword.Cast<KeywordParseResult>().keyword;
	vector<WrittenArgument> arguments;
	for (auto &argument : ParenthesizedItems(parts.GetChild(3))) {
		arguments.push_back(TransformArgument(transformer, argument.get()));
	}
	auto &definition = *TableFunctionRegistry::Find(name);
	auto call = make_uniq<TableFunctionRef>();
	call->function = make_uniq<FunctionExpression>(Identifier(StringUtil::Lower(name)),
	                                               CallBuilder(definition, std::move(arguments)).Build());
	if (OptionalPart(parts, 4)) {
		call->with_ordinality = OrdinalityType::WITH_ORDINALITY;
	}
	auto alias = OptionalPart(parts, 5);
	if (alias) {
		auto table_alias = transformer.Transform<TableAlias>(*alias);
		call->alias = table_alias.name;
		call->column_name_alias = table_alias.column_name_alias;
	}
	auto sample = OptionalPart(parts, 6);
	if (sample) {
		call->sample = transformer.Transform<unique_ptr<SampleOptions>>(*sample);
	}
	return transformer.MakeResult<unique_ptr<TableRef>>(unique_ptr<TableRef>(std::move(call)));
}

//! FROM TABLE(f(...)) AS x: the alias outside wins.
arena_ptr<TransformResultValue> TransformWrappedCall(PEGTransformer &transformer, ParseResult &result) {
	auto &parts = result.Cast<ListParseResult>();
	auto call =
	    transformer.Transform<unique_ptr<TableRef>>(PEGTransformerFactory::ExtractResultFromParens(parts.GetChild(1)));
	auto alias = OptionalPart(parts, 2);
	if (alias) {
		auto table_alias = transformer.Transform<TableAlias>(*alias);
		call->alias = table_alias.name;
		call->column_name_alias = table_alias.column_name_alias;
	}
	return transformer.MakeResult<unique_ptr<TableRef>>(std::move(call));
}

string FunctionNameRule() {
	vector<string> names;
	for (auto &function : TableFunctionRegistry::Functions()) {
		names.push_back("'" + StringUtil::Upper(function->name) + "'");
	}
	return "MerganserFunctionName <- " + StringUtil::Join(names, " / ");
}

grammar_transform_process_function_t Process(arena_ptr<TransformResultValue> (*finalize)(PEGTransformer &,
                                                                                         ParseResult &)) {
	return [finalize](PEGTransformer &transformer, ParseResult &result) {
		return transformer.MakeProcess<FinalizeTransformProcess>(transformer, result, finalize);
	};
}

} // namespace

vector<GrammarChange> TableArgumentGrammar::Changes() {
	vector<GrammarChange> changes;
	for (auto &rule : {
	         FunctionNameRule(),
	         string("MerganserSchema <- 'MAIN' '.'"),
	         string("MerganserQueryInput <- SelectStatementInternal"),
	         string("MerganserTableRefInput <- TableRef"),
	         string("MerganserTableInput <- MerganserQueryInput / MerganserTableRefInput"),
	         string("MerganserTableRelation <- 'TABLE' Parens(MerganserTableInput)"),
	         string("MerganserExpressionRelation <- Expression"),
	         string("MerganserRelation <- MerganserTableRelation / MerganserExpressionRelation"),
	         string("MerganserKeyList <- Parens(List(Expression)?)"),
	         string("MerganserKey <- Expression"),
	         string("MerganserKeys <- MerganserKeyList / MerganserKey"),
	         string("MerganserPartition <- 'PARTITION' 'BY' MerganserKeys"),
	         string("MerganserItemList <- Parens(List(OrderByExpression))"),
	         string("MerganserItem <- OrderByExpression"),
	         string("MerganserItems <- MerganserItemList / MerganserItem"),
	         string("MerganserOrder <- 'ORDER' 'BY' MerganserItems"),
	         // the clauses are tried before an alias, because PARTITION could be one
	         string("MerganserPartitioned <- MerganserRelation MerganserPartition MerganserOrder?"),
	         string("MerganserWrongOrder <- MerganserRelation TableAlias? MerganserOrder MerganserPartition"),
	         string("MerganserOrdered <- MerganserRelation MerganserOrder"),
	         string("MerganserAliasedPartitioned <- MerganserRelation TableAlias MerganserPartition MerganserOrder?"),
	         string("MerganserAliasedOrdered <- MerganserRelation TableAlias MerganserOrder"),
	         string("MerganserAliased <- MerganserRelation TableAlias"),
	         string("MerganserPlain <- MerganserRelation"),
	         string("MerganserArgumentBody <- MerganserPartitioned / MerganserWrongOrder / MerganserOrdered / "
			        "MerganserAliasedPartitioned / "
			        "MerganserAliasedOrdered / MerganserAliased / MerganserPlain"),
	         string("MerganserArgumentName <- TypeFuncName NamedParameterAssignment"),
	         string("MerganserArgument <- MerganserArgumentName? MerganserArgumentBody"),
	     }) {
		changes.push_back(GrammarChange::AddRule(rule));
	}
	changes.push_back(
	    GrammarChange::AddRule("MerganserTableFunction <- Lateral? MerganserSchema? MerganserFunctionName "
		                       "Parens(List(MerganserArgument)?) WithOrdinality? TableAlias? SampleClause?",
		                       Process(TransformCall)));
	changes.push_back(
	    GrammarChange::AddRule("MerganserWrappedTableFunction <- 'TABLE' Parens(MerganserTableFunction) TableAlias?",
		                       Process(TransformWrappedCall)));
	changes.push_back(GrammarChange::PrependChoice("TableFunction", "MerganserTableFunction"));
	changes.push_back(GrammarChange::PrependChoice("TableFunction", "MerganserWrappedTableFunction"));
	return changes;
}

} // namespace merganser
