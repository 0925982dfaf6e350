#include "ordered_windows/carried_value.hpp"

#include "duckdb/common/vector/flat_vector.hpp"
#include "duckdb/common/vector_operations/vector_operations.hpp"

namespace merganser {

static bool EndsWithCurrentRow(WindowBoundary end, bool no_ties) {
	switch (end) {
	case WindowBoundary::CURRENT_ROW_ROWS:
		return true;
	case WindowBoundary::CURRENT_ROW_RANGE:
	case WindowBoundary::CURRENT_ROW_GROUPS:
		return no_ties;
	default:
		return false;
	}
}

unique_ptr<CarriedValue> CarriedValue::TryMake(ClientContext &context, const BoundWindowExpression &function,
                                               bool no_ties) {
	auto applies = function.GetExpressionType() == ExpressionType::WINDOW_LAST_VALUE && function.IgnoreNulls() &&
	               function.WindowStart() == WindowBoundary::UNBOUNDED_PRECEDING &&
	               EndsWithCurrentRow(function.WindowEnd(), no_ties) &&
	               function.WindowExclude() == WindowExcludeMode::NO_OTHER && function.ArgOrders().empty() &&
	               !function.Filter() && !function.Distinct() && function.GetChildren().size() == 1;
	return applies ? unique_ptr<CarriedValue>(new CarriedValue(context, function)) : nullptr;
}

CarriedValue::CarriedValue(ClientContext &context, const BoundWindowExpression &function)
    : expressions(context), sources(STANDARD_VECTOR_SIZE), carried(function.GetReturnType(), 1) {
	auto &value = *function.GetChildren()[0];
	expressions.AddExpression(value);
	argument.Initialize(Allocator::Get(context), {value.GetReturnType()});
	FlatVector::ValidityMutable(carried).SetInvalid(0);
	FlatVector::SetSize(carried, 1);
}

void CarriedValue::FindSources(const UnifiedVectorFormat &format, const ValidityMask &partition_starts, idx_t position,
                               idx_t count) {
	auto source = CARRIED;
	for (idx_t row = 0; row < count; row++) {
		if (partition_starts.RowIsValidUnsafe(position + row)) {
			source = NOTHING;
		}
		if (format.validity.RowIsValid(format.sel->get_index(row))) {
			source = static_cast<sel_t>(row);
		}
		sources.set_index(row, source);
	}
}

void CarriedValue::Evaluate(DataChunk &chunk, const ValidityMask &partition_starts, idx_t position, Vector &result) {
	auto count = chunk.size();
	argument.Reset();
	expressions.Execute(chunk, argument);
	auto &values = argument.data[0];
	UnifiedVectorFormat format;
	values.ToUnifiedFormat(format);
	FindSources(format, partition_starts, position, count);
	Vector pool(values.GetType(), STANDARD_VECTOR_SIZE + 2);
	VectorOperations::Copy(values, pool, count, 0, 0);
	VectorOperations::Copy(carried, pool, 1, 0, CARRIED);
	FlatVector::ValidityMutable(pool).SetInvalid(NOTHING);
	FlatVector::SetSize(pool, STANDARD_VECTOR_SIZE + 2);
	auto last = sources.get_index(count - 1);
	if (last != CARRIED) {
		Vector next(values.GetType(), 1);
		VectorOperations::Copy(pool, next, last + 1, last, 0);
		FlatVector::SetSize(next, 1);
		carried.Reference(next);
	}
	result.Slice(pool, sources, count);
}

} // namespace merganser
