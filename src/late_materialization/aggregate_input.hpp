//===----------------------------------------------------------------------===//
//                         Merganser
//
// late_materialization/aggregate_input.hpp
//
// What is known about the rows an aggregate reads: the base relations whose values reach it unchanged, their keys, the
// columns that are equal in every row, and how computed columns are made of base columns.
//
// Everything is tracked by ColumnBinding, never by name, so aliases, self-joins, views and swapped names need no care.
//
// Which operators keep a base relation's values: Filter, Projection, CrossProduct, inner joins and both sides of LEFT,
// RIGHT and FULL joins, and the preserved side of SEMI, ANTI, MARK and SINGLE joins. Anything else is opaque: its
// columns are known to exist and nothing more, so a rule can keep them but never drop or re-fetch them. That is sound
// because an opaque operator only decides which rows appear, and a dependency within a base relation holds for any
// selection of its rows.
//
// What an outer join supplies with NULL: in each row a relation there has either one of its rows or NULL in all its
// columns, whatever ON and the filters below say. A value of its key, which is never NULL, finds that row, and a NULL
// in the key says that all is NULL; so a key determines the other columns as it does elsewhere. Besides:
//   * what is equal there, by filters and inner joins below, is equal or both NULL above: one stands for the other;
//   * what equals a constant there is NULL in other rows: such constants are not kept;
//   * computed columns there are opaque, as coalesce(x, 0) is not NULL where x is; columns alone are followed.
// ON itself holds in no such row. Yet where it compares, by equality and nothing else, columns that are a key of a
// relation which is the whole of that side with columns of the other, those others determine the relation's columns
// too: the same comparison finds the same row or none (BaseRelation::lookup). Not so under a FULL join, where rows of
// that side without a partner have NULL on the other.
// Equalities come from filters and inner-join conditions only.
//
// A UNIQUE that DuckDB enforces over columns that may be NULL is a key of the rows in which none is. Where a filter or
// an inner join compares those columns, by anything but IS [NOT] DISTINCT FROM, only such rows are left.
//===----------------------------------------------------------------------===//

#pragma once

#include "late_materialization/relation_keys.hpp"
#include "properties/column_equivalences.hpp"

namespace merganser {

//! Two columns a join compares by equality.
struct ComparedColumns {
	//! Of the relation that is found.
	ColumnBinding column;
	//! Whose value finds it.
	ColumnBinding probe;
};

//! A relation that a join-back can read again.
struct BaseRelation {
	//! The scan, or the subtree a declared view was expanded to.
	optional_ptr<LogicalOperator> source;
	//! Name for people: "customer".
	string name;
	//! The columns it delivers, parallel to names and types.
	vector<ColumnBinding> columns;
	vector<string> column_names;
	vector<LogicalType> types;
	vector<RelationKey> keys;
	vector<RelationForeignKey> foreign_keys;
	//! The table or views that foreign keys of others may point to.
	vector<ScannedObject> objects;
	//! Whether an outer join supplies it with NULL where it has no row.
	bool null_supplied = false;
	//! All that ON compares, where the relation is the NULL-supplied side and ON compares nothing else; else empty.
	vector<ComparedColumns> lookup;
	//! DuckDB's estimate of the relation's rows before filters.
	idx_t cardinality = 0;

	bool Delivers(const ColumnBinding &column) const;
	//! Position in `columns` of a column of this relation.
	idx_t PositionOf(const ColumnBinding &column) const;
};

class AggregateInput {
public:
	//! Of a filter nothing is known about, as DuckDB takes it.
	static constexpr double FILTER_SELECTIVITY = 0.2;

	AggregateInput(ClientContext &context, RelationKeys &relation_keys, LogicalOperator &root);

	const vector<BaseRelation> &Relations() const {
		return relations;
	}
	//! To add keys, or take them away.
	vector<BaseRelation> &MutableRelations() {
		return relations;
	}
	const ColumnEquivalences &Equivalences() const {
		return equivalences;
	}
	//! Whether the expression is a column as it is.
	static bool IsColumn(const Expression &expression);
	//! The expression over base and opaque columns only.
	unique_ptr<Expression> Resolve(const Expression &expression) const;
	//! The relation that delivers the column, or an invalid index if it is opaque.
	optional_idx RelationOf(const ColumnBinding &column) const;
	//! Whether the column stands on the NULL-supplied side of an outer join, and not for want of a key.
	bool IsOuterJoined(const ColumnBinding &column) const;
	//! "customer.c_custkey".
	string NameOf(const ColumnBinding &column) const;
	//! Of the relations that deliver the column or one equal to it that with the fewest rows, or invalid.
	optional_idx SmallestRelationOf(const ColumnBinding &column) const;
	//! Base tables and opaque inputs.
	idx_t TableCount() const {
		return rows_of.size();
	}
	//! Rows expected to reach the aggregate: the largest relation after the filters of all of them.
	idx_t EstimatedRows() const;

private:
	void Visit(LogicalOperator &op);
	void VisitJoin(LogicalJoin &join);
	void VisitOpaque(LogicalOperator &op, bool null_supplied);
	void VisitNullSupplied(LogicalOperator &op);
	//! Of a LEFT or RIGHT join, of which this child is NULL-supplied.
	void AddLookup(const LogicalJoin &join, idx_t null_supplied);
	optional_ptr<BaseRelation> RelationUnderProjections(const LogicalOperator &op);
	void VisitProjection(LogicalProjection &projection);
	void AddScan(LogicalGet &get);
	void AddViewRelation(LogicalOperator &op, ViewMatch match);
	void AddCondition(const Expression &condition);
	void AddEquality(const Expression &left, const Expression &right);
	//! Of an expression that is NULL where its column is, and then leaves the row out.
	void AddNotNull(const Expression &expression);
	void AddComparison(ExpressionType type, const Expression &left, const Expression &right);
	//! Nullable keys of which no NULL is left.
	void SettleKeys();
	void NoteSelectiveFilter(const Expression &condition);
	//! Whether a key of the relation equals constants.
	bool IsOneRow(const BaseRelation &relation) const;

	ClientContext &context;
	RelationKeys &relation_keys;
	vector<BaseRelation> relations;
	ColumnEquivalences equivalences;
	//! Output columns of projections, as expressions over base and opaque columns.
	column_binding_map_t<unique_ptr<Expression>> definitions;
	column_binding_map_t<idx_t> relation_of;
	//! Columns that are NULL in no row, but where an outer join supplies their relation with NULL.
	column_binding_set_t not_null;
	//! In how many outer joins what is visited is NULL-supplied.
	idx_t null_supplied_in = 0;
	unordered_set<TableIndex> outer_joined;
	unordered_map<TableIndex, idx_t> rows_of;
	unordered_set<TableIndex> filtered;
};

} // namespace merganser
