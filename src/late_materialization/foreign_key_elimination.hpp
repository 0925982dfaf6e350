//===----------------------------------------------------------------------===//
//                         Merganser
//
// late_materialization/foreign_key_elimination.hpp
//
// Problem: once the wide columns of a dimension are fetched by the join-back, the narrow plan often joins the dimension
// only to find that a row exists, which a foreign key already says.
//   narrow plan of Q10:  orders JOIN customer ON o_custkey = c_custkey
//   foreign key:         orders (o_custkey) -> customer (c_custkey)
//   becomes:             orders, grouped by o_custkey
//
// Sound when the foreign key points to a key of the dimension and is equated to it in every row: then each row whose
// foreign key is not NULL joins exactly one row of the dimension, so the join only drops rows with NULL, which
// `o_custkey IS NOT NULL` does as well. Required besides: no filter on the dimension, no other column of it used in the
// narrow plan, and no outer join that supplies either table with NULL. The dimension's key columns are replaced by the
// foreign key's wherever they are used.
// Only dimensions of the join-back chain are removed. The retained columns determine the foreign key of each group (by
// it the chain finds the dimension's row), so a row without a partner makes groups of its own, which the join would
// have dropped whole: where such a group survives the top-N, the guard fails the query and names the foreign key; where
// it does not, it has taken no other group's place.
//===----------------------------------------------------------------------===//

#pragma once

#include "late_materialization/deferral.hpp"

namespace merganser {

//! A dimension that left the narrow plan and the foreign key that allowed it.
struct EliminatedDimension {
	//! Position in the chain.
	idx_t link;
	RelationForeignKey foreign_key;
};

class ForeignKeyElimination {
public:
	//! `narrow` is the narrow plan's aggregate, over the plan that `input` describes.
	ForeignKeyElimination(ClientContext &context, LogicalAggregate &narrow, const AggregateInput &input);

	//! Removes dimensions of the chain until none can be.
	vector<EliminatedDimension> Apply(const vector<JoinBackLink> &chain);

private:
	struct Dimension;

	bool TryRemove(const BaseRelation &relation, RelationForeignKey &relied_on);
	bool TryFindDimension(const BaseRelation &relation, Dimension &result);
	bool TryReplaceKey(const BaseRelation &dimension, const RelationForeignKey &foreign_key, const BaseRelation &from,
	                   Dimension &place);
	bool AllUsesReplaceable(LogicalOperator &op, const Dimension &place);
	void ReplaceUses(unique_ptr<LogicalOperator> &op, const Dimension &place);

	ClientContext &context;
	LogicalAggregate &narrow;
	const AggregateInput &input;
	unordered_set<const LogicalOperator *> removed;
};

} // namespace merganser
