//===----------------------------------------------------------------------===//
//                         Merganser
//
// late_materialization/deferral_choice.hpp
//
// Which deferral an aggregate gets: the one that is found with all keys that hold and those that may
// (candidate_keys.hpp), if it is estimated to pay. Then the keys it relies on and nobody has declared are proved, one
// after the other; where one does not hold, the search begins again without it. Where the proof would be too dear, it
// is searched without the dearest. It ends, as each round proves a candidate or loses one. So a wrong guess leaves what
// the keys that are known give, as if it had not been made.
//===----------------------------------------------------------------------===//

#pragma once

#include "decision_log.hpp"
#include "late_materialization/candidate_keys.hpp"

namespace merganser {

class DeferralChoice {
public:
	//! `ancestors`: of the shape's aggregate.
	DeferralChoice(ClientContext &context, KeyProver &prover, AggregateInput &input, const AggregateShape &shape,
	               const AncestorPath &ancestors);

	//! Null where there is none; then `reason` says why. Adds the facts to the decision.
	unique_ptr<Deferral> TryChoose(RuleDecision &decision, DeclineReason &reason);

private:
	//! What would have been, had the keys been there that are not.
	DeclineReason BetterReason(DeclineReason reason) const;
	//! Whether the deferral is found and pays, with candidates taken for keys.
	bool TryFind(Deferral &deferral, DeclineReason &reason);
	void AddFacts(const Deferral &deferral, RuleDecision &decision) const;

	ClientContext &context;
	KeyProver &prover;
	AggregateInput &input;
	const AggregateShape &shape;
	const AncestorPath &ancestors;
	CandidateKeys candidates;
	//! Of the last deferral that was found.
	string estimate;
	bool proof_too_dear = false;
	//! With keys that may hold there was a deferral that did not pay.
	bool would_not_pay = false;
	//! With keys that may hold there were columns that could leave, but ORDER BY or HAVING needs all of them.
	bool order_needs_columns = false;
};

} // namespace merganser
