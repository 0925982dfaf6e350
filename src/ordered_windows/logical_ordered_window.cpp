#include "ordered_windows/logical_ordered_window.hpp"

#include "decision_log.hpp"
#include "grouping/hold_nothing_back.hpp"
#include "grouping/physical_table_function.hpp"
#include "grouping/region_sort.hpp"
#include "ordered_windows/ordered_windows.hpp"
#include "ordered_windows/physical_ordered_window.hpp"

#include "duckdb/execution/operator/aggregate/physical_window.hpp"
#include "duckdb/execution/physical_plan_generator.hpp"
#include "duckdb/planner/sql_export/logical_plan_sql_exporter_internal.hpp"

#include <chrono>

namespace merganser {

LogicalOrderedWindow::LogicalOrderedWindow(unique_ptr<LogicalOperator> window) {
	if (window->has_estimated_cardinality) {
		SetEstimatedCardinality(window->estimated_cardinality);
	}
	children.push_back(std::move(window));
	ResolveOperatorTypes();
}

const WindowDecision &LogicalOrderedWindow::Decision(ClientContext &context) {
	if (!decision) {
		auto start = std::chrono::steady_clock::now();
		decision = make_uniq<WindowDecision>(ChooseWindow::For(context, Window()));
		std::chrono::duration<double, std::micro> elapsed = std::chrono::steady_clock::now() - start;
		decision->microseconds = elapsed.count();
	}
	return *decision;
}

idx_t LogicalOrderedWindow::EstimateCardinality(ClientContext &context) {
	return Window().EstimateCardinality(context);
}

void LogicalOrderedWindow::Serialize(Serializer &serializer) const {
	Window().Serialize(serializer);
}

optional_ptr<const string> LogicalOrderedWindow::GetTypeBindingVerificationIdentifier() const noexcept {
	static const string IDENTIFIER = "merganser_ordered_window";
	return IDENTIFIER;
}

LogicalPlanSQLExportResult LogicalOrderedWindow::ToSQL(LogicalPlanSQLExportContext &context,
                                                       const LogicalPlanVerificationPath &path) {
	return Window().ToSQL(context, LogicalPlanSQLExportHelpers::PlanChildPath(path, 0));
}

static void RecordDecision(ClientContext &context, const WindowDecision &decision) {
	auto description = ChooseWindow::Description(decision);
	auto &grouping = decision.grouping;
	RuleDecision record;
	record.rule = OrderedWindows::NAME;
	record.applied = decision.applies;
	record.reason = decision.applies ? grouping.Name() : WindowDeclines::Code(decision.decline);
	record.explanation = decision.applies ? description + " runs in one pass: " + grouping.reason
	                                      : "a window is left to DuckDB: " + grouping.reason;
	record.microseconds = decision.microseconds;
	record.remedy = decision.applies ? string() : grouping.remedy;
	DecisionLog::Get(context).Record(std::move(record));
}

static bool ComesInPartitions(PhysicalOperator &op) {
	auto function = dynamic_cast<PhysicalTableFunction *>(&op);
	return (function && function->decision.grouping != Grouping::ROWS) || dynamic_cast<PhysicalOrderedWindow *>(&op);
}

static InputPromise PromiseOf(const WindowDecision &decision, const vector<LogicalType> &types) {
	InputPromise result;
	result.function = ChooseWindow::Description(decision);
	result.column_names = decision.names;
	result.input_types = types;
	result.partition_columns = decision.wanted.partition;
	result.ordering = decision.wanted.ordering;
	result.whole_partitions = true;
	if (decision.grouping.grouping == Grouping::REGION_LOCAL) {
		result.source = decision.layout.source;
		result.remedy =
		    decision.layout.remedy + ". SET merganser_ordered_windows = false computes windows without relying on it";
	} else {
		result.source = "what the operator below it delivers: " + decision.grouping.reason;
		result.remedy = "This is a fault of Merganser: please report the query. SET merganser_ordered_windows = false "
		                "avoids it";
	}
	return result;
}

PhysicalOperator &LogicalOrderedWindow::CreatePlan(ClientContext &context, PhysicalPlanGenerator &planner) {
	auto choice = Decision(context);
	if (!choice.applies) {
		RecordDecision(context, choice);
		return planner.CreatePlan(Window());
	}
	auto &input_types = Window().children[0]->types;
	reference<PhysicalOperator> input = planner.CreatePlan(*Window().children[0]);
	optional_ptr<PhysicalRegionScan> region_scan;
	if (choice.grouping.grouping == Grouping::REGION_LOCAL) {
		region_scan = PhysicalRegionScan::TryReplaceScan(planner, input, choice.layout.regions);
		choice.applies = region_scan;
	} else {
		choice.applies = ComesInPartitions(HoldNothingBack::Downwards(input));
	}
	auto rows = Window().EstimateCardinality(context);
	if (!choice.applies) {
		choice.grouping.reason = "its input is planned otherwise than expected";
		RecordDecision(context, choice);
		auto &result = planner.Make<PhysicalWindow>(types, std::move(Window().expressions), rows);
		result.children.push_back(input);
		return result;
	}
	if (choice.grouping.sorts_regions) {
		input = planner.Make<PhysicalRegionSort>(input.get(), *region_scan, choice.names, choice.wanted.partition,
		                                         choice.wanted.ordering, false);
	}
	RecordDecision(context, choice);
	auto &result = planner.Make<PhysicalOrderedWindow>(types, std::move(Window().expressions), rows,
	                                                   PromiseOf(choice, input_types), choice.grouping);
	result.children.push_back(input);
	result.Cast<PhysicalOrderedWindow>().region_scan = region_scan;
	return result;
}

} // namespace merganser
