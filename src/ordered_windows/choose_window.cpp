#include "ordered_windows/choose_window.hpp"

#include "ordered_windows/logical_ordered_window.hpp"

#include "duckdb/parallel/task_scheduler.hpp"
#include "duckdb/planner/expression/bound_reference_expression.hpp"

namespace merganser {

namespace {

class Choice {
public:
	Choice(ClientContext &context, LogicalOperator &window)
	    : context(context), window(window), input(*window.children[0]), origin(input) {
		result.names.resize(input.types.size());
	}

	WindowDecision Make() {
		if (TryFindWanted()) {
			ChooseInput();
		}
		return std::move(result);
	}

private:
	void Decline(WindowDecline reason, string explanation = string()) {
		result.applies = false;
		result.decline = reason;
		result.grouping.reason = explanation.empty() ? WindowDeclines::Sentence(reason) : std::move(explanation);
	}

	bool TryColumn(const Expression &expression, idx_t &position) {
		if (expression.GetExpressionClass() != ExpressionClass::BOUND_REF) {
			return false;
		}
		position = expression.Cast<BoundReferenceExpression>().Index();
		result.names[position] = expression.GetName().GetIdentifierName();
		return true;
	}

	bool TryPartition(const BoundWindowExpression &function, vector<idx_t> &partition) {
		for (auto &expression : function.Partitions()) {
			idx_t position;
			if (!TryColumn(*expression, position)) {
				Decline(WindowDecline::UNORDERED_INPUT,
				        "PARTITION BY " + expression->ToString() + " is no plain column");
				return false;
			}
			partition.push_back(position);
		}
		return true;
	}

	bool TryOrdering(const BoundWindowExpression &function, vector<OrderItem> &ordering) {
		for (auto &node : function.OrderBy()) {
			idx_t position;
			if (!TryColumn(*node.expression, position)) {
				Decline(WindowDecline::UNORDERED_INPUT,
				        "ORDER BY " + node.expression->ToString() + " is no plain column");
				return false;
			}
			ordering.push_back(OrderItem {position, node.type, node.null_order});
		}
		return true;
	}

	//! What all functions of the window agree in.
	bool TryFindWanted() {
		auto &wanted = result.wanted;
		for (auto &expression : window.expressions) {
			auto &function = expression->Cast<BoundWindowExpression>();
			vector<idx_t> partition;
			vector<OrderItem> ordering;
			if (!TryPartition(function, partition) || !TryOrdering(function, ordering)) {
				return false;
			}
			if (wanted.partition.empty()) {
				wanted.partition = partition;
			}
			if (!ClusteringSet(partition).Satisfies(ClusteringSet(wanted.partition))) {
				Decline(WindowDecline::DIFFERENT_PARTITIONS);
				return false;
			}
			auto shared = MinValue(ordering.size(), wanted.ordering.size());
			if (!std::equal(ordering.begin(), ordering.begin() + static_cast<int64_t>(shared),
			                wanted.ordering.begin())) {
				Decline(WindowDecline::DIFFERENT_ORDERS);
				return false;
			}
			if (ordering.size() > wanted.ordering.size()) {
				wanted.ordering = std::move(ordering);
			}
		}
		return true;
	}

	void ChooseInput() {
		auto inner = dynamic_cast<LogicalOrderedWindow *>(&origin.source.get());
		if (inner) {
			ChooseAboveWindow(*inner);
			return;
		}
		auto is_scan = origin.source.get().type == LogicalOperatorType::LOGICAL_GET;
		if (is_scan && ExpectedRows() < Settings::OrderedWindowsMinRows(context)) {
			Decline(WindowDecline::FEW_ROWS);
			return;
		}
		GroupingDecision unknown;
		unknown.reason = WindowDeclines::Sentence(WindowDecline::UNORDERED_INPUT);
		result.grouping = ChooseGrouping(context, &result.wanted, origin, unknown, result.layout);
		if (result.grouping.grouping != Grouping::FUSED && result.grouping.grouping != Grouping::REGION_LOCAL) {
			Decline(WindowDecline::UNORDERED_INPUT, result.grouping.reason);
		} else if (is_scan && !ThreadsAreBusy()) {
			Decline(WindowDecline::UNEVEN_REGIONS);
		} else {
			result.applies = true;
		}
	}

	void ChooseAboveWindow(LogicalOrderedWindow &inner) {
		auto &below = inner.Decision(context);
		vector<idx_t> partition;
		vector<OrderItem> ordering = result.wanted.ordering;
		auto reaches = origin.Map(result.wanted.partition, partition);
		for (auto &item : ordering) {
			auto column = origin.columns[item.column];
			reaches = reaches && column.IsValid();
			item.column = column.IsValid() ? column.GetIndex() : 0;
		}
		if (!below.applies) {
			Decline(WindowDecline::UNORDERED_INPUT, "its input is a window that DuckDB computes");
		} else if (!reaches || !ClusteringSet(below.wanted.partition).Satisfies(ClusteringSet(partition))) {
			Decline(WindowDecline::UNORDERED_INPUT, "its partition set is not that of the window below it");
		} else if (!OrderingList(below.wanted.ordering)
		                .Satisfies(OrderingList(ordering), ClusteringSet(partition).Columns())) {
			Decline(WindowDecline::UNORDERED_INPUT, "its order is not that of the window below it");
		} else {
			result.applies = true;
			result.grouping.grouping = Grouping::FUSED;
			result.grouping.parallel = true;
			result.grouping.reason = "same partition set and order as the window below it";
		}
	}

	idx_t ExpectedRows() {
		return input.has_estimated_cardinality ? input.estimated_cardinality : input.EstimateCardinality(context);
	}

	//! Whether threads that each read whole regions finish before threads that share all rows and hash and sort them.
	bool ThreadsAreBusy() {
		const double most = 1.5;
		auto threads = static_cast<double>(TaskScheduler::GetScheduler(context).NumberOfThreads());
		if (threads == 1 || Settings::OrderedWindowsMinRows(context) == 0) {
			return true;
		}
		return result.layout.regions->LargestShare(context) * threads <= most;
	}

	ClientContext &context;
	LogicalOperator &window;
	LogicalOperator &input;
	InputOrigin origin;
	WindowDecision result;
};

} // namespace

WindowDecision ChooseWindow::For(ClientContext &context, LogicalOperator &window) {
	return Choice(context, window).Make();
}

string ChooseWindow::Description(const WindowDecision &decision) {
	vector<string> partition;
	for (auto column : decision.wanted.partition) {
		partition.push_back(decision.names[column]);
	}
	auto result = "OVER (PARTITION BY " + StringUtil::Join(partition, ", ");
	if (!decision.wanted.ordering.empty()) {
		auto order = OrderingList(decision.wanted.ordering).ToString(decision.names);
		result += " ORDER BY " + order.substr(1, order.size() - 2);
	}
	return result + ")";
}

} // namespace merganser
