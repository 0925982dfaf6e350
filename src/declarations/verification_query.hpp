//===----------------------------------------------------------------------===//
//                         Merganser
//
// declarations/verification_query.hpp
//
// The SQL that checks one declaration against the data. DuckDB runs it in parallel, spilling where it must, and it sees
// the transaction it runs in.
//   PRIMARY KEY (a): keys that stand in more than one row, and keys with a NULL
//   UNIQUE (a): keys without a NULL that stand in more than one row
//   FOREIGN KEY (x) REFERENCES u (y): keys without a NULL that u does not have
//   PARTITIONED BY (a): partitions that stand in more than one region
//   SORTED BY (a, b): rows that come before the row above them in their region
// A region is a Parquet file, for a view that is one SELECT over one Parquet scan; for PARTITIONED BY, files in one
// hive directory are one region. A DuckDB table is one region, in the order of its row ids. Limits: the layout of other
// views cannot be checked. SORTED BY compares as ORDER BY does, without collations.
//===----------------------------------------------------------------------===//

#pragma once

#include "declarations/declaration_store.hpp"

namespace merganser {

class VerificationQuery {
public:
	VerificationQuery(ClientContext &context, CatalogEntry &table_or_view);

	//! A SELECT of one row: holds BOOLEAN (NULL if it cannot be told), violating_keys BIGINT, sample VARCHAR[] (at most
	//! five violating keys, or why it cannot be told).
	string Of(const StoredDeclaration &stored);

private:
	string Violations(const Declaration &declaration);
	string KeyViolations(const Declaration &declaration) const;
	string ForeignKeyViolations(const Declaration &declaration) const;
	string PartitionViolations(const Declaration &declaration, const string &regions) const;
	string OrderViolations(const Declaration &declaration, const string &regions) const;
	//! FROM item "checked" with the object's columns, merganser_region and merganser_row.
	string Regions();

	ClientContext &context;
	CatalogEntry &object;
	string name;
};

} // namespace merganser
