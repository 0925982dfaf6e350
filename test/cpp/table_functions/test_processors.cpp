#include "catch.hpp"
#include "open_database.hpp"

#include "table_functions/table_function_registry.hpp"

namespace merganser {

using namespace duckdb;

namespace {

//! Writes down what a processor emits, and refuses rows that it has released before.
class Recorder : public ProcessorOutput {
public:
	explicit Recorder(const BoundProcessor &bound) : bound(bound) {
		run_values.resize(bound.types.size());
		own.Initialize(Allocator::DefaultAllocator(), bound.types);
	}

	//! A row per emitted input row, or per own row: "row | proper values".
	vector<string> Lines() {
		vector<string> result;
		for (idx_t run = 0; run < runs.size(); run++) {
			string proper;
			for (idx_t column = 0; column < run_values.size(); column++) {
				REQUIRE(run_values[column].size() == runs.size());
				proper += " " + to_string(run_values[column][run]);
			}
			for (idx_t i = 0; i < runs[run].count; i++) {
				result.push_back(to_string(runs[run].first + i) + proper);
			}
		}
		for (idx_t i = 0; i < each_rows.size(); i++) {
			string line = to_string(each_rows[i]);
			for (auto &values : each_values) {
				line += " " + to_string(Load<int64_t>(values.data() + i * sizeof(int64_t)));
			}
			result.push_back(line);
		}
		for (idx_t i = 0; i < own_rows; i++) {
			string line;
			for (idx_t column = 0; column < bound.types.size(); column++) {
				line += own.data[column].GetValue(i).ToString() + " ";
			}
			result.push_back(line);
		}
		return result;
	}

	void CheckReleased(idx_t &checked_runs) {
		for (; checked_runs < runs.size(); checked_runs++) {
			REQUIRE(runs[checked_runs].first >= released_before_slice);
		}
		released_before_slice = released;
	}
	idx_t Released() const {
		return released;
	}
	void NextPartition() {
		runs.clear();
		for (auto &values : run_values) {
			values.clear();
		}
		released = released_before_slice = 0;
		each_rows.clear();
		each_values.clear();
		own_rows = 0;
	}

private:
	void NewRow() override {
		REQUIRE(own_rows < STANDARD_VECTOR_SIZE);
		row = own_rows++;
		for (auto &vector : own.data) {
			FlatVector::ValidityMutable(vector).SetInvalid(row);
		}
		own.SetChildCardinality(own_rows);
	}
	void SetString(idx_t column, string_t value) override {
		SetValue(column, Value(value.GetString()));
	}
	void SetFrom(idx_t column, const Vector &source, idx_t position) override {
		SetValue(column, source.GetValue(position));
	}
	void SetValue(idx_t column, const Value &value) override {
		FlatVector::ValidityMutable(own.data[column]).SetValid(row);
		own.data[column].SetValue(row, value);
	}
	Vector &Target(idx_t column) override {
		return own.data[column];
	}

	const BoundProcessor &bound;
	DataChunk own;
	idx_t own_rows = 0;
	idx_t released_before_slice = 0;
};

//! 200 rows (time BIGINT, a DOUBLE, b DOUBLE): waves with plateaus and NULLs.
unique_ptr<DataChunk> MakeRows(bool nulls) {
	auto result = make_uniq<DataChunk>();
	result->Initialize(Allocator::DefaultAllocator(), {LogicalType::BIGINT, LogicalType::DOUBLE, LogicalType::DOUBLE});
	int64_t time = -50;
	for (idx_t i = 0; i < 200; i++) {
		time += i % 17 == 0 ? 9 : 1;
		result->data[0].SetValue(i, Value::BIGINT(time));
		auto wave = static_cast<double>(i % 10 < 5 ? i % 10 : (i % 20 < 10 ? 5 : 9 - i % 10));
		result->data[1].SetValue(i, nulls && i % 13 == 3 ? Value(LogicalType::DOUBLE) : Value::DOUBLE(wave));
		result->data[2].SetValue(i, Value::DOUBLE(static_cast<double>(i * i % 7)));
	}
	result->SetChildCardinality(200);
	return result;
}

struct Call {
	string function;
	case_insensitive_map_t<Value> arguments;
	bool nulls = true;
};

vector<Call> Calls() {
	auto time = Value("time");
	return {
	    {"TUMBLE", {{"SIZE", Value::BIGINT(7)}}},
	    {"HOP", {{"SIZE", Value::BIGINT(9)}, {"SLIDE", Value::BIGINT(4)}}},
	    {"CUMULATE", {{"SIZE", Value::BIGINT(9)}, {"STEP", Value::BIGINT(3)}}},
	    {"SESSION", {{"GAP", Value::BIGINT(3)}}},
	    {"VARIATION", {{"COL", Value("a")}, {"DELTA", Value::DOUBLE(2)}}},
	    {"VARIATION", {{"COL", Value("a")}, {"IGNORE_NULL", Value::BOOLEAN(false)}}},
	    {"CAPACITY", {{"SIZE", Value::BIGINT(5)}, {"SLIDE", Value::BIGINT(3)}}},
	    {"M4", {{"TIMECOL", time}, {"SIZE", Value::BIGINT(20)}, {"SLIDE", Value::BIGINT(10)}}},
	    {"LTTB", {{"TIMECOL", time}, {"N", Value::BIGINT(20)}}},
	    {"LTTB", {{"TIMECOL", time}, {"SIZE", Value::BIGINT(20)}}},
	    {"FFT", {}, false},
	    {"LOWPASS", {{"TIMECOL", time}, {"WPASS", Value::DOUBLE(0.3)}}},
	    {"HIGHPASS", {{"TIMECOL", time}, {"WPASS", Value::DOUBLE(0.3)}}},
	    {"XCORR", {{"TIMECOL", time}}},
	    {"RESAMPLE", {{"SIZE", Value::BIGINT(2)}}},
	    {"RESAMPLE", {{"SIZE", Value::BIGINT(3)}, {"FILL", Value("linear")}, {"MAX_GAP", Value::BIGINT(8)}}},
	    {"RESAMPLE", {{"SIZE", Value::BIGINT(4)}, {"FILL", Value("next")}, {"START", Value::BIGINT(-60)}}},
	    {"RESAMPLE", {{"SIZE", Value::BIGINT(1)}, {"FILL", Value("null")}, {"FINISH", Value::BIGINT(300)}}},
	    {"STATES", {{"COL", Value("a")}, {"MAX_GAP", Value::BIGINT(5)}}},
	    {"STATES", {{"COL", Value("a")}, {"IGNORE_NULL", Value::BOOLEAN(false)}}},
	    {"PATTERN_MATCH",
		 {{"DATA_COL", Value("a")},
		  {"PATTERN", Value("0,1,{2,1}*,0")},
		  {"SMOOTH", Value::DOUBLE(0.5)},
		  {"THRESHOLD", Value::DOUBLE(50)}}},
	};
}

unique_ptr<BoundProcessor> Bind(ClientContext &context, const Call &call) {
	auto definition = TableFunctionRegistry::Find(call.function);
	REQUIRE(definition);
	TableArgument table;
	table.names = {"time", "a", "b"};
	table.types = {LogicalType::BIGINT, LogicalType::DOUBLE, LogicalType::DOUBLE};
	table.ordering = {OrderItem {0, OrderType::ASCENDING, OrderByNullType::NULLS_LAST}};
	BoundArguments arguments(call.function, definition->parameters, table, call.arguments);
	return definition->Bind(context, arguments);
}

//! One partition of the chunk's first `count` rows, in slices of `slice` rows.
void ProcessPartition(const BoundProcessor &bound, DataChunk &chunk, idx_t count, idx_t slice, Processor &processor,
                      Recorder &output) {
	vector<const_reference<Vector>> columns;
	vector<UnifiedVectorFormat> formats(bound.required_columns.size());
	for (idx_t i = 0; i < bound.required_columns.size(); i++) {
		auto &column = chunk.data[bound.required_columns[i]];
		columns.push_back(column);
		column.ToUnifiedFormat(formats[i]);
	}
	idx_t checked = 0;
	processor.BeginPartition();
	for (idx_t begin = 0; begin < count; begin += slice) {
		InputRows rows(columns, formats);
		rows.begin = begin;
		rows.end = MinValue(begin + slice, count);
		rows.first_row = begin;
		processor.Consume(rows, output);
		output.CheckReleased(checked);
	}
	processor.EndPartition(output);
	output.CheckReleased(checked);
}

} // namespace

TEST_CASE("Processors do not care how rows are sliced, and start each partition anew", "[processors]") {
	OpenDatabase database;
	auto &context = *database.connection.context;
	for (auto &call : Calls()) {
		INFO(call.function);
		auto chunk = MakeRows(call.nulls);
		auto bound = Bind(context, call);
		vector<string> expected;
		for (idx_t slice : {200, 1, 2, 7, 64}) {
			auto processor = bound->MakeProcessor(context);
			Recorder output(*bound);
			// a shorter partition before, which must leave nothing behind
			ProcessPartition(*bound, *chunk, 61, slice, *processor, output);
			output.NextPartition();
			ProcessPartition(*bound, *chunk, 200, slice, *processor, output);
			auto lines = output.Lines();
			REQUIRE_FALSE(lines.empty());
			expected = expected.empty() ? lines : expected;
			REQUIRE(lines == expected);
		}
	}
}

TEST_CASE("Pass-through processors release what they need no more", "[processors]") {
	OpenDatabase database;
	auto &context = *database.connection.context;
	for (auto &call : Calls()) {
		if (!TableFunctionRegistry::Find(call.function)->pass_through) {
			continue;
		}
		INFO(call.function);
		auto chunk = MakeRows(false);
		auto bound = Bind(context, call);
		auto processor = bound->MakeProcessor(context);
		Recorder output(*bound);
		ProcessPartition(*bound, *chunk, 200, 10, *processor, output);
		// sessions and waves are shorter than a quarter of the rows
		REQUIRE(output.Released() > 150);
	}
}

TEST_CASE("A partition without rows emits nothing", "[processors]") {
	OpenDatabase database;
	auto &context = *database.connection.context;
	for (auto &call : Calls()) {
		if (!TableFunctionRegistry::Find(call.function)->pass_through) {
			continue;
		}
		INFO(call.function);
		auto chunk = MakeRows(true);
		auto bound = Bind(context, call);
		auto processor = bound->MakeProcessor(context);
		Recorder output(*bound);
		ProcessPartition(*bound, *chunk, 0, 10, *processor, output);
		REQUIRE(output.Lines().empty());
	}
}

} // namespace merganser
