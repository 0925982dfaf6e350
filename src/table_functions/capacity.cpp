#include "table_functions/capacity.hpp"

namespace merganser {

namespace {

const int64_t MOST_WINDOWS = 1000000;

class CapacityProcessor : public Processor {
public:
	CapacityProcessor(idx_t size, idx_t slide) : size(size), slide(slide) {
	}

	void Consume(const InputRows &rows, ProcessorOutput &output) override {
		auto end = rows.RowNumber(rows.end);
		auto row = rows.first_row;
		while (row < end) {
			auto last = row / slide;
			auto first = row < size ? 0 : (row - size) / slide + 1;
			if (first == last && slide == size) {
				// windows side by side: all rows of one at once
				auto count = MinValue((last + 1) * slide, end) - row;
				Emit(output, row, count, last);
				row += count;
				continue;
			}
			for (auto window = first; window <= last; window++) {
				Emit(output, row, 1, window);
			}
			row++;
		}
		output.ReleaseBefore(end);
	}

private:
	static void Emit(ProcessorOutput &output, idx_t row, idx_t count, idx_t window) {
		output.EmitRows(row, count);
		output.SetProper<int64_t>(0, static_cast<int64_t>(window));
	}

	const idx_t size;
	const idx_t slide;
};

struct BoundCapacity : public BoundProcessor {
	idx_t size;
	idx_t slide;

	unique_ptr<Processor> MakeProcessor(ClientContext &context) const override {
		return make_uniq<CapacityProcessor>(size, slide);
	}
};

} // namespace

CapacityFunction::CapacityFunction() {
	name = "CAPACITY";
	description = "Windows of SIZE rows, a new one every SLIDE rows";
	takes_any_order = true;
	parameters = {ParameterDefinition("SIZE", ParameterKind::INTEGER).Positive(),
	              ParameterDefinition("SLIDE", ParameterKind::INTEGER).Positive().Optional()};
}

unique_ptr<BoundProcessor> CapacityFunction::Bind(ClientContext &context, const BoundArguments &arguments) const {
	auto size = arguments.Integer("SIZE");
	auto slide = arguments.HasValue("SLIDE") ? arguments.Integer("SLIDE") : size;
	auto windows = (size - 1) / slide + 1;
	if (windows > MOST_WINDOWS) {
		throw BinderException("%s: SIZE is more than %lld times SLIDE, so every row would be in that many windows",
		                      name, MOST_WINDOWS);
	}
	auto result = make_uniq<BoundCapacity>();
	result->size = static_cast<idx_t>(size);
	result->slide = static_cast<idx_t>(slide);
	result->names = {"window_index"};
	result->types = {LogicalType::BIGINT};
	result->rows_per_row = static_cast<idx_t>(windows);
	return std::move(result);
}

} // namespace merganser
