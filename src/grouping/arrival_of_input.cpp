#include "grouping/arrival_of_input.hpp"

#include "grouping/logical_table_function.hpp"

#include "duckdb/main/settings.hpp"
#include "duckdb/planner/expression/bound_window_expression.hpp"
#include "duckdb/planner/operator/logical_aggregate.hpp"
#include "duckdb/planner/operator/logical_cteref.hpp"
#include "duckdb/planner/operator/logical_get.hpp"
#include "duckdb/planner/operator/logical_materialized_cte.hpp"
#include "duckdb/planner/operator/logical_set_operation.hpp"

namespace merganser {

namespace {

class Arrivals {
public:
	explicit Arrivals(ClientContext &context)
	    : preserve_insertion_order(duckdb::Settings::Get<PreserveInsertionOrderSetting>(context)) {
	}

	//! Visits all of the plan below too.
	ArrivalOrder Of(LogicalOperator &op) {
		if (op.type == LogicalOperatorType::LOGICAL_MATERIALIZED_CTE) {
			auto body = Of(*op.children[0]);
			shared[op.Cast<LogicalMaterializedCTE>().table_index.index] = body;
			return Of(*op.children[1]);
		}
		vector<ArrivalOrder> below;
		for (auto &child : op.children) {
			below.push_back(Of(*child));
		}
		return Above(op, below);
	}

private:
	ArrivalOrder Above(LogicalOperator &op, const vector<ArrivalOrder> &below) {
		switch (op.type) {
		case LogicalOperatorType::LOGICAL_PROJECTION:
		case LogicalOperatorType::LOGICAL_FILTER:
		case LogicalOperatorType::LOGICAL_UNNEST:
		case LogicalOperatorType::LOGICAL_LIMIT:
			return below[0];
		case LogicalOperatorType::LOGICAL_GET:
			return OfScan(op.Cast<LogicalGet>(), below);
		case LogicalOperatorType::LOGICAL_ORDER_BY:
		case LogicalOperatorType::LOGICAL_TOP_N:
		case LogicalOperatorType::LOGICAL_DUMMY_SCAN:
		case LogicalOperatorType::LOGICAL_EMPTY_RESULT:
			return {RowOrder::Kind::SORTED, ""};
		case LogicalOperatorType::LOGICAL_EXPRESSION_GET:
		case LogicalOperatorType::LOGICAL_CHUNK_GET:
			return {RowOrder::Kind::AS_PRODUCED, ""};
		case LogicalOperatorType::LOGICAL_AGGREGATE_AND_GROUP_BY:
			return IsOneRow(op.Cast<LogicalAggregate>()) ? ArrivalOrder {RowOrder::Kind::SORTED, ""}
			                                             : ArrivalOrder::LostBy("GROUP BY");
		case LogicalOperatorType::LOGICAL_WINDOW:
			return KeepsRows(op) ? below[0] : ArrivalOrder::LostBy(op.GetName());
		case LogicalOperatorType::LOGICAL_UNION:
			return op.Cast<LogicalSetOperation>().setop_all ? OfBranches(below) : ArrivalOrder::LostBy(op.GetName());
		case LogicalOperatorType::LOGICAL_CTE_REF: {
			auto entry = shared.find(op.Cast<LogicalCTERef>().cte_index.index);
			return entry == shared.end() ? ArrivalOrder::LostBy(op.GetName()) : entry->second;
		}
		case LogicalOperatorType::LOGICAL_EXTENSION_OPERATOR: {
			auto call = dynamic_cast<LogicalTableFunction *>(&op);
			return call ? OfCall(*call, below[0]) : ArrivalOrder::LostBy(op.GetName());
		}
		default:
			return ArrivalOrder::LostBy(op.GetName());
		}
	}

	static ArrivalOrder OfScan(const LogicalGet &get, const vector<ArrivalOrder> &below) {
		ArrivalOrder result {RowOrder::Kind::AS_PRODUCED, ""};
		if (get.function.order_preservation_type == OrderPreservationType::NO_ORDER) {
			return ArrivalOrder::LostBy(get.function.GetName().GetIdentifierName());
		}
		for (auto &input : below) {
			result = ArrivalOrder::Weaker(result, input);
		}
		return result;
	}

	static bool IsOneRow(const LogicalAggregate &aggregate) {
		return aggregate.groups.empty() && aggregate.grouping_sets.size() <= 1;
	}

	//! Windows that DuckDB computes over the rows as they come, or gathers without sorting.
	static bool KeepsRows(const LogicalOperator &window) {
		return std::all_of(window.expressions.begin(), window.expressions.end(),
		                   [](const unique_ptr<Expression> &expression) {
			                   auto &function = expression->Cast<BoundWindowExpression>();
			                   return function.Partitions().empty() && function.OrderBy().empty();
		                   });
	}

	static ArrivalOrder OfBranches(const vector<ArrivalOrder> &branches) {
		auto result = branches[0];
		for (auto &branch : branches) {
			result = ArrivalOrder::Weaker(result, branch);
		}
		return result;
	}

	ArrivalOrder OfCall(LogicalTableFunction &call, const ArrivalOrder &input) {
		call.arrival = input;
		auto &definition = call.definition;
		if (definition.semantics == TableSemantics::ROW) {
			return definition.preserves_order && definition.pass_through ? input
			                                                             : ArrivalOrder::LostBy(definition.name);
		}
		if (call.HasOrder()) {
			// partitions come in any order
			return call.partition_columns.empty() ? ArrivalOrder {RowOrder::Kind::SORTED, ""}
			                                      : ArrivalOrder::LostBy(definition.name);
		}
		// with ORDER BY of partition columns alone, all rows of a partition tie
		if (call.ordering.empty() && !definition.takes_any_order && !input.IsKept(preserve_insertion_order)) {
			Refuse(call, input);
		}
		return call.partition_columns.empty() ? input : ArrivalOrder::LostBy(definition.name);
	}

	[[noreturn]] void Refuse(const LogicalTableFunction &call, const ArrivalOrder &input) const {
		auto problem = input.kind == RowOrder::Kind::NONE
		                   ? input.lost_by + " gives its rows in no fixed order"
		                   : "preserve_insertion_order is off, so that its rows come in no fixed order";
		throw BinderException("%s: its result depends on the order of the rows, and %s. Add ORDER BY to the table "
		                      "argument: DATA => ... ORDER BY time",
		                      call.definition.name, problem);
	}

	const bool preserve_insertion_order;
	//! By the index of the CTE.
	unordered_map<idx_t, ArrivalOrder> shared;
};

} // namespace

void ArrivalOfInput::Note(ClientContext &context, LogicalOperator &plan) {
	Arrivals(context).Of(plan);
}

} // namespace merganser
