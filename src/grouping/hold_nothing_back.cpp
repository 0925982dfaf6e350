#include "grouping/hold_nothing_back.hpp"

#include "grouping/physical_table_function.hpp"

#include "duckdb/execution/operator/filter/physical_filter.hpp"

namespace merganser {

static bool AnswersEachChunkAtOnce(PhysicalOperator &op) {
	switch (op.type) {
	case PhysicalOperatorType::PROJECTION:
		return true;
	case PhysicalOperatorType::FILTER:
		op.Cast<PhysicalFilter>().caching_supported = false;
		return true;
	case PhysicalOperatorType::EXTENSION: {
		auto function = dynamic_cast<PhysicalTableFunction *>(&op);
		return function && function->decision.grouping == Grouping::ROWS;
	}
	default:
		return false;
	}
}

reference<PhysicalOperator> HoldNothingBack::Downwards(PhysicalOperator &top) {
	reference<PhysicalOperator> current = top;
	while (AnswersEachChunkAtOnce(current)) {
		current = current.get().children[0];
	}
	return current;
}

void HoldNothingBack::Everywhere(PhysicalOperator &top) {
	if (top.type == PhysicalOperatorType::FILTER) {
		top.Cast<PhysicalFilter>().caching_supported = false;
	}
	for (auto &child : top.children) {
		Everywhere(child);
	}
}

} // namespace merganser
