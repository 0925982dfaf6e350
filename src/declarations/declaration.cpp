#include "declarations/declaration.hpp"

#include "duckdb/parser/keyword_helper.hpp"

namespace merganser {

namespace {

bool Contains(const vector<string> &columns, const string &name) {
	return std::any_of(columns.begin(), columns.end(),
	                   [&](const string &column) { return StringUtil::CIEquals(column, name); });
}

string SortedColumn(const Declaration &declaration, idx_t index) {
	auto result = SQLIdentifier::ToString(Identifier(declaration.columns[index]));
	result += declaration.directions[index] == OrderType::DESCENDING ? " DESC" : "";
	return result + (declaration.null_orders[index] == OrderByNullType::NULLS_FIRST ? " NULLS FIRST" : " NULLS LAST");
}

} // namespace

const char *Declaration::KindName(DeclarationKind kind) {
	switch (kind) {
	case DeclarationKind::PRIMARY_KEY:
		return "primary key";
	case DeclarationKind::UNIQUE:
		return "unique";
	case DeclarationKind::FOREIGN_KEY:
		return "foreign key";
	case DeclarationKind::PARTITIONED_BY:
		return "partitioned by";
	case DeclarationKind::SORTED_BY:
		return "sorted by";
	}
	throw InternalException("Unknown kind of declaration");
}

string Declaration::ColumnList(const vector<string> &columns) {
	return "(" +
	       StringUtil::Join(columns, columns.size(), ", ",
	                        [](const string &column) { return SQLIdentifier::ToString(Identifier(column)); }) +
	       ")";
}

string Declaration::ToString() const {
	auto result = StringUtil::Upper(KindName(kind)) + " ";
	switch (kind) {
	case DeclarationKind::FOREIGN_KEY:
		return result + ColumnList(columns) + " REFERENCES " + referenced.ToString() + " " +
		       ColumnList(referenced_columns);
	case DeclarationKind::SORTED_BY: {
		vector<string> items;
		for (idx_t i = 0; i < columns.size(); i++) {
			items.push_back(SortedColumn(*this, i));
		}
		return result + "(" + StringUtil::Join(items, ", ") + ")";
	}
	default:
		return result + ColumnList(columns);
	}
}

bool Declaration::Names(const string &column) const {
	return Contains(columns, column);
}

bool Declaration::SameColumns(const vector<string> &left, const vector<string> &right) {
	return left.size() == right.size() &&
	       std::equal(left.begin(), left.end(), right.begin(),
	                  [](const string &a, const string &b) { return StringUtil::CIEquals(a, b); });
}

bool Declaration::SameColumnSet(const vector<string> &left, const vector<string> &right) {
	return left.size() == right.size() &&
	       std::all_of(left.begin(), left.end(), [&](const string &name) { return Contains(right, name); });
}

bool Declaration::IsReplacedBy(const Declaration &other) const {
	if (kind != other.kind) {
		return false;
	}
	switch (kind) {
	case DeclarationKind::UNIQUE:
		return SameColumnSet(columns, other.columns);
	case DeclarationKind::FOREIGN_KEY:
		return SameColumns(columns, other.columns) && referenced == other.referenced;
	default:
		return true;
	}
}

bool Declaration::operator==(const Declaration &other) const {
	return kind == other.kind && SameColumns(columns, other.columns) && types == other.types &&
	       positions == other.positions && referenced_positions == other.referenced_positions &&
	       directions == other.directions && null_orders == other.null_orders && referenced == other.referenced &&
	       SameColumns(referenced_columns, other.referenced_columns) && voided == other.voided &&
	       Value::NotDistinctFrom(verified_at, other.verified_at);
}

} // namespace merganser
