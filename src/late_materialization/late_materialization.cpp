#include "late_materialization/late_materialization.hpp"

#include "decision_log.hpp"
#include "late_materialization/changed_tables.hpp"
#include "late_materialization/columns_read.hpp"
#include "late_materialization/cost_estimate.hpp"
#include "late_materialization/deferral_choice.hpp"
#include "late_materialization/distinct_as_aggregate.hpp"
#include "late_materialization/foreign_key_elimination.hpp"
#include "late_materialization/join_back.hpp"
#include "late_materialization/proposed_keys.hpp"
#include "late_materialization/shapes/bounded_top_n.hpp"
#include "late_materialization/shapes/every_group.hpp"

#include "duckdb/main/extension/extension_loader.hpp"
#include "duckdb/optimizer/cte_inlining.hpp"
#include "duckdb/optimizer/optimizer_extension.hpp"
#include "duckdb/planner/expression/bound_aggregate_expression.hpp"

#include <chrono>

namespace merganser {

namespace {

//! With one output column nothing can be deferred: the rule has nothing to look at.
bool IsCandidate(LogicalOperator &op) {
	if (op.type != LogicalOperatorType::LOGICAL_AGGREGATE_AND_GROUP_BY) {
		return false;
	}
	auto &aggregate = op.Cast<LogicalAggregate>();
	return !aggregate.groups.empty() && aggregate.groups.size() + aggregate.expressions.size() > 1;
}

bool Contains(LogicalOperator &op, const std::function<bool(LogicalOperator &)> &condition) {
	if (condition(op)) {
		return true;
	}
	for (auto &child : op.children) {
		if (Contains(*child, condition)) {
			return true;
		}
	}
	return false;
}

bool IsVolatile(const AggregateShape &query) {
	auto &aggregate = *query.aggregate;
	auto any_volatile = [](const vector<unique_ptr<Expression>> &expressions) {
		for (auto &expression : expressions) {
			if (expression->IsVolatile()) {
				return true;
			}
		}
		return false;
	};
	for (auto &order : query.orders) {
		if (order.expression->IsVolatile()) {
			return true;
		}
	}
	return any_volatile(aggregate.groups) || any_volatile(aggregate.expressions) || any_volatile(query.having) ||
	       aggregate.children[0]->HasVolatileExpressions();
}

//! One pass over one plan.
class LateMaterializationPass {
public:
	LateMaterializationPass(Optimizer &optimizer, unique_ptr<LogicalOperator> &root)
	    : optimizer(optimizer), root(root), relation_keys(optimizer), prover(optimizer.context, *root) {
	}

	void Visit(unique_ptr<LogicalOperator> &op) {
		if (DistinctAsAggregate::IsCandidate(*op)) {
			VisitDistinct(op);
			return;
		}
		if (IsCandidate(*op)) {
			auto below = Decide(op);
			Visit(below ? *below : op->children[0]);
			return;
		}
		auto &visited = *op;
		// A rewrite replaces the HAVING filter above its aggregate too, and has then visited what is left to visit.
		for (idx_t i = 0; op.get() == &visited && i < op->children.size(); i++) {
			auto outside = in_recursion;
			in_recursion = in_recursion || (op->type == LogicalOperatorType::LOGICAL_RECURSIVE_CTE && i == 1);
			Visit(op->children[i]);
			in_recursion = outside;
		}
	}

private:
	void VisitDistinct(unique_ptr<LogicalOperator> &op) {
		DistinctAsAggregate grouped(optimizer, root, op);
		auto below = Decide(op);
		if (!below) {
			grouped.Restore();
		}
		Visit(below ? *below : op->children[0]);
	}

	//! Rewrites the aggregate or not: then null, else the owner of its input, where the visit goes on.
	optional_ptr<unique_ptr<LogicalOperator>> Decide(unique_ptr<LogicalOperator> &owner) {
		auto start = std::chrono::steady_clock::now();
		RuleDecision decision;
		decision.rule = LateMaterialization::NAME;
		auto reason = DeclineReason::NO_BOUND;
		auto below = TryApply(owner, decision, reason);
		decision.applied = below != nullptr;
		if (decision.applied) {
			decision.reason = "applied";
		} else {
			decision.reason = DeclineReasons::Code(reason);
			decision.explanation = DeclineReasons::Sentence(reason);
			decision.remedy = DeclineReasons::Remedy(reason);
		}
		std::chrono::duration<double, std::micro> elapsed = std::chrono::steady_clock::now() - start;
		decision.microseconds = elapsed.count();
		DecisionLog::Get(optimizer.context).Record(std::move(decision));
		return below;
	}

	optional_ptr<unique_ptr<LogicalOperator>> TryApply(unique_ptr<LogicalOperator> &owner, RuleDecision &decision,
	                                                   DeclineReason &reason) {
		auto &context = optimizer.context;
		if (!Settings::LateMaterialization(context)) {
			reason = DeclineReason::SWITCHED_OFF;
			return nullptr;
		}
		if (in_recursion) {
			reason = DeclineReason::RECURSIVE_CTE;
			return nullptr;
		}
		auto &aggregate = owner->Cast<LogicalAggregate>();
		if (aggregate.grouping_sets.size() > 1 || !aggregate.grouping_functions.empty()) {
			reason = DeclineReason::GROUPING_SETS;
			return nullptr;
		}
		AncestorPath ancestors;
		AncestorPaths::TryFind(root, aggregate, ancestors);
		ancestors.pop_back();
		AggregateInput input(context, relation_keys, *aggregate.children[0]);
		auto displayed = ColumnsRead::Of(ancestors, aggregate);
		AggregateShape top;
		DeclineReason why_not_bounded;
		auto has_bound = BoundedTopN::TryMatch(ancestors, owner, Settings::LateMaterializationMaxRows(context), top,
		                                       why_not_bounded);
		if (has_bound) {
			top.displayed = displayed;
			const auto stated = input.Relations();
			auto below = TryShape(input, top, ancestors, decision, why_not_bounded);
			if (below) {
				decision.explanation = "grouped by the key alone; determined columns are fetched for the rows shown";
				return below;
			}
			input.MutableRelations() = stated; // without the proofs this shape has taken
		}
		reason = why_not_bounded;
		if (reason == DeclineReason::BOUND_IS_ZERO || (has_bound && reason != DeclineReason::ORDER_NEEDS_COLUMN)) {
			return nullptr;
		}
		decision.facts.clear();
		auto every_group = EveryGroup::Of(ancestors, owner);
		every_group.displayed = std::move(displayed);
		auto below = TryShape(input, every_group, ancestors, decision, reason);
		if (below) {
			decision.explanation = "grouped by the key alone; determined columns are fetched for every group";
		} else if (reason == DeclineReason::NOT_WORTH_IT && input.EstimatedRows() >= CostEstimate::SMALL_INPUT_ROWS) {
			reason = why_not_bounded;
		}
		return below;
	}

	optional_ptr<unique_ptr<LogicalOperator>> TryShape(AggregateInput &input, AggregateShape &shape,
	                                                   const AncestorPath &ancestors, RuleDecision &decision,
	                                                   DeclineReason &reason) {
		auto &context = optimizer.context;
		if (IsVolatile(shape)) {
			reason = DeclineReason::VOLATILE_EXPRESSION;
			return nullptr;
		}
		auto chosen = DeferralChoice(context, prover, input, shape, ancestors).TryChoose(decision, reason);
		if (!chosen) {
			if (auto proposed = ProposedKeys::Find(context)) {
				proposed->Propose(context, input, Deferral(input, shape));
			}
			return nullptr;
		}
		auto &deferral = *chosen;
		if (ChangedTables::AreFetched(*root, input, deferral, shape.bound.IsValid())) {
			reason = DeclineReason::CHANGED_TABLE;
			return nullptr;
		}
		JoinBack join_back(optimizer, input, deferral, shape);
		join_back.Apply(root);
		ForeignKeyElimination elimination(context, join_back.NarrowAggregate(), input);
		for (auto &dimension : elimination.Apply(deferral.Chain())) {
			auto &foreign_key = dimension.foreign_key;
			join_back.Guard(dimension.link).RelyOnForeignKey(foreign_key.sentence, foreign_key.object);
			decision.facts.emplace_back("foreign key", foreign_key.name);
		}
		return join_back.NarrowAggregate().children[0];
	}

	Optimizer &optimizer;
	unique_ptr<LogicalOperator> &root;
	RelationKeys relation_keys;
	KeyProver prover;
	//! Below the part of a recursive CTE that runs again and again.
	bool in_recursion = false;
};

void Run(OptimizerExtensionInput &extension_input, unique_ptr<LogicalOperator> &plan) {
	auto &optimizer = extension_input.optimizer;
	auto &log = DecisionLog::Get(extension_input.context);
	log.Clear();
	auto is_candidate = [](LogicalOperator &op) {
		return IsCandidate(op) || DistinctAsAggregate::IsCandidate(op);
	};
	if (log.rules_off || !Contains(*plan, is_candidate)) {
		return;
	}
	auto is_cte = [](LogicalOperator &op) {
		return op.type == LogicalOperatorType::LOGICAL_MATERIALIZED_CTE;
	};
	if (Settings::LateMaterialization(optimizer.context) && Contains(*plan, is_cte) &&
	    !optimizer.OptimizerDisabled(OptimizerType::CTE_INLINING)) {
		// DuckDB inlines CTEs right after this rule; done here already, the rule sees their scans.
		CTEInlining inlining(optimizer);
		plan = inlining.Optimize(std::move(plan));
	}
	LateMaterializationPass pass(optimizer, plan);
	pass.Visit(plan);
}

} // namespace

void LateMaterialization::Register(ExtensionLoader &loader) {
	OptimizerExtension extension;
	extension.pre_optimize_function = Run;
	OptimizerExtension::Register(DBConfig::GetConfig(loader.GetDatabaseInstance()), std::move(extension));
}

} // namespace merganser
