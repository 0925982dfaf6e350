#include "late_materialization/deferral_choice.hpp"

#include "late_materialization/cost_estimate.hpp"
#include "late_materialization/partial_reading.hpp"

namespace merganser {

DeferralChoice::DeferralChoice(ClientContext &context, KeyProver &prover, AggregateInput &input,
                               const AggregateShape &shape, const AncestorPath &ancestors)
    : context(context), prover(prover), input(input), shape(shape), ancestors(ancestors),
      candidates(context, prover, input, shape) {
}

unique_ptr<Deferral> DeferralChoice::TryChoose(RuleDecision &decision, DeclineReason &reason) {
	while (true) {
		auto deferral = make_uniq<Deferral>(input, shape);
		if (!TryFind(*deferral, reason)) {
			order_needs_columns = order_needs_columns || reason == DeclineReason::ORDER_NEEDS_COLUMN;
			if (candidates.Drop(*deferral)) {
				continue;
			}
			reason = BetterReason(reason);
			AddFacts(*deferral, decision);
			return nullptr;
		}
		if (candidates.RelyOnProof(*deferral)) {
			prover.PlanAgainAtExecute();
		}
		auto unproved = candidates.FindUnproved(*deferral);
		if (!unproved.IsValid()) {
			AddFacts(*deferral, decision);
			for (auto &fact : deferral->Facts()) {
				decision.facts.push_back(fact);
			}
			return deferral;
		}
		auto &link = deferral->Chain()[unproved.GetIndex()];
		if (!candidates.MayProve(link)) {
			reason = DeclineReason::PROOF_NOT_TAKEN;
			AddFacts(*deferral, decision);
			return nullptr;
		}
		candidates.Prove(link);
	}
}

DeclineReason DeferralChoice::BetterReason(DeclineReason reason) const {
	if (reason != DeclineReason::NO_DETERMINED_COLUMN) {
		return reason;
	}
	if (would_not_pay) {
		return proof_too_dear ? DeclineReason::PROOF_NOT_WORTH_IT : DeclineReason::NOT_WORTH_IT;
	}
	return order_needs_columns ? DeclineReason::ORDER_NEEDS_COLUMN : reason;
}

bool DeferralChoice::TryFind(Deferral &deferral, DeclineReason &reason) {
	auto max_chain = Settings::LateMaterializationMaxChain(context);
	if (!deferral.TryFind(max_chain, reason)) {
		return false;
	}
	if (!Settings::LateMaterializationCost(context)) {
		return true;
	}
	for (auto thin = CostEstimate::FindThinLink(deferral); thin.IsValid();
	     thin = CostEstimate::FindThinLink(deferral)) {
		if (!deferral.TryWithoutLink(thin.GetIndex(), max_chain, reason)) {
			return false;
		}
	}
	CostEstimate cost(input, deferral, shape);
	estimate = cost.ToString();
	auto partial = !shape.bound.IsValid() && PartialReading::IsExpected(context, ancestors, shape, cost.Groups());
	if (!cost.Pays() || partial) {
		would_not_pay = true;
		proof_too_dear = proof_too_dear || (!partial && cost.PaysWithoutProof());
		reason = DeclineReason::NOT_WORTH_IT;
		return false;
	}
	return true;
}

void DeferralChoice::AddFacts(const Deferral &deferral, RuleDecision &decision) const {
	if (!estimate.empty()) {
		decision.facts.emplace_back("estimate", estimate);
	}
	for (auto &fact : candidates.Facts(deferral)) {
		decision.facts.push_back(fact);
	}
}

} // namespace merganser
