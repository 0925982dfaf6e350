#include "decision_log.hpp"

#include "duckdb/main/client_context.hpp"

namespace merganser {

DecisionLog &DecisionLog::Get(ClientContext &context) {
	return *context.registered_state->GetOrCreate<DecisionLog>("merganser_decision_log");
}

void DecisionLog::Record(RuleDecision decision) {
	decisions.push_back(std::move(decision));
}

void DecisionLog::Clear() {
	decisions.clear();
}

} // namespace merganser
