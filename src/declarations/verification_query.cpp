#include "declarations/verification_query.hpp"

#include "duckdb/common/sql_identifier.hpp"
#include "duckdb/parser/expression/columnref_expression.hpp"
#include "duckdb/parser/parser.hpp"
#include "duckdb/parser/query_node/select_node.hpp"
#include "duckdb/parser/statement/select_statement.hpp"
#include "duckdb/planner/binder.hpp"

namespace merganser {

namespace {

const char *const REGION = "merganser_region";
const char *const ROW = "merganser_row";

string Quoted(const string &name) {
	return SQLQuotedIdentifier::ToString(name);
}

string Literal(const string &text) {
	return SQLString::ToString(text);
}

string Column(const string &relation, const string &column) {
	return relation + "." + Quoted(column);
}

string Checked(const string &column) {
	return Column("checked", column);
}

template <class FUNCTION>
string ForEach(const vector<string> &columns, const string &separator, FUNCTION function) {
	return StringUtil::Join(columns, columns.size(), separator, function);
}

string CheckedList(const vector<string> &columns) {
	return ForEach(columns, ", ", Checked);
}

//! "a = 1, b = NULL", from columns key_0, key_1, ...
string KeyText(const vector<string> &columns) {
	vector<string> parts;
	for (idx_t i = 0; i < columns.size(); i++) {
		parts.push_back(Literal(columns[i] + " = ") + " || coalesce(key_" + to_string(i) + "::VARCHAR, 'NULL')");
	}
	return StringUtil::Join(parts, " || ', ' || ");
}

string KeyColumns(const vector<string> &columns) {
	vector<string> parts;
	for (idx_t i = 0; i < columns.size(); i++) {
		parts.push_back(Checked(columns[i]) + " AS key_" + to_string(i));
	}
	return StringUtil::Join(parts, ", ");
}

//! One row for each group of `from` that `having` accepts, told as text.
string Groups(const vector<string> &columns, const string &from, const string &measure, const string &having,
              const string &unit) {
	return "SELECT " + KeyText(columns) + " || ' (' || measure || " + Literal(" " + unit + ")") +
	       " AS sample FROM (SELECT " + KeyColumns(columns) + ", " + measure + " AS measure FROM " + from +
	       " GROUP BY " + CheckedList(columns) + having + ")";
}

string Unverifiable(const string &reason) {
	return "SELECT NULL::BOOLEAN AS holds, NULL::BIGINT AS violating_keys, [" + Literal(reason) + "] AS sample";
}

string SortKeyArguments(const Declaration &declaration) {
	vector<string> parts;
	for (idx_t i = 0; i < declaration.columns.size(); i++) {
		auto direction = declaration.directions[i] == OrderType::DESCENDING ? "DESC" : "ASC";
		auto nulls = declaration.null_orders[i] == OrderByNullType::NULLS_FIRST ? "FIRST" : "LAST";
		parts.push_back(Checked(declaration.columns[i]) + ", '" + direction + " NULLS " + nulls + "'");
	}
	return StringUtil::Join(parts, ", ");
}

//! The view's SELECT with the region and the row number in it behind its own columns; null if it is not one SELECT of
//! rows from one scan.
unique_ptr<SelectNode> SelectWithRegions(const SelectStatement &query) {
	if (query.node->type != QueryNodeType::SELECT_NODE) {
		return nullptr;
	}
	auto copy = query.node->Copy();
	auto result = unique_ptr_cast<QueryNode, SelectNode>(std::move(copy));
	auto source = result->from_table ? result->from_table->type : TableReferenceType::EMPTY_FROM;
	bool one_scan = source == TableReferenceType::TABLE_FUNCTION || source == TableReferenceType::BASE_TABLE;
	if (!one_scan || !result->modifiers.empty() || result->qualify || result->sample || result->having ||
	    !result->groups.group_expressions.empty()) {
		return nullptr;
	}
	auto add = [&](const char *column, const char *alias) {
		auto expression = make_uniq<ColumnRefExpression>(Identifier(column));
		expression->SetAlias(Identifier(alias));
		result->select_list.push_back(std::move(expression));
	};
	add("filename", REGION);
	add("file_row_number", ROW);
	return result;
}

} // namespace

VerificationQuery::VerificationQuery(ClientContext &context, CatalogEntry &table_or_view)
    : context(context), object(table_or_view), name(DeclarationStore::NameOf(table_or_view).ToString()) {
}

string VerificationQuery::Of(const StoredDeclaration &stored) {
	if (!stored.stale.empty()) {
		return Unverifiable("stale: " + stored.stale);
	}
	auto violations = Violations(stored.declaration);
	if (violations.empty()) {
		return Unverifiable("the layout of a view can be checked only if it is one SELECT over one Parquet scan");
	}
	return "SELECT count(*) = 0 AS holds, count(*) AS violating_keys, coalesce(min(sample, 5), []::VARCHAR[]) AS "
	       "sample "
	       "FROM (" +
	       violations + ")";
}

string VerificationQuery::Violations(const Declaration &declaration) {
	switch (declaration.kind) {
	case DeclarationKind::PRIMARY_KEY:
	case DeclarationKind::UNIQUE:
		return KeyViolations(declaration);
	case DeclarationKind::FOREIGN_KEY:
		return ForeignKeyViolations(declaration);
	default:
		break;
	}
	auto regions = Regions();
	if (regions.empty()) {
		return regions;
	}
	return declaration.kind == DeclarationKind::PARTITIONED_BY ? PartitionViolations(declaration, regions)
	                                                           : OrderViolations(declaration, regions);
}

string VerificationQuery::KeyViolations(const Declaration &declaration) const {
	auto &columns = declaration.columns;
	auto from = name + " AS checked";
	if (declaration.kind == DeclarationKind::UNIQUE) {
		auto complete =
		    ForEach(columns, " AND ", [](const string &column) { return Checked(column) + " IS NOT NULL"; });
		return Groups(columns, from + " WHERE " + complete, "count(*)", " HAVING count(*) > 1", "rows");
	}
	auto missing = ForEach(columns, "", [](const string &column) { return " OR " + Checked(column) + " IS NULL"; });
	return Groups(columns, from, "count(*)", " HAVING count(*) > 1" + missing, "rows");
}

string VerificationQuery::ForeignKeyViolations(const Declaration &declaration) const {
	auto &columns = declaration.columns;
	vector<string> conditions;
	for (idx_t i = 0; i < columns.size(); i++) {
		conditions.push_back(Checked(columns[i]) + " = " + Column("referenced", declaration.referenced_columns[i]));
	}
	auto complete = ForEach(columns, " AND ", [](const string &column) { return Checked(column) + " IS NOT NULL"; });
	auto from = name + " AS checked ANTI JOIN " + declaration.referenced.ToString() + " AS referenced ON (" +
	            StringUtil::Join(conditions, " AND ") + ") WHERE " + complete;
	return Groups(columns, from, "count(*)", "", "rows");
}

string VerificationQuery::PartitionViolations(const Declaration &declaration, const string &regions) const {
	auto file = string("checked.") + REGION;
	// a hive directory is one region, however many files it has
	auto region = "CASE WHEN regexp_matches(" + file + R"(, '[^/\\]+=[^/\\]*[/\\][^/\\]+$') THEN regexp_replace()" +
	              file + R"(, '[/\\][^/\\]*$', '') ELSE )" + file + " END";
	auto count = "count(DISTINCT " + region + ")";
	return Groups(declaration.columns, regions, count, " HAVING " + count + " > 1", "regions");
}

string VerificationQuery::OrderViolations(const Declaration &declaration, const string &regions) const {
	return "SELECT " + KeyText(declaration.columns) + " || ' (row ' || position || ' of ' || region || ')' AS sample " +
	       "FROM (SELECT *, lag(sort_key) OVER (PARTITION BY region ORDER BY position) AS previous FROM (SELECT " +
	       KeyColumns(declaration.columns) + ", create_sort_key(" + SortKeyArguments(declaration) +
	       ") AS sort_key, checked." + REGION + " AS region, checked." + ROW + " AS position FROM " + regions +
	       ")) WHERE sort_key < previous";
}

string VerificationQuery::Regions() {
	if (object.type == CatalogType::TABLE_ENTRY) {
		return string("(SELECT *, 'the table' AS ") + REGION + ", rowid AS " + ROW + " FROM " + name + ") AS checked";
	}
	auto &view = object.Cast<ViewCatalogEntry>();
	auto select = SelectWithRegions(view.GetQuery());
	if (!select) {
		return string();
	}
	auto aliases = view.aliases.empty()
	                   ? string()
	                   : "(" + StringUtil::Join(view.aliases, view.aliases.size(), ", ", [](const Identifier &alias) {
		                     return Quoted(alias.GetIdentifierName());
	                     }) + ")";
	auto result = "(" + select->ToString() + ") AS checked" + aliases;
	SelectStatement probe;
	probe.node = std::move(select);
	try {
		Binder::CreateBinder(context)->Bind(static_cast<SQLStatement &>(probe));
	} catch (const Exception &error) {
		if (ErrorData(error).Type() != ExceptionType::BINDER) {
			throw;
		}
		// the scan has no file names or row numbers: not Parquet, or an aggregate
		return string();
	}
	return result;
}

} // namespace merganser
