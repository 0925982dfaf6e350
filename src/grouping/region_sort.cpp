#include "grouping/region_sort.hpp"

#include "grouping/order_trial.hpp"

#include "duckdb/common/sorting/sort.hpp"
#include "duckdb/common/types/column/column_data_collection.hpp"
#include "duckdb/common/vector/flat_vector.hpp"
#include "duckdb/parallel/interrupt.hpp"
#include "duckdb/planner/expression/bound_reference_expression.hpp"
#include "duckdb/storage/buffer_manager.hpp"

namespace merganser {

namespace {

vector<idx_t> AllColumns(const vector<LogicalType> &types) {
	vector<idx_t> result;
	for (idx_t i = 0; i < types.size(); i++) {
		result.push_back(i);
	}
	return result;
}

//! The rows of a region that came in order.
class RowsInOrder {
public:
	RowsInOrder(ClientContext &context, const PhysicalRegionSort &op)
	    : trial(context, op.partition, op.ordering, op.GetTypes()),
	      rows(BufferManager::GetBufferManager(context), op.GetTypes()) {
		rows.InitializeAppend(append);
	}

	//! False where the rows do not follow in order; they are not taken.
	bool TryAdd(DataChunk &input) {
		if (!trial.Follows(input)) {
			return false;
		}
		rows.Append(append, input);
		return true;
	}

	//! Begins anew after the last row.
	bool Next(DataChunk &chunk) {
		if (!scanned) {
			rows.InitializeScan(scan);
		}
		scanned = rows.Scan(scan, chunk);
		return scanned;
	}

private:
	OrderTrial trial;
	ColumnDataCollection rows;
	ColumnDataAppendState append;
	ColumnDataScanState scan;
	bool scanned = false;
};

class RegionSortState : public OperatorState {
public:
	RegionSortState(ExecutionContext &context, const PhysicalRegionSort &op)
	    : op(op), sort(context.client, op.orders, op.SortedTypes(), AllColumns(op.GetTypes())),
	      read(op.scan.Position(context)), emitted(make_shared_ptr<RegionPosition>()) {
		op.scan.SetPosition(context, emitted);
		if (op.keeps_order) {
			numbered.Initialize(Allocator::Get(context.client), op.SortedTypes());
		}
	}

	bool HasRows() const {
		return in_order || gathered;
	}

	void Gather(ExecutionContext &context, DataChunk &input) {
		if (!HasRows()) {
			in_order = make_uniq<RowsInOrder>(context.client, op);
			emitted->region = read->region;
		}
		if (in_order && in_order->TryAdd(input)) {
			return;
		}
		if (in_order) {
			BeginSort(context);
		}
		Sink(context, input);
	}

	//! False when all rows of the region have been handed on.
	bool Next(ExecutionContext &context, DataChunk &chunk) {
		if (!in_order) {
			return NextSorted(context, chunk);
		}
		if (in_order->Next(chunk)) {
			return true;
		}
		in_order.reset();
		return false;
	}

	const PhysicalRegionSort &op;
	Sort sort;
	//! Where the scan is reading, and what the operators above are told: the region whose rows they get.
	shared_ptr<const RegionPosition> read;
	shared_ptr<RegionPosition> emitted;

private:
	void BeginSort(ExecutionContext &context) {
		gathered = sort.GetGlobalSinkState(context.client);
		gathering = sort.GetLocalSinkState(context);
		DataChunk chunk;
		chunk.Initialize(Allocator::Get(context.client), op.GetTypes());
		while (in_order->Next(chunk)) {
			context.client.BlockingInterruptCheck();
			Sink(context, chunk);
			chunk.Reset();
		}
		in_order.reset();
	}

	void Sink(ExecutionContext &context, DataChunk &input) {
		OperatorSinkInput sink {*gathered, *gathering, interrupt};
		sort.Sink(context, op.keeps_order ? Numbered(input) : input, sink);
	}

	bool NextSorted(ExecutionContext &context, DataChunk &chunk) {
		if (!sorted) {
			OperatorSinkCombineInput combine {*gathered, *gathering, interrupt};
			sort.Combine(context, combine);
			OperatorSinkFinalizeInput finalize {*gathered, interrupt};
			sort.Finalize(context.client, finalize);
			sorted = sort.GetGlobalSourceState(context.client, *gathered);
			scanning = sort.GetLocalSourceState(context, *sorted);
		}
		OperatorSourceInput source {*sorted, *scanning, interrupt};
		sort.GetData(context, chunk, source);
		if (chunk.size() > 0) {
			return true;
		}
		scanning.reset();
		sorted.reset();
		gathering.reset();
		gathered.reset();
		return false;
	}

	DataChunk &Numbered(DataChunk &input) {
		auto columns = input.ColumnCount();
		numbered.Reset();
		for (idx_t i = 0; i < columns; i++) {
			numbered.data[i].Reference(input.data[i]);
		}
		auto numbers = FlatVector::GetDataMutable<uint64_t>(numbered.data[columns]);
		for (idx_t i = 0; i < input.size(); i++) {
			numbers[i] = next_number++;
		}
		numbered.SetChildCardinality(input.size());
		return numbered;
	}

	InterruptState interrupt;
	//! A chunk with the numbers of its rows.
	DataChunk numbered;
	uint64_t next_number = 0;
	//! While all rows of the region have come in order.
	unique_ptr<RowsInOrder> in_order;
	unique_ptr<GlobalSinkState> gathered;
	unique_ptr<LocalSinkState> gathering;
	unique_ptr<GlobalSourceState> sorted;
	unique_ptr<LocalSourceState> scanning;
};

} // namespace

PhysicalRegionSort::PhysicalRegionSort(PhysicalPlan &plan, PhysicalOperator &input, const PhysicalRegionScan &scan,
                                       const vector<string> &names, vector<idx_t> partition_p,
                                       vector<OrderItem> ordering_p, bool keeps_order)
    : PhysicalOperator(plan, PhysicalOperatorType::EXTENSION, input.GetTypes(), input.estimated_cardinality),
      scan(scan), partition(std::move(partition_p)), ordering(std::move(ordering_p)), keeps_order(keeps_order) {
	children.push_back(input);
	auto add = [&](idx_t column, OrderType type, OrderByNullType null_order) {
		orders.emplace_back(type, null_order,
		                    make_uniq<BoundReferenceExpression>(Identifier(names[column]), types[column], column));
	};
	for (auto column : partition) {
		add(column, OrderType::ASCENDING, OrderByNullType::NULLS_LAST);
	}
	for (auto &item : ordering) {
		add(item.column, item.direction, item.null_order);
	}
	if (keeps_order) {
		orders.emplace_back(
		    OrderType::ASCENDING, OrderByNullType::NULLS_LAST,
		    make_uniq<BoundReferenceExpression>(Identifier("number"), LogicalType::UBIGINT, types.size()));
	}
}

InsertionOrderPreservingMap<string> PhysicalRegionSort::ParamsToString() const {
	InsertionOrderPreservingMap<string> result;
	vector<string> texts;
	for (auto &order : orders) {
		texts.push_back(order.ToString());
	}
	result["Order By"] = StringUtil::Join(texts, "\n");
	SetEstimatedCardinality(result, estimated_cardinality);
	return result;
}

vector<LogicalType> PhysicalRegionSort::SortedTypes() const {
	auto result = types;
	if (keeps_order) {
		result.push_back(LogicalType::UBIGINT);
	}
	return result;
}

unique_ptr<OperatorState> PhysicalRegionSort::GetOperatorState(ExecutionContext &context) const {
	return make_uniq<RegionSortState>(context, *this);
}

OperatorResultType PhysicalRegionSort::Execute(ExecutionContext &context, DataChunk &input, DataChunk &chunk,
                                               GlobalOperatorState &gstate, OperatorState &state_p) const {
	auto &state = state_p.Cast<RegionSortState>();
	auto next_region = state.HasRows() && state.read->region != state.emitted->region;
	if (next_region && state.Next(context, chunk)) {
		return OperatorResultType::HAVE_MORE_OUTPUT;
	}
	state.Gather(context, input);
	return OperatorResultType::NEED_MORE_INPUT;
}

OperatorFinalizeResultType PhysicalRegionSort::FinalExecute(ExecutionContext &context, DataChunk &chunk,
                                                            GlobalOperatorState &gstate, OperatorState &state_p) const {
	auto &state = state_p.Cast<RegionSortState>();
	return state.HasRows() && state.Next(context, chunk) ? OperatorFinalizeResultType::HAVE_MORE_OUTPUT
	                                                     : OperatorFinalizeResultType::FINISHED;
}

} // namespace merganser
