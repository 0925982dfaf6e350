#include "stages/stage_planner.hpp"

#include "grouping/logical_table_function.hpp"
#include "grouping/scan_layout.hpp"
#include "stages/plan_columns.hpp"

#include "duckdb/planner/operator/list.hpp"

namespace merganser {

namespace {

vector<unique_ptr<Expression>> PartitionKeys(const LogicalTableFunction &function) {
	vector<unique_ptr<Expression>> result;
	for (auto column : function.partition_columns) {
		result.push_back(function.expressions[column]->Copy());
	}
	return result;
}

//! Where an input column stands among the outputs, unchanged.
optional<ColumnBinding> Delivers(const LogicalTableFunction &function, const ColumnBinding &input) {
	for (auto &output : function.outputs) {
		if (output.source == ProcessorLayout::Source::PROPER) {
			continue;
		}
		auto column = output.source == ProcessorLayout::Source::PARTITION ? function.partition_outputs[output.index]
		                                                                  : output.index;
		auto &expression = *function.expressions[column];
		if (expression.GetExpressionClass() == ExpressionClass::BOUND_COLUMN_REF &&
		    expression.Cast<BoundColumnRefExpression>().Binding() == input) {
			return ColumnBinding(function.table_index, output.binding);
		}
	}
	return {};
}

Partitioning ThroughFunction(const LogicalTableFunction &function, Partitioning delivered) {
	delivered.order = delivered.order.WithoutColumns();
	for (auto &key : delivered.keys) {
		auto output = Delivers(function, key);
		if (!output) {
			return delivered.WithoutColumns();
		}
		key = *output;
	}
	return delivered;
}

//! The column of `op`'s input that `column` is, where it is one unchanged.
optional<ColumnBinding> BelowProjection(LogicalOperator &op, const ColumnBinding &column) {
	if (op.type != LogicalOperatorType::LOGICAL_PROJECTION) {
		return column;
	}
	auto bindings = op.GetColumnBindings();
	for (idx_t i = 0; i < bindings.size(); i++) {
		if (bindings[i] == column && op.expressions[i]->GetExpressionClass() == ExpressionClass::BOUND_COLUMN_REF) {
			return op.expressions[i]->Cast<BoundColumnRefExpression>().Binding();
		}
	}
	return {};
}

optional_idx ScannedColumn(const LogicalGet &get, const ColumnBinding &column) {
	if (column.table_index != get.table_index) {
		return optional_idx();
	}
	auto &index = get.GetColumnIds()[column.column_index.GetIndex()];
	return index.IsVirtualColumn() || index.HasChildren() ? optional_idx() : optional_idx(index.GetPrimaryIndex());
}

//! Whether there is a reference to one of the shared queries, by index, that are stages of their own.
template <class STAGE>
bool ReadsOneOf(const unordered_map<idx_t, STAGE> &shared, LogicalOperator &op) {
	if (op.type == LogicalOperatorType::LOGICAL_CTE_REF && shared.count(op.Cast<LogicalCTERef>().cte_index.index)) {
		return true;
	}
	return std::any_of(op.children.begin(), op.children.end(),
	                   [&](const unique_ptr<LogicalOperator> &child) { return ReadsOneOf(shared, *child); });
}

} // namespace

Partitioning StagePlanner::CutTableFunction(Slot &op) {
	auto &function = op->Cast<LogicalTableFunction>();
	if (function.definition.semantics == TableSemantics::ROW) {
		auto delivered = Cut(op->children[0]);
		return ThroughFunction(function, std::move(delivered));
	}
	if (!function.HasOrder() && function.arrival && function.arrival->kind != RowOrder::Kind::NONE) {
		auto reason = function.definition.name + " without ORDER BY takes rows in the order they are produced in";
		if (ReadsOneOf(shared, *op)) {
			throw NotImplementedException("%s, which a shared query does not keep in stages", reason);
		}
		KeepWhole(op);
		pending_reasons.push_back(reason + ", in one task");
		return {};
	}
	if (!function.definition.splittable) {
		return OneTask(op, function.definition.name + " needs all rows in one task");
	}
	auto keys = PartitionKeys(function);
	if (!PlanColumns::CanHash(keys)) {
		return OneTask(op, function.definition.name + " without PARTITION BY is one partition, in one task");
	}
	auto columns = PlanColumns::Plain(keys);
	auto region_scan = columns.empty() ? nullptr : FindRegionScan(op->children[0], columns);
	auto delivered = Cut(op->children[0]);
	if (region_scan && sliced.count(region_scan.get())) {
		auto &scan = sliced.at(region_scan.get());
		scan.whole_files = true;
		pending_reasons.push_back(function.definition.name + " reads whole regions, recorded in the files");
		return ThroughFunction(function, {Distribution::TOGETHER, std::move(columns)});
	}
	if (columns.empty() || !KeepsTogether(*op->children[0], delivered, columns)) {
		delivered =
		    Hash(op->children[0], delivered, std::move(keys), "rows by PARTITION BY of " + function.definition.name);
	}
	return ThroughFunction(function, std::move(delivered));
}

//! A scan of files each of which holds whole groups of the partition columns. Only where COPY recorded that: what is
//! merely declared is verified by a task for its own regions, not for those of other tasks.
optional_ptr<LogicalOperator> StagePlanner::FindRegionScan(Slot &input, vector<ColumnBinding> columns) {
	reference<LogicalOperator> current = *input;
	while (current.get().type == LogicalOperatorType::LOGICAL_PROJECTION ||
	       current.get().type == LogicalOperatorType::LOGICAL_FILTER) {
		vector<ColumnBinding> below;
		for (auto &column : columns) {
			auto found = BelowProjection(current, column);
			if (found) {
				below.push_back(*found);
			}
		}
		columns = std::move(below);
		current = *current.get().children[0];
	}
	ScanLayout layout;
	if (current.get().type != LogicalOperatorType::LOGICAL_GET || !current.get().children.empty() ||
	    !ScanLayouts::TryFind(context, current.get().Cast<LogicalGet>(), layout) || !layout.is_recorded) {
		return nullptr;
	}
	set<idx_t> scanned;
	for (auto &column : columns) {
		auto position = ScannedColumn(current.get().Cast<LogicalGet>(), column);
		if (position.IsValid()) {
			scanned.insert(position.GetIndex());
		}
	}
	for (auto column : layout.partitioned_by) {
		if (!scanned.count(column)) {
			return nullptr;
		}
	}
	return current.get();
}

} // namespace merganser
