#include "table_functions/pattern_match.hpp"

#include "table_functions/buffer_array.hpp"
#include "table_functions/long_loop.hpp"
#include "table_functions/participating_columns.hpp"
#include "table_functions/shape_pattern.hpp"
#include "table_functions/sliding_windows.hpp"
#include "table_functions/time_dispatch.hpp"

namespace merganser {

namespace {

constexpr idx_t MOST_READINGS = 65536;
constexpr idx_t MOST_MATCHES_AT_ONCE = 100000;

struct Series {
	struct Point {
		//! Row number in the partition.
		idx_t row;
		int64_t time;
		double value;
	};

	explicit Series(ClientContext &context) : points(context) {
	}

	//! Points are counted from the beginning of the series.
	const Point &operator[](idx_t point) const {
		return points[point - removed];
	}
	idx_t End() const {
		return removed + points.Size();
	}
	void Add(const Point &point) {
		points.Add(point);
	}
	void RemoveBefore(idx_t point) {
		points.RemoveFront(point - removed);
		removed = point;
	}
	void Clear() {
		points.Clear();
		removed = 0;
	}
	double Width(idx_t first, idx_t last) const {
		return static_cast<double>(static_cast<uint64_t>((*this)[last].time) -
		                           static_cast<uint64_t>((*this)[first].time));
	}

private:
	BufferArray<Point> points;
	idx_t removed = 0;
};

struct BoundPatternMatch : public BoundProcessor {
	string time_name;
	LogicalType time_type;
	LogicalType value_type;
	ShapePattern pattern;
	double smooth;
	double threshold;
	double width;
	double height;

	unique_ptr<Processor> MakeProcessor(ClientContext &context) const override;
};

//! A run of sections of the series, and what is common to its comparisons.
struct Run {
	double width;
	double lowest;
	double highest;

	double Height() const {
		return highest - lowest;
	}
};

//! Part of a reading: its last section, and the extent of all of them.
struct Step {
	idx_t before;
	idx_t section;
	double begin;
	double end;
	double lowest;
	double highest;
};

class ShapeMatcher {
public:
	ShapeMatcher(ClientContext &context, const BoundPatternMatch &bound)
	    : bound(bound), loop(context), series(context), sections(context), steps(context),
	      cutter(bound.smooth, [this](idx_t point) {
		      loop.Step();
		      return series[point].value;
	      }) {
	}

	void BeginPartition() {
		matches = 0;
		BeginSeries();
	}

	void Add(const Series::Point &point, ProcessorOutput &output) {
		auto count = series.End();
		if (count > 0 && IsGap(series[count - 1].time, point.time)) {
			EndSeries(output);
			BeginSeries();
		}
		series.Add(point);
		cutter.Add(point.value);
		TakeSections();
		Match(false, output);
	}

	void EndSeries(ProcessorOutput &output) {
		cutter.Finish(true);
		TakeSections();
		Match(true, output);
	}

	//! The first row that a match to come may have; `next` if there is none.
	idx_t FirstNeededRow(idx_t next) {
		auto point = sections.Size() > 0 ? sections[0].first : cutter.FirstNeeded();
		if (point == series.End()) {
			return next;
		}
		series.RemoveBefore(point);
		return series[point].row;
	}

	void BeginOutput() {
		matches_at_once = 0;
	}

private:
	void BeginSeries() {
		series.Clear();
		sections.Clear();
		cutter.Clear();
		ForgetReadings();
		first_step = 0;
	}

	bool IsGap(int64_t before, int64_t time) {
		auto distance = static_cast<wide_t>(time) - before;
		if (first_step == 0) {
			first_step = distance;
			return false;
		}
		return distance > 2 * first_step;
	}

	void TakeSections() {
		ShapeSection section;
		while (cutter.Take(section)) {
			sections.Add(section);
		}
	}

	//! Compares the runs that begin with the first section, then those that begin with the next, and so on, as far as
	//! sections are known.
	void Match(bool complete, ProcessorOutput &output) {
		while (length < sections.Size()) {
			auto may_continue = Lengthen(output);
			if (!may_continue || (complete && length == sections.Size())) {
				sections.RemoveFront(1);
				ForgetReadings();
			}
		}
	}

	void ForgetReadings() {
		steps.Clear();
		latest = 0;
		length = 0;
	}

	//! Adds the next section to the run. Returns false if no longer run can match.
	bool Lengthen(ProcessorOutput &output) {
		auto &section = sections[length];
		if (length == 0) {
			run = Run {0, section.lowest, section.highest};
		}
		run.width = series.Width(sections[0].first, section.last);
		run.lowest = MinValue(run.lowest, section.lowest);
		run.highest = MaxValue(run.highest, section.highest);
		if (run.width > bound.width || run.Height() > bound.height || TooWideForFirstSection()) {
			return false;
		}
		auto end = steps.Size();
		loop.Step(end - latest + 1);
		if (length == 0) {
			Continue(bound.pattern.Starts(), nullptr, 0);
		} else {
			for (auto i = latest; i < end; i++) {
				auto step = steps[i];
				Continue(bound.pattern.Sections()[step.section].next, step, i);
			}
		}
		latest = end;
		length++;
		if (steps.Size() - latest > MOST_READINGS) {
			throw InvalidInputException("PATTERN_MATCH: more than %llu readings of the pattern at once. Use fewer "
			                            "groups, or limit WIDTH or HEIGHT",
			                            MOST_READINGS);
		}
		EmitMatches(output);
		return steps.Size() > latest;
	}

	//! The first section's width is compared with its share of the run's, which only shrinks.
	bool TooWideForFirstSection() const {
		auto first_width = series.Width(sections[0].first, sections[0].last);
		auto most = std::log(first_width * bound.pattern.MaxWidth() / run.width);
		return most < 0 && most * most > bound.threshold * 1.000001 + 1e-9;
	}

	void Continue(const vector<idx_t> &candidates, optional_ptr<const Step> before, idx_t before_index) {
		auto direction = sections[length].direction;
		for (auto candidate : candidates) {
			auto &section = bound.pattern.Sections()[candidate];
			if (section.direction != direction) {
				continue;
			}
			Step step {before_index, candidate, section.begin, section.End(), section.lowest, section.highest};
			if (before) {
				step.begin = MinValue(step.begin, before->begin);
				step.end = MaxValue(step.end, before->end);
				step.lowest = MinValue(step.lowest, before->lowest);
				step.highest = MaxValue(step.highest, before->highest);
			}
			steps.Add(step);
		}
	}

	void EmitMatches(ProcessorOutput &output) {
		vector<double> distances;
		for (auto i = latest; i < steps.Size(); i++) {
			if (!bound.pattern.Sections()[steps[i].section].final) {
				continue;
			}
			auto distance = Distance(i);
			if (Value::DoubleIsFinite(distance) && distance <= bound.threshold) {
				distances.push_back(distance);
			}
		}
		std::sort(distances.begin(), distances.end());
		for (auto distance : distances) {
			Emit(distance, output);
		}
	}

	//! Ends early with what is more than the threshold.
	double Distance(idx_t last) {
		reading.resize(length);
		auto at = last;
		for (auto i = length; i-- > 0;) {
			auto &step = steps[at];
			reading[i] = step.section;
			at = step.before;
		}
		double result = 0;
		for (idx_t i = 0; i < length && result <= bound.threshold; i++) {
			result += SectionDistance(sections[i], bound.pattern.Sections()[reading[i]], steps[last]);
		}
		return result;
	}

	double SectionDistance(const ShapeSection &section, const ShapePattern::Section &shape, const Step &extent) {
		loop.Step(section.PointCount());
		auto level = run.Height() == 0;
		auto global_height = level ? bound.smooth : extent.highest - extent.lowest;
		auto height = MaxValue(section.Height(), bound.smooth);
		auto shape_height = MaxValue(shape.Height() * global_height, bound.smooth);
		auto ratio = height == 0 && shape_height == 0 ? 1 : height / shape_height;
		auto width =
		    series.Width(section.first, section.last) / (shape.Width() * (run.width / (extent.end - extent.begin)));
		auto width_distance = std::log(width);
		auto height_distance = std::log(ratio);
		auto error = ShapeError(section, shape, global_height * ratio);
		auto scale = level ? bound.smooth : run.Height();
		return width_distance * width_distance + height_distance * height_distance + (scale == 0 ? 0 : error / scale);
	}

	double ShapeError(const ShapeSection &section, const ShapePattern::Section &shape, double scale) const {
		auto points = section.PointCount() - 1;
		auto intervals = shape.values.size() - 1;
		auto base = series[section.first].value;
		double sum = 0;
		for (idx_t i = 1; i <= points; i++) {
			auto left = i * intervals / points;
			auto rest = static_cast<double>(i * intervals % points) / static_cast<double>(points);
			auto value = shape.values[left];
			if (rest > 0) {
				value = value * (1 - rest) + shape.values[left + 1] * rest;
			}
			sum += std::fabs((value - shape.values[0]) * scale - (series[section.first + i].value - base));
		}
		return sum / static_cast<double>(points);
	}

	void Emit(double distance, ProcessorOutput &output) {
		if (++matches_at_once > MOST_MATCHES_AT_ONCE) {
			throw InvalidInputException(
			    "PATTERN_MATCH: more than %llu matches at once. Lower THRESHOLD, or limit WIDTH or "
			    "HEIGHT",
			    MOST_MATCHES_AT_ONCE);
		}
		if (matches == NumericLimits<int32_t>::Maximum()) {
			throw OutOfRangeException("PATTERN_MATCH: more matches in a partition than INTEGER can count");
		}
		auto first = sections[0].first;
		auto last = sections[length - 1].last;
		while (first <= last) {
			auto end = first + 1;
			while (end <= last && series[end].row == series[end - 1].row + 1) {
				end++;
			}
			output.EmitRows(series[first].row, end - first);
			output.SetProper<int32_t>(0, matches);
			output.SetProper<double>(1, distance);
			first = end;
		}
		matches++;
	}

	const BoundPatternMatch &bound;
	LongLoop loop;
	Series series;
	//! Those that may begin a match, and all behind them.
	BufferArray<ShapeSection> sections;
	//! The run of the first `length` sections, and the beginnings of readings that fit it: those for all of it from
	//! `latest` on.
	idx_t length = 0;
	Run run {};
	BufferArray<Step> steps;
	idx_t latest = 0;
	vector<idx_t> reading;
	ShapeSections cutter;
	//! The distance of the first two points that are not at the same time; 0 before.
	wide_t first_step = 0;
	int32_t matches = 0;
	idx_t matches_at_once = 0;
};

template <class T>
class PatternMatchProcessor : public Processor {
public:
	PatternMatchProcessor(ClientContext &context, const BoundPatternMatch &bound)
	    : bound(bound), values(bound.value_type), matcher(context, bound) {
	}

	void BeginPartition() override {
		matcher.BeginPartition();
		last_time = NumericLimits<T>::Minimum();
	}

	void Consume(const InputRows &rows, ProcessorOutput &output) override {
		matcher.BeginOutput();
		for (auto position = rows.begin; position < rows.end; position++) {
			auto time = Time(rows, position);
			if (rows.IsNull(1, position)) {
				continue;
			}
			auto value = values.Read(rows, 1, position);
			if (Value::DoubleIsFinite(value)) {
				matcher.Add(Series::Point {rows.RowNumber(position), time, value}, output);
			}
		}
		output.ReleaseBefore(matcher.FirstNeededRow(rows.RowNumber(rows.end)));
	}

	void EndPartition(ProcessorOutput &output) override {
		matcher.BeginOutput();
		matcher.EndSeries(output);
	}

private:
	int64_t Time(const InputRows &rows, idx_t position) {
		if (rows.IsNull(0, position)) {
			ThrowNullTime("PATTERN_MATCH", bound.time_name);
		}
		T time = rows.Get<T>(0, position);
		if (!bound.time_type.IsIntegral() && IsInfiniteTime(time)) {
			ThrowInfiniteTime("PATTERN_MATCH", bound.time_name);
		}
		if (time < last_time) {
			throw InvalidInputException("PATTERN_MATCH: the time column [%s] goes back from one row to the next. Order "
			                            "the input by it, ascending: DATA => ... ORDER BY %s",
			                            bound.time_name, bound.time_name);
		}
		last_time = time;
		return time;
	}

	const BoundPatternMatch &bound;
	const NumericReader values;
	ShapeMatcher matcher;
	T last_time = 0;
};

unique_ptr<Processor> BoundPatternMatch::MakeProcessor(ClientContext &context) const {
	return MakeForTimeType<PatternMatchProcessor>(time_type, context, *this);
}

//! A number counts in an integer time column's unit.
double WidthLimit(const BoundArguments &arguments, const TimeColumn &time) {
	auto &width = arguments.Get("WIDTH");
	if (width.type().id() == LogicalTypeId::DOUBLE && time.type.IsIntegral()) {
		return DoubleValue::Get(width);
	}
	return static_cast<double>(time.Span(arguments.Function(), "WIDTH", width));
}

} // namespace

PatternMatchFunction::PatternMatchFunction() {
	name = "PATTERN_MATCH";
	description = "Where a column has the shape of PATTERN";
	preserves_order = false;
	parameters = {ParameterDefinition("TIME_COL", ParameterKind::COLUMN).Default(Value("time")),
	              ParameterDefinition("DATA_COL", ParameterKind::COLUMN),
	              ParameterDefinition("PATTERN", ParameterKind::STRING),
	              ParameterDefinition("SMOOTH", ParameterKind::DOUBLE).NonNegative(),
	              ParameterDefinition("THRESHOLD", ParameterKind::DOUBLE).NonNegative(),
	              ParameterDefinition("WIDTH", ParameterKind::NUMBER_OR_SPAN).NonNegative().Optional(),
	              ParameterDefinition("HEIGHT", ParameterKind::DOUBLE).NonNegative().Optional(),
	              ParameterDefinition("SMOOTH_ON_PATTERN", ParameterKind::BOOLEAN).Default(Value::BOOLEAN(false))};
}

unique_ptr<BoundProcessor> PatternMatchFunction::Bind(ClientContext &context, const BoundArguments &arguments) const {
	auto time = arguments.TimeInOrder("TIME_COL");
	auto column = arguments.Column("DATA_COL");
	auto &table = arguments.Table();
	if (!NumericReader::Accepts(table.types[column])) {
		throw BinderException(
		    "%s: The type of the column [%s] is not as expected. DATA_COL is an integer, DECIMAL, FLOAT "
		    "or DOUBLE, not %s",
		    name, table.names[column], table.types[column].ToString());
	}
	if (arguments.Descends()) {
		throw BinderException(
		    "%s: The ORDER BY clause of the DATA argument must sort the time column in ascending order. "
		    "Write ORDER BY %s",
		    name, table.names[time.column]);
	}
	auto result = make_uniq<BoundPatternMatch>();
	result->time_name = table.names[time.column];
	result->time_type = time.type;
	result->value_type = table.types[column];
	result->smooth = arguments.Double("SMOOTH");
	result->threshold = arguments.Double("THRESHOLD");
	auto unlimited = std::numeric_limits<double>::infinity();
	result->width = arguments.IsPassed("WIDTH") ? WidthLimit(arguments, time) : unlimited;
	result->height = arguments.IsPassed("HEIGHT") ? arguments.Double("HEIGHT") : unlimited;
	optional<double> smoothness;
	if (arguments.Boolean("SMOOTH_ON_PATTERN")) {
		smoothness = result->smooth;
	}
	result->pattern = ShapePattern::Parse(name, "PATTERN", arguments.String("PATTERN"), smoothness);
	result->names = {"match_index", "similarity"};
	result->types = {LogicalType::INTEGER, LogicalType::DOUBLE};
	result->required_columns = {time.column, column};
	return std::move(result);
}

} // namespace merganser
