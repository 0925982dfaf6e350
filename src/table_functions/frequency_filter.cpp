#include "table_functions/frequency_filter.hpp"

#include "table_functions/buffer_array.hpp"
#include "table_functions/fourier_transform.hpp"
#include "table_functions/participating_columns.hpp"
#include "table_functions/time_dispatch.hpp"

namespace merganser {

namespace {

struct BoundFilter : public BoundProcessor {
	string function;
	string time_name;
	LogicalType time_type;
	double pass;
	FrequencyFilter::Clears clears;
	vector<NumericReader> readers;

	unique_ptr<Processor> MakeProcessor(ClientContext &context) const override;
};

struct FilteredColumn {
	explicit FilteredColumn(ClientContext &context) : values(context), rows(context) {
	}

	BufferArray<FourierTransform::Complex> values;
	//! Rows the values belong to, ascending.
	BufferArray<idx_t> rows;
};

template <class T>
class FilterProcessor : public Processor {
public:
	FilterProcessor(const BoundFilter &bound, ClientContext &context) : bound(bound), times(context) {
		for (idx_t column = 0; column < bound.readers.size(); column++) {
			columns.emplace_back(context);
		}
	}

	void BeginPartition() override {
		times.Clear();
		for (auto &column : columns) {
			column.values.Clear();
			column.rows.Clear();
		}
	}

	void Consume(const InputRows &rows, ProcessorOutput &output) override {
		for (auto position = rows.begin; position < rows.end; position++) {
			ReadRow(rows, position);
		}
	}

	void EndPartition(ProcessorOutput &output) override {
		for (auto &column : columns) {
			Filter(column);
		}
		vector<idx_t> next(columns.size());
		for (idx_t row = 0; row < times.Size(); row++) {
			output.NewRow();
			output.Set<T>(0, times[row]);
			for (idx_t i = 0; i < columns.size(); i++) {
				auto &column = columns[i];
				if (next[i] < column.rows.Size() && column.rows[next[i]] == row) {
					output.Set<double>(i + 1, column.values[next[i]++].real());
				}
			}
		}
	}

private:
	void ReadRow(const InputRows &rows, idx_t position) {
		if (times.Size() == FrequencyFilter::MAX_ROWS) {
			throw InvalidInputException(
			    "%s: A partition has more than %llu rows. Split it by a further PARTITION BY column", bound.function,
			    idx_t(FrequencyFilter::MAX_ROWS));
		}
		if (rows.IsNull(0, position)) {
			ThrowNullTime(bound.function, bound.time_name);
		}
		for (idx_t i = 0; i < columns.size(); i++) {
			if (rows.IsNull(i + 1, position)) {
				continue;
			}
			auto value = bound.readers[i].Read(rows, i + 1, position);
			if (Value::DoubleIsFinite(value)) {
				columns[i].values.Add(value);
				columns[i].rows.Add(times.Size());
			}
		}
		times.Add(rows.Get<T>(0, position));
	}

	void Filter(FilteredColumn &column) {
		auto length = column.values.Size();
		if (length == 0) {
			return;
		}
		if (!transform || transform->Length() != length) {
			transform = make_uniq<FourierTransform>(length);
		}
		transform->Forward(column.values.Data());
		auto edge = bound.pass * static_cast<double>(length) / 2;
		for (idx_t bin = 0; bin < length; bin++) {
			if (bound.clears(MinValue(bin, length - bin), edge)) {
				column.values[bin] = 0;
			}
		}
		transform->Inverse(column.values.Data());
	}

	const BoundFilter &bound;
	BufferArray<T> times;
	vector<FilteredColumn> columns;
	unique_ptr<FourierTransform> transform;
};

unique_ptr<Processor> BoundFilter::MakeProcessor(ClientContext &context) const {
	return MakeForTimeType<FilterProcessor>(time_type, *this, context);
}

} // namespace

vector<ParameterDefinition> FrequencyFilter::Parameters() {
	return {ParameterDefinition("TIMECOL", ParameterKind::COLUMN), ParameterDefinition("WPASS", ParameterKind::DOUBLE)};
}

unique_ptr<BoundProcessor> FrequencyFilter::Bind(const BoundArguments &arguments, Clears clears) {
	auto &function = arguments.Function();
	auto time = arguments.Time("TIMECOL");
	arguments.RequireOrderedBy("TIMECOL", time.column);
	auto &table = arguments.Table();
	auto result = make_uniq<BoundFilter>();
	result->function = function;
	result->time_name = table.names[time.column];
	result->time_type = time.type;
	result->pass = arguments.Double("WPASS");
	if (!(result->pass > 0 && result->pass < 1)) {
		throw BinderException(
		    "%s: Invalid scalar argument WPASS, should be greater than 0 and less than 1: the edge as a share of the "
		    "highest frequency",
		    function);
	}
	result->clears = clears;
	result->names = {result->time_name};
	result->types = {time.type};
	result->proper_before_partition_columns = 0;
	result->required_columns = {time.column};
	for (auto column : ParticipatingColumns::Numeric(arguments, time.column)) {
		result->names.push_back(StringUtil::Lower(function) + "(" + table.names[column] + ")");
		result->types.push_back(LogicalType::DOUBLE);
		result->required_columns.push_back(column);
		result->readers.emplace_back(table.types[column]);
	}
	return std::move(result);
}

} // namespace merganser
