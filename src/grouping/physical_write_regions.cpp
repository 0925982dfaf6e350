#include "grouping/physical_write_regions.hpp"

#include "grouping/partitioned_sort.hpp"
#include "publishing/output_folder.hpp"

#include "duckdb/execution/physical_plan_generator.hpp"
#include "duckdb/planner/expression/bound_reference_expression.hpp"

namespace merganser {

namespace {

class WriteRegionsSink : public GlobalSinkState {
public:
	explicit WriteRegionsSink(const RegionWriter &writer)
	    : target(TargetOf(writer)), folder(target),
	      // what is overwritten has other names, so that its readers do not read the new files for them
	      suffix(target.mode == CopyOverwriteMode::COPY_OVERWRITE && folder.HasFiles() ? "_" + writer.id : "") {
	}

	string OpenRegion(idx_t region) {
		lock_guard<mutex> guard(lock);
		if (!regions.insert(region).second) {
			throw InternalException("A region was written twice");
		}
		return StagedPath(region);
	}

	void Publish() {
		vector<StagedFile> files;
		for (auto region : regions) {
			files.push_back({StagedPath(region), "region_" + to_string(files.size()) + suffix + ".parquet"});
		}
		folder.Publish(files);
	}

	atomic<idx_t> rows {0};
	set<idx_t> regions;

private:
	const OutputTarget target;
	OutputFolder folder;
	const string suffix;
	mutex lock;

	//! The folders above it are made.
	static OutputTarget TargetOf(const RegionWriter &writer) {
		auto result = OutputTarget::Choose(writer.folder, writer.mode);
		auto above = std::filesystem::path(result.staging).parent_path().parent_path();
		std::error_code error;
		std::filesystem::create_directories(above, error);
		if (error) {
			throw IOException("Failed to create directory \"%s\": %s", above.string(), error.message());
		}
		return result;
	}

	string StagedPath(idx_t region) const {
		return target.staging + "/region_" + to_string(region);
	}
};

class WriteRegionsLocalSink : public LocalSinkState {
public:
	optional_idx region;
	unique_ptr<GlobalFunctionData> file;
	unique_ptr<LocalFunctionData> local;
	DataChunk rows;
};

void CloseRegion(ExecutionContext &context, const RegionWriter &writer, WriteRegionsLocalSink &local) {
	if (!local.file) {
		return;
	}
	writer.parquet->copy_to_combine(context, *writer.bind_data, *local.file, *local.local);
	writer.parquet->copy_to_finalize(context.client, *writer.bind_data, *local.file);
	local.local.reset();
	local.file.reset();
}

struct CountSource : public GlobalSourceState {
	bool finished = false;
};

} // namespace

PhysicalWriteRegions::PhysicalWriteRegions(PhysicalPlan &plan, RegionWriter writer, idx_t estimated_cardinality)
    : PhysicalOperator(plan, PhysicalOperatorType::EXTENSION, {LogicalType::BIGINT}, estimated_cardinality),
      writer(std::move(writer)) {
}

PhysicalOperator &PhysicalWriteRegions::Plan(PhysicalPlanGenerator &planner, PhysicalOperator &input,
                                             RegionWriter writer, idx_t estimated_cardinality) {
	auto &types = input.GetTypes();
	vector<unique_ptr<Expression>> partitions;
	partitions.push_back(make_uniq<BoundReferenceExpression>(types.back(), types.size() - 1));
	vector<BoundOrderByNode> orders;
	for (auto column : writer.sort_columns) {
		orders.emplace_back(OrderType::ASCENDING, OrderByNullType::NULLS_LAST,
		                    make_uniq<BoundReferenceExpression>(types[column], column));
	}
	auto &sort = planner.Make<PhysicalPartitionedSort>(input, "COPY (FORMAT merganser_regions)", std::move(partitions),
	                                                   nullptr, std::move(orders));
	auto &result = planner.Make<PhysicalWriteRegions>(std::move(writer), estimated_cardinality);
	result.children.push_back(sort);
	return result;
}

unique_ptr<GlobalSinkState> PhysicalWriteRegions::GetGlobalSinkState(ClientContext &context) const {
	return make_uniq<WriteRegionsSink>(writer);
}

unique_ptr<LocalSinkState> PhysicalWriteRegions::GetLocalSinkState(ExecutionContext &context) const {
	auto result = make_uniq<WriteRegionsLocalSink>();
	auto types = children[0].get().GetTypes();
	types.pop_back();
	result->rows.InitializeEmpty(types);
	return std::move(result);
}

SinkResultType PhysicalWriteRegions::Sink(ExecutionContext &context, DataChunk &chunk, OperatorSinkInput &input) const {
	auto &global = input.global_state.Cast<WriteRegionsSink>();
	auto &local = input.local_state.Cast<WriteRegionsLocalSink>();
	UnifiedVectorFormat format;
	chunk.data.back().ToUnifiedFormat(format);
	auto regions = UnifiedVectorFormat::GetData<uint64_t>(format);
	idx_t begin = 0;
	while (begin < chunk.size()) {
		auto region = regions[format.sel->get_index(begin)];
		auto end = begin + 1;
		while (end < chunk.size() && regions[format.sel->get_index(end)] == region) {
			end++;
		}
		if (!local.region.IsValid() || local.region.GetIndex() != region) {
			CloseRegion(context, writer, local);
			local.region = region;
			local.file =
			    writer.parquet->copy_to_initialize_global(context.client, *writer.bind_data, global.OpenRegion(region));
			local.local = writer.parquet->copy_to_initialize_local(context, *writer.bind_data);
		}
		for (idx_t column = 0; column < local.rows.ColumnCount(); column++) {
			local.rows.data[column].Slice(chunk.data[column], begin, end);
		}
		local.rows.SetChildCardinality(end - begin);
		writer.parquet->copy_to_sink(context, *writer.bind_data, *local.file, *local.local, local.rows);
		begin = end;
	}
	global.rows += chunk.size();
	return SinkResultType::NEED_MORE_INPUT;
}

SinkCombineResultType PhysicalWriteRegions::Combine(ExecutionContext &context, OperatorSinkCombineInput &input) const {
	CloseRegion(context, writer, input.local_state.Cast<WriteRegionsLocalSink>());
	return SinkCombineResultType::FINISHED;
}

SinkFinalizeType PhysicalWriteRegions::Finalize(Pipeline &pipeline, Event &event, ClientContext &context,
                                                OperatorSinkFinalizeInput &input) const {
	auto &global = input.global_state.Cast<WriteRegionsSink>();
	if (global.regions.empty()) {
		// no rows: one empty file keeps the columns
		auto file = writer.parquet->copy_to_initialize_global(context, *writer.bind_data, global.OpenRegion(0));
		writer.parquet->copy_to_finalize(context, *writer.bind_data, *file);
	}
	global.Publish();
	return SinkFinalizeType::READY;
}

unique_ptr<GlobalSourceState> PhysicalWriteRegions::GetGlobalSourceState(ClientContext &context) const {
	return make_uniq<CountSource>();
}

SourceResultType PhysicalWriteRegions::GetDataInternal(ExecutionContext &context, DataChunk &chunk,
                                                       OperatorSourceInput &input) const {
	auto &source = input.global_state.Cast<CountSource>();
	if (source.finished) {
		return SourceResultType::FINISHED;
	}
	source.finished = true;
	auto rows = sink_state->Cast<WriteRegionsSink>().rows.load();
	chunk.data[0].Append(Value::BIGINT(static_cast<int64_t>(rows)));
	chunk.CheckCardinality(1);
	return SourceResultType::HAVE_MORE_OUTPUT;
}

} // namespace merganser
