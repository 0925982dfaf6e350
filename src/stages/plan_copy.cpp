#include "stages/plan_copy.hpp"

#include "ordered_windows/logical_ordered_window.hpp"
#include "stages/plan_columns.hpp"
#include "stages/sliced_files.hpp"

#include "duckdb/common/multi_file/multi_file_function.hpp"
#include "duckdb/common/multi_file/multi_file_reader.hpp"
#include "duckdb/common/multi_file/multi_file_states.hpp"

namespace merganser {

namespace {

//! Puts the children back however the copy ends.
class DetachedChildren {
public:
	explicit DetachedChildren(LogicalOperator &op) : op(op), children(std::move(op.children)) {
		op.children.clear();
	}
	~DetachedChildren() {
		op.children = std::move(children);
	}

private:
	LogicalOperator &op;
	vector<unique_ptr<LogicalOperator>> children;
};

//! Knows the files and what is read of them; enough to be exported, not to be executed. DuckDB's copy would forget
//! which files it pruned, and there is none of a CSV scan.
unique_ptr<LogicalOperator> CopyOfFileScan(const LogicalGet &scan) {
	auto bind_data = make_uniq<MultiFileBindData>();
	auto &original = scan.bind_data->Cast<MultiFileBindData>();
	bind_data->file_list = original.file_list;
	bind_data->names = original.names;
	bind_data->types = original.types;
	bind_data->file_options = original.file_options;
	bind_data->reader_bind = original.reader_bind;
	auto function = scan.function;
	function.cardinality = nullptr;
	function.get_bind_info = nullptr;
	auto result = make_uniq<LogicalGet>(scan.table_index, std::move(function), std::move(bind_data),
	                                    scan.returned_types, scan.names, scan.virtual_columns);
	result->GetMutableColumnIds() = scan.GetColumnIds();
	result->projection_ids = scan.projection_ids;
	result->table_filters = std::move(*scan.table_filters.Copy());
	result->parameters = scan.parameters;
	result->named_parameters = scan.named_parameters;
	result->source_ordinality = scan.source_ordinality;
	result->extra_info.file_filters = scan.extra_info.file_filters;
	result->extra_info.total_files = scan.extra_info.total_files;
	result->extra_info.filtered_files = scan.extra_info.filtered_files;
	if (scan.extra_info.file_filter_expressions) {
		result->extra_info.file_filter_expressions = PlanColumns::Copies(*scan.extra_info.file_filter_expressions);
	}
	return std::move(result);
}

unique_ptr<LogicalOperator> CopyWithoutChildren(ClientContext &context, LogicalOperator &op) {
	auto travelling = dynamic_cast<TravellingOperator *>(&op);
	if (travelling) {
		return travelling->CopyAlone();
	}
	DetachedChildren detached(op);
	return op.Copy(context);
}

} // namespace

LogicalSessionRows::LogicalSessionRows(unique_ptr<LogicalOperator> &original) : original(original) {
	original->ResolveOperatorTypes();
	bindings = original->GetColumnBindings();
	original_types = original->types;
}

unique_ptr<LogicalOperator> LogicalSessionRows::TakeOriginal() {
	// DuckDB lets a scan leave out row groups that an OFFSET above it skips; in stages, the OFFSET counts them.
	if (original->type == LogicalOperatorType::LOGICAL_GET) {
		auto &scan = original->Cast<LogicalGet>();
		if (scan.function.set_scan_order) {
			scan.function.set_scan_order(nullptr, scan.bind_data.get());
		}
	}
	return std::move(original);
}

vector<ColumnBinding> LogicalSessionRows::GetColumnBindings() {
	return bindings;
}

void LogicalSessionRows::ResolveTypes() {
	types = original_types;
}

string LogicalSessionRows::GetName() const {
	return "SESSION_ROWS";
}

string LogicalSessionRows::GetExtensionName() const {
	return "merganser_session_rows";
}

PhysicalOperator &LogicalSessionRows::CreatePlan(ClientContext &context, PhysicalPlanGenerator &planner) {
	throw InternalException("Rows of the session belong to a plan that is cut, not executed");
}

unique_ptr<LogicalOperator> PlanCopy::Of(ClientContext &context, unique_ptr<LogicalOperator> &plan) {
	if (dynamic_cast<LogicalOrderedWindow *>(plan.get())) {
		return Of(context, plan->children[0]); // a task's session decides about its windows itself
	}
	unique_ptr<LogicalOperator> result;
	if (plan->type == LogicalOperatorType::LOGICAL_GET && plan->children.empty()) {
		auto &scan = plan->Cast<LogicalGet>();
		if (SlicedFiles::MaySlice(scan)) {
			result = CopyOfFileScan(scan);
		} else {
			result = make_uniq<LogicalSessionRows>(plan);
		}
	} else {
		result = CopyWithoutChildren(context, *plan);
		for (auto &child : plan->children) {
			result->children.push_back(Of(context, child));
		}
	}
	if (plan->has_estimated_cardinality) {
		result->SetEstimatedCardinality(plan->estimated_cardinality);
	}
	return result;
}

} // namespace merganser
