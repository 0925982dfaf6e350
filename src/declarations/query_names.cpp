#include "declarations/query_names.hpp"

#include "duckdb/main/relation.hpp"
#include "duckdb/parser/expression/constant_expression.hpp"
#include "duckdb/parser/expression/function_expression.hpp"
#include "duckdb/parser/expression/subquery_expression.hpp"
#include "duckdb/parser/parsed_data/copy_info.hpp"
#include "duckdb/parser/parsed_data/create_table_info.hpp"
#include "duckdb/parser/parsed_expression_iterator.hpp"
#include "duckdb/parser/query_node/list.hpp"
#include "duckdb/parser/statement/list.hpp"
#include "duckdb/parser/tableref/list.hpp"

namespace merganser {

namespace {

bool IsText(const ParsedExpression &expression) {
	return expression.GetExpressionClass() == ExpressionClass::CONSTANT &&
	       expression.Cast<ConstantExpression>().GetLiteral().kind == LiteralKind::STRING;
}

//! 'x' or ['x', 'y'].
bool IsTextOrList(const ParsedExpression &expression) {
	if (IsText(expression)) {
		return true;
	}
	bool only_texts = expression.GetExpressionClass() != ExpressionClass::CONSTANT;
	bool any = false;
	ParsedExpressionIterator::EnumerateChildren(expression, [&](const ParsedExpression &child) {
		any = true;
		only_texts = only_texts && IsText(child);
	});
	return any && only_texts;
}

//! "read_parquet('x', ...)", "parquet_scan(['x', 'y'])": a reader of files that are named there.
bool NamesItsFiles(const ParsedExpression &call) {
	if (call.GetExpressionClass() != ExpressionClass::FUNCTION) {
		return false;
	}
	auto &function = call.Cast<FunctionExpression>();
	auto name = StringUtil::Lower(function.FunctionName().GetIdentifierName());
	auto &arguments = function.GetArguments();
	return (StringUtil::StartsWith(name, "read_") || StringUtil::EndsWith(name, "_scan")) && !arguments.empty() &&
	       IsTextOrList(arguments[0].GetExpression());
}

//! What a relation that writes, or explains, takes its rows from: only a query has a query node. Null for other kinds.
optional_ptr<Relation> QueryOf(Relation &relation) {
	switch (relation.type) {
	case RelationType::TABLE_RELATION:
	case RelationType::PROJECTION_RELATION:
	case RelationType::FILTER_RELATION:
	case RelationType::CROSS_PRODUCT_RELATION:
	case RelationType::JOIN_RELATION:
	case RelationType::AGGREGATE_RELATION:
	case RelationType::SET_OPERATION_RELATION:
	case RelationType::DISTINCT_RELATION:
	case RelationType::LIMIT_RELATION:
	case RelationType::ORDER_RELATION:
	case RelationType::VALUE_LIST_RELATION:
	case RelationType::SUBQUERY_RELATION:
	case RelationType::TABLE_FUNCTION_RELATION:
	case RelationType::VIEW_RELATION:
	case RelationType::QUERY_RELATION:
		return relation;
	case RelationType::EXPLAIN_RELATION:
	case RelationType::CREATE_TABLE_RELATION:
	case RelationType::CREATE_VIEW_RELATION:
	case RelationType::INSERT_RELATION:
	case RelationType::WRITE_CSV_RELATION:
	case RelationType::WRITE_PARQUET_RELATION: {
		auto child = relation.ChildRelation();
		return child ? QueryOf(*child) : nullptr;
	}
	default:
		return nullptr;
	}
}

} // namespace

void QueryNames::Add(QueryNode &node) {
	try {
		ParsedExpressionIterator::EnumerateQueryNodeChildren(
		    node, [&](unique_ptr<ParsedExpression> &child) { AddExpression(*child); },
		    [&](TableRef &ref) { AddRelation(ref); });
	} catch (const NotImplementedException &) {
		// a kind of node that only exists between binding steps, or one DuckDB does not walk
		hides_files = true;
		calls_functions = true;
	}
}

void QueryNames::Add(SQLStatement &statement) {
	switch (statement.type) {
	case StatementType::SELECT_STATEMENT:
		return Add(*statement.Cast<SelectStatement>().node);
	case StatementType::INSERT_STATEMENT:
		return Add(*statement.Cast<InsertStatement>().node);
	case StatementType::UPDATE_STATEMENT:
		return Add(*statement.Cast<UpdateStatement>().node);
	case StatementType::DELETE_STATEMENT:
		return Add(*statement.Cast<DeleteStatement>().node);
	case StatementType::MERGE_INTO_STATEMENT:
		return Add(*statement.Cast<MergeIntoStatement>().node);
	case StatementType::EXPLAIN_STATEMENT:
		return Add(*statement.Cast<ExplainStatement>().stmt);
	case StatementType::PREPARE_STATEMENT:
		return Add(*statement.Cast<PrepareStatement>().statement);
	case StatementType::RELATION_STATEMENT: {
		auto relation = QueryOf(*statement.Cast<RelationStatement>().relation);
		return relation ? Add(*relation->GetQueryNode()) : void();
	}
	case StatementType::COPY_STATEMENT: {
		auto &copy = *statement.Cast<CopyStatement>().info;
		if (copy.select_statement) {
			return Add(*copy.select_statement);
		}
		relations.push_back(copy.GetQualifiedName());
		return;
	}
	case StatementType::CREATE_STATEMENT: {
		auto &info = *statement.Cast<CreateStatement>().info;
		if (info.type == CatalogType::TABLE_ENTRY && info.Cast<CreateTableInfo>().query) {
			Add(*info.Cast<CreateTableInfo>().query->node);
		}
		return;
	}
	default:
		return;
	}
}

void QueryNames::AddRelation(TableRef &ref) {
	if (ref.type == TableReferenceType::BASE_TABLE) {
		auto &table = ref.Cast<BaseTableRef>();
		relations.push_back(table.GetQualifiedName());
		texts.insert(table.Table().GetIdentifierName()); // FROM 'x.parquet'
	}
	if (ref.type == TableReferenceType::TABLE_FUNCTION) {
		auto &call = *ref.Cast<TableFunctionRef>().function;
		hides_files = hides_files || !NamesItsFiles(call);
	}
}

void QueryNames::AddExpression(ParsedExpression &expression) {
	switch (expression.GetExpressionClass()) {
	case ExpressionClass::CONSTANT:
		if (IsText(expression)) {
			texts.insert(expression.Cast<ConstantExpression>().GetLiteral().text);
		}
		break;
	case ExpressionClass::FUNCTION:
		calls_functions = calls_functions || !NamesItsFiles(expression);
		break;
	case ExpressionClass::SUBQUERY:
		Add(*expression.Cast<SubqueryExpression>().SubqueryMutable()->node);
		break;
	default:
		break;
	}
	ParsedExpressionIterator::EnumerateChildren(expression, [&](ParsedExpression &child) { AddExpression(child); });
}

} // namespace merganser
