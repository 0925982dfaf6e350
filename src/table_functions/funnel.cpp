#include "table_functions/funnel.hpp"

#include "table_functions/ascending_times.hpp"

namespace merganser {

namespace {

const idx_t MOST_STEPS = 64;

struct BoundFunnel : public BoundProcessor {
	string time_name;
	LogicalType time_type;
	idx_t step_count;
	uint64_t within = NumericLimits<uint64_t>::Maximum();

	unique_ptr<Processor> MakeProcessor(ClientContext &context) const override;
};

//! The times of a chain's steps so far.
using Chain = vector<int64_t>;

template <class T>
class FunnelProcessor : public Processor {
public:
	explicit FunnelProcessor(const BoundFunnel &bound)
	    : bound(bound), ascending("FUNNEL", bound.time_name, bound.time_type), latest(bound.step_count) {
	}

	void BeginPartition() override {
		ascending.BeginPartition();
		longest.clear();
		for (auto &chain : latest) {
			chain.clear();
		}
	}

	void Consume(const InputRows &rows, ProcessorOutput &output) override {
		auto &times = ascending.Read(rows);
		if (longest.size() == bound.step_count) {
			return;
		}
		for (auto position = rows.begin; position < rows.end; position++) {
			AddRow(rows, position, times[position - rows.begin]);
		}
	}

	void EndPartition(ProcessorOutput &output) override {
		output.NewRow();
		output.Set<int32_t>(0, static_cast<int32_t>(longest.size()));
		for (idx_t step = 0; step < longest.size(); step++) {
			output.Set<T>(step + 1, static_cast<T>(longest[step]));
		}
	}

private:
	//! From the last step to the first, so that the row continues chains of rows before it only.
	void AddRow(const InputRows &rows, idx_t position, int64_t time) {
		for (auto step = bound.step_count; step-- > 0;) {
			if (rows.IsNull(step + 1, position) || !rows.Get<bool>(step + 1, position)) {
				continue;
			}
			if (step > 0 && !Continues(latest[step - 1], time)) {
				continue;
			}
			auto &chain = latest[step];
			if (step > 0) {
				chain = latest[step - 1];
			} else {
				chain.clear();
			}
			chain.push_back(time);
			if (chain.size() > longest.size()) {
				longest = chain;
			}
		}
	}

	bool Continues(const Chain &chain, int64_t time) const {
		// unsigned arithmetic: the distance of two times always fits
		return !chain.empty() && static_cast<uint64_t>(time) - static_cast<uint64_t>(chain[0]) <= bound.within;
	}

	const BoundFunnel &bound;
	AscendingTimes<T> ascending;
	//! For every length the chain that begins last.
	vector<Chain> latest;
	Chain longest;
};

unique_ptr<Processor> BoundFunnel::MakeProcessor(ClientContext &context) const {
	return MakeForTimeType<FunnelProcessor>(time_type, *this);
}

} // namespace

FunnelFunction::FunnelFunction() {
	name = "FUNNEL";
	description = "How far each partition gets in a chain of events within a time";
	pass_through = false;
	preserves_order = false;
	parameters = {ParameterDefinition("TIMECOL", ParameterKind::COLUMN).Default(Value("time")),
	              ParameterDefinition("STEPS", ParameterKind::COLUMNS),
	              ParameterDefinition("WITHIN", ParameterKind::TIME_SPAN).NonNegative().Optional()};
}

unique_ptr<BoundProcessor> FunnelFunction::Bind(ClientContext &context, const BoundArguments &arguments) const {
	auto time = arguments.AscendingTime("TIMECOL");
	auto steps = arguments.Columns("STEPS");
	auto &table = arguments.Table();
	if (steps.size() > MOST_STEPS) {
		throw BinderException("%s: Invalid scalar argument STEPS, should have at most %llu steps", name, MOST_STEPS);
	}
	auto result = make_uniq<BoundFunnel>();
	result->time_name = table.names[time.column];
	result->time_type = time.type;
	result->step_count = steps.size();
	result->names = {"steps"};
	result->types = {LogicalType::INTEGER};
	result->required_columns = {time.column};
	for (auto step : steps) {
		if (table.types[step].id() != LogicalTypeId::BOOLEAN) {
			throw BinderException("%s: The type of the column [%s] is not as expected. STEPS are BOOLEAN columns, not "
			                      "%s. Write the condition in the input: DATA => (SELECT ..., %s = '...' AS %s_step)",
			                      name, table.names[step], table.types[step].ToString(), table.names[step],
			                      table.names[step]);
		}
		result->names.push_back(table.names[step]);
		result->types.push_back(time.type);
		result->required_columns.push_back(step);
	}
	if (arguments.HasValue("WITHIN")) {
		result->within = static_cast<uint64_t>(time.Span(name, "WITHIN", arguments.Get("WITHIN")));
	}
	result->proper_before_partition_columns = 0;
	return std::move(result);
}

} // namespace merganser
