#include "grouping/region_scan.hpp"

#include "grouping/hold_nothing_back.hpp"

#include "duckdb/common/multi_file/multi_file_states.hpp"
#include "duckdb/execution/physical_plan_generator.hpp"
#include "duckdb/parallel/thread_context.hpp"
#include "duckdb/planner/filter/expression_filter.hpp"

namespace merganser {

class RegionScanSource : public GlobalSourceState {
public:
	idx_t regions = 1;
	atomic<idx_t> next {0};
	atomic<idx_t> finished {0};
	//! Table filters combined with those that joins found at run time; outlives the scans that refer to it.
	unique_ptr<TableFilterSet> dynamic_filters;

	idx_t MaxThreads() override {
		return regions;
	}
};

namespace {

class RegionScanLocalSource : public LocalSourceState {
public:
	shared_ptr<RegionPosition> position;
	//! Which part of the region is read.
	idx_t part = 0;
	unique_ptr<FunctionData> bind_data;
	unique_ptr<TableFilterSet> filters;
	unique_ptr<GlobalTableFunctionState> global;
	unique_ptr<LocalTableFunctionState> local;
};

//! The scan's position of one of all its columns.
ProjectionIndex ScannedPosition(const PhysicalTableScan &scan, idx_t column) {
	for (idx_t i = 0; i < scan.column_ids.size(); i++) {
		auto &id = scan.column_ids[i];
		if (!id.IsVirtualColumn() && !id.HasChildren() && id.GetPrimaryIndex() == column) {
			return ProjectionIndex(i);
		}
	}
	throw InternalException("A region scan does not read the column its regions are ranges of");
}

optional_ptr<TableFilterSet> FiltersOf(const PhysicalRegionScan &op, RegionScanSource &source,
                                       RegionScanLocalSource &state, const StorageRegions::Part &part) {
	optional_ptr<TableFilterSet> filters = op.scan.table_filters.get();
	if (source.dynamic_filters) {
		filters = source.dynamic_filters.get();
	}
	if (!part.filter) {
		return filters;
	}
	state.filters = filters ? filters->Copy() : make_uniq<TableFilterSet>();
	state.filters->PushFilter(ScannedPosition(op.scan, op.regions->FilteredColumn().GetIndex()),
	                          make_uniq<ExpressionFilter>(part.filter->Copy()));
	return state.filters.get();
}

void OpenPart(ExecutionContext &context, const PhysicalRegionScan &op, RegionScanSource &source,
              RegionScanLocalSource &state) {
	auto &scan = op.scan;
	auto &part = op.regions->Parts(state.position->region.GetIndex())[state.part];
	state.local.reset();
	state.global.reset();
	state.bind_data.reset();
	if (!part.files.empty()) {
		state.bind_data = scan.bind_data->Copy();
		state.bind_data->Cast<MultiFileBindData>().file_list = make_shared_ptr<SimpleMultiFileList>(part.files);
	}
	auto &bind_data = state.bind_data ? state.bind_data : scan.bind_data;
	TableFunctionInitInput input(bind_data.get(), scan.column_ids, scan.projection_ids,
	                             FiltersOf(op, source, state, part), scan.extra_info.sample_options,
	                             optional_ptr<const PhysicalOperator>(scan));
	if (scan.function.init_global) {
		state.global = scan.function.init_global(context.client, input);
	}
	if (scan.function.init_local) {
		state.local = scan.function.init_local(context, input, state.global.get());
	}
}

//! False at the part's end.
bool ScanPart(ExecutionContext &context, const PhysicalRegionScan &op, RegionScanLocalSource &state, DataChunk &chunk) {
	auto bind_data = state.bind_data ? state.bind_data.get() : op.scan.bind_data.get();
	while (true) {
		context.client.BlockingInterruptCheck(); // a filter may let no row of many chunks pass
		TableFunctionInput input(bind_data, state.local.get(), state.global.get());
		input.async_result = AsyncResultType::IMPLICIT;
		input.results_execution_mode = AsyncResultsExecutionMode::SYNCHRONOUS;
		op.scan.function.function(context.client, input, chunk);
		if (chunk.size() > 0) {
			return true;
		}
		if (input.async_result.GetResultType() != AsyncResultType::HAVE_MORE_OUTPUT) {
			return false;
		}
	}
}

} // namespace

PhysicalRegionScan::PhysicalRegionScan(PhysicalPlan &plan, PhysicalTableScan &scan,
                                       shared_ptr<const StorageRegions> regions_p)
    : PhysicalOperator(plan, PhysicalOperatorType::EXTENSION, scan.types, scan.estimated_cardinality), scan(scan),
      regions(std::move(regions_p)) {
}

optional_ptr<PhysicalRegionScan> PhysicalRegionScan::TryReplaceScan(PhysicalPlanGenerator &planner,
                                                                    reference<PhysicalOperator> &chain,
                                                                    shared_ptr<const StorageRegions> regions) {
	auto end = HoldNothingBack::Downwards(chain);
	if (end.get().type != PhysicalOperatorType::TABLE_SCAN) {
		return nullptr;
	}
	auto &result = planner.Make<PhysicalRegionScan>(end.get().Cast<PhysicalTableScan>(), std::move(regions));
	if (RefersToSameObject(chain.get(), end.get())) {
		chain = result;
	} else {
		reference<PhysicalOperator> above = chain;
		while (!RefersToSameObject(above.get().children[0].get(), end.get())) {
			above = above.get().children[0];
		}
		above.get().children[0] = result;
	}
	return result.Cast<PhysicalRegionScan>();
}

InsertionOrderPreservingMap<string> PhysicalRegionScan::ParamsToString() const {
	auto result = scan.ParamsToString();
	result["Regions"] = to_string(regions->Count());
	return result;
}

string PhysicalRegionScan::RegionName(idx_t region) const {
	return regions->Name(region, scan.GetName(), scan.names);
}

shared_ptr<const RegionPosition> PhysicalRegionScan::Position(ExecutionContext &context) const {
	lock_guard<mutex> guard(positions_lock);
	return positions.at(&context.thread);
}

void PhysicalRegionScan::SetPosition(ExecutionContext &context, shared_ptr<const RegionPosition> position) const {
	lock_guard<mutex> guard(positions_lock);
	positions[&context.thread] = std::move(position);
}

unique_ptr<GlobalSourceState> PhysicalRegionScan::GetGlobalSourceState(ClientContext &context) const {
	auto result = make_uniq<RegionScanSource>();
	result->regions = regions->Count();
	if (scan.dynamic_filters && scan.dynamic_filters->HasFilters()) {
		result->dynamic_filters = scan.dynamic_filters->GetFinalTableFilters(scan, scan.table_filters.get());
	}
	return std::move(result);
}

unique_ptr<LocalSourceState> PhysicalRegionScan::GetLocalSourceState(ExecutionContext &context,
                                                                     GlobalSourceState &state) const {
	auto result = make_uniq<RegionScanLocalSource>();
	result->position = make_shared_ptr<RegionPosition>();
	SetPosition(context, result->position);
	return std::move(result);
}

SourceResultType PhysicalRegionScan::GetDataInternal(ExecutionContext &context, DataChunk &chunk,
                                                     OperatorSourceInput &input) const {
	auto &source = input.global_state.Cast<RegionScanSource>();
	auto &state = input.local_state.Cast<RegionScanLocalSource>();
	auto &region = state.position->region;
	while (true) {
		if (state.local || state.global) {
			if (ScanPart(context, *this, state, chunk)) {
				return SourceResultType::HAVE_MORE_OUTPUT;
			}
			state.local.reset();
			state.global.reset();
			state.part++;
		}
		context.client.BlockingInterruptCheck();
		if (!region.IsValid() || state.part == regions->Parts(region.GetIndex()).size()) {
			source.finished += region.IsValid() ? 1 : 0;
			auto next = source.next++;
			if (next >= source.regions) {
				return SourceResultType::FINISHED;
			}
			region = next;
			state.part = 0;
		}
		OpenPart(context, *this, source, state);
	}
}

OperatorPartitionData PhysicalRegionScan::GetPartitionData(ExecutionContext &context, DataChunk &chunk,
                                                           GlobalSourceState &gstate, LocalSourceState &lstate,
                                                           const OperatorPartitionInfo &partition_info) const {
	return OperatorPartitionData(lstate.Cast<RegionScanLocalSource>().position->region.GetIndex());
}

ProgressData PhysicalRegionScan::GetProgress(ClientContext &context, GlobalSourceState &state) const {
	auto &source = state.Cast<RegionScanSource>();
	ProgressData result;
	result.done = static_cast<double>(source.finished.load());
	result.total = static_cast<double>(source.regions);
	return result;
}

} // namespace merganser
