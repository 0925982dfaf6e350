#include "table_functions/fft.hpp"

#include "table_functions/buffer_array.hpp"
#include "table_functions/fourier_transform.hpp"
#include "table_functions/participating_columns.hpp"
#include "table_functions/time_dispatch.hpp"

#include <cmath>

namespace merganser {

namespace {

constexpr idx_t MAX_LENGTH = 65536;

enum class Norm : uint8_t { BACKWARD, FORWARD, ORTHO };

struct BoundFft : public BoundProcessor {
	string time_name;
	LogicalType time_type;
	//! Units of the time column in a second; 1 for an integer column.
	double units_per_second;
	//! In units of the time column; 0 to infer it.
	int64_t sample_interval = 0;
	optional_idx length;
	Norm norm;
	vector<string> column_names;
	vector<NumericReader> readers;

	unique_ptr<Processor> MakeProcessor(ClientContext &context) const override;
};

template <class T>
class FftProcessor : public Processor {
public:
	FftProcessor(const BoundFft &bound, ClientContext &context)
	    : bound(bound), most_values(bound.length.IsValid() ? bound.length.GetIndex() : MAX_LENGTH) {
		for (idx_t column = 0; column < bound.readers.size(); column++) {
			columns.emplace_back(context);
		}
	}

	void BeginPartition() override {
		row_count = 0;
		for (auto &column : columns) {
			column.Clear();
		}
	}

	void Consume(const InputRows &rows, ProcessorOutput &output) override {
		for (auto position = rows.begin; position < rows.end; position++) {
			ReadTime(rows, position);
			for (idx_t column = 0; column < columns.size(); column++) {
				auto value = ReadValue(rows, column, position);
				if (row_count < most_values) {
					columns[column].Add(value);
				}
			}
			row_count++;
		}
	}

	void EndPartition(ProcessorOutput &output) override {
		if (!bound.length.IsValid() && row_count > MAX_LENGTH) {
			throw InvalidInputException(
			    "FFT: FFT transform length N must not exceed %llu. A partition has %llu rows; pass N to "
			    "transform its first rows only",
			    MAX_LENGTH, row_count);
		}
		auto interval = SampleInterval();
		auto length = bound.length.IsValid() ? bound.length.GetIndex() : row_count;
		if (!transform || transform->Length() != length) {
			transform = make_uniq<FourierTransform>(length);
		}
		auto scale = Scale(length);
		for (auto &column : columns) {
			column.Resize(length, 0);
			transform->Forward(column.Data());
			for (idx_t bin = 0; bin < length; bin++) {
				column[bin] *= scale;
			}
		}
		Emit(output, length, bound.units_per_second / (static_cast<double>(length) * interval));
	}

private:
	void ReadTime(const InputRows &rows, idx_t position) {
		if (rows.IsNull(0, position)) {
			ThrowNullTime("FFT", bound.time_name);
		}
		auto time = static_cast<int64_t>(rows.Get<T>(0, position));
		if (row_count == 0) {
			first_time = time;
		} else if (time <= last_time) {
			throw InvalidInputException(
			    "FFT: The time column [%s] must be strictly ascending inside a partition, but a time comes "
			    "twice. Add the column that tells the rows apart to PARTITION BY",
			    bound.time_name);
		}
		last_time = time;
	}

	double ReadValue(const InputRows &rows, idx_t column, idx_t position) const {
		if (rows.IsNull(column + 1, position)) {
			throw InvalidInputException(
			    "FFT: FFT does not support null values in column [%s]. Leave such rows out or fill them in",
			    bound.column_names[column]);
		}
		auto value = bound.readers[column].Read(rows, column + 1, position);
		if (!Value::DoubleIsFinite(value)) {
			throw InvalidInputException(
			    "FFT: FFT does not support infinite or NaN values in column [%s]. Leave such rows out or "
			    "fill them in",
			    bound.column_names[column]);
		}
		return value;
	}

	//! In units of the time column.
	double SampleInterval() const {
		if (bound.sample_interval > 0) {
			return static_cast<double>(bound.sample_interval);
		}
		if (row_count < 2) {
			throw InvalidInputException(
			    "FFT: FFT requires at least two rows to infer SAMPLE_INTERVAL. Pass SAMPLE_INTERVAL, or leave "
			    "partitions of one row out");
		}
		auto span = static_cast<uint64_t>(last_time) - static_cast<uint64_t>(first_time);
		return static_cast<double>(span) / static_cast<double>(row_count - 1);
	}

	double Scale(idx_t length) const {
		switch (bound.norm) {
		case Norm::FORWARD:
			return 1.0 / static_cast<double>(length);
		case Norm::ORTHO:
			return 1.0 / std::sqrt(static_cast<double>(length));
		default:
			return 1.0;
		}
	}

	void Emit(ProcessorOutput &output, idx_t length, double frequency_step) const {
		for (idx_t bin = 0; bin < length; bin++) {
			auto index = static_cast<int64_t>(bin);
			auto negative = bin >= (length + 1) / 2;
			output.NewRow();
			output.Set<int64_t>(0, index);
			output.Set<double>(1, static_cast<double>(negative ? index - static_cast<int64_t>(length) : index) *
			                          frequency_step);
			for (idx_t column = 0; column < columns.size(); column++) {
				output.Set<double>(2 + 2 * column, columns[column][bin].real());
				output.Set<double>(3 + 2 * column, columns[column][bin].imag());
			}
		}
	}

	const BoundFft &bound;
	const idx_t most_values;
	vector<BufferArray<FourierTransform::Complex>> columns;
	unique_ptr<FourierTransform> transform;
	idx_t row_count = 0;
	int64_t first_time = 0;
	int64_t last_time = 0;
};

unique_ptr<Processor> BoundFft::MakeProcessor(ClientContext &context) const {
	return MakeForTimeType<FftProcessor>(time_type, *this, context);
}

double UnitsPerSecond(const LogicalType &type) {
	switch (type.id()) {
	case LogicalTypeId::DATE:
		return 1.0 / 86400.0;
	case LogicalTypeId::TIMESTAMP:
	case LogicalTypeId::TIMESTAMP_TZ:
		return 1e6;
	case LogicalTypeId::TIMESTAMP_MS:
		return 1e3;
	case LogicalTypeId::TIMESTAMP_NS:
		return 1e9;
	default:
		return 1.0;
	}
}

int64_t PassedSampleInterval(const BoundArguments &arguments, const TimeColumn &time) {
	auto &value = arguments.Get("SAMPLE_INTERVAL");
	if (value.type().id() == LogicalTypeId::BIGINT && !time.type.IsIntegral()) {
		throw BinderException(
		    "FFT: The SAMPLE_INTERVAL argument of FFT must be a duration literal. Write 1ms, 10s, ... or an INTERVAL");
	}
	return time.Span("FFT", "SAMPLE_INTERVAL", value);
}

Norm ReadNorm(const string &text) {
	if (text == "forward") {
		return Norm::FORWARD;
	}
	return text == "ortho" ? Norm::ORTHO : Norm::BACKWARD;
}

} // namespace

FftFunction::FftFunction() {
	name = "FFT";
	description = "Discrete Fourier transform of every numeric column";
	pass_through = false;
	preserves_order = false;
	splittable = false;
	parameters = {ParameterDefinition("SAMPLE_INTERVAL", ParameterKind::TIME_SPAN).Positive().Optional(),
	              ParameterDefinition("N", ParameterKind::INTEGER).Positive().Optional(),
	              ParameterDefinition("NORM", ParameterKind::STRING)
	                  .OneOf({"backward", "forward", "ortho"})
	                  .Default(Value("backward")),
	              ParameterDefinition("TIMECOL", ParameterKind::COLUMN).Default(Value("time"))};
}

unique_ptr<BoundProcessor> FftFunction::Bind(ClientContext &context, const BoundArguments &arguments) const {
	auto time = arguments.TimeInOrder("TIMECOL");
	arguments.RequireOrderedBy("TIMECOL", time.column);
	auto &table = arguments.Table();
	auto result = make_uniq<BoundFft>();
	result->time_name = table.names[time.column];
	result->time_type = time.type;
	result->units_per_second = UnitsPerSecond(time.type);
	if (arguments.IsPassed("SAMPLE_INTERVAL")) {
		result->sample_interval = PassedSampleInterval(arguments, time);
	}
	if (arguments.IsPassed("N")) {
		result->length = NumericCast<idx_t>(arguments.Integer("N"));
		if (result->length.GetIndex() > MAX_LENGTH) {
			throw BinderException("FFT: FFT transform length N must not exceed %llu", MAX_LENGTH);
		}
	}
	result->norm = ReadNorm(arguments.String("NORM"));
	result->names = {"frequency_index", "frequency"};
	result->types = {LogicalType::BIGINT, LogicalType::DOUBLE};
	result->proper_before_partition_columns = 0;
	result->required_columns = {time.column};
	for (auto column : ParticipatingColumns::Numeric(arguments, time.column)) {
		result->names.push_back(table.names[column] + "_real");
		result->names.push_back(table.names[column] + "_imag");
		result->types.push_back(LogicalType::DOUBLE);
		result->types.push_back(LogicalType::DOUBLE);
		result->required_columns.push_back(column);
		result->column_names.push_back(table.names[column]);
		result->readers.emplace_back(table.types[column]);
	}
	return std::move(result);
}

} // namespace merganser
