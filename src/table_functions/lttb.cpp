#include "table_functions/lttb.hpp"

#include "table_functions/buffer_array.hpp"
#include "table_functions/long_loop.hpp"
#include "table_functions/participating_columns.hpp"
#include "table_functions/sliding_windows.hpp"
#include "table_functions/time_dispatch.hpp"

#include "duckdb/common/types/hugeint.hpp"
#include "duckdb/common/types/uhugeint.hpp"

namespace merganser {

namespace {

struct BoundLttb : public BoundProcessor {
	string time_name;
	LogicalType time_type;
	//! Points to keep; without it `windows` holds.
	optional_idx target;
	SlidingWindows windows;
	vector<PhysicalType> column_types;

	unique_ptr<Processor> MakeProcessor(ClientContext &context) const override;
};

//! Exact until the result is rounded. long double keeps areas of large finite values finite.
template <class T>
long double Difference(T left, T right) {
	return static_cast<long double>(static_cast<wide_t>(left) - static_cast<wide_t>(right));
}
template <>
long double Difference(float left, float right) {
	return static_cast<long double>(left) - right;
}
template <>
long double Difference(double left, double right) {
	return static_cast<long double>(left) - right;
}
template <>
long double Difference(hugeint_t left, hugeint_t right) {
	auto exact = left;
	if (Hugeint::TrySubtractInPlace(exact, right)) {
		return Hugeint::Cast<double>(exact);
	}
	return static_cast<long double>(Hugeint::Cast<double>(left)) - Hugeint::Cast<double>(right);
}
template <>
long double Difference(uhugeint_t left, uhugeint_t right) {
	return left < right ? -Difference(right, left) : Uhugeint::Cast<double>(left - right);
}

template <class T>
bool IsPoint(T value) {
	return true;
}
template <>
bool IsPoint(float value) {
	return Value::FloatIsFinite(value);
}
template <>
bool IsPoint(double value) {
	return Value::DoubleIsFinite(value);
}

//! Points [begin, end) of a column.
struct PointRange {
	idx_t begin;
	idx_t end;

	bool Empty() const {
		return begin == end;
	}
	idx_t Count() const {
		return end - begin;
	}
};

//! The points of one column in one partition.
class PointSeries {
public:
	PointSeries(ClientContext &context, const BufferArray<int64_t> &times) : rows(context), times(times) {
	}
	virtual ~PointSeries() = default;

	virtual void Clear() = 0;
	virtual void Add(const InputRows &input, idx_t required, idx_t position) = 0;
	//! The point of `candidates` that spans the largest triangle with `previous` and the average of `next`.
	virtual idx_t Pick(idx_t previous, PointRange candidates, PointRange next) const = 0;
	virtual void WriteValue(ProcessorOutput &output, idx_t column, idx_t point) const = 0;

	idx_t Count() const {
		return rows.Size();
	}
	idx_t Row(idx_t point) const {
		return rows[point];
	}
	int64_t Time(idx_t point) const {
		return times[rows[point]];
	}

protected:
	BufferArray<idx_t> rows;
	//! By row of the partition.
	const BufferArray<int64_t> &times;
};

template <class T>
class TypedPointSeries : public PointSeries {
public:
	TypedPointSeries(ClientContext &context, const BufferArray<int64_t> &times)
	    : PointSeries(context, times), values(context) {
	}

	void Clear() override {
		rows.Clear();
		values.Clear();
	}

	void Add(const InputRows &input, idx_t required, idx_t position) override {
		auto value = input.Get<T>(required, position);
		if (IsPoint<T>(value)) {
			rows.Add(input.RowNumber(position));
			values.Add(value);
		}
	}

	idx_t Pick(idx_t previous, PointRange candidates, PointRange next) const override {
		long double next_x = 0;
		long double next_y = 0;
		for (auto point = next.begin; point < next.end; point++) {
			next_x += Difference(Time(point), Time(previous));
			next_y += Difference(values[point], values[previous]);
		}
		next_x /= static_cast<long double>(next.end - next.begin);
		next_y /= static_cast<long double>(next.end - next.begin);
		auto best = candidates.begin;
		long double largest = -1;
		for (auto point = candidates.begin; point < candidates.end; point++) {
			auto x = Difference(Time(point), Time(previous));
			auto y = Difference(values[point], values[previous]);
			auto area = std::fabs(next_x * y - x * next_y);
			if (area > largest) {
				largest = area;
				best = point;
			}
		}
		return best;
	}

	void WriteValue(ProcessorOutput &output, idx_t column, idx_t point) const override {
		output.Set<T>(column, values[point]);
	}

private:
	BufferArray<T> values;
};

unique_ptr<PointSeries> MakePointSeries(PhysicalType type, ClientContext &context, const BufferArray<int64_t> &times) {
	switch (type) {
	case PhysicalType::INT8:
		return make_uniq<TypedPointSeries<int8_t>>(context, times);
	case PhysicalType::INT16:
		return make_uniq<TypedPointSeries<int16_t>>(context, times);
	case PhysicalType::INT32:
		return make_uniq<TypedPointSeries<int32_t>>(context, times);
	case PhysicalType::INT64:
		return make_uniq<TypedPointSeries<int64_t>>(context, times);
	case PhysicalType::INT128:
		return make_uniq<TypedPointSeries<hugeint_t>>(context, times);
	case PhysicalType::UINT8:
		return make_uniq<TypedPointSeries<uint8_t>>(context, times);
	case PhysicalType::UINT16:
		return make_uniq<TypedPointSeries<uint16_t>>(context, times);
	case PhysicalType::UINT32:
		return make_uniq<TypedPointSeries<uint32_t>>(context, times);
	case PhysicalType::UINT64:
		return make_uniq<TypedPointSeries<uint64_t>>(context, times);
	case PhysicalType::UINT128:
		return make_uniq<TypedPointSeries<uhugeint_t>>(context, times);
	case PhysicalType::FLOAT:
		return make_uniq<TypedPointSeries<float>>(context, times);
	case PhysicalType::DOUBLE:
		return make_uniq<TypedPointSeries<double>>(context, times);
	default:
		throw InternalException("%s is no numeric type", TypeIdToString(type));
	}
}

//! The points to keep of a whole series.
BufferArray<idx_t> Thin(ClientContext &context, const PointSeries &series, idx_t target) {
	LongLoop loop(context);
	BufferArray<idx_t> picks(context);
	auto count = series.Count();
	if (count <= target) {
		for (idx_t point = 0; point < count; point++) {
			picks.Add(point);
		}
		return picks;
	}
	auto inner = count - 2;
	auto buckets = target - 2;
	auto bucket_start = [&](idx_t bucket) {
		return bucket * inner / buckets + 1;
	};
	picks.Add(0);
	for (idx_t bucket = 0; bucket < buckets; bucket++) {
		PointRange candidates {bucket_start(bucket), bucket_start(bucket + 1)};
		PointRange next {candidates.end, bucket + 1 < buckets ? bucket_start(bucket + 2) : count};
		loop.Step(candidates.Count() + next.Count());
		picks.Add(series.Pick(picks[picks.Size() - 1], candidates, next));
	}
	picks.Add(count - 1);
	return picks;
}

//! Steps through the windows that have rows, in window order.
template <class T>
class WindowCursor {
public:
	WindowCursor(const SlidingWindows &windows, const BufferArray<int64_t> &times) : windows(windows), times(times) {
	}

	//! False behind the last window.
	bool Next() {
		for (; begin < times.Size(); begin++) {
			auto place = Place(begin);
			auto window = MaxValue(least, windows.First(place));
			if (window <= windows.Last(place)) {
				number = window;
				least = window + 1;
				FindEnd();
				return true;
			}
		}
		return false;
	}

	wide_t number = 0;
	//! Its rows: begin <= row < end.
	idx_t begin = 0;
	idx_t end = 0;

private:
	int64_t Place(idx_t row) const {
		return windows.Place<T>(static_cast<T>(times[row]), row);
	}

	void FindEnd() {
		end = MaxValue(end, begin);
		while (end < times.Size() && Place(end) < windows.End(number)) {
			end++;
		}
	}

	const SlidingWindows &windows;
	const BufferArray<int64_t> &times;
	//! Below the number of every window.
	wide_t least = -(static_cast<wide_t>(1) << 100);
};

//! Picks one column's point of every window.
template <class T>
class WindowPicker {
public:
	WindowPicker(const PointSeries &series, const WindowCursor<T> &cursor)
	    : series(series), here(cursor), ahead(cursor) {
		ahead.Next(series);
	}

	//! To be called once for every window; none where it has no point.
	optional_idx PickNext() {
		here.Next(series);
		if (here.points.Empty()) {
			return optional_idx();
		}
		while (!ahead.ended && (ahead.cursor.number <= here.cursor.number || ahead.points.Empty())) {
			ahead.Next(series);
		}
		auto next = ahead.ended ? PointRange {here.points.end - 1, here.points.end} : ahead.points;
		auto anchor = previous.IsValid() ? previous.GetIndex() : here.points.begin;
		previous = series.Pick(anchor, here.points, next);
		return previous;
	}

private:
	struct Window {
		explicit Window(const WindowCursor<T> &cursor) : cursor(cursor) {
		}

		void Next(const PointSeries &series) {
			ended = !cursor.Next();
			for (; points.begin < series.Count() && series.Row(points.begin) < cursor.begin; points.begin++) {
			}
			points.end = MaxValue(points.end, points.begin);
			for (; points.end < series.Count() && series.Row(points.end) < cursor.end; points.end++) {
			}
		}

		WindowCursor<T> cursor;
		PointRange points {0, 0};
		bool ended = false;
	};

	const PointSeries &series;
	Window here;
	Window ahead;
	optional_idx previous;
};

template <class T>
class LttbProcessor : public Processor {
public:
	LttbProcessor(const BoundLttb &bound, ClientContext &context) : bound(bound), context(context), times(context) {
		for (auto type : bound.column_types) {
			columns.push_back(MakePointSeries(type, context, times));
		}
	}

	void BeginPartition() override {
		times.Clear();
		for (auto &column : columns) {
			column->Clear();
		}
	}

	void Consume(const InputRows &rows, ProcessorOutput &output) override {
		for (auto position = rows.begin; position < rows.end; position++) {
			if (rows.IsNull(0, position)) {
				ThrowNullTime("LTTB", bound.time_name);
			}
			times.Add(rows.Get<T>(0, position));
			for (idx_t column = 0; column < columns.size(); column++) {
				if (!rows.IsNull(column + 1, position)) {
					columns[column]->Add(rows, column + 1, position);
				}
			}
		}
	}

	void EndPartition(ProcessorOutput &output) override {
		if (bound.target.IsValid()) {
			EmitTarget(output);
		} else {
			EmitWindows(output);
		}
	}

private:
	void EmitTarget(ProcessorOutput &output) const {
		vector<BufferArray<idx_t>> picks;
		idx_t row_count = 1;
		for (auto &column : columns) {
			picks.push_back(Thin(context, *column, bound.target.GetIndex()));
			row_count = MaxValue<idx_t>(row_count, picks.back().Size());
		}
		for (idx_t row = 0; row < row_count; row++) {
			output.NewRow();
			output.Set<int64_t>(0, 0);
			for (idx_t column = 0; column < columns.size(); column++) {
				if (row < picks[column].Size()) {
					EmitPoint(output, 1, column, picks[column][row]);
				}
			}
		}
	}

	void EmitWindows(ProcessorOutput &output) const {
		WindowCursor<T> window(bound.windows, times);
		vector<WindowPicker<T>> pickers;
		for (auto &column : columns) {
			pickers.emplace_back(*column, window);
		}
		LongLoop loop(context);
		while (window.Next()) {
			loop.Step((window.end - window.begin) * columns.size());
			output.NewRow();
			bound.windows.SetColumns<T>(output, window.number);
			for (idx_t column = 0; column < columns.size(); column++) {
				auto pick = pickers[column].PickNext();
				if (pick.IsValid()) {
					EmitPoint(output, bound.windows.ColumnCount(), column, pick.GetIndex());
				}
			}
		}
	}

	void EmitPoint(ProcessorOutput &output, idx_t window_columns, idx_t column, idx_t point) const {
		auto target = window_columns + 2 * column;
		output.Set<T>(target, static_cast<T>(columns[column]->Time(point)));
		columns[column]->WriteValue(output, target + 1, point);
	}

	const BoundLttb &bound;
	ClientContext &context;
	BufferArray<int64_t> times;
	vector<unique_ptr<PointSeries>> columns;
};

unique_ptr<Processor> BoundLttb::MakeProcessor(ClientContext &context) const {
	return MakeForTimeType<LttbProcessor>(time_type, *this, context);
}

idx_t TargetCount(const BoundArguments &arguments) {
	if (arguments.IsPassed("SLIDE") || arguments.IsPassed("ORIGIN")) {
		throw BinderException(
		    "LTTB: The N argument of LTTB cannot be combined with the SLIDE or ORIGIN arguments. Leave them out, or "
		    "pass SIZE in place of N");
	}
	auto &target = arguments.Get("N");
	if (target.type().id() != LogicalTypeId::BIGINT || BigIntValue::Get(target) <= 0) {
		throw BinderException(
		    "LTTB: The N argument of LTTB must be a positive integer. It is the number of points to keep; the length "
		    "of a window is SIZE");
	}
	if (BigIntValue::Get(target) < 3) {
		throw BinderException(
		    "LTTB: The N argument of LTTB must be at least 3. The first and the last point are always kept");
	}
	return NumericCast<idx_t>(BigIntValue::Get(target));
}

} // namespace

LttbFunction::LttbFunction() {
	name = "LTTB";
	description = "Largest triangle three buckets: the points of a line that keep its shape";
	pass_through = false;
	preserves_order = false;
	parameters = {ParameterDefinition("TIMECOL", ParameterKind::COLUMN),
	              ParameterDefinition("N", ParameterKind::COUNT_OR_SPAN).Optional(),
	              SlidingWindows::SizeParameter().Optional(), SlidingWindows::SlideParameter(),
	              SlidingWindows::OriginParameter()};
}

unique_ptr<BoundProcessor> LttbFunction::Bind(ClientContext &context, const BoundArguments &arguments) const {
	auto time = arguments.Time("TIMECOL");
	if (arguments.IsPassed("N") == arguments.IsPassed("SIZE")) {
		throw BinderException(
		    "LTTB: Exactly one of the N and SIZE arguments must be specified for LTTB. N is the number of points to "
		    "keep, SIZE the length of a window that keeps one");
	}
	auto &table = arguments.Table();
	auto result = make_uniq<BoundLttb>();
	if (arguments.IsPassed("N")) {
		result->target = TargetCount(arguments);
		result->names = {"window_index"};
		result->types = {LogicalType::BIGINT};
	} else {
		result->windows = SlidingWindows(context, arguments, time);
		result->windows.AddColumns(*result);
	}
	arguments.RequireOrderedBy("TIMECOL", time.column);
	result->time_name = table.names[time.column];
	result->time_type = time.type;
	auto columns = ParticipatingColumns::All(table, time.column);
	for (auto column : columns) {
		auto &type = table.types[column];
		if (!NumericReader::Accepts(type)) {
			throw BinderException(
			    "LTTB: Only numeric columns can be calculated by the function, %s is the %s. Leave the column out of "
			    "the input: DATA => (SELECT ... FROM ...)",
			    table.names[column], type.ToString());
		}
	}
	if (columns.empty()) {
		throw BinderException(
		    "LTTB: No numeric columns found for LTTB calculation. The input needs one beside the time column and the "
		    "PARTITION BY columns");
	}
	result->column_types = ParticipatingColumns::AddPoints(table, time, columns, *result);
	return std::move(result);
}

} // namespace merganser
