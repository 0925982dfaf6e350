#include "grouping/logical_table_function.hpp"

#include "grouping/arrival_of_input.hpp"
#include "grouping/choose_grouping.hpp"
#include "grouping/hold_nothing_back.hpp"
#include "grouping/one_stream.hpp"
#include "grouping/partitioned_sort.hpp"
#include "grouping/physical_table_function.hpp"
#include "grouping/region_sort.hpp"
#include "grouping/table_function_sql.hpp"

#include "decision_log.hpp"

#include "duckdb/execution/operator/order/physical_order.hpp"
#include "duckdb/execution/operator/projection/physical_projection.hpp"
#include "duckdb/execution/physical_plan_generator.hpp"
#include "duckdb/main/settings.hpp"
#include "duckdb/planner/expression/bound_columnref_expression.hpp"
#include "duckdb/planner/expression_binder.hpp"
#include "duckdb/planner/expression/bound_reference_expression.hpp"

namespace merganser {

//===--------------------------------------------------------------------===//
// Binding
//===--------------------------------------------------------------------===//
LogicalTableFunction::LogicalTableFunction(ClientContext &context, TableIndex table_index,
                                           const TableFunctionDefinition &definition,
                                           shared_ptr<BoundProcessor> bound_p, const TableArgument &table,
                                           case_insensitive_map_t<Value> passed_p, unique_ptr<LogicalOperator> input)
    : table_index(table_index), definition(definition), bound(std::move(bound_p)), passed(std::move(passed_p)),
      partition_columns(table.partition_columns), partition_outputs(table.partition_columns), ordering(table.ordering),
      required_columns(bound->required_columns) {
	auto bindings = input->GetColumnBindings();
	for (idx_t i = 0; i < table.names.size(); i++) {
		expressions.push_back(
		    make_uniq<BoundColumnRefExpression>(Identifier(table.names[i]), table.types[i], bindings[i]));
	}
	for (auto &column : partition_columns) {
		column = ComparedColumn(context, column);
	}
	for (auto &item : ordering) {
		item.column = ComparedColumn(context, item.column);
	}
	auto add = [&](ProcessorLayout::Source source, idx_t index, const string &name) {
		outputs.push_back(Output {source, index, ProjectionIndex(outputs.size()), name});
	};
	auto proper_first = bound->names.size();
	if (!definition.pass_through && bound->proper_before_partition_columns.IsValid()) {
		proper_first = bound->proper_before_partition_columns.GetIndex();
	}
	for (idx_t i = 0; i < proper_first; i++) {
		add(ProcessorLayout::Source::PROPER, i, bound->names[i]);
	}
	if (definition.pass_through) {
		for (idx_t i = 0; i < table.names.size(); i++) {
			add(ProcessorLayout::Source::INPUT, i, table.names[i]);
		}
	} else {
		for (idx_t i = 0; i < partition_columns.size(); i++) {
			add(ProcessorLayout::Source::PARTITION, i, table.names[partition_outputs[i]]);
		}
	}
	for (idx_t i = proper_first; i < bound->names.size(); i++) {
		add(ProcessorLayout::Source::PROPER, i, bound->names[i]);
	}
	children.push_back(std::move(input));
	if (!definition.pass_through) {
		unordered_set<idx_t> all;
		for (auto &output : outputs) {
			all.insert(output.binding.GetIndex());
		}
		KeepOutputs(all);
	}
}

// NOLINTNEXTLINE(bugprone-copy-constructor-init): what is below it is the caller's to copy
LogicalTableFunction::LogicalTableFunction(const LogicalTableFunction &other)
    : table_index(other.table_index), definition(other.definition), bound(other.bound), passed(other.passed),
      partition_columns(other.partition_columns), partition_outputs(other.partition_outputs),
      compared_columns(other.compared_columns), ordering(other.ordering), required_columns(other.required_columns),
      outputs(other.outputs), arrival(other.arrival) {
	for (auto &expression : other.expressions) {
		expressions.push_back(expression->Copy());
	}
}

unique_ptr<LogicalOperator> LogicalTableFunction::CopyAlone() const {
	return make_uniq<LogicalTableFunction>(*this);
}

LogicalPlanSQLExportResult LogicalTableFunction::ToSQL(LogicalPlanSQLExportContext &context,
                                                       const LogicalPlanVerificationPath &path) {
	return TableFunctionSql::Export(*this, context, path);
}

idx_t LogicalTableFunction::ComparedColumn(ClientContext &context, idx_t column) {
	auto compared = expressions[column]->Copy();
	if (!ExpressionBinder::PushCollation(context, compared, compared->GetReturnType())) {
		return column;
	}
	compared->SetAlias(expressions[column]->GetName());
	expressions.push_back(std::move(compared));
	compared_columns.push_back(column);
	return expressions.size() - 1;
}

vector<ColumnBinding> LogicalTableFunction::GetColumnBindings() {
	vector<ColumnBinding> result;
	for (auto &output : outputs) {
		result.emplace_back(table_index, output.binding);
	}
	return result;
}

vector<TableIndex> LogicalTableFunction::GetTableIndex() const {
	return {table_index};
}

void LogicalTableFunction::ResolveTypes() {
	types.clear();
	for (auto &output : outputs) {
		switch (output.source) {
		case ProcessorLayout::Source::PROPER:
			types.push_back(bound->types[output.index]);
			break;
		case ProcessorLayout::Source::PARTITION:
			types.push_back(expressions[partition_outputs[output.index]]->GetReturnType());
			break;
		case ProcessorLayout::Source::INPUT:
			types.push_back(expressions[output.index]->GetReturnType());
			break;
		}
	}
}

idx_t LogicalTableFunction::EstimateCardinality(ClientContext &context) {
	if (!has_estimated_cardinality) {
		SetEstimatedCardinality(children[0]->EstimateCardinality(context));
	}
	return estimated_cardinality;
}

bool LogicalTableFunction::HasOrder() const {
	auto written = [&](idx_t column) {
		return column < ArgumentColumnCount() ? column : compared_columns[column - ArgumentColumnCount()];
	};
	return std::any_of(ordering.begin(), ordering.end(), [&](const OrderItem &item) {
		return std::find(partition_outputs.begin(), partition_outputs.end(), written(item.column)) ==
		       partition_outputs.end();
	});
}

//===--------------------------------------------------------------------===//
// Pruning
//===--------------------------------------------------------------------===//
void LogicalTableFunction::KeepOutputs(const unordered_set<idx_t> &bindings) {
	vector<Output> kept;
	for (auto &output : outputs) {
		if (!definition.pass_through || bindings.count(output.binding.GetIndex())) {
			kept.push_back(output);
		}
	}
	if (kept.empty()) {
		kept.push_back(outputs[0]); // a row count needs rows
	}
	outputs = std::move(kept);

	vector<bool> used(expressions.size(), false);
	for (auto &output : outputs) {
		if (output.source == ProcessorLayout::Source::INPUT) {
			used[output.index] = true;
		}
	}
	for (auto &columns : {partition_columns, required_columns}) {
		for (auto column : columns) {
			used[column] = true;
		}
	}
	for (auto column : compared_columns) {
		used[column] = true;
	}
	for (auto &item : ordering) {
		used[item.column] = true;
	}
	if (!used.empty() && std::find(used.begin(), used.end(), true) == used.end()) {
		used[0] = true; // a row needs a column to come in
	}

	vector<idx_t> moved(expressions.size(), DConstants::INVALID_INDEX);
	vector<unique_ptr<Expression>> remaining;
	for (idx_t i = 0; i < expressions.size(); i++) {
		if (used[i]) {
			moved[i] = remaining.size();
			remaining.push_back(std::move(expressions[i]));
		}
	}
	expressions = std::move(remaining);
	for (auto &output : outputs) {
		output.index = output.source == ProcessorLayout::Source::INPUT ? moved[output.index] : output.index;
	}
	for (auto &column : partition_columns) {
		column = moved[column];
	}
	for (auto &column : partition_outputs) {
		column = moved[column];
	}
	for (auto &column : compared_columns) {
		column = moved[column];
	}
	for (auto &column : required_columns) {
		column = moved[column];
	}
	for (auto &item : ordering) {
		item.column = moved[item.column];
	}
}

//===--------------------------------------------------------------------===//
// Display
//===--------------------------------------------------------------------===//
string LogicalTableFunction::GetName() const {
	return definition.name;
}

void LogicalTableFunction::Serialize(Serializer &serializer) const {
	throw NotImplementedException(
	    "%s: a plan with a table function cannot be copied. Where the call stands in a common table "
	    "expression that is used more than once, write AS MATERIALIZED",
	    definition.name);
}

optional_ptr<const string> LogicalTableFunction::GetTypeBindingVerificationIdentifier() const noexcept {
	static const string IDENTIFIER = "merganser_table_function";
	return IDENTIFIER;
}

vector<string> LogicalTableFunction::ExpressionNames() const {
	vector<string> result;
	for (auto &expression : expressions) {
		result.push_back(expression->GetName().GetIdentifierName());
	}
	return result;
}

InsertionOrderPreservingMap<string> LogicalTableFunction::Description() const {
	InsertionOrderPreservingMap<string> result;
	vector<string> texts;
	for (auto &parameter : definition.parameters) {
		auto entry = passed.find(parameter.name);
		if (entry != passed.end()) {
			texts.push_back(parameter.name + " => " + entry->second.ToString());
		}
	}
	// EXPLAIN ANALYZE calls every operator of an extension "Extension", so the description has the name too
	result["Call"] = definition.name + "(" + StringUtil::Join(texts, ", ") + ")";
	if (!partition_columns.empty()) {
		result["Partition By"] = ClusteringSet(partition_columns).ToString(ExpressionNames());
	}
	if (!ordering.empty()) {
		result["Order By"] = OrderingList(ordering).ToString(ExpressionNames());
	}
	return result;
}

InsertionOrderPreservingMap<string> LogicalTableFunction::ParamsToString() const {
	auto result = Description();
	SetParamsEstimatedCardinality(result);
	return result;
}

//===--------------------------------------------------------------------===//
// Physical plan
//===--------------------------------------------------------------------===//
ProcessorLayout LogicalTableFunction::Layout() const {
	ProcessorLayout result;
	result.function = definition.name;
	result.input_names = ExpressionNames();
	for (auto &expression : expressions) {
		result.input_types.push_back(expression->GetReturnType());
	}
	result.partition_columns = partition_columns;
	result.partition_outputs = partition_outputs;
	result.required_columns = required_columns;
	result.proper_types = bound->types;
	for (auto &output : outputs) {
		result.output.push_back(ProcessorLayout::OutputColumn {output.source, output.index});
	}
	result.output_types = types;
	result.pass_through = definition.pass_through;
	result.slice_rows = MaxValue<idx_t>(1, STANDARD_VECTOR_SIZE / bound->rows_per_row);
	return result;
}

static PhysicalOperator &ProjectInput(PhysicalPlanGenerator &planner, PhysicalOperator &child,
                                      vector<unique_ptr<Expression>> expressions, idx_t estimated_cardinality) {
	auto identity = expressions.size() == child.GetTypes().size();
	vector<LogicalType> types;
	for (idx_t i = 0; i < expressions.size(); i++) {
		auto &expression = *expressions[i];
		identity = identity && expression.GetExpressionClass() == ExpressionClass::BOUND_REF &&
		           expression.Cast<BoundReferenceExpression>().Index() == i;
		types.push_back(expression.GetReturnType());
	}
	if (identity) {
		return child;
	}
	auto &projection =
	    planner.Make<PhysicalProjection>(std::move(types), std::move(expressions), estimated_cardinality);
	projection.children.push_back(child);
	return projection;
}

static unique_ptr<Expression> InputColumn(const ProcessorLayout &layout, idx_t column) {
	return make_uniq<BoundReferenceExpression>(Identifier(layout.input_names[column]), layout.input_types[column],
	                                           column);
}

static vector<BoundOrderByNode> SortOrders(const vector<OrderItem> &ordering, const ProcessorLayout &layout) {
	vector<BoundOrderByNode> result;
	for (auto &item : ordering) {
		result.emplace_back(item.direction, item.null_order, InputColumn(layout, item.column));
	}
	return result;
}

static PhysicalOperator &PlanHashed(ClientContext &context, PhysicalPlanGenerator &planner, PhysicalOperator &input,
                                    const ProcessorLayout &layout, const vector<OrderItem> &ordering,
                                    bool keeps_order) {
	vector<unique_ptr<Expression>> partitions;
	for (auto column : layout.partition_columns) {
		partitions.push_back(InputColumn(layout, column));
	}
	auto key_hash = PhysicalPartitionedSort::ShorterKey(context, partitions);
	auto &sort = planner.Make<PhysicalPartitionedSort>(input, layout.function, std::move(partitions),
	                                                   std::move(key_hash), SortOrders(ordering, layout));
	if (keeps_order) {
		sort.Cast<PhysicalPartitionedSort>().KeepOrder(context);
	}
	return sort;
}

static vector<OrderItem> PartitionsThenOrder(const ProcessorLayout &layout, const vector<OrderItem> &ordering) {
	vector<OrderItem> items;
	for (auto column : layout.partition_columns) {
		items.push_back(OrderItem {column, OrderType::ASCENDING, OrderByNullType::NULLS_LAST});
	}
	items.insert(items.end(), ordering.begin(), ordering.end());
	return items;
}

static PhysicalOperator &PlanSingle(ClientContext &context, PhysicalPlanGenerator &planner, PhysicalOperator &input,
                                    const ProcessorLayout &layout, const vector<OrderItem> &ordering,
                                    bool keeps_order) {
	auto items = PartitionsThenOrder(layout, ordering);
	if (items.empty()) {
		if (keeps_order && !PhysicalOneStream::IsNeeded(input)) {
			return input;
		}
		return planner.Make<PhysicalOneStream>(context, input, keeps_order);
	}
	if (ordering.empty()) {
		return PlanHashed(context, planner, input, layout, ordering, keeps_order);
	}
	vector<idx_t> projections;
	for (idx_t i = 0; i < layout.input_types.size(); i++) {
		projections.push_back(i);
	}
	auto &order = planner.Make<PhysicalOrder>(layout.input_types, SortOrders(items, layout), std::move(projections),
	                                          input.estimated_cardinality);
	order.children.push_back(input);
	return order;
}

static void RecordDecision(ClientContext &context, const string &function, const GroupingDecision &decision,
                           const InsertionOrderPreservingMap<string> &description) {
	vector<pair<string, string>> facts;
	for (auto &entry : description) {
		facts.emplace_back(StringUtil::Lower(entry.first), StringUtil::Replace(entry.second, "\n", ", "));
	}
	DecisionLog::Get(context).Record(RuleDecision {"grouping", true, decision.Name(),
	                                               function + " runs " + decision.Name() + ": " + decision.reason,
	                                               std::move(facts), 0, decision.remedy});
}

static bool IsCallWithPartitions(PhysicalOperator &op) {
	auto function = dynamic_cast<PhysicalTableFunction *>(&op);
	return function && function->decision.grouping != Grouping::ROWS;
}

//! What the call relies on, in this grouping, and what is verified of it.
static InputPromise PromiseOf(const ProcessorLayout &layout, const vector<OrderItem> &order,
                              const GroupingDecision &decision, const ScanLayout &scan_layout) {
	InputPromise result;
	result.function = layout.function;
	result.column_names = layout.input_names;
	result.input_types = layout.input_types;
	result.partition_columns = layout.partition_columns;
	result.ordering = order;
	result.one_stream = !decision.parallel;
	auto has_partitions = !layout.partition_columns.empty();
	switch (decision.grouping) {
	case Grouping::REGION_LOCAL:
		result.whole_partitions = true;
		break;
	case Grouping::FUSED:
		result.whole_partitions = has_partitions;
		break;
	case Grouping::SINGLE:
		if (!order.empty()) {
			result.ordering = PartitionsThenOrder(layout, order);
		}
		break;
	default:
		break;
	}
	result.sorts_partitions = decision.grouping == Grouping::SINGLE || !has_partitions;
	if (decision.grouping == Grouping::REGION_LOCAL) {
		result.source = scan_layout.source;
		result.remedy = scan_layout.remedy;
	} else {
		result.source = "what its grouping, " + decision.Name() + ", brings about: " + decision.reason;
		result.remedy = "This is a fault of Merganser: please report the query. PRAGMA disable_optimizer, or a table "
		                "written with the table argument's rows, may avoid it";
	}
	return result;
}

bool LogicalTableFunction::KeepsOrderOfInput(ClientContext &context) {
	if (!arrival) {
		ArrivalOfInput::Note(context, *this); // DuckDB's optimizer is off
	}
	return !HasOrder() && arrival->IsKept(duckdb::Settings::Get<PreserveInsertionOrderSetting>(context));
}

PhysicalOperator &LogicalTableFunction::CreatePlan(ClientContext &context, PhysicalPlanGenerator &planner) {
	ScanLayout scan_layout;
	auto decision = ChooseGrouping(context, *this, scan_layout);
	auto order = HasOrder() ? ordering : vector<OrderItem>();
	auto keeps_order = KeepsOrderOfInput(context);
	auto description = Description();
	auto layout = Layout();
	auto &child = planner.CreatePlan(*children[0]);
	reference<PhysicalOperator> input = ProjectInput(planner, child, std::move(expressions), estimated_cardinality);
	optional_ptr<PhysicalRegionScan> region_scan;
	if (decision.grouping == Grouping::FUSED && !IsCallWithPartitions(HoldNothingBack::Downwards(input))) {
		decision = GroupingOfUnknownInput(*this);
	}
	if (decision.grouping == Grouping::REGION_LOCAL) {
		region_scan = PhysicalRegionScan::TryReplaceScan(planner, input, scan_layout.regions);
		if (!region_scan) {
			decision = GroupingOfUnknownInput(*this);
			decision.reason = "the scan is not planned as a table scan";
		} else if (decision.sorts_regions) {
			input = planner.Make<PhysicalRegionSort>(input.get(), *region_scan, layout.input_names,
			                                         layout.partition_columns, order, keeps_order);
		}
	}
	if (decision.grouping == Grouping::HASHED) {
		input = PlanHashed(context, planner, input, layout, order, keeps_order);
	} else if (decision.grouping == Grouping::SINGLE) {
		input = PlanSingle(context, planner, input, layout, order, keeps_order);
	}
	auto takes_what_arrives = order.empty() && definition.semantics == TableSemantics::SET;
	if (takes_what_arrives && decision.grouping != Grouping::FUSED) {
		decision.reason += keeps_order ? "; no ORDER BY: rows come in the order they are produced in"
		                               : "; no ORDER BY: rows come in any order";
	}
	RecordDecision(context, definition.name, decision, description);
	auto promise = PromiseOf(layout, order, decision, scan_layout);
	auto &result = planner.Make<PhysicalTableFunction>(definition, bound, std::move(layout), std::move(decision),
	                                                   std::move(description), estimated_cardinality);
	result.children.push_back(input);
	auto &table_function = result.Cast<PhysicalTableFunction>();
	table_function.region_scan = region_scan;
	table_function.promise = std::move(promise);
	return result;
}

} // namespace merganser
