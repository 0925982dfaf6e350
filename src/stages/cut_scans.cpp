#include "stages/stage_planner.hpp"

#include "stages/logical_exchange.hpp"
#include "stages/plan_columns.hpp"
#include "stages/plan_copy.hpp"
#include "stages/sliced_files.hpp"
#include "stages/sliced_tables.hpp"

#include "duckdb/catalog/catalog_entry/table_catalog_entry.hpp"
#include "duckdb/planner/operator/list.hpp"

namespace merganser {

namespace {

//! What the session reads, below what it makes of it.
const LogicalOperator &ScanOf(const LogicalOperator &op) {
	auto session_rows = dynamic_cast<const LogicalSessionRows *>(&op);
	if (session_rows) {
		return session_rows->Original();
	}
	return op.children.empty() ? op : ScanOf(*op.children[0]);
}

//! A stream of Arrow batches may have no end, and can be read only once.
bool MayBeAStream(ClientContext &context, const LogicalOperator &op) {
	auto &get = op.Cast<LogicalGet>();
	if (!StringUtil::EndsWith(get.function.GetName().GetIdentifierName(), "arrow_scan") || !get.function.cardinality) {
		return false;
	}
	auto statistics = get.function.cardinality(context, get.bind_data.get());
	return statistics && !statistics->has_estimated_cardinality;
}

string NameOfScan(const LogicalOperator &op) {
	auto &scan = ScanOf(op).Cast<LogicalGet>();
	auto table = scan.GetTable();
	return "the scan of " + (table ? table->name : scan.function.GetName()).GetIdentifierName();
}

} // namespace

Partitioning StagePlanner::CutScan(Slot &op) {
	if (!op->children.empty()) {
		return OneTask(op, op->GetName() + " runs in one task");
	}
	auto &get = op->Cast<LogicalGet>();
	auto scan = SlicedFiles::TrySlice(context, get);
	if (!scan) {
		Send(op, ReadMode::PARTITION);
		return {Distribution::SPLIT, {}, RowOrder::AsProduced(RowOrder::Scope::ALL_ROWS)};
	}
	return ReadSlices(get, std::move(*scan));
}

Partitioning StagePlanner::ReadSlices(LogicalGet &get, SlicedScan scan) {
	idx_t width = 0;
	for (auto &column : get.GetColumnIds()) {
		width += PlanColumns::Width(get.GetColumnType(column));
	}
	scan.width = scan.rows_are_known ? MaxValue<idx_t>(width, 1) : 1;
	input_bytes += scan.Size() * scan.width;
	scan.name = SlicedFiles::Relation(get);
	scan.column_names = get.names;
	scan.column_types = get.returned_types;
	for (auto &name : scan.virtual_columns) {
		for (auto &column : get.virtual_columns) {
			if (column.second.name == Identifier(name)) {
				scan.column_names.emplace_back(name);
				scan.column_types.push_back(column.second.type);
			}
		}
	}
	sliced.emplace(&get, std::move(scan));
	SlicedFiles::ReadSlice(get);
	return {Distribution::SPLIT, {}, RowOrder::AsProduced(RowOrder::Scope::ALL_ROWS)};
}

Partitioning StagePlanner::CutSessionRows(Slot &op) {
	auto &original = op->Cast<LogicalSessionRows>().Original();
	auto scan = original.type == LogicalOperatorType::LOGICAL_GET
	                ? SlicedTables::TrySlice(context, original.Cast<LogicalGet>())
	                : nullptr;
	if (scan) {
		op = SlicedTables::CopyOf(original.Cast<LogicalGet>());
		op->ResolveOperatorTypes();
		return ReadSlices(op->Cast<LogicalGet>(), std::move(*scan));
	}
	Send(op, ReadMode::PARTITION);
	return {Distribution::SPLIT, {}, RowOrder::AsProduced(RowOrder::Scope::ALL_ROWS)};
}

void StagePlanner::Send(Slot &op, ReadMode mode) {
	op->ResolveOperatorTypes();
	if (op->type != LogicalOperatorType::LOGICAL_LIMIT && MayBeAStream(context, ScanOf(*op))) {
		throw NotImplementedException("how many rows %s has is not known, and they may be there only once",
		                              NameOfScan(*op));
	}
	auto bytes = Bytes(*op);
	if (bytes > send_bytes) {
		throw NotImplementedException(
		    "%s would send about %llu bytes to the tasks, more than merganser_send_max_bytes = %llu", NameOfScan(*op),
		    bytes, send_bytes);
	}
	input_bytes += bytes;
	SentInput sent;
	sent.types = op->types;
	sent.partitions = tasks;
	StageInput input;
	input.sent = result->sent.size();
	input.mode = mode;
	input.ordered = needs->Of(*op) == OrderNeed::STREAM;
	auto rows = op->has_estimated_cardinality ? op->estimated_cardinality : op->EstimateCardinality(context);
	auto exchange = make_uniq<LogicalExchange>(input, op->GetColumnBindings(), sent.types, sent.types);
	exchange->SetEstimatedCardinality(rows);
	result->sent.push_back(std::move(sent));
	sent_plans.push_back(std::move(op));
	op = std::move(exchange);
	op->ResolveOperatorTypes();
}

} // namespace merganser
