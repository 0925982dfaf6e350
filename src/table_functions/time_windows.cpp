#include "table_functions/time_windows.hpp"

#include "table_functions/time_dispatch.hpp"

namespace merganser {

namespace {

using wide_t = __int128;

const int64_t MOST_WINDOWS = 1000000;

//! All three functions emit, for each row, windows whose start and end advance in steps.
struct BoundWindows : public BoundProcessor {
	string function;
	string time_name;
	LogicalType time_type;
	int64_t size = 0;
	//! HOP's SLIDE, CUMULATE's STEP.
	int64_t step = 0;
	int64_t origin = 0;

	unique_ptr<Processor> MakeProcessor(ClientContext &context) const override;
};

wide_t FloorDivide(wide_t dividend, wide_t divisor) {
	auto quotient = dividend / divisor;
	return quotient * divisor > dividend ? quotient - 1 : quotient;
}

template <class T>
class WindowProcessor : public Processor {
public:
	explicit WindowProcessor(const BoundWindows &bound)
	    : bound(bound), hop(bound.function == "HOP"), cumulate(bound.function == "CUMULATE") {
	}

	void Consume(const InputRows &rows, ProcessorOutput &output) override {
		for (auto position = rows.begin; position < rows.end; position++) {
			if (rows.IsNull(0, position)) {
				ThrowNullTime(bound.function, bound.time_name);
			}
			auto time = static_cast<int64_t>(rows.Get<T>(0, position));
			if (time >= bound.origin) {
				auto row = rows.RowNumber(position);
				if (hop) {
					Hop(time, row, output);
				} else if (cumulate) {
					Cumulate(time, row, output);
				} else {
					Tumble(time, row, output);
				}
			}
		}
		output.ReleaseBefore(rows.RowNumber(rows.end));
	}

private:
	void Tumble(int64_t time, idx_t row, ProcessorOutput &output) {
		auto start = WindowStart(time, bound.size);
		Emit(start, start + bound.size, row, output);
	}

	void Hop(int64_t time, idx_t row, ProcessorOutput &output) {
		auto last = WindowStart(time, bound.step);
		// the earliest start whose window still holds the time
		auto behind = wide_t(time) - bound.size;
		auto first = bound.origin + (FloorDivide(behind - bound.origin, bound.step) + 1) * bound.step;
		for (auto start = first; start <= last; start += bound.step) {
			Emit(start, start + bound.size, row, output);
		}
	}

	void Cumulate(int64_t time, idx_t row, ProcessorOutput &output) {
		auto start = WindowStart(time, bound.size);
		auto first = start + (FloorDivide(wide_t(time) - start, bound.step) + 1) * bound.step;
		for (auto end = first; end <= start + bound.size; end += bound.step) {
			Emit(start, end, row, output);
			if (end > NumericLimits<T>::Maximum()) {
				break; // every later end would be the same largest value
			}
		}
	}

	wide_t WindowStart(int64_t time, int64_t width) const {
		return bound.origin + FloorDivide(wide_t(time) - bound.origin, width) * width;
	}

	static void Emit(wide_t start, wide_t end, idx_t row, ProcessorOutput &output) {
		output.EmitRows(row, 1);
		output.SetProper<T>(0, Saturated(start));
		output.SetProper<T>(1, Saturated(end));
	}

	static T Saturated(wide_t value) {
		value = MinValue<wide_t>(value, NumericLimits<T>::Maximum());
		return static_cast<T>(MaxValue<wide_t>(value, NumericLimits<T>::Minimum()));
	}

	const BoundWindows &bound;
	const bool hop;
	const bool cumulate;
};

unique_ptr<Processor> BoundWindows::MakeProcessor(ClientContext &context) const {
	return MakeForTimeType<WindowProcessor>(time_type, *this);
}

unique_ptr<BoundWindows> BindWindows(const string &function, const BoundArguments &arguments, const char *step) {
	auto time = arguments.Time("TIMECOL");
	auto result = make_uniq<BoundWindows>();
	result->function = function;
	result->time_name = arguments.Table().names[time.column];
	result->time_type = time.type;
	result->size = time.Span(function, "SIZE", arguments.Get("SIZE"));
	result->step = step ? time.Span(function, step, arguments.Get(step)) : result->size;
	if (arguments.HasValue("ORIGIN")) {
		result->origin = time.Point(function, "ORIGIN", arguments.Get("ORIGIN"));
	}
	result->names = {"window_start", "window_end"};
	result->types = {time.type, time.type};
	result->required_columns = {time.column};
	auto windows = (result->size - 1) / result->step + 1;
	if (windows > MOST_WINDOWS) {
		throw BinderException("%s: SIZE is more than %lld times %s, so every row would be in that many windows",
		                      function, MOST_WINDOWS, step);
	}
	result->rows_per_row = static_cast<idx_t>(windows);
	return result;
}

vector<ParameterDefinition> WindowParameters(const char *step) {
	vector<ParameterDefinition> result {ParameterDefinition("TIMECOL", ParameterKind::COLUMN).Default(Value("time")),
	                                    ParameterDefinition("SIZE", ParameterKind::TIME_SPAN).Positive()};
	if (step) {
		result.push_back(ParameterDefinition(step, ParameterKind::TIME_SPAN).Positive());
	}
	result.push_back(ParameterDefinition("ORIGIN", ParameterKind::TIME_POINT).Optional());
	return result;
}

} // namespace

TumbleFunction::TumbleFunction() {
	name = "TUMBLE";
	description = "Assigns each row to the one window of length SIZE that holds its time";
	semantics = TableSemantics::ROW;
	parameters = WindowParameters(nullptr);
}

unique_ptr<BoundProcessor> TumbleFunction::Bind(ClientContext &context, const BoundArguments &arguments) const {
	return BindWindows(name, arguments, nullptr);
}

HopFunction::HopFunction() {
	name = "HOP";
	description = "Assigns each row to every window of length SIZE, one each SLIDE, that holds its time";
	semantics = TableSemantics::ROW;
	parameters = WindowParameters("SLIDE");
}

unique_ptr<BoundProcessor> HopFunction::Bind(ClientContext &context, const BoundArguments &arguments) const {
	return BindWindows(name, arguments, "SLIDE");
}

CumulateFunction::CumulateFunction() {
	name = "CUMULATE";
	description = "Assigns each row to the windows that grow by STEP up to SIZE and hold its time";
	semantics = TableSemantics::ROW;
	parameters = WindowParameters("STEP");
}

unique_ptr<BoundProcessor> CumulateFunction::Bind(ClientContext &context, const BoundArguments &arguments) const {
	auto result = BindWindows(name, arguments, "STEP");
	if (result->size % result->step != 0) {
		throw BinderException("%s: Cumulative table function requires size must be an integral multiple of step.",
		                      name);
	}
	return std::move(result);
}

} // namespace merganser
