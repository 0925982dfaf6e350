//===----------------------------------------------------------------------===//
//                         Merganser
//
// runners/run_in_stages.hpp
//
//   SET merganser_runner = 'local';
//   SELECT l_returnflag, sum(l_quantity) FROM 'lineitem/*.parquet' GROUP BY ALL;
//
// After DuckDB's optimisers: where a runner is set, the query inside a statement is cut into stages and replaced by one
// source operator that runs them. A query that cannot be cut stays as DuckDB planned it; either way the decision is
// recorded as `stages`. The plan is cut on a copy, so that a query no rule understands is never lost.
//===----------------------------------------------------------------------===//

#pragma once

#include "stages/stage.hpp"

#include "duckdb/optimizer/optimizer.hpp"

namespace merganser {

struct RunInStages {
	static void Register(ExtensionLoader &loader);

	//! Replaces a query, or a COPY and its query, by what runs in stages; returns whether it did and otherwise the
	//! reason. Of a COPY whose files the session writes only the query is replaced, and `reason` says why.
	static bool TryReplace(ClientContext &context, Binder &binder, unique_ptr<LogicalOperator> &plan, string &reason);
	//! Of a plan that TryReplace replaced.
	static const QueryStages &StagesOf(const LogicalOperator &plan);
};

} // namespace merganser
