#include "ordered_windows/ordered_windows.hpp"

#include "decision_log.hpp"
#include "ordered_windows/logical_ordered_window.hpp"

#include "duckdb/main/config.hpp"
#include "duckdb/main/extension/extension_loader.hpp"
#include "duckdb/optimizer/optimizer_extension.hpp"

namespace merganser {

namespace {

bool AllHavePartitions(const LogicalOperator &window) {
	return std::all_of(window.expressions.begin(), window.expressions.end(),
	                   [](const unique_ptr<Expression> &expression) {
		                   return !expression->Cast<BoundWindowExpression>().Partitions().empty();
	                   });
}

void MarkWindows(ClientContext &context, unique_ptr<LogicalOperator> &owner) {
	for (auto &child : owner->children) {
		MarkWindows(context, child);
	}
	if (owner->type != LogicalOperatorType::LOGICAL_WINDOW || !AllHavePartitions(*owner)) {
		return;
	}
	if (Settings::OrderedWindows(context)) {
		owner = make_uniq<LogicalOrderedWindow>(std::move(owner));
		return;
	}
	auto reason = WindowDecline::SWITCHED_OFF;
	DecisionLog::Get(context).Record(RuleDecision {
	    OrderedWindows::NAME, false, WindowDeclines::Code(reason), WindowDeclines::Sentence(reason), {}, 0, string()});
}

void Run(OptimizerExtensionInput &input, unique_ptr<LogicalOperator> &plan) {
	if (!DecisionLog::Get(input.context).rules_off) {
		MarkWindows(input.context, plan);
	}
}

} // namespace

void OrderedWindows::Register(ExtensionLoader &loader) {
	OptimizerExtension extension;
	extension.optimize_function = Run;
	OptimizerExtension::Register(DBConfig::GetConfig(loader.GetDatabaseInstance()), std::move(extension));
}

} // namespace merganser
