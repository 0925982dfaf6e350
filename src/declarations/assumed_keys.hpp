//===----------------------------------------------------------------------===//
//                         Merganser
//
// declarations/assumed_keys.hpp
//
// Keys that nobody has stated and that a plan is made with nevertheless, to see what would come of stating them. While
// AssumedKeys is active, who asks for the keys of a scan counts them as declared, and takes every table and every scan
// of files for a relation that may have keys. Nothing planned meanwhile may be run.
//
// A relation is known by the SQL that names it, so that it is recognised in the next plan of the same text: a table's
// qualified name, or the call that reads files.
//===----------------------------------------------------------------------===//

#pragma once

#include "settings.hpp"

#include "duckdb/main/client_context_state.hpp"
#include "duckdb/planner/operator/logical_get.hpp"

namespace merganser {

struct AssumedKey {
	//! SQL to read the relation by: memory.main.customer, or read_parquet('customer.parquet').
	string relation;
	//! As the scan calls them.
	vector<string> columns;
	//! "customer (c_custkey)".
	string name;
};

class AssumedKeys : public ClientContextState {
public:
	//! Null unless keys are being assumed on this connection.
	static shared_ptr<AssumedKeys> Find(ClientContext &context);
	static AssumedKeys &Get(ClientContext &context);

	//! SQL to read the scan's relation by; empty where no key can be stated of it: it is neither table nor files.
	static string RelationOf(const LogicalGet &get);
	//! A name for files without one: "orders-*.parquet" -> orders.
	static string StemOf(const LogicalGet &get);

	bool active = false;
	vector<AssumedKey> keys;
};

} // namespace merganser
