//===----------------------------------------------------------------------===//
//                         Merganser
//
// late_materialization/key_check_by_bits.hpp
//
// The key check (key_check.hpp) of one column of integers that lie close together: instead of an aggregate that counts
// the rows of each value, and the check above it, one operator that sets a bit for each row, and fails where it is set.
//   Projection (NULL, ...) <- Limit 1 <- KeyCheckByBits <- Scan customer
// About ten times cheaper than grouping: 13 ns a row instead of 130.
//
// It is chosen when the physical plan is made, from the aggregate's own statistics, or from those of the query's scan:
// a copy of a scan of files has none. The logical plan, which stages are cut from, stays as it is.
// Sound because: a bit is set by one atomic operation that tells whether it was set before,
// so of two rows with one value, in whatever threads, one sees the other. Values outside what the statistics said (of
// a footer that is wrong) are kept in a set beside the bits. DuckDB may have compressed the integers below the
// aggregate (subtracted their minimum): one value stays one value.
//===----------------------------------------------------------------------===//

#pragma once

#include "keys/dense_integers.hpp"
#include "late_materialization/join_back_promise.hpp"

#include "duckdb/execution/physical_operator.hpp"
#include "duckdb/planner/operator/logical_aggregate.hpp"

namespace merganser {

class PhysicalKeyCheckByBits : public PhysicalOperator {
public:
	//! `key_column`: its position in the child's columns.
	PhysicalKeyCheckByBits(PhysicalPlan &plan, vector<LogicalType> types, idx_t key_column, DenseIntegers integers,
	                       JoinBackPromise promise);

	//! The aggregate that counts the rows of each value of a one-column key, below what DuckDB put above it, or null.
	static optional_ptr<LogicalAggregate> FindCount(LogicalOperator &child);
	//! The values of its group column, by its statistics, or, where it has none, those of the key.
	static optional<DenseIntegers> IntegersOf(const LogicalAggregate &aggregate, const LogicalType &key_type,
	                                          const optional<DenseIntegers> &of_key);

	string GetName() const override;
	InsertionOrderPreservingMap<string> ParamsToString() const override;
	unique_ptr<GlobalOperatorState> GetGlobalOperatorState(ClientContext &context) const override;
	OperatorResultType Execute(ExecutionContext &context, DataChunk &input, DataChunk &chunk,
	                           GlobalOperatorState &gstate, OperatorState &state) const override;
	bool ParallelOperator() const override {
		return true;
	}

private:
	idx_t key_column;
	DenseIntegers integers;
	JoinBackPromise promise;
};

} // namespace merganser
