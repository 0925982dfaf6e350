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

//! Divides many numbers by one. A quotient below 2^51 is a product, off by at most one, that is then put right.
class Divisor {
public:
	explicit Divisor(int64_t divisor)
	    : divisor(static_cast<uint64_t>(divisor)), inverse(1.0 / static_cast<double>(divisor)) {
	}

	uint64_t Divide(uint64_t dividend) const {
		auto estimate = static_cast<double>(dividend) * inverse;
		if (estimate >= LARGEST_ESTIMATE || divisor >= LARGEST_DIVISOR) {
			return dividend / divisor;
		}
		auto quotient = static_cast<uint64_t>(estimate);
		auto rest = static_cast<int64_t>(dividend - quotient * divisor);
		if (rest < 0) {
			return quotient - 1;
		}
		return static_cast<uint64_t>(rest) >= divisor ? quotient + 1 : quotient;
	}

private:
	static constexpr double LARGEST_ESTIMATE = 2251799813685248.0;
	//! 2^62: below it the rest, too, fits its type when the quotient is off.
	static constexpr uint64_t LARGEST_DIVISOR = 4611686018427387904ULL;

	const uint64_t divisor;
	const double inverse;
};

template <class T>
class WindowProcessor : public Processor {
public:
	explicit WindowProcessor(const BoundWindows &bound)
	    : bound(bound), size(bound.size), step(bound.step), by_size(bound.size), by_step(bound.step) {
	}

	void Consume(const InputRows &rows, ProcessorOutput &output) override {
		emitted.clear();
		starts.clear();
		ends.clear();
		if (bound.function == "HOP") {
			ForEachTime(rows, [&](int64_t time, idx_t row) { Hop(time, row); });
		} else if (bound.function == "CUMULATE") {
			ForEachTime(rows, [&](int64_t time, idx_t row) { Cumulate(time, row); });
		} else {
			ForEachTime(rows, [&](int64_t time, idx_t row) { Tumble(time, row); });
		}
		output.EmitEach<T>(emitted, {starts.data(), ends.data()});
		output.ReleaseBefore(rows.RowNumber(rows.end));
	}

private:
	template <class ASSIGN>
	void ForEachTime(const InputRows &rows, ASSIGN assign) {
		auto &format = rows.Format(0);
		auto times = UnifiedVectorFormat::GetData<T>(format);
		auto may_be_infinite = !bound.time_type.IsIntegral();
		for (auto position = rows.begin; position < rows.end; position++) {
			auto index = format.sel->get_index(position);
			if (!format.validity.RowIsValid(index)) {
				ThrowNullTime(bound.function, bound.time_name);
			}
			T time = times[index];
			if (may_be_infinite && IsInfiniteTime(time)) {
				ThrowInfiniteTime(bound.function, bound.time_name);
			}
			if (time >= bound.origin) {
				assign(time, rows.RowNumber(position));
			}
		}
	}

	void Tumble(int64_t time, idx_t row) {
		auto start = WindowStart(time, size, by_size);
		Add(start, start + size, row);
	}

	void Hop(int64_t time, idx_t row) {
		auto last = WindowStart(time, step, by_step);
		// how far back the start of a window that still holds the time may be
		auto reach = size - (time - last) - 1;
		if (reach < 0) {
			return;
		}
		auto back = by_step.Divide(static_cast<uint64_t>(reach));
		for (auto start = last - wide_t(back) * step; start <= last; start += step) {
			Add(start, start + size, row);
		}
	}

	void Cumulate(int64_t time, idx_t row) {
		auto start = WindowStart(time, size, by_size);
		auto steps = by_step.Divide(static_cast<uint64_t>(time - start)) + 1;
		for (auto end = start + wide_t(steps) * step; end <= start + size; end += step) {
			Add(start, end, row);
			if (end > NumericLimits<T>::Maximum()) {
				break; // every later end would be the same largest value
			}
		}
	}

	wide_t WindowStart(int64_t time, wide_t width, const Divisor &divisor) const {
		auto distance = static_cast<uint64_t>(time) - static_cast<uint64_t>(bound.origin);
		return bound.origin + wide_t(divisor.Divide(distance)) * width;
	}

	void Add(wide_t start, wide_t end, idx_t row) {
		emitted.push_back(row);
		starts.push_back(Saturated(start));
		ends.push_back(Saturated(end));
	}

	static T Saturated(wide_t value) {
		value = MinValue<wide_t>(value, NumericLimits<T>::Maximum());
		return static_cast<T>(MaxValue<wide_t>(value, NumericLimits<T>::Minimum()));
	}

	const BoundWindows &bound;
	const wide_t size;
	const wide_t step;
	const Divisor by_size;
	const Divisor by_step;
	vector<idx_t> emitted;
	vector<T> starts;
	vector<T> ends;
};

unique_ptr<Processor> BoundWindows::MakeProcessor(ClientContext &context) const {
	return MakeForTimeType<WindowProcessor>(time_type, *this);
}

unique_ptr<BoundWindows> BindWindows(ClientContext &context, const string &function, const BoundArguments &arguments,
                                     const char *step) {
	auto time = arguments.Time("TIMECOL");
	auto result = make_uniq<BoundWindows>();
	result->function = function;
	result->time_name = arguments.Table().names[time.column];
	result->time_type = time.type;
	result->size = time.Span(function, "SIZE", arguments.Get("SIZE"));
	result->step = step ? time.Span(function, step, arguments.Get(step)) : result->size;
	if (arguments.HasValue("ORIGIN")) {
		result->origin = time.Point(context, function, "ORIGIN", arguments.Get("ORIGIN"));
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
	return BindWindows(context, name, arguments, nullptr);
}

HopFunction::HopFunction() {
	name = "HOP";
	description = "Assigns each row to every window of length SIZE, one each SLIDE, that holds its time";
	semantics = TableSemantics::ROW;
	parameters = WindowParameters("SLIDE");
}

unique_ptr<BoundProcessor> HopFunction::Bind(ClientContext &context, const BoundArguments &arguments) const {
	return BindWindows(context, name, arguments, "SLIDE");
}

CumulateFunction::CumulateFunction() {
	name = "CUMULATE";
	description = "Assigns each row to the windows that grow by STEP up to SIZE and hold its time";
	semantics = TableSemantics::ROW;
	parameters = WindowParameters("STEP");
}

unique_ptr<BoundProcessor> CumulateFunction::Bind(ClientContext &context, const BoundArguments &arguments) const {
	auto result = BindWindows(context, name, arguments, "STEP");
	if (result->size % result->step != 0) {
		throw BinderException("%s: Cumulative table function requires size must be an integral multiple of step.",
		                      name);
	}
	return std::move(result);
}

} // namespace merganser
