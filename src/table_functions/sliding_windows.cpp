#include "table_functions/sliding_windows.hpp"

namespace merganser {

static constexpr int64_t MAX_WINDOWS_PER_ROW = 65536;

ParameterDefinition SlidingWindows::SizeParameter() {
	return ParameterDefinition("SIZE", ParameterKind::COUNT_OR_SPAN).Positive();
}

ParameterDefinition SlidingWindows::SlideParameter() {
	return ParameterDefinition("SLIDE", ParameterKind::COUNT_OR_SPAN).Positive().Optional();
}

ParameterDefinition SlidingWindows::OriginParameter() {
	return ParameterDefinition("ORIGIN", ParameterKind::TIME_POINT).Optional();
}

static bool IsCount(const Value &value) {
	return value.type().id() == LogicalTypeId::BIGINT;
}

SlidingWindows::SlidingWindows(ClientContext &context, const BoundArguments &arguments, const TimeColumn &time)
    : function(arguments.Function()), time_name(arguments.Table().names[time.column]), time_type(time.type),
      by_count(IsCount(arguments.Get("SIZE"))) {
	if (arguments.IsPassed("SLIDE") && IsCount(arguments.Get("SLIDE")) != by_count) {
		throw BinderException(
		    "%s: The SLIDE argument must have the same window mode as the SIZE argument. Both are integers "
		    "(windows of rows), or both are durations (windows of time)",
		    function);
	}
	if (by_count && arguments.IsPassed("ORIGIN")) {
		throw BinderException(
		    "%s: The ORIGIN argument is only supported in time window mode. Write SIZE as a duration (10m), or "
		    "leave ORIGIN out",
		    function);
	}
	auto length = [&](const string &parameter) {
		auto &value = arguments.Get(parameter);
		return by_count ? BigIntValue::Get(value) : time.Span(function, parameter, value);
	};
	size = length("SIZE");
	slide = arguments.IsPassed("SLIDE") ? length("SLIDE") : size;
	if (arguments.IsPassed("ORIGIN")) {
		origin = time.Point(context, function, "ORIGIN", arguments.Get("ORIGIN"));
	}
	if ((size - 1) / slide >= MAX_WINDOWS_PER_ROW) {
		throw BinderException(
		    "%s: Invalid scalar argument SLIDE, should be at least SIZE / %lld: a row may be in at most %lld "
		    "windows",
		    function, MAX_WINDOWS_PER_ROW, MAX_WINDOWS_PER_ROW);
	}
}

void SlidingWindows::AddColumns(BoundProcessor &bound) const {
	if (by_count) {
		bound.names = {"window_index"};
		bound.types = {LogicalType::BIGINT};
	} else {
		bound.names = {"window_start", "window_end"};
		bound.types = {time_type, time_type};
	}
}

static wide_t FloorDivide(wide_t dividend, wide_t divisor) {
	auto quotient = dividend / divisor;
	return dividend % divisor < 0 ? quotient - 1 : quotient;
}

wide_t SlidingWindows::First(int64_t place) const {
	auto first = FloorDivide(static_cast<wide_t>(place) - origin - size, slide) + 1;
	return by_count && first < 0 ? 0 : first;
}

wide_t SlidingWindows::Last(int64_t place) const {
	return FloorDivide(static_cast<wide_t>(place) - origin, slide);
}

} // namespace merganser
