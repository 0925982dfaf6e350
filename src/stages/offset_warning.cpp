#include "stages/offset_warning.hpp"

#include "stages/order_needs.hpp"

#include "duckdb/logging/logger.hpp"
#include "duckdb/planner/operator/logical_limit.hpp"

namespace merganser {

namespace {

bool HasOffset(const LogicalOperator &op) {
	if (op.type == LogicalOperatorType::LOGICAL_LIMIT &&
	    op.Cast<LogicalLimit>().offset_val.Type() != LimitNodeType::UNSET) {
		return true;
	}
	for (auto &child : op.children) {
		if (HasOffset(*child)) {
			return true;
		}
	}
	return false;
}

} // namespace

bool OffsetWarning::IsDue(ClientContext &context, LogicalOperator &plan) {
	return HasOffset(plan) && OrderNeeds::SkipsUnorderedRows(context, plan);
}

void OffsetWarning::Give(ClientContext &context) {
	DUCKDB_LOG_WARNING(context,
	                   "OFFSET is applied to a query whose row order is not guaranteed - the result may differ between "
	                   "runs. This happens when the query contains order-breaking operators (e.g. hash joins or "
	                   "aggregations), reads from a source that does not preserve order, or when "
	                   "preserve_insertion_order=false. Add an ORDER BY to make the result deterministic.");
}

} // namespace merganser
