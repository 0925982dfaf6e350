#include "table_functions/xcorr.hpp"

#include "table_functions/buffer_array.hpp"
#include "table_functions/frequency_filter.hpp"
#include "table_functions/long_loop.hpp"
#include "table_functions/participating_columns.hpp"
#include "table_functions/time_dispatch.hpp"

namespace merganser {

namespace {

struct BoundXcorr : public BoundProcessor {
	string time_name;
	vector<NumericReader> readers;

	unique_ptr<Processor> MakeProcessor(ClientContext &context) const override;
};

//! A value that takes no part in any pair is 0 with weight 0, so the sums need no branch.
struct WeightedValues {
	explicit WeightedValues(ClientContext &context) : values(context), weights(context) {
	}

	void Clear() {
		values.Clear();
		weights.Clear();
	}
	void Add(double value, bool valid) {
		values.Add(valid ? value : 0);
		weights.Add(valid ? 1 : 0);
	}

	BufferArray<double> values;
	BufferArray<double> weights;
};

class XcorrProcessor : public Processor {
public:
	XcorrProcessor(const BoundXcorr &bound, ClientContext &context)
	    : bound(bound), loop(context), left(context), right(context) {
	}

	void BeginPartition() override {
		left.Clear();
		right.Clear();
	}

	void Consume(const InputRows &rows, ProcessorOutput &output) override {
		for (auto position = rows.begin; position < rows.end; position++) {
			if (left.values.Size() == FrequencyFilter::MAX_ROWS) {
				throw InvalidInputException(
				    "XCORR: A partition has more than %llu rows. Split it by a further PARTITION BY column",
				    idx_t(FrequencyFilter::MAX_ROWS));
			}
			if (rows.IsNull(0, position)) {
				ThrowNullTime("XCORR", bound.time_name);
			}
			Read(rows, 0, position, left);
			Read(rows, 1, position, right);
		}
	}

	void EndPartition(ProcessorOutput &output) override {
		auto count = left.values.Size();
		for (idx_t shift = count; shift-- > 1;) {
			Emit(output, 0, shift, count - shift);
		}
		for (idx_t shift = 0; shift < count; shift++) {
			Emit(output, shift, 0, count - shift);
		}
	}

private:
	void Read(const InputRows &rows, idx_t column, idx_t position, WeightedValues &target) const {
		auto valid = !rows.IsNull(column + 1, position);
		auto value = valid ? bound.readers[column].Read(rows, column + 1, position) : 0;
		target.Add(value, valid && Value::DoubleIsFinite(value));
	}

	void Emit(ProcessorOutput &output, idx_t left_start, idx_t right_start, idx_t count) {
		loop.Step(count);
		double sum = 0;
		double pairs = 0;
		for (idx_t i = 0; i < count; i++) {
			sum += left.values[left_start + i] * right.values[right_start + i];
			pairs += left.weights[left_start + i] * right.weights[right_start + i];
		}
		output.NewRow();
		if (pairs > 0) {
			output.Set<double>(0, sum / pairs);
		}
	}

	const BoundXcorr &bound;
	LongLoop loop;
	WeightedValues left;
	WeightedValues right;
};

unique_ptr<Processor> BoundXcorr::MakeProcessor(ClientContext &context) const {
	return make_uniq<XcorrProcessor>(*this, context);
}

} // namespace

XcorrFunction::XcorrFunction() {
	name = "XCORR";
	description = "Cross-correlation of two numeric columns at every lag";
	pass_through = false;
	preserves_order = false;
	parameters = {ParameterDefinition("TIMECOL", ParameterKind::COLUMN)};
}

unique_ptr<BoundProcessor> XcorrFunction::Bind(ClientContext &context, const BoundArguments &arguments) const {
	auto time = arguments.Time("TIMECOL");
	arguments.RequireOrderedBy("TIMECOL", time.column);
	auto &table = arguments.Table();
	auto columns = ParticipatingColumns::Numeric(arguments, time.column);
	if (columns.size() != 2) {
		throw BinderException(
		    "XCORR: XCORR requires exactly two numeric columns beside the time column and the "
		    "PARTITION BY columns, but found %llu. Choose them in the input: DATA => (SELECT ... FROM ...)",
		    columns.size());
	}
	auto result = make_uniq<BoundXcorr>();
	result->time_name = table.names[time.column];
	result->names = {"xcorr(" + table.names[columns[0]] + ", " + table.names[columns[1]] + ")"};
	result->types = {LogicalType::DOUBLE};
	result->proper_before_partition_columns = 0;
	result->required_columns = {time.column, columns[0], columns[1]};
	for (auto column : columns) {
		result->readers.emplace_back(table.types[column]);
	}
	return std::move(result);
}

} // namespace merganser
