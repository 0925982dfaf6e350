#include "grouping/region_scan.hpp"

#include "grouping/hold_nothing_back.hpp"

#include "duckdb/common/multi_file/multi_file_states.hpp"
#include "duckdb/execution/physical_plan_generator.hpp"
#include "duckdb/parallel/thread_context.hpp"

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
	unique_ptr<FunctionData> bind_data;
	unique_ptr<GlobalTableFunctionState> global;
	unique_ptr<LocalTableFunctionState> local;
};

void OpenRegion(ExecutionContext &context, const PhysicalRegionScan &op, RegionScanSource &source,
                RegionScanLocalSource &state, idx_t region) {
	auto &scan = op.scan;
	state.local.reset();
	state.global.reset();
	optional_ptr<const FunctionData> bind_data = scan.bind_data.get();
	if (op.regions.IsFiles()) {
		state.bind_data = scan.bind_data->Copy();
		state.bind_data->Cast<MultiFileBindData>().file_list =
		    make_shared_ptr<SimpleMultiFileList>(op.regions.Files(region));
		bind_data = state.bind_data.get();
	}
	optional_ptr<TableFilterSet> filters = scan.table_filters.get();
	if (source.dynamic_filters) {
		filters = source.dynamic_filters.get();
	}
	TableFunctionInitInput input(bind_data, scan.column_ids, scan.projection_ids, filters,
	                             scan.extra_info.sample_options, optional_ptr<const PhysicalOperator>(scan));
	if (scan.function.init_global) {
		state.global = scan.function.init_global(context.client, input);
	}
	if (scan.function.init_local) {
		state.local = scan.function.init_local(context, input, state.global.get());
	}
	state.position->region = region;
}

//! False at the region's end.
bool ScanRegion(ExecutionContext &context, const PhysicalRegionScan &op, RegionScanLocalSource &state,
                DataChunk &chunk) {
	auto bind_data = op.regions.IsFiles() ? state.bind_data.get() : op.scan.bind_data.get();
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

PhysicalRegionScan::PhysicalRegionScan(PhysicalPlan &plan, PhysicalTableScan &scan, bool whole_files)
    : PhysicalOperator(plan, PhysicalOperatorType::EXTENSION, scan.types, scan.estimated_cardinality), scan(scan),
      regions(scan.bind_data.get(), whole_files) {
}

optional_ptr<PhysicalRegionScan> PhysicalRegionScan::TryReplaceScan(PhysicalPlanGenerator &planner,
                                                                    reference<PhysicalOperator> &chain,
                                                                    bool whole_files) {
	auto end = HoldNothingBack::Downwards(chain);
	if (end.get().type != PhysicalOperatorType::TABLE_SCAN) {
		return nullptr;
	}
	auto &result = planner.Make<PhysicalRegionScan>(end.get().Cast<PhysicalTableScan>(), whole_files);
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
	result["Regions"] = to_string(regions.Count());
	return result;
}

string PhysicalRegionScan::RegionName(idx_t region) const {
	return regions.IsFiles() ? regions.Name(region) : scan.GetName();
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
	result->regions = regions.Count();
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
	while (true) {
		if (state.local || state.global) {
			if (ScanRegion(context, *this, state, chunk)) {
				return SourceResultType::HAVE_MORE_OUTPUT;
			}
			state.local.reset();
			state.global.reset();
			source.finished++;
		}
		context.client.BlockingInterruptCheck();
		auto region = source.next++;
		if (region >= source.regions) {
			return SourceResultType::FINISHED;
		}
		OpenRegion(context, *this, source, state, region);
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
