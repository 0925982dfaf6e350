#include "late_materialization/key_check_by_bits.hpp"

#include "keys/key_values.hpp"

#include "duckdb/planner/expression/bound_reference_expression.hpp"
#include "duckdb/storage/buffer_manager.hpp"

#include <atomic>
#include <mutex>

namespace merganser {

namespace {

const idx_t BITS_OF_WORD = 64;

class KeyBitsState : public GlobalOperatorState {
public:
	KeyBitsState(ClientContext &context, const DenseIntegers &integers)
	    : integers(integers), words((integers.range + BITS_OF_WORD - 1) / BITS_OF_WORD),
	      memory(BufferAllocator::Get(context).Allocate(words * sizeof(std::atomic<uint64_t>))),
	      bits(reinterpret_cast<std::atomic<uint64_t> *>(memory.get())) {
		for (idx_t i = 0; i < words; i++) {
			new (&bits[i]) std::atomic<uint64_t>(0);
		}
	}

	//! Whether the value was not there.
	bool Insert(int64_t value) {
		auto position = idx_t(value) - idx_t(integers.least);
		if (position >= integers.range) {
			std::lock_guard<std::mutex> guard(lock);
			return others.insert(value).second;
		}
		auto bit = uint64_t(1) << (position % BITS_OF_WORD);
		return (bits[position / BITS_OF_WORD].fetch_or(bit, std::memory_order_relaxed) & bit) == 0;
	}

private:
	DenseIntegers integers;
	idx_t words;
	AllocatedData memory;
	std::atomic<uint64_t> *bits;
	std::mutex lock;
	unordered_set<int64_t> others;
};

} // namespace

PhysicalKeyCheckByBits::PhysicalKeyCheckByBits(PhysicalPlan &plan, vector<LogicalType> types, idx_t key_column,
                                               DenseIntegers integers, JoinBackPromise promise)
    : PhysicalOperator(plan, PhysicalOperatorType::EXTENSION, std::move(types), 1), key_column(key_column),
      integers(integers), promise(std::move(promise)) {
}

optional_ptr<LogicalAggregate> PhysicalKeyCheckByBits::FindCount(LogicalOperator &child) {
	reference<LogicalOperator> current = child;
	while (current.get().type == LogicalOperatorType::LOGICAL_PROJECTION) {
		current = *current.get().children[0];
	}
	if (current.get().type != LogicalOperatorType::LOGICAL_AGGREGATE_AND_GROUP_BY) {
		return nullptr;
	}
	auto &aggregate = current.get().Cast<LogicalAggregate>();
	auto is_count = aggregate.groups.size() == 1 && aggregate.expressions.size() == 1 &&
	                aggregate.grouping_sets.size() <= 1 && aggregate.grouping_functions.empty() &&
	                aggregate.groups[0]->GetExpressionClass() == ExpressionClass::BOUND_REF;
	return is_count ? optional_ptr<LogicalAggregate>(aggregate) : nullptr;
}

optional<DenseIntegers> PhysicalKeyCheckByBits::IntegersOf(const LogicalAggregate &aggregate,
                                                           const LogicalType &key_type,
                                                           const optional<DenseIntegers> &of_key) {
	if (aggregate.group_stats.size() == 1 && aggregate.group_stats[0]) {
		return DenseIntegers::Of(aggregate.group_stats[0].get(), aggregate.children[0]->estimated_cardinality);
	}
	// of another type where DuckDB has compressed them, for which it needs statistics
	return aggregate.groups[0]->GetReturnType() == key_type ? of_key : optional<DenseIntegers>();
}

string PhysicalKeyCheckByBits::GetName() const {
	return "KEY_CHECK_BY_BITS";
}

InsertionOrderPreservingMap<string> PhysicalKeyCheckByBits::ParamsToString() const {
	InsertionOrderPreservingMap<string> result;
	result["Key check"] = promise.key;
	result["Table"] = promise.table;
	result["Bits"] = to_string(integers.range);
	return result;
}

unique_ptr<GlobalOperatorState> PhysicalKeyCheckByBits::GetGlobalOperatorState(ClientContext &context) const {
	return make_uniq<KeyBitsState>(context, integers);
}

OperatorResultType PhysicalKeyCheckByBits::Execute(ExecutionContext &context, DataChunk &input, DataChunk &chunk,
                                                   GlobalOperatorState &gstate, OperatorState &state) const {
	auto &column = input.data[key_column];
	if (KeyValues::HasNull(column, input.size())) {
		throw promise.Broken(context.client, promise.NullMessage());
	}
	int64_t values[STANDARD_VECTOR_SIZE];
	KeyValues::ReadIntegers(column, input.size(), values);
	auto &bits = gstate.Cast<KeyBitsState>();
	for (idx_t i = 0; i < input.size(); i++) {
		if (!bits.Insert(values[i])) {
			throw promise.Broken(context.client, promise.DuplicateMessage());
		}
	}
	chunk.SetChildCardinality(0);
	return OperatorResultType::NEED_MORE_INPUT;
}

} // namespace merganser
