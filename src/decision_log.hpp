//===----------------------------------------------------------------------===//
//                         Merganser
//
// decision_log.hpp
//
// Problem: a rule that silently does nothing cannot be understood, tested or trusted.
// Every rule records, for each place it looked at, whether it applied or why it declined. The log belongs to a
// connection and holds the decisions of the statement planned last; merganser_explain prints it.
//===----------------------------------------------------------------------===//

#pragma once

#include "settings.hpp"

#include "duckdb/main/client_context_state.hpp"

namespace merganser {

struct RuleDecision {
	//! Name of the rule: "late_materialization".
	string rule;
	bool applied;
	//! Stable, machine-readable: "applied", "no_bound", "volatile_expression", ...
	string reason;
	//! One sentence for people, with the names and figures of this query.
	string explanation;
	//! What the decision stands on, in order: ("key", "(c_custkey)"), ("fd", "(c_custkey)-->(c_name)"), ...
	vector<pair<string, string>> facts;
	//! Time the rule spent on this place, microseconds.
	double microseconds;
	//! What whoever wrote the query can do to have it decided otherwise; empty if there is nothing to say.
	string remedy;
};

class DecisionLog : public ClientContextState {
public:
	static DecisionLog &Get(ClientContext &context);

	void Record(RuleDecision decision);
	void Clear();
	const vector<RuleDecision> &Decisions() const {
		return decisions;
	}
	//! Whether rules are held back on this connection, to plan a statement as plain DuckDB would.
	bool rules_off = false;
	//! Whether statements are planned to be shown, not to be run.
	bool only_shown = false;

private:
	vector<RuleDecision> decisions;
};

//! While it lives, our rules leave every plan of the connection alone.
class RulesOff {
public:
	explicit RulesOff(ClientContext &context) : log(DecisionLog::Get(context)), previous(log.rules_off) {
		log.rules_off = true;
	}
	~RulesOff() {
		log.rules_off = previous;
	}
	RulesOff(const RulesOff &) = delete;
	RulesOff &operator=(const RulesOff &) = delete;

private:
	DecisionLog &log;
	bool previous;
};

//! While it lives, what the connection plans is shown and not run.
class OnlyShown {
public:
	explicit OnlyShown(ClientContext &context) : log(DecisionLog::Get(context)) {
		log.only_shown = true;
	}
	~OnlyShown() {
		log.only_shown = false;
	}
	OnlyShown(const OnlyShown &) = delete;
	OnlyShown &operator=(const OnlyShown &) = delete;

private:
	DecisionLog &log;
};

} // namespace merganser
