//===----------------------------------------------------------------------===//
//                         Merganser
//
// late_materialization/candidate_keys.hpp
//
// Keys of the tables below an aggregate that nobody has declared (plausible_keys.hpp), and their proofs. They stand
// among the keys of their relations, as if they held, until a deferral relies on them: then they are proved, or go.
// What is remembered to hold stands there as proved from the start, and what is remembered not to hold does not.
//
// Sound because: a plan is made only from a deferral all of whose keys are enforced, declared or proved, and when it
// runs, a proved key is checked as a declared one is (key_check.hpp, join_back_guard.hpp). A proof is of the rows the
// statement sees (keys/key_proof.hpp), so that the check only fails where data change while the statement runs.
//===----------------------------------------------------------------------===//

#pragma once

#include "keys/key_prover.hpp"
#include "late_materialization/deferral.hpp"

namespace merganser {

class CandidateKeys {
public:
	//! Adds candidates to the relations of `input`.
	CandidateKeys(ClientContext &context, KeyProver &prover, AggregateInput &input, const AggregateShape &shape);

	//! The first link of the chain whose key has to be proved yet.
	optional_idx FindUnproved(const Deferral &deferral) const;
	//! Whether a key of the chain is proved, or has to be.
	bool RelyOnProof(const Deferral &deferral) const;
	//! Whether the statement may read for the proof of this link's key.
	bool MayProve(const JoinBackLink &link) const;
	//! Proves the key of the link, or takes it away.
	void Prove(const JoinBackLink &link);
	//! Takes the unproved candidates of the chain away that are dearest to prove, or all that are left where the chain
	//! has none. Returns whether there were any.
	bool Drop(const Deferral &deferral);
	//! Of the proofs the deferral relies on and of those taken now.
	vector<pair<string, string>> Facts(const Deferral &deferral) const;

private:
	void Add(BaseRelation &relation, const vector<ColumnBinding> &columns);
	const LogicalGet &ScanOf(const BaseRelation &relation) const;
	vector<ColumnIndex> ColumnsOf(const BaseRelation &relation, const RelationKey &key) const;

	ClientContext &context;
	KeyProver &prover;
	AggregateInput &input;
	vector<pair<string, string>> taken;
};

} // namespace merganser
