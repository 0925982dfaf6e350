//===----------------------------------------------------------------------===//
//                         Merganser
//
// report/statement_to_plan.hpp
//
// Problem: merganser_explain and merganser_stages plan a text and run nothing. But some statements of DuckDB act while
// they are bound (EXPORT DATABASE makes its folder; PRAGMA and IMPORT DATABASE are expanded while they are parsed),
// some become several statements (PIVOT without a list of values), and some have no plan before parameters have values.
// So the text is parsed and nothing else, and only kinds of statements whose binding reads the catalog and files, and
// whose plan holds a query, are let through:
//   SELECT, INSERT, UPDATE, DELETE, MERGE INTO, COPY, CREATE TABLE, CREATE VIEW
// Sound for statements DuckDB may get: what is not on the list is refused. Limit: a table function that acts while it
// is bound acts here as well, as it does under DuckDB's EXPLAIN.
// Errors: BinderException that says which function, what the text is, and what to give instead.
//===----------------------------------------------------------------------===//

#pragma once

#include "settings.hpp"

#include "duckdb/parser/sql_statement.hpp"
#include "duckdb/planner/planner.hpp"

namespace merganser {

class StatementToPlan {
public:
	//! `function` is the name to use in errors; `text` the statement, which may be NULL.
	StatementToPlan(ClientContext &context, const char *function, const Value &text);

	StatementType Type() const {
		return statement->type;
	}
	//! As it was written.
	const string &Sql() const {
		return sql;
	}
	//! Binds a copy of the statement: the planner has its plan, not optimised.
	void Bind(Planner &planner) const;
	//! Plans a copy as DuckDB would to run it, so that the decision log has all that is decided. Returns the optimised
	//! plan as text.
	string Optimize(ClientContext &context) const;

private:
	string Refusal() const;

	const char *function;
	string sql;
	unique_ptr<SQLStatement> statement;
};

} // namespace merganser
