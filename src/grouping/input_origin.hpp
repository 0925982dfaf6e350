//===----------------------------------------------------------------------===//
//                         Merganser
//
// grouping/input_origin.hpp
//
// Follows a table function's input down to the operator that decides how its rows arrive, through operators that keep
// every thread's stream of rows as it is: projections, filters and table functions with row semantics that preserve
// order.
//   SESSION <- Projection(b AS y, a AS x) <- Filter <- SESSION'
//   column x of the input is column a of the output of SESSION'
// Works on plans whose column bindings DuckDB has resolved to positions, that is while the physical plan is made.
//===----------------------------------------------------------------------===//

#pragma once

#include "grouping/logical_table_function.hpp"

namespace merganser {

struct InputOrigin {
	explicit InputOrigin(LogicalOperator &input);

	//! The deciding operator.
	reference<LogicalOperator> source;
	//! Per column of the input, the column of the source it repeats; invalid for computed columns.
	vector<optional_idx> columns;
	//! A row-semantics function lies between, so rows may be repeated or left out.
	bool through_function = false;

	//! Positions in the source, or nothing if one of them is computed.
	bool Map(const vector<idx_t> &positions, vector<idx_t> &result) const;

private:
	bool StepThrough();
	void StepThroughProjection(LogicalOperator &projection);
	void StepThroughFilter(LogicalOperator &filter);
	void StepThroughFunction(LogicalTableFunction &function);
};

} // namespace merganser
