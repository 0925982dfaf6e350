//===----------------------------------------------------------------------===//
//                         Merganser
//
// declarations/verification_query.hpp
//
// The query that checks one declaration against the data. DuckDB runs it in parallel, spilling where it must, and it
// sees the transaction it runs in.
//   PRIMARY KEY (a): keys that stand in more than one row, and keys with a NULL
//   UNIQUE (a): keys without a NULL that stand in more than one row
//   FOREIGN KEY (x) REFERENCES u (y): keys without a NULL that u does not have
//   PARTITIONED BY (a): partitions that stand in more than one region
//   SORTED BY (a, b): rows that come before the row above them in their region
// Every name in it is ours or is qualified, so that neither columns nor functions of the user's can stand for them:
// columns are read as checked."a", functions are system.main's, regions come from region_rows.hpp.
// Order is checked in one pass over the rows as they stand, each compared with the one before it (DuckDB's streaming
// window, on one thread). That the pass saw every region in one piece and from its first row to its last is counted as
// well, and an error if it did not.
// Limits: the layout of views that region_rows.hpp does not know. SORTED BY compares as ORDER BY does, without
// collations.
//===----------------------------------------------------------------------===//

#pragma once

#include "declarations/declaration_store.hpp"

#include "duckdb/parser/statement/select_statement.hpp"
#include "duckdb/planner/binder.hpp"

namespace merganser {

class VerificationQuery {
public:
	VerificationQuery(Binder &binder, CatalogEntry &table_or_view);

	//! A SELECT of one row, to be bound by the binder: violations BIGINT, sample VARCHAR[] (at most five violating
	//! keys, NULL for none), pieces BIGINT (more than 0 if the rows did not come region by region). Null where the
	//! layout of this object cannot be checked.
	unique_ptr<SelectStatement> Of(const Declaration &declaration);
	//! The same for a key that is not declared: `relation` is SQL that names what to read, a table or a call.
	static unique_ptr<SelectStatement> OfPrimaryKey(Binder &binder, const string &relation,
	                                                const vector<string> &columns);
	//! A query of one row that checks nothing.
	static unique_ptr<SelectStatement> Nothing(Binder &binder);

private:
	string ForeignKeyViolations(const Declaration &declaration) const;
	unique_ptr<SelectStatement> OverRegions(const Declaration &declaration, const string &sql) const;

	Binder &binder;
	CatalogEntry &object;
	string name;
};

} // namespace merganser
