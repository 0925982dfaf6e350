#include "grouping/choose_grouping.hpp"

#include "grouping/found_layout.hpp"
#include "grouping/input_origin.hpp"

#include "duckdb/common/multi_file/multi_file_reader.hpp"
#include "duckdb/common/sql_identifier.hpp"
#include "duckdb/parallel/task_scheduler.hpp"
#include "duckdb/planner/expression/bound_reference_expression.hpp"

namespace merganser {

namespace {

//! A partition set and ordering, as positions in an operator below.
struct Wanted {
	ClusteringSet partition;
	OrderingList ordering;
};

bool PositionInInput(const LogicalTableFunction &function, idx_t column, idx_t &result) {
	auto &expression = *function.expressions[column];
	if (expression.GetExpressionClass() != ExpressionClass::BOUND_REF) {
		return false;
	}
	result = expression.Cast<BoundReferenceExpression>().Index();
	return true;
}

//! False where a partition or order column is computed.
bool WantedInInput(const LogicalTableFunction &function, WantedRows &wanted) {
	for (auto column : function.partition_columns) {
		wanted.partition.push_back(column);
		if (!PositionInInput(function, column, wanted.partition.back())) {
			return false;
		}
	}
	for (auto &item : function.ordering) {
		wanted.ordering.push_back(item);
		if (!PositionInInput(function, item.column, wanted.ordering.back().column)) {
			return false;
		}
	}
	return true;
}

bool WantedAtOrigin(optional_ptr<const WantedRows> rows, const InputOrigin &origin, Wanted &wanted) {
	if (!rows) {
		return false;
	}
	vector<idx_t> order_columns;
	for (auto &item : rows->ordering) {
		order_columns.push_back(item.column);
	}
	vector<idx_t> partition, order;
	if (!origin.Map(rows->partition, partition) || !origin.Map(order_columns, order)) {
		return false;
	}
	auto items = rows->ordering;
	for (idx_t i = 0; i < items.size(); i++) {
		items[i].column = order[i];
	}
	wanted = Wanted {ClusteringSet(partition), OrderingList(std::move(items))};
	return true;
}

//! What a table function with set semantics delivers: positions in its output.
struct Delivered {
	explicit Delivered(const LogicalTableFunction &function);

	//! Every partition column is among the output, and partitions differ in it itself.
	bool complete;
	ClusteringSet partition;
	OrderingList ordering;
};

//! False where partitions differ in another value than the column's own.
bool ComparesColumns(const LogicalTableFunction &function) {
	return function.partition_columns == function.partition_outputs;
}

optional_idx OutputOf(const LogicalTableFunction &function, idx_t expression, optional_idx partition_column) {
	for (idx_t i = 0; i < function.outputs.size(); i++) {
		auto &output = function.outputs[i];
		if (output.source == ProcessorLayout::Source::INPUT && output.index == expression) {
			return i;
		}
		if (output.source == ProcessorLayout::Source::PARTITION && partition_column == optional_idx(output.index)) {
			return i;
		}
	}
	return optional_idx();
}

Delivered::Delivered(const LogicalTableFunction &function) : complete(ComparesColumns(function)) {
	if (!complete) {
		return;
	}
	vector<idx_t> positions;
	for (idx_t i = 0; i < function.partition_columns.size(); i++) {
		auto position = OutputOf(function, function.partition_columns[i], i);
		if (!position.IsValid()) {
			complete = false;
			return;
		}
		positions.push_back(position.GetIndex());
	}
	partition = ClusteringSet(positions);
	vector<OrderItem> items;
	if (function.definition.pass_through && function.definition.preserves_order) {
		for (auto &item : function.ordering) {
			auto position = OutputOf(function, item.column, optional_idx());
			if (!position.IsValid()) {
				break;
			}
			items.push_back(OrderItem {position.GetIndex(), item.direction, item.null_order});
		}
	}
	ordering = OrderingList(std::move(items));
}

GroupingDecision ChooseForNested(ClientContext &context, optional_ptr<const WantedRows> rows, const InputOrigin &origin,
                                 LogicalTableFunction &inner, const GroupingDecision &otherwise) {
	auto result = otherwise;
	Wanted wanted;
	Delivered delivered(inner);
	if (!delivered.complete || !WantedAtOrigin(rows, origin, wanted)) {
		result.reason =
		    "a partition or order column of " + inner.definition.name + " does not reach this input unchanged";
		return result;
	}
	vector<string> names;
	for (auto &output : inner.outputs) {
		names.push_back(output.name);
	}
	auto inner_set = delivered.partition.ToString(names);
	if (!delivered.partition.Satisfies(wanted.partition)) {
		result.reason = "partition set " + wanted.partition.ToString(names) + " is not the " + inner_set + " of " +
		                inner.definition.name;
		return result;
	}
	if (!delivered.ordering.Satisfies(wanted.ordering, delivered.partition.Columns())) {
		result.reason = inner.definition.name + " delivers order " + delivered.ordering.ToString(names) + ", not " +
		                wanted.ordering.ToString(names);
		return result;
	}
	result.grouping = Grouping::FUSED;
	ScanLayout layout;
	result.parallel = ChooseGrouping(context, inner, layout).parallel;
	result.reason = "same partition set " + inner_set + " as " + inner.definition.name;
	return result;
}

//! Per output column of the scan, which of all its columns it is.
optional_idx ScannedColumn(const LogicalGet &get, idx_t position) {
	auto &column_ids = get.GetColumnIds();
	auto &index = column_ids[get.projection_ids.empty() ? position : get.projection_ids[position].GetIndex()];
	if (index.IsVirtualColumn() || index.HasChildren()) {
		return optional_idx();
	}
	return index.GetPrimaryIndex();
}

vector<string> ScanNames(const LogicalGet &get) {
	vector<string> result;
	for (auto &name : get.names) {
		result.push_back(name.GetIdentifierName());
	}
	return result;
}

//! The partition set and ordering in terms of all the scan's columns.
bool WantedAtScan(optional_ptr<const WantedRows> rows, InputOrigin origin, const LogicalGet &get, Wanted &wanted) {
	for (auto &column : origin.columns) {
		column = column.IsValid() ? ScannedColumn(get, column.GetIndex()) : column;
	}
	return WantedAtOrigin(rows, origin, wanted);
}

string SortedDifferently(const StorageRegions &regions, const string &sorted, const Wanted &wanted,
                         const vector<string> &names) {
	if (!regions.AreSingleFiles()) {
		return "a region is a directory of several files";
	}
	return "regions are sorted by " + sorted + ", not by " + wanted.partition.ToString(names) + " and then " +
	       wanted.ordering.ToString(names);
}

vector<string> QuotedNames(const set<idx_t> &columns, const vector<string> &names) {
	vector<string> result;
	for (auto column : columns) {
		result.push_back(SQLIdentifier::ToString(names[column]));
	}
	return result;
}

//! The layout that would serve, as statements. COPY sorts ascending, NULLs last; a declaration says any order.
string RemedyFor(const Wanted &wanted, const vector<string> &names) {
	auto partition = StringUtil::Join(QuotedNames(wanted.partition.Columns(), names), ", ");
	auto sorted = partition;
	vector<string> order;
	auto copy_sorts_so = true;
	for (auto &item : wanted.ordering.Items()) {
		order.push_back(SQLIdentifier::ToString(names[item.column]));
		auto descending = item.direction == OrderType::DESCENDING;
		auto nulls_first = item.null_order == OrderByNullType::NULLS_FIRST;
		copy_sorts_so = copy_sorts_so && !descending && !nulls_first;
		sorted += ", " + order.back() + (descending ? " DESC" : "") + (nulls_first ? " NULLS FIRST" : "");
	}
	auto order_by = order.empty() ? string() : ", ORDER_BY (" + StringUtil::Join(order, ", ") + ")";
	auto copy = "write the rows by COPY ... TO 'folder' (FORMAT merganser_regions, PARTITION_BY (" + partition + ")" +
	            (copy_sorts_so ? order_by : string()) + ")";
	return copy + "; where files lie so already, declare it of a view of them: SET PARTITIONED BY (" + partition +
	       "), SET SORTED BY (" + sorted + ")";
}

//! Whether threads that each sort whole regions are all busy for about the same time.
bool ThreadsShareEvenly(ClientContext &context, const StorageRegions &regions) {
	const double most = 1.5;
	auto threads = static_cast<double>(TaskScheduler::GetScheduler(context).NumberOfThreads());
	return threads == 1 || regions.LargestShare(context) * threads <= most;
}

//! With the layout that is declared or recorded. What keeps it from serving is the reason.
GroupingDecision ChooseForKnown(ClientContext &context, const Wanted &wanted, const LogicalGet &get,
                                const GroupingDecision &otherwise, ScanLayout &layout) {
	auto result = otherwise;
	auto names = ScanNames(get);
	RegionLocalSet local(layout.partitioned_by);
	OrderingList sorted(layout.sorted_by);
	if (!local.Satisfies(wanted.partition)) {
		result.reason = "regions hold whole groups of " + local.ToString(names) +
		                ", which are not all in the partition set " + wanted.partition.ToString(names);
		return result;
	}
	layout.regions = make_shared_ptr<StorageRegions>(get.bind_data.get(), layout.is_recorded);
	auto whole = "regions hold whole groups of " + local.ToString(names);
	if (layout.regions->AreSingleFiles() && LeadingColumnsAre(sorted, wanted.partition) &&
	    sorted.Satisfies(wanted.ordering, wanted.partition.Columns())) {
		result.grouping = Grouping::REGION_LOCAL;
		result.reason = whole + ", sorted by " + sorted.ToString(names) + ": " + layout.source;
		return result;
	}
	auto unsorted = SortedDifferently(*layout.regions, sorted.ToString(names), wanted, names);
	if (ThreadsShareEvenly(context, *layout.regions)) {
		result.grouping = Grouping::REGION_LOCAL;
		result.sorts_regions = true;
		result.reason = whole + ": " + layout.source + "; each is sorted by itself: " + unsorted;
	} else {
		result.reason = unsorted + ", and too much of the data lies in one region to sort each by itself";
	}
	return result;
}

//! With a layout that nobody has stated, or why there is none.
GroupingDecision ChooseForFound(ClientContext &context, const Wanted &wanted, const LogicalGet &get,
                                const GroupingDecision &otherwise, ScanLayout &layout) {
	auto result = otherwise;
	if (!FoundLayout::TryFind(context, get, wanted.partition.Columns(), layout, result.reason)) {
		return result;
	}
	auto whole = to_string(layout.regions->Count()) + " regions hold whole groups of " +
	             RegionLocalSet(layout.partitioned_by).ToString(ScanNames(get)) + ": " + layout.source;
	if (ThreadsShareEvenly(context, *layout.regions)) {
		result.grouping = Grouping::REGION_LOCAL;
		result.sorts_regions = true;
		result.reason = whole + "; their order is tried, and those out of order are sorted";
	} else {
		result.reason = whole + ", but too much of the data lies in one of them";
	}
	return result;
}

//! Why rows of this scan depend on what is scanned besides a region; empty if they do not.
string WholeScanNeeded(const LogicalGet &get) {
	if (get.extra_info.sample_options) {
		return "a sample is taken of the whole scan, not of a region";
	}
	for (auto &column : get.GetColumnIds()) {
		if (column.GetPrimaryIndex() == MultiFileReader::COLUMN_IDENTIFIER_FILE_INDEX) {
			return "file_index counts the files of the whole scan, not of a region";
		}
	}
	return string();
}

GroupingDecision ChooseForScan(ClientContext &context, optional_ptr<const WantedRows> rows, const InputOrigin &origin,
                               const LogicalGet &get, const GroupingDecision &otherwise, ScanLayout &layout) {
	auto result = otherwise;
	auto whole_scan = WholeScanNeeded(get);
	if (!whole_scan.empty()) {
		result.reason = whole_scan;
		return result;
	}
	Wanted wanted;
	auto at_scan = WantedAtScan(rows, origin, get, wanted);
	string known = "no layout is declared or recorded for the input";
	string none = ", and none is found: ";
	if (ScanLayouts::TryFind(context, get, layout)) {
		if (!at_scan) {
			result.reason = "a partition or order column is no plain column of the scan";
			return result;
		}
		result = ChooseForKnown(context, wanted, get, otherwise, layout);
		known = result.reason;
		none = ", and no other is found: ";
	}
	if (result.grouping == Grouping::REGION_LOCAL) {
		return result;
	}
	result.reason = known;
	if (at_scan) {
		auto found = ChooseForFound(context, wanted, get, otherwise, layout);
		if (found.grouping == Grouping::REGION_LOCAL) {
			return found;
		}
		result.reason = found.reason.empty() ? known : known + none + found.reason;
		result.remedy = RemedyFor(wanted, ScanNames(get));
	}
	return result;
}

} // namespace

GroupingDecision GroupingOfUnknownInput(const LogicalTableFunction &function) {
	GroupingDecision result;
	if (function.definition.splittable && !function.partition_columns.empty()) {
		result.grouping = Grouping::HASHED;
		result.parallel = true;
		result.reason = "nothing is known about the order of the input";
	} else {
		result.grouping = Grouping::SINGLE;
		result.reason = function.partition_columns.empty() ? "no PARTITION BY: one partition"
		                                                   : function.definition.name + " is not splittable";
	}
	return result;
}

GroupingDecision ChooseGrouping(ClientContext &context, LogicalTableFunction &function, ScanLayout &layout) {
	if (function.definition.semantics == TableSemantics::ROW) {
		GroupingDecision result;
		result.grouping = Grouping::ROWS;
		result.parallel = true;
		result.reason = "row semantics";
		return result;
	}
	auto result = GroupingOfUnknownInput(function);
	WantedRows wanted;
	auto is_plain = WantedInInput(function, wanted);
	InputOrigin origin(*function.children[0]);
	if (result.grouping != Grouping::HASHED && origin.source.get().type == LogicalOperatorType::LOGICAL_GET) {
		return result;
	}
	result = ChooseGrouping(context, is_plain ? &wanted : nullptr, origin, result, layout);
	result.parallel = result.parallel && function.definition.splittable;
	return result;
}

GroupingDecision ChooseGrouping(ClientContext &context, optional_ptr<const WantedRows> wanted,
                                const InputOrigin &origin, const GroupingDecision &otherwise, ScanLayout &layout) {
	auto &source = origin.source.get();
	auto inner = dynamic_cast<LogicalTableFunction *>(&source);
	if (inner && inner->definition.semantics == TableSemantics::SET) {
		return ChooseForNested(context, wanted, origin, *inner, otherwise);
	}
	if (source.type == LogicalOperatorType::LOGICAL_GET) {
		return ChooseForScan(context, wanted, origin, source.Cast<LogicalGet>(), otherwise, layout);
	}
	return otherwise;
}

} // namespace merganser
