#include "table_functions/session.hpp"

#include "table_functions/time_dispatch.hpp"

namespace merganser {

namespace {

struct BoundSession : public BoundProcessor {
	string time_name;
	LogicalType time_type;
	int64_t gap;
	//! Times go down from row to row.
	bool descends;

	unique_ptr<Processor> MakeProcessor(ClientContext &context) const override;
};

template <class T>
class SessionProcessor : public Processor {
public:
	explicit SessionProcessor(const BoundSession &bound) : bound(bound), gap(static_cast<uint64_t>(bound.gap)) {
	}

	void BeginPartition() override {
		open = false;
	}

	void Consume(const InputRows &rows, ProcessorOutput &output) override {
		auto &format = rows.Format(0);
		auto times = UnifiedVectorFormat::GetData<T>(format);
		if (!format.validity.CannotHaveNull()) {
			RefuseNulls(rows);
		}
		if (format.sel->IsSet()) {
			auto codes = format.sel->data();
			ConsumeInOrder(rows, output, [=](idx_t position) { return static_cast<int64_t>(times[codes[position]]); });
		} else {
			ConsumeInOrder(rows, output, [=](idx_t position) { return static_cast<int64_t>(times[position]); });
		}
		output.ReleaseBefore(first_row);
	}

	void EndPartition(ProcessorOutput &output) override {
		if (open) {
			Close(output, last_row + 1);
		}
	}

private:
	void RefuseNulls(const InputRows &rows) const {
		for (auto position = rows.begin; position < rows.end; position++) {
			if (rows.IsNull(0, position)) {
				ThrowNullTime("SESSION", bound.time_name);
			}
		}
	}

	template <class TIME>
	void ConsumeInOrder(const InputRows &rows, ProcessorOutput &output, TIME time_at) {
		if (bound.descends) {
			ConsumeTimes<true>(rows, output, time_at);
		} else {
			ConsumeTimes<false>(rows, output, time_at);
		}
	}

	template <bool DESCENDS, class TIME>
	void ConsumeTimes(const InputRows &rows, ProcessorOutput &output, TIME time_at) {
		if (!open) {
			Open(time_at(rows.begin), rows.first_row);
		}
		auto previous = last;
		for (auto position = rows.begin; position < rows.end; position++) {
			auto time = time_at(position);
			auto earlier = DESCENDS ? time : previous;
			auto later = DESCENDS ? previous : time;
			// unsigned arithmetic: the distance of two times always fits
			if (static_cast<uint64_t>(later) - static_cast<uint64_t>(earlier) > gap || later < earlier) {
				if (later < earlier) {
					ThrowGoesBack();
				}
				last = previous;
				Close(output, rows.RowNumber(position));
				Open(time, rows.RowNumber(position));
			}
			previous = time;
		}
		last = previous;
		last_row = rows.RowNumber(rows.end) - 1;
	}

	void Open(int64_t time, idx_t row) {
		open = true;
		start = last = time;
		first_row = row;
	}

	void Close(ProcessorOutput &output, idx_t end_row) {
		output.EmitRows(first_row, end_row - first_row);
		output.SetProper<T>(0, static_cast<T>(bound.descends ? last : start));
		output.SetProper<T>(1, static_cast<T>(bound.descends ? start : last));
	}

	//! Only without ORDER BY; what it asks for is verified before.
	[[noreturn]] void ThrowGoesBack() const {
		throw InvalidInputException(
		    "SESSION: the time column [%s] goes back from one row to the next. Order the input by "
		    "it: DATA => ... ORDER BY %s",
		    bound.time_name, bound.time_name);
	}

	const BoundSession &bound;
	const uint64_t gap;
	bool open = false;
	int64_t start = 0;
	int64_t last = 0;
	idx_t first_row = 0;
	idx_t last_row = 0;
};

unique_ptr<Processor> BoundSession::MakeProcessor(ClientContext &context) const {
	return MakeForTimeType<SessionProcessor>(time_type, *this);
}

} // namespace

SessionFunction::SessionFunction() {
	name = "SESSION";
	description = "Groups rows that follow each other within GAP";
	parameters = {ParameterDefinition("TIMECOL", ParameterKind::COLUMN).Default(Value("time")),
	              ParameterDefinition("GAP", ParameterKind::TIME_SPAN).NonNegative()};
}

unique_ptr<BoundProcessor> SessionFunction::Bind(ClientContext &context, const BoundArguments &arguments) const {
	auto time = arguments.TimeInOrder("TIMECOL");
	auto result = make_uniq<BoundSession>();
	result->time_name = arguments.Table().names[time.column];
	result->time_type = time.type;
	result->descends = arguments.Descends();
	result->gap = time.Span(name, "GAP", arguments.Get("GAP"));
	result->names = {"window_start", "window_end"};
	result->types = {time.type, time.type};
	result->required_columns = {time.column};
	return std::move(result);
}

} // namespace merganser
