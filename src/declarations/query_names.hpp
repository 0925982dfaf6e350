//===----------------------------------------------------------------------===//
//                         Merganser
//
// declarations/query_names.hpp
//
// What a parsed query names: tables and views, and the texts that files can be named by. Nothing is looked up.
//   SELECT * FROM v JOIN read_parquet('a/*.parquet') USING (k) WHERE x IN (FROM w)
//   relations: v, w     texts: a/*.parquet
// Names of common table expressions are among the relations. Limits: what a macro names in its body, and files whose
// names are computed, are not seen; `hides_files` says that there may be some.
//===----------------------------------------------------------------------===//

#pragma once

#include "settings.hpp"

#include "duckdb/parser/qualified_name.hpp"
#include "duckdb/parser/query_node.hpp"
#include "duckdb/parser/sql_statement.hpp"

namespace merganser {

struct QueryNames {
	vector<QualifiedName> relations;
	unordered_set<string> texts;
	//! A table function is called that may read files which are not among the texts.
	bool hides_files = false;
	//! Functions are called that may be macros.
	bool calls_functions = false;

	void Add(QueryNode &node);
	void Add(SQLStatement &statement);

private:
	void AddRelation(TableRef &ref);
	void AddExpression(ParsedExpression &expression);
};

} // namespace merganser
