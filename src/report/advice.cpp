#include "report/advice.hpp"

#include "late_materialization/decline_reason.hpp"
#include "late_materialization/late_materialization.hpp"
#include "report/setting_for_now.hpp"

#include <algorithm>

namespace merganser {

namespace {

//! Longer chains than any query has.
const idx_t ANY_CHAIN = 1000;

struct PlannedDecisions {
	vector<RuleDecision> all;
	//! Those of late materialisation.
	vector<RuleDecision> late;
	//! Of each of these the keys that may be.
	map<idx_t, vector<ProposedKey>> proposals;
};

string EstimateOf(const RuleDecision &decision) {
	for (auto &fact : decision.facts) {
		if (fact.first == "estimate") {
			return fact.second;
		}
	}
	return string();
}

class Search {
public:
	Search(ClientContext &context, const StatementToPlan &statement) : context(context), statement(statement) {
	}

	vector<Advice> Run() {
		planned = AsItIs();
		vector<Advice> result;
		idx_t position = 0;
		for (auto &decision : planned.all) {
			auto is_late = decision.rule == LateMaterialization::NAME;
			if (is_late && !decision.applied) {
				AdviseOn(position, decision, result);
			} else if (!decision.applied || !decision.remedy.empty()) {
				result.push_back(InWords(decision));
			}
			position += is_late ? 1 : 0;
		}
		if (result.empty()) {
			Advice nothing;
			nothing.reason = "no_candidate";
			nothing.sentence = planned.all.empty() ? "no rule looks at this query"
			                                       : "nothing: every rule that looks at this query applies";
			result.push_back(std::move(nothing));
		}
		return result;
	}

private:
	//! The decisions of the query when it is run, and the keys that may be if none is proved.
	PlannedDecisions AsItIs() const {
		auto result = Decisions();
		auto unproved = Decide({});
		if (unproved.late.size() == result.late.size()) {
			result.proposals = std::move(unproved.proposals);
		}
		return result;
	}

	PlannedDecisions Decide(const vector<ProposedKey> &assumed) const {
		ProposingKeys proposing(context, assumed);
		auto result = Decisions();
		result.proposals = proposing.Proposals();
		return result;
	}

	PlannedDecisions Decisions() const {
		PlannedDecisions result;
		OnlyShown shown(context);
		statement.Optimize(context);
		auto &log = DecisionLog::Get(context);
		result.all = log.Decisions();
		log.Clear();
		for (auto &decision : result.all) {
			if (decision.rule == LateMaterialization::NAME) {
				result.late.push_back(decision);
			}
		}
		return result;
	}

	//! The decision at this position if these keys were declared; null if it cannot be told which it is.
	unique_ptr<RuleDecision> DecisionWith(idx_t position, const vector<ProposedKey> &assumed) const {
		return Among(Decide(assumed).late, position);
	}

	//! The same with the settings of now.
	unique_ptr<RuleDecision> DecisionNow(idx_t position) const {
		return Among(Decisions().late, position);
	}

	unique_ptr<RuleDecision> Among(const vector<RuleDecision> &decisions, idx_t position) const {
		return decisions.size() == planned.late.size() ? make_uniq<RuleDecision>(decisions[position]) : nullptr;
	}

	bool AppliesWith(idx_t position, const vector<ProposedKey> &assumed, KeyAdvice &advice, bool &would_not_pay) const {
		auto decision = DecisionWith(position, assumed);
		if (!decision) {
			return false;
		}
		would_not_pay = would_not_pay || decision->reason == DeclineReasons::Code(DeclineReason::NOT_WORTH_IT);
		advice.keys = assumed;
		advice.gain = EstimateOf(*decision);
		return decision->applied;
	}

	void AdviseOn(idx_t position, const RuleDecision &decision, vector<Advice> &result) const {
		if (TrySettings(position, decision, result)) {
			return;
		}
		auto found = planned.proposals.find(position);
		auto proposals = found == planned.proposals.end() ? vector<ProposedKey>() : found->second;
		auto would_not_pay = false;
		auto before = result.size();
		for (idx_t begin = 0, end; begin < proposals.size(); begin = end) {
			end = begin;
			auto advice = InWords(decision);
			for (; end < proposals.size() && proposals[end].relation == proposals[begin].relation; end++) {
				KeyAdvice keys;
				if (AppliesWith(position, {proposals[end]}, keys, would_not_pay)) {
					advice.keys.push_back(std::move(keys));
				}
			}
			AddIfAny(std::move(advice), result);
		}
		if (result.size() == before) {
			auto advice = InWords(decision);
			advice.keys = Together(position, proposals, would_not_pay);
			AddIfAny(std::move(advice), result);
		}
		if (result.size() == before) {
			auto advice = InWords(decision);
			if (would_not_pay) {
				advice.sentence =
				    string("nothing: with a key declared, ") + DeclineReasons::Sentence(DeclineReason::NOT_WORTH_IT);
			}
			result.push_back(std::move(advice));
		}
	}

	static void AddIfAny(Advice advice, vector<Advice> &result) {
		if (!advice.keys.empty()) {
			advice.sentence = "declare the key " + advice.keys[0].Names();
			result.push_back(std::move(advice));
		}
	}

	//! The best of each relation, without those that are not needed.
	vector<KeyAdvice> Together(idx_t position, const vector<ProposedKey> &proposals, bool &would_not_pay) const {
		vector<ProposedKey> keys;
		for (auto &proposal : proposals) {
			if (keys.empty() || keys.back().relation != proposal.relation) {
				keys.push_back(proposal);
			}
		}
		KeyAdvice result;
		if (keys.size() < 2 || !AppliesWith(position, keys, result, would_not_pay)) {
			return {};
		}
		for (idx_t i = keys.size(); i-- > 0;) {
			auto fewer = result.keys;
			fewer.erase(fewer.begin() + NumericCast<int64_t>(i));
			KeyAdvice without;
			if (!fewer.empty() && AppliesWith(position, fewer, without, would_not_pay)) {
				result = std::move(without);
			}
		}
		return {result};
	}

	//! Where a setting is what keeps the rule from applying.
	bool TrySettings(idx_t position, const RuleDecision &decision, vector<Advice> &result) const {
		if (decision.reason == DeclineReasons::Code(DeclineReason::SWITCHED_OFF)) {
			return TrySetting(position, decision, "merganser_late_materialization", Value::BOOLEAN(true), result);
		}
		if (decision.reason == DeclineReasons::Code(DeclineReason::CHAIN_TOO_LONG)) {
			SettingForNow any(context, "merganser_late_materialization_max_chain", Value::UBIGINT(ANY_CHAIN));
			auto with = DecisionNow(position);
			auto links = with ? std::count_if(with->facts.begin(), with->facts.end(),
			                                  [](const pair<string, string> &fact) { return fact.first == "key"; })
			                  : 0;
			return TrySetting(position, decision, "merganser_late_materialization_max_chain",
			                  Value::UBIGINT(NumericCast<idx_t>(links)), result);
		}
		return false;
	}

	bool TrySetting(idx_t position, const RuleDecision &decision, const string &name, const Value &value,
	                vector<Advice> &result) const {
		SettingForNow setting(context, name, value);
		auto with = DecisionNow(position);
		if (!with || !with->applied) {
			return false;
		}
		auto advice = InWords(decision);
		advice.statement = "SET " + name + " = " + value.ToSQLString() + ";";
		advice.gain = EstimateOf(*with);
		result.push_back(std::move(advice));
		return true;
	}

	//! What the rule itself says.
	static Advice InWords(const RuleDecision &decision) {
		Advice result;
		result.rule = decision.rule;
		result.reason = decision.reason;
		result.sentence = decision.remedy.empty() ? decision.explanation : decision.remedy;
		return result;
	}

	ClientContext &context;
	const StatementToPlan &statement;
	PlannedDecisions planned;
};

} // namespace

string KeyAdvice::Statements() const {
	return StringUtil::Join(keys, keys.size(), "\n", [](const ProposedKey &key) { return key.statement; });
}

string KeyAdvice::Names() const {
	return StringUtil::Join(keys, keys.size(), " and ", [](const ProposedKey &key) { return key.name; });
}

vector<Advice> Advice::Of(ClientContext &context, const StatementToPlan &statement) {
	return Search(context, statement).Run();
}

} // namespace merganser
