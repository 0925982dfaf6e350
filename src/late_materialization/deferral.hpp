//===----------------------------------------------------------------------===//
//                         Merganser
//
// late_materialization/deferral.hpp
//
// Which columns of an aggregate stay in its group key, which are deferred, and which tables the join-back fetches from.
//
//   GROUP BY c_custkey, c_name, n_name     keys: customer (c_custkey), nation (n_nationkey);  c_nationkey = n_nationkey
//   keeps c_custkey; defers c_name, n_name; chain: customer by c_custkey, nation by c_nationkey
//
// Closure: starting from the retained columns, a relation is reached when every column of one of its keys is available,
// equated to an available column, or fixed by a constant; then all its columns are available. The same closure decides
// what may be dropped and, run forwards, gives the chain, so the two cannot disagree.
//
// A relation that an outer join supplies with NULL is reached in the same way, and also by what its ON compares
// (aggregate_input.hpp says why); then a row of the group has its row, or none.
//
// Why it is sound: let K be the retained columns. Every dropped group expression is a deterministic function of columns
// the closure of K reaches, so K determines it in every row of the input: grouping by K makes the same groups. Each
// group holds a row of the input, hence a row of every relation in the chain under that key, and the key admits one
// such row: an inner join on it returns each group exactly once. Of a NULL-supplied relation the group's rows have that
// one row or all none, and a LEFT join returns the group once, with the row or with NULL.
//
// Chain: the closure's links that a dropped column stands on, as far as they are needed. A link is needed to fetch what
// is shown, and, under a declared key, for its guard: a column may leave the group key because of a key whose table
// shows nothing (GROUP BY c_custkey, c_name, and c_name in no other place). A key that DuckDB enforces needs no guard.
//
// An aggregate any_value, first, last, min or max of a determined expression, without FILTER, equals that expression in
// every group and is treated like a group column.
//===----------------------------------------------------------------------===//

#pragma once

#include "late_materialization/aggregate_input.hpp"
#include "late_materialization/aggregate_shape.hpp"
#include "late_materialization/decline_reason.hpp"
#include "late_materialization/join_back_promise.hpp"

namespace merganser {

//! One fetch of the join-back: a relation and the key that finds its row.
struct JoinBackLink {
	idx_t relation;
	idx_t key;
	//! What the join compares: the key's columns with their own values, or what the ON of an outer join compares, the
	//! key's columns among it.
	vector<ComparedColumns> compared;
	FoundRows found;
	//! Columns of the relation to fetch besides the key's: shown ones and those a later link is found by. None where
	//! the link is there for its guard alone.
	vector<ColumnBinding> fetched;
};

//! An output column of the aggregate: its position there and its expression over base and opaque columns.
struct OutputColumn {
	ColumnBinding output;
	unique_ptr<Expression> resolved;
	//! For a group column its index among the groups, for an aggregate its index among the aggregates.
	idx_t index;
	bool is_group;
	bool retained = true;
	bool displayed = true;
	//! Whether anything reads it: an aggregate that nothing reads is not computed.
	bool read = true;
	//! Of a dropped column the relations whose keys make it follow from the retained ones.
	unordered_set<idx_t> relies_on;
};

class Deferral {
public:
	Deferral(const AggregateInput &input, const AggregateShape &query);

	//! Finds a narrower key. Returns false and says why when no column can leave.
	bool TryFind(idx_t max_chain, DeclineReason &reason);
	//! Takes back a deferral: all columns that rely on this link are retained, and the chain is found anew.
	//! Returns false and says why when nothing is left.
	bool TryWithoutLink(idx_t link, idx_t max_chain, DeclineReason &reason);

	const vector<OutputColumn> &Columns() const {
		return columns;
	}
	const vector<JoinBackLink> &Chain() const {
		return chain;
	}
	//! Where the join-back takes the value of a base column from.
	struct Provider {
		//! A group column of the narrow plan, a column a link fetches, or a constant.
		enum class Kind : uint8_t { RETAINED, FETCHED, CONSTANT };
		Kind kind = Kind::RETAINED;
		//! The column itself or an equivalent one.
		ColumnBinding column;
		//! FETCHED: the position in the chain.
		idx_t link = 0;
		Value constant;
	};
	//! The provider among the narrow plan and the first `links` links of the chain.
	Provider ProviderOf(const ColumnBinding &column, idx_t links) const;
	//! Whether a dropped column follows from the retained ones by the key of this link.
	bool RelyOn(const OutputColumn &column, idx_t link) const;
	//! What the decision stands on: keys, dependencies "(c_custkey)-->(c_name)", equalities and constants.
	vector<pair<string, string>> Facts() const;

private:
	using ColumnSet = column_binding_set_t;

	void CollectRequired();
	void ReduceKey();
	bool KeepsAGroup() const;
	bool Determines(const OutputColumn &candidate) const;
	vector<JoinBackLink> Closure(ColumnSet &available) const;
	bool TryReach(const ColumnSet &available, idx_t relation, JoinBackLink &link) const;
	bool TryLookUp(const ColumnSet &available, idx_t relation, JoinBackLink &link) const;
	bool IsReachable(const ColumnSet &available, const ColumnBinding &column) const;
	//! Base columns with one value per group. A group column of inexact type is not among them: its group may hold
	//! 0.0 and -0.0, which signbit(x) tells apart.
	ColumnSet RetainedColumns() const;
	bool TryBuildChain(idx_t max_chain, DeclineReason &reason);
	void CollectRelations(const ColumnBinding &column, idx_t links, unordered_set<idx_t> &relations) const;
	vector<string> DeterminedBy(idx_t link) const;
	void Fetch(const ColumnBinding &column, idx_t links);
	DeclineReason WhyNothingDetermined() const;

	const AggregateInput &input;
	const AggregateShape &query;
	vector<OutputColumn> columns;
	//! Per output column: must stay, because ORDER BY or HAVING reads it or a cost decision keeps it.
	vector<bool> pinned;
	vector<JoinBackLink> chain;
};

} // namespace merganser
