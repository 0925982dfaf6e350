//===----------------------------------------------------------------------===//
//                         Merganser
//
// late_materialization/proposed_keys.hpp
//
// Advice is the inverse of a decline: a query is planned again as if a key were declared, and if the rule applies then,
// declaring it is the advice. While ProposingKeys lives, each decline of the connection's plans leaves the keys that
// its query shows to be candidates (plausible_keys.hpp), as proposals, and the keys that are assumed count as declared.
// Nothing planned meanwhile may be run: what is assumed has not been stated by anybody.
//
// A relation is known by the SQL that names it, so that it is recognised in the next plan of the same text: a table's
// qualified name, or the call that reads files. A key of files is declared on a view: one the query names, another
// declared one, or a new one.
//===----------------------------------------------------------------------===//

#pragma once

#include "late_materialization/plausible_keys.hpp"

#include "duckdb/main/client_context_state.hpp"

namespace merganser {

struct ProposedKey {
	//! SQL to read the relation by: memory.main.customer, or read_parquet('customer.parquet').
	string relation;
	//! As the scan calls them.
	vector<string> columns;
	//! "customer (c_custkey)".
	string name;
	//! What states the key, to be run as it is.
	string statement;
};

class ProposedKeys : public ClientContextState {
public:
	//! Null unless a ProposingKeys of this connection lives.
	static shared_ptr<ProposedKeys> Find(ClientContext &context);

	//! SQL to read the scan's relation by; empty where no key can be stated of it: it is neither table nor files.
	static string RelationOf(const LogicalGet &get);
	//! A name for files without one: "orders-*.parquet" -> orders.
	static string StemOf(const LogicalGet &get);
	//! Leaves the candidates of a decline.
	void Propose(ClientContext &context, const AggregateInput &input, const Deferral &deferral);

	bool active = false;
	vector<ProposedKey> assumed;
	//! Of each decision of the rule, by its position among them, the proposals: the most plausible first.
	map<idx_t, vector<ProposedKey>> proposals;
};

//! Throughout its life the connection's plans propose keys, and take these for declared.
class ProposingKeys {
public:
	ProposingKeys(ClientContext &context, vector<ProposedKey> assumed);
	~ProposingKeys();
	ProposingKeys(const ProposingKeys &) = delete;
	ProposingKeys &operator=(const ProposingKeys &) = delete;

	const map<idx_t, vector<ProposedKey>> &Proposals() const {
		return keys->proposals;
	}

private:
	shared_ptr<ProposedKeys> keys;
};

} // namespace merganser
