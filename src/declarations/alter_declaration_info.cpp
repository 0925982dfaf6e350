#include "declarations/alter_declaration_info.hpp"

#include "duckdb/parser/expression/columnref_expression.hpp"

namespace merganser {

namespace {

string ColumnName(const ParsedExpression &expression, const char *clause) {
	if (expression.GetExpressionClass() != ExpressionClass::COLUMN_REF) {
		throw BinderException(expression,
		                      "%s takes names of columns, but \"%s\" is an expression; give it a name in a view",
		                      clause, expression.ToString());
	}
	auto &names = expression.Cast<ColumnRefExpression>().ColumnNames();
	if (names.size() != 1) {
		throw BinderException(expression, "%s takes names of the object's own columns, but %s is qualified or a field",
		                      clause, expression.ToString());
	}
	return names[0].GetIdentifierName();
}

unique_ptr<AlterDeclarationInfo> Layout(Declaration declaration, QueryLocation location) {
	auto action = declaration.columns.empty() ? DeclarationAction::RESET : DeclarationAction::SET;
	return make_uniq<AlterDeclarationInfo>(action, std::move(declaration), location);
}

string ActionText(const AlterDeclarationInfo &info) {
	auto &declaration = info.declaration;
	auto kind = StringUtil::Upper(Declaration::KindName(declaration.kind));
	switch (info.action) {
	case DeclarationAction::ADD:
		return "ADD " + declaration.ToString() + " NOT ENFORCED RELY";
	case DeclarationAction::SET:
		return "SET " + declaration.ToString();
	case DeclarationAction::RESET:
		return "RESET " + kind;
	case DeclarationAction::DROP:
		return "DROP " + kind + (declaration.columns.empty() ? "" : " " + Declaration::ColumnList(declaration.columns));
	}
	throw InternalException("Unknown action on a declaration");
}

} // namespace

AlterDeclarationInfo::AlterDeclarationInfo(DeclarationAction action, Declaration declaration, QueryLocation location)
    : AlterInfo(AlterType::INVALID, QualifiedName(), OnEntryNotFound::THROW_EXCEPTION), action(action),
      declaration(std::move(declaration)), location(location) {
}

unique_ptr<AlterDeclarationInfo>
AlterDeclarationInfo::PartitionedBy(const vector<unique_ptr<ParsedExpression>> &columns, QueryLocation location) {
	Declaration declaration;
	declaration.kind = DeclarationKind::PARTITIONED_BY;
	for (auto &column : columns) {
		declaration.columns.push_back(ColumnName(*column, "PARTITIONED BY"));
	}
	return Layout(std::move(declaration), location);
}

unique_ptr<AlterDeclarationInfo> AlterDeclarationInfo::SortedBy(const vector<OrderByNode> &orders,
                                                                QueryLocation location) {
	Declaration declaration;
	declaration.kind = DeclarationKind::SORTED_BY;
	for (auto &order : orders) {
		declaration.columns.push_back(ColumnName(*order.expression, "SORTED BY"));
		declaration.directions.push_back(order.type);
		declaration.null_orders.push_back(order.null_order);
	}
	return Layout(std::move(declaration), location);
}

CatalogType AlterDeclarationInfo::GetCatalogType() const {
	return CatalogType::TABLE_ENTRY;
}

unique_ptr<AlterInfo> AlterDeclarationInfo::Copy() const {
	auto result = make_uniq<AlterDeclarationInfo>(action, declaration, location);
	result->SetQualifiedName(GetQualifiedName());
	result->if_not_found = if_not_found;
	result->alter_view = alter_view;
	return std::move(result);
}

string AlterDeclarationInfo::ToString() const {
	return string("ALTER ") + (alter_view ? "VIEW " : "TABLE ") +
	       (if_not_found == OnEntryNotFound::RETURN_NULL ? "IF EXISTS " : "") + GetQualifiedName().ToString() + " " +
	       ActionText(*this) + ";";
}

} // namespace merganser
