#include "table_functions/states.hpp"

#include "table_functions/ascending_times.hpp"
#include "table_functions/text_collation.hpp"
#include "table_functions/window_base.hpp"

namespace merganser {

namespace {

struct BoundStates : public BoundProcessor {
	string time_name;
	LogicalType time_type;
	LogicalType value_type;
	uint64_t max_gap = NumericLimits<uint64_t>::Maximum();
	bool ignore_null;

	unique_ptr<Processor> MakeProcessor(ClientContext &context) const override;
};

enum OutputColumn : idx_t { VALUE, STATE_START, STATE_END, ROW_COUNT };

template <class T>
class StatesProcessor : public Processor {
public:
	explicit StatesProcessor(const BoundStates &bound)
	    : bound(bound), ascending("STATES", bound.time_name, bound.time_type),
	      value(WithWindowBase(1, bound.value_type, 0, [](auto base) -> unique_ptr<WindowBase> {
		      return make_uniq<decltype(base)>(std::move(base));
	      })) {
	}

	void BeginPartition() override {
		ascending.BeginPartition();
		row_count = 0;
	}

	void Consume(const InputRows &rows, ProcessorOutput &output) override {
		auto &times = ascending.Read(rows);
		for (auto position = rows.begin; position < rows.end; position++) {
			AddRow(rows, position, times[position - rows.begin], output);
		}
	}

	void EndPartition(ProcessorOutput &output) override {
		if (row_count > 0) {
			Close(last, output);
		}
	}

private:
	void AddRow(const InputRows &rows, idx_t position, int64_t time, ProcessorOutput &output) {
		auto is_null = rows.IsNull(1, position);
		if (row_count > 0) {
			// unsigned arithmetic: the distance of two times always fits
			auto is_far = static_cast<uint64_t>(time) - static_cast<uint64_t>(last) > bound.max_gap;
			if (is_far || Differs(rows, position, is_null)) {
				Close(is_far ? last : time, output);
			}
		}
		if (row_count == 0) {
			start = time;
			has_value = false;
		}
		if (!is_null && !has_value) {
			value->Set(rows, position);
			has_value = true;
		}
		last = time;
		row_count++;
	}

	bool Differs(const InputRows &rows, idx_t position, bool is_null) const {
		if (is_null) {
			return !bound.ignore_null && has_value;
		}
		return has_value ? !value->Near(rows, position) : !bound.ignore_null;
	}

	void Close(int64_t end, ProcessorOutput &output) {
		output.NewRow();
		if (has_value) {
			value->Write(output, VALUE);
		}
		output.Set<T>(STATE_START, static_cast<T>(start));
		output.Set<T>(STATE_END, static_cast<T>(end));
		output.Set<int64_t>(ROW_COUNT, row_count);
		row_count = 0;
	}

	const BoundStates &bound;
	AscendingTimes<T> ascending;
	//! Of the open stretch, which has rows: without a value it has had NULLs only.
	const unique_ptr<WindowBase> value;
	bool has_value = false;
	int64_t row_count = 0;
	int64_t start = 0;
	int64_t last = 0;
};

unique_ptr<Processor> BoundStates::MakeProcessor(ClientContext &context) const {
	return MakeForTimeType<StatesProcessor>(time_type, *this);
}

} // namespace

StatesFunction::StatesFunction() {
	name = "STATES";
	description = "How long a column kept each of its values";
	pass_through = false;
	preserves_order = false;
	parameters = {ParameterDefinition("TIMECOL", ParameterKind::COLUMN).Default(Value("time")),
	              ParameterDefinition("COL", ParameterKind::COLUMN),
	              ParameterDefinition("MAX_GAP", ParameterKind::TIME_SPAN).NonNegative().Optional(),
	              ParameterDefinition("IGNORE_NULL", ParameterKind::BOOLEAN).Default(Value::BOOLEAN(true))};
}

unique_ptr<BoundProcessor> StatesFunction::Bind(ClientContext &context, const BoundArguments &arguments) const {
	auto time = arguments.AscendingTime("TIMECOL");
	auto column = arguments.Column("COL");
	auto &table = arguments.Table();
	auto result = make_uniq<BoundStates>();
	result->time_name = table.names[time.column];
	result->time_type = time.type;
	result->value_type = table.types[column];
	result->ignore_null = arguments.Boolean("IGNORE_NULL");
	if (TextCollation::Applies(context, result->value_type)) {
		throw BinderException("%s: The column [%s] has a collation, which is not supported. Use a column without "
		                      "collation, and no default_collation",
		                      name, table.names[column]);
	}
	if (arguments.HasValue("MAX_GAP")) {
		result->max_gap = static_cast<uint64_t>(time.Span(name, "MAX_GAP", arguments.Get("MAX_GAP")));
	}
	result->proper_before_partition_columns = 0;
	result->names = {table.names[column], "state_start", "state_end", "row_count"};
	result->types = {result->value_type, time.type, time.type, LogicalType::BIGINT};
	result->required_columns = {time.column, column};
	return std::move(result);
}

} // namespace merganser
