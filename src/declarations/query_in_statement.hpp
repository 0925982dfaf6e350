//===----------------------------------------------------------------------===//
//                         Merganser
//
// declarations/query_in_statement.hpp
//
// Problem: a function that checks many things must ask many queries, one after the other, each planned only when its
// turn comes, in the transaction of the statement that called it: with its snapshot and its uncommitted rows. A second
// connection has another transaction; one large statement of all queries is slow to plan, shows no progress and cannot
// be interrupted while it is planned.
//
// A query here is planned like any other, without our rules, and its pipelines are given to the executor of the running
// statement, as DuckDB's recursive CTEs give it theirs again and again: so all threads work on it, it spills, an
// interrupt or an error ends it together with the statement, and the thread that waits for it works as well.
// Sound: DuckDB may destroy a plan only when no task is left that refers to it, which the executor knows when the
// statement ends. So plans are kept with the connection until then; their results are small and are taken at once.
// Limits: to be used while a statement runs, from one of its operators. EXPLAIN ANALYZE does not show the queries.
//===----------------------------------------------------------------------===//

#pragma once

#include "settings.hpp"

#include "duckdb/parser/statement/select_statement.hpp"
#include "duckdb/planner/binder.hpp"

#include <functional>

namespace merganser {

class QueryInStatement {
public:
	explicit QueryInStatement(ClientContext &context) : context(context) {
	}

	//! Writes the query for the binder that is going to bind it.
	using query_t = std::function<unique_ptr<SelectStatement>(Binder &)>;

	//! Returns all rows when the query has ended. Throws what went wrong, also in another part of the statement.
	vector<vector<Value>> Run(const query_t &query);
	//! To be held by whoever binds something while the statement runs: a connection binds one thing at a time.
	unique_lock<mutex> BindingLock();

private:
	ClientContext &context;
};

} // namespace merganser
