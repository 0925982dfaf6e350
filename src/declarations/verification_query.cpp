#include "declarations/verification_query.hpp"

#include "declarations/region_rows.hpp"

#include "duckdb/common/sql_identifier.hpp"
#include "duckdb/parser/parser.hpp"
#include "duckdb/parser/query_node/select_node.hpp"
#include "duckdb/parser/tableref/subqueryref.hpp"

namespace merganser {

namespace {

//! Stands in the text of a query for the rows with their regions.
const char *const REGIONS = "regions_of_object";

string Literal(const string &text) {
	return SQLString::ToString(text);
}

string Column(const string &relation, const string &column) {
	return relation + "." + SQLQuotedIdentifier::ToString(column);
}

string Checked(const string &column) {
	return Column("checked", column);
}

template <class FUNCTION>
string ForEach(const vector<string> &columns, const string &separator, FUNCTION function) {
	return StringUtil::Join(columns, columns.size(), separator, function);
}

//! "key_0, key_1".
string Keys(const vector<string> &columns) {
	vector<string> parts;
	for (idx_t i = 0; i < columns.size(); i++) {
		parts.push_back("key_" + to_string(i));
	}
	return StringUtil::Join(parts, ", ");
}

//! "a = 1, b = NULL", from columns key_0, key_1, ..., and then `rest`.
string KeyText(const vector<string> &columns, const string &rest) {
	vector<string> parts;
	for (idx_t i = 0; i < columns.size(); i++) {
		parts.push_back(Literal((i == 0 ? "" : ", ") + columns[i] + " = "));
		parts.push_back("coalesce(key_" + to_string(i) + "::VARCHAR, 'NULL')");
	}
	return "system.main.concat(" + StringUtil::Join(parts, ", ") + ", " + rest + ")";
}

//! The object's key columns under names of ours.
string KeyColumns(const vector<string> &columns) {
	vector<string> parts;
	for (idx_t i = 0; i < columns.size(); i++) {
		parts.push_back(Checked(columns[i]) + " AS key_" + to_string(i));
	}
	return StringUtil::Join(parts, ", ");
}

//! One row for each key of `from` that `having` accepts, told as text. `from` has the columns key_0, key_1, ...
string Groups(const vector<string> &columns, const string &from, const string &having, const string &unit) {
	return "SELECT " + KeyText(columns, "' (', measure, " + Literal(" " + unit + ")")) + " AS sample FROM (SELECT " +
	       Keys(columns) + ", system.main.count_star() AS measure FROM (" + from + ") AS keys GROUP BY " +
	       Keys(columns) + having + ") AS found";
}

string CountAndSample(const string &violations) {
	return "SELECT system.main.count_star() AS violations, system.main.min(sample, 5) AS sample, 0::BIGINT AS pieces "
	       "FROM (" +
	       violations + ") AS violations";
}

string SortKeyArguments(const Declaration &declaration) {
	vector<string> parts;
	for (idx_t i = 0; i < declaration.columns.size(); i++) {
		auto direction = declaration.directions[i] == OrderType::DESCENDING ? "DESC" : "ASC";
		auto nulls = declaration.null_orders[i] == OrderByNullType::NULLS_FIRST ? "FIRST" : "LAST";
		parts.push_back("key_" + to_string(i) + ", '" + direction + " NULLS " + nulls + "'");
	}
	return StringUtil::Join(parts, ", ");
}

//! A hive directory is one region, however many files it has.
string PartitionViolations(const vector<string> &columns) {
	auto region = string("CASE WHEN system.main.regexp_matches(region, '[^/\\\\]+=[^/\\\\]*[/\\\\][^/\\\\]+$') THEN "
	                     "system.main.regexp_replace(region, '[/\\\\][^/\\\\]*$', '') ELSE region END");
	auto pairs = "SELECT DISTINCT " + Keys(columns) + ", " + region + " AS region FROM " + REGIONS;
	return CountAndSample(Groups(columns, pairs, " HAVING system.main.count_star() > 1", "regions"));
}

string OrderViolations(const Declaration &declaration) {
	auto keyed = "SELECT " + Keys(declaration.columns) + ", region, position, system.main.create_sort_key(" +
	             SortKeyArguments(declaration) + ") AS sort_key FROM " + REGIONS;
	auto compared = "SELECT *, lag(sort_key) OVER () AS previous_key, lag(region) OVER () AS previous_region, "
	                "lag(position) OVER () AS previous_position FROM (" +
	                keyed + ") AS keyed";
	auto judged = "SELECT *, region IS DISTINCT FROM previous_region AS begins, region IS NOT DISTINCT FROM "
	              "previous_region AND sort_key < previous_key AS violates FROM (" +
	              compared + ") AS compared";
	auto sample =
	    "CASE WHEN violates THEN " + KeyText(declaration.columns, "' (row ', position, ' of ', region, ')'") + " END";
	return "SELECT system.main.count_star() FILTER (WHERE violates) AS violations, system.main.min(" + sample +
	       ", 5) FILTER (WHERE violates) AS sample, system.main.count_star() FILTER (WHERE begins) - "
	       "system.main.count(DISTINCT region) FILTER (WHERE begins) + system.main.count_star() FILTER (WHERE NOT "
	       "begins AND position <= previous_position) AS pieces FROM (" +
	       judged + ") AS judged";
}

unique_ptr<SelectStatement> ParsedQuery(ClientContext &context, const string &sql) {
	Parser parser(context);
	parser.ParseQuery(sql);
	return unique_ptr_cast<SQLStatement, SelectStatement>(std::move(parser.statements[0]));
}

string UniqueViolations(const string &relation, const vector<string> &columns) {
	auto complete = ForEach(columns, " AND ", [](const string &column) { return Checked(column) + " IS NOT NULL"; });
	auto from = "SELECT " + KeyColumns(columns) + " FROM " + relation + " AS checked WHERE " + complete;
	return Groups(columns, from, " HAVING system.main.count_star() > 1", "rows");
}

string PrimaryKeyViolations(const string &relation, const vector<string> &columns) {
	auto from = "SELECT " + KeyColumns(columns) + " FROM " + relation + " AS checked";
	string missing;
	for (idx_t i = 0; i < columns.size(); i++) {
		missing += " OR key_" + to_string(i) + " IS NULL";
	}
	return Groups(columns, from, " HAVING system.main.count_star() > 1" + missing, "rows");
}

//! Puts `rows` in the place of the name that stands for them, at the bottom of nested subqueries.
void ReplaceRegions(SelectStatement &query, unique_ptr<TableRef> rows) {
	reference<unique_ptr<TableRef>> from = query.node->Cast<SelectNode>().from_table;
	while (from.get()->type == TableReferenceType::SUBQUERY) {
		from = from.get()->Cast<SubqueryRef>().subquery->node->Cast<SelectNode>().from_table;
	}
	from.get() = std::move(rows);
}

} // namespace

VerificationQuery::VerificationQuery(Binder &binder, CatalogEntry &table_or_view)
    : binder(binder), object(table_or_view), name(DeclarationStore::NameOf(table_or_view).ToString()) {
}

unique_ptr<SelectStatement> VerificationQuery::Of(const Declaration &declaration) {
	switch (declaration.kind) {
	case DeclarationKind::PRIMARY_KEY:
		return OfPrimaryKey(binder, name, declaration.columns);
	case DeclarationKind::UNIQUE:
		return ParsedQuery(binder.context, CountAndSample(UniqueViolations(name, declaration.columns)));
	case DeclarationKind::FOREIGN_KEY:
		return ParsedQuery(binder.context, CountAndSample(ForeignKeyViolations(declaration)));
	case DeclarationKind::PARTITIONED_BY:
		return OverRegions(declaration, PartitionViolations(declaration.columns));
	case DeclarationKind::SORTED_BY:
		return OverRegions(declaration, OrderViolations(declaration));
	}
	throw InternalException("Unknown kind of declaration");
}

unique_ptr<SelectStatement> VerificationQuery::OfPrimaryKey(Binder &binder, const string &relation,
                                                            const vector<string> &columns) {
	return ParsedQuery(binder.context, CountAndSample(PrimaryKeyViolations(relation, columns)));
}

unique_ptr<SelectStatement> VerificationQuery::Nothing(Binder &binder) {
	return ParsedQuery(binder.context, "SELECT 0");
}

unique_ptr<SelectStatement> VerificationQuery::OverRegions(const Declaration &declaration, const string &sql) const {
	auto rows = RegionRows::Of(binder, object, declaration.columns);
	if (!rows) {
		return nullptr;
	}
	auto result = ParsedQuery(binder.context, sql);
	ReplaceRegions(*result, std::move(rows));
	return result;
}

string VerificationQuery::ForeignKeyViolations(const Declaration &declaration) const {
	auto &columns = declaration.columns;
	vector<string> conditions;
	for (idx_t i = 0; i < columns.size(); i++) {
		conditions.push_back(Checked(columns[i]) + " = " + Column("referenced", declaration.referenced_columns[i]));
	}
	auto complete = ForEach(columns, " AND ", [](const string &column) { return Checked(column) + " IS NOT NULL"; });
	auto from = "SELECT " + KeyColumns(columns) + " FROM " + name + " AS checked ANTI JOIN " +
	            declaration.referenced.ToString() + " AS referenced ON (" + StringUtil::Join(conditions, " AND ") +
	            ") WHERE " + complete;
	return Groups(columns, from, "", "rows");
}

} // namespace merganser
