#include "table_functions/resample.hpp"

#include "table_functions/ascending_times.hpp"
#include "table_functions/filled_column.hpp"
#include "table_functions/participating_columns.hpp"

namespace merganser {

namespace {

using wide_t = __int128;

//! Grid points after which an interrupt, or the end of max_execution_time, is looked for.
const idx_t POINTS_BETWEEN_CHECKS = 4096;

struct BoundResample : public BoundProcessor {
	string time_name;
	LogicalType time_type;
	int64_t size;
	FillRule rule;
	uint64_t max_gap = NumericLimits<uint64_t>::Maximum();
	bool has_start = false;
	int64_t start = 0;
	bool has_finish = false;
	int64_t finish = 0;
	//! The types of the columns behind the time column.
	vector<LogicalType> column_types;

	unique_ptr<Processor> MakeProcessor(ClientContext &context) const override;
};

template <class T>
class ResampleProcessor : public Processor {
public:
	ResampleProcessor(ClientContext &context, const BoundResample &bound)
	    : context(context), bound(bound), ascending("RESAMPLE", bound.time_name, bound.time_type) {
		for (idx_t column = 0; column < bound.column_types.size(); column++) {
			columns.push_back(
			    FilledColumn::Make(context, bound.rule, bound.max_gap, column + 1, bound.column_types[column]));
		}
	}

	void BeginPartition() override {
		begun = false;
		ascending.BeginPartition();
		for (auto &column : columns) {
			column->Clear();
		}
	}

	void Consume(const InputRows &rows, ProcessorOutput &output) override {
		auto &times = ascending.Read(rows);
		auto last = ascending.Last();
		if (!begun) {
			begun = true;
			next = FirstPoint(times.front());
		}
		if (bound.has_finish && next > bound.finish) {
			return;
		}
		wide_t known = wide_t(last) - 1;
		for (auto &column : columns) {
			column->Add(rows, times.data());
			int64_t point = NumericLimits<int64_t>::Minimum();
			auto has_point = column->TryKnownUpTo(last, point);
			known = has_point ? MinValue<wide_t>(known, point) : NONE;
		}
		EmitUpTo(known, output);
	}

	void EndPartition(ProcessorOutput &output) override {
		EmitUpTo(bound.has_finish ? bound.finish : ascending.Last(), output);
	}

private:
	//! Before every time.
	static constexpr wide_t NONE = -(wide_t(1) << 100);

	wide_t FirstPoint(int64_t first_time) const {
		if (bound.has_start) {
			return bound.start;
		}
		auto rest = first_time % bound.size;
		return rest == 0 ? wide_t(first_time) : wide_t(first_time) - rest + (rest > 0 ? bound.size : 0);
	}

	void EmitUpTo(wide_t limit, ProcessorOutput &output) {
		limit = bound.has_finish ? MinValue<wide_t>(limit, bound.finish) : limit;
		for (idx_t points = 1; next <= limit; next += bound.size, points++) {
			output.NewRow();
			output.Set<T>(0, static_cast<T>(next));
			for (idx_t column = 0; column < columns.size(); column++) {
				columns[column]->Fill(static_cast<int64_t>(next), output, column + 1);
			}
			if (points % POINTS_BETWEEN_CHECKS == 0) {
				context.BlockingInterruptCheck();
			}
		}
	}

	ClientContext &context;
	const BoundResample &bound;
	vector<unique_ptr<FilledColumn>> columns;
	AscendingTimes<T> ascending;
	//! The next grid point, once the partition has had rows.
	bool begun = false;
	wide_t next = 0;
};

unique_ptr<Processor> BoundResample::MakeProcessor(ClientContext &context) const {
	return MakeForTimeType<ResampleProcessor>(time_type, context, *this);
}

FillRule RuleNamed(const string &name) {
	if (name == "next") {
		return FillRule::NEXT;
	}
	if (name == "linear") {
		return FillRule::LINEAR;
	}
	return name == "null" ? FillRule::EXACT : FillRule::LAST;
}

void BindGrid(ClientContext &context, const BoundArguments &arguments, const TimeColumn &time, BoundResample &result) {
	auto point = [&](const string &parameter, bool &is_there, int64_t &value) {
		is_there = arguments.HasValue(parameter);
		if (!is_there) {
			return;
		}
		value = time.Point(context, arguments.Function(), parameter, arguments.Get(parameter));
		auto is_infinite = time.type.InternalType() == PhysicalType::INT32 ? IsInfiniteTime(static_cast<int32_t>(value))
		                                                                   : IsInfiniteTime(value);
		if (!time.type.IsIntegral() && is_infinite) {
			throw BinderException("%s: Invalid scalar argument %s, should be finite", arguments.Function(), parameter);
		}
	};
	result.size = time.Span(arguments.Function(), "SIZE", arguments.Get("SIZE"));
	point("START", result.has_start, result.start);
	point("FINISH", result.has_finish, result.finish);
	if (result.has_start && result.has_finish && result.finish < result.start) {
		throw BinderException("%s: Invalid scalar argument FINISH, should not be before START", arguments.Function());
	}
}

} // namespace

ResampleFunction::ResampleFunction() {
	name = "RESAMPLE";
	description = "The rows of each partition on a regular grid of times, every column filled";
	pass_through = false;
	preserves_order = false;
	parameters = {ParameterDefinition("TIMECOL", ParameterKind::COLUMN).Default(Value("time")),
	              ParameterDefinition("SIZE", ParameterKind::TIME_SPAN).Positive(),
	              ParameterDefinition("FILL", ParameterKind::STRING)
	                  .OneOf({"locf", "next", "linear", "null"})
	                  .Default(Value("locf")),
	              ParameterDefinition("MAX_GAP", ParameterKind::TIME_SPAN).NonNegative().Optional(),
	              ParameterDefinition("START", ParameterKind::TIME_POINT).Optional(),
	              ParameterDefinition("FINISH", ParameterKind::TIME_POINT).Optional()};
}

unique_ptr<BoundProcessor> ResampleFunction::Bind(ClientContext &context, const BoundArguments &arguments) const {
	auto time = arguments.AscendingTime("TIMECOL");
	auto &table = arguments.Table();
	auto result = make_uniq<BoundResample>();
	result->time_name = table.names[time.column];
	result->time_type = time.type;
	result->rule = RuleNamed(arguments.String("FILL"));
	BindGrid(context, arguments, time, *result);
	if (arguments.HasValue("MAX_GAP")) {
		result->max_gap = static_cast<uint64_t>(time.Span(name, "MAX_GAP", arguments.Get("MAX_GAP")));
	}
	result->proper_before_partition_columns = 0;
	result->names = {result->time_name};
	result->types = {time.type};
	result->required_columns = {time.column};
	for (auto column : ParticipatingColumns::All(table, time.column)) {
		result->names.push_back(table.names[column]);
		result->types.push_back(FilledColumn::TypeFor(result->rule, table.types[column]));
		result->column_types.push_back(table.types[column]);
		result->required_columns.push_back(column);
	}
	return std::move(result);
}

} // namespace merganser
