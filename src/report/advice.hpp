//===----------------------------------------------------------------------===//
//                         Merganser
//
// report/advice.hpp
//
// What would make a rule apply to a query that it declined, found by trying: the query is planned again as if a key
// were declared (late_materialization/proposed_keys.hpp) or a setting were another, and what makes the rule apply is
// the advice. So advice is the inverse of a decline, and cannot name a key that the rule would not use.
//
// Where the rule applies by keys it proves itself, nothing is advised; where it leaves a proof to the run of the query
// or finds it too dear, declaring the key saves the proof.
// Keys are tried one by one, the most plausible of each relation first. Only where none does it alone, the best of all
// relations are taken together, and those that are not needed are left out again.
// Which decision belongs to which from one plan to the other is known by its position among the rule's decisions; where
// their number is another, nothing is advised.
//===----------------------------------------------------------------------===//

#pragma once

#include "decision_log.hpp"
#include "late_materialization/proposed_keys.hpp"
#include "report/statement_to_plan.hpp"

namespace merganser {

//! Keys that together make the rule apply.
struct KeyAdvice {
	vector<ProposedKey> keys;
	//! The cost estimate of the rewritten query; empty where there is none.
	string gain;

	//! What states them, to be run as it is.
	string Statements() const;
	//! "customer (c_custkey) and nation (n_nationkey)".
	string Names() const;
};

struct Advice {
	//! Empty where the query has nothing to be advised about.
	string rule;
	//! The code of the decline, or "no_candidate".
	string reason;
	//! What to do, in words.
	string sentence;
	//! The same as SQL, where it is no key; empty if words are all there is.
	string statement;
	string gain;
	//! Where it is a key: each makes the rule apply, and they exclude one another. The most plausible first.
	vector<KeyAdvice> keys;

	//! At least one, for each decision of the query that could be another.
	static vector<Advice> Of(ClientContext &context, const StatementToPlan &statement);
};

} // namespace merganser
