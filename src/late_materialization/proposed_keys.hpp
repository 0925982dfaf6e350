//===----------------------------------------------------------------------===//
//                         Merganser
//
// late_materialization/proposed_keys.hpp
//
// Advice is the inverse of a decline: a query is planned again as if a key were declared, and if the rule applies then,
// declaring it is the advice. While ProposingKeys lives, each decline of the connection's plans leaves the keys that
// its query shows to be candidates (plausible_keys.hpp), as proposals, and the keys that are assumed count as declared.
// Nothing planned meanwhile may be run: what is assumed has not been stated by anybody.
// A key of files is declared on a view: one the query names, another declared one, or a new one.
//===----------------------------------------------------------------------===//

#pragma once

#include "declarations/assumed_keys.hpp"
#include "late_materialization/plausible_keys.hpp"

#include "duckdb/main/client_context_state.hpp"

namespace merganser {

struct ProposedKey : AssumedKey {
	//! What states the key, to be run as it is.
	string statement;
};

class ProposedKeys : public ClientContextState {
public:
	//! Null unless a ProposingKeys of this connection lives.
	static shared_ptr<ProposedKeys> Find(ClientContext &context);

	void Clear() {
		proposals.clear();
		new_views.clear();
	}
	//! Leaves the candidates of a decline.
	void Propose(ClientContext &context, const AggregateInput &input, const Deferral &deferral);

	bool active = false;
	//! Of each decision of the rule, by its position among them, the proposals: the most plausible first.
	map<idx_t, vector<ProposedKey>> proposals;

private:
	string StatementForFiles(ClientContext &context, const LogicalGet &get, const vector<string> &columns);
	const string &NewView(ClientContext &context, const LogicalGet &get);

	//! Files without a view -> the name of the view to make, another one for each.
	map<string, string> new_views;
};

//! Throughout its life the connection's plans propose keys, and take these for declared.
class ProposingKeys {
public:
	ProposingKeys(ClientContext &context, const vector<ProposedKey> &keys);
	~ProposingKeys();
	ProposingKeys(const ProposingKeys &) = delete;
	ProposingKeys &operator=(const ProposingKeys &) = delete;

	const map<idx_t, vector<ProposedKey>> &Proposals() const {
		return proposed->proposals;
	}

private:
	shared_ptr<ProposedKeys> proposed;
	AssumedKeys &assumed;
};

} // namespace merganser
