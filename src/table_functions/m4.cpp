#include "table_functions/m4.hpp"

#include "table_functions/long_loop.hpp"
#include "table_functions/participating_columns.hpp"
#include "table_functions/sliding_windows.hpp"
#include "table_functions/text_collation.hpp"
#include "table_functions/time_dispatch.hpp"

#include "duckdb/common/deque.hpp"
#include "duckdb/common/operator/comparison_operators.hpp"
#include "duckdb/storage/buffer_manager.hpp"

namespace merganser {

namespace {

struct BoundM4 : public BoundProcessor {
	string time_name;
	LogicalType time_type;
	SlidingWindows windows;
	vector<PhysicalType> column_types;

	unique_ptr<Processor> MakeProcessor(ClientContext &context) const override;
};

//! A value that outlives its chunk. Long texts are kept in memory of the allocator.
template <class T>
struct Kept {
	void Keep(Allocator &, const T &new_value) {
		value = new_value;
	}
	const T &Get() const {
		return value;
	}
	void Write(ProcessorOutput &output, idx_t column) const {
		output.Set<T>(column, value);
	}

	T value;
};

template <>
struct Kept<string_t> {
	void Keep(Allocator &allocator, const string_t &new_value) {
		if (new_value.IsInlined()) {
			value = new_value;
			return;
		}
		auto size = new_value.GetSize();
		if (size > text.GetSize()) {
			text = allocator.Allocate(NextPowerOfTwo(size));
		}
		memcpy(text.get(), new_value.GetData(), size);
		value = string_t(const_char_ptr_cast(text.get()), static_cast<uint32_t>(size));
	}
	const string_t &Get() const {
		return value;
	}
	void Write(ProcessorOutput &output, idx_t column) const {
		output.SetString(column, value);
	}

	string_t value;
	AllocatedData text;
};

//! The points of one column in one window.
class ColumnPoints {
public:
	virtual ~ColumnPoints() = default;

	virtual void Clear() = 0;
	virtual void Add(const InputRows &rows, idx_t required, idx_t position, int64_t time) = 0;
	//! How many points there are to write, in time order.
	virtual idx_t Arrange() = 0;
	virtual int64_t Time(idx_t point) const = 0;
	virtual void WriteValue(ProcessorOutput &output, idx_t column, idx_t point) const = 0;
};

template <class T>
class TypedColumnPoints : public ColumnPoints {
public:
	explicit TypedColumnPoints(Allocator &allocator) : allocator(allocator) {
	}

	void Clear() override {
		empty = true;
	}

	void Add(const InputRows &rows, idx_t required, idx_t position, int64_t time) override {
		auto &value = rows.Get<T>(required, position);
		auto row = rows.RowNumber(position);
		Keep(last, row, time, value);
		if (empty) {
			Keep(first, row, time, value);
		}
		if (empty || LessThan::Operation<T>(value, smallest.value.Get())) {
			Keep(smallest, row, time, value);
		}
		if (empty || GreaterThan::Operation<T>(value, largest.value.Get())) {
			Keep(largest, row, time, value);
		}
		empty = false;
	}

	idx_t Arrange() override {
		arranged.clear();
		if (empty) {
			return 0;
		}
		arranged = {&first, &smallest, &largest, &last};
		std::sort(arranged.begin(), arranged.end(), [](const Point *a, const Point *b) { return a->row < b->row; });
		auto same = [](const Point *a, const Point *b) {
			return a->row == b->row;
		};
		arranged.erase(std::unique(arranged.begin(), arranged.end(), same), arranged.end());
		return arranged.size();
	}

	int64_t Time(idx_t point) const override {
		return arranged[point]->time;
	}

	void WriteValue(ProcessorOutput &output, idx_t column, idx_t point) const override {
		arranged[point]->value.Write(output, column);
	}

private:
	struct Point {
		idx_t row;
		int64_t time;
		Kept<T> value;
	};

	void Keep(Point &point, idx_t row, int64_t time, const T &value) {
		point.row = row;
		point.time = time;
		point.value.Keep(allocator, value);
	}

	Allocator &allocator;
	bool empty = true;
	Point first;
	Point last;
	Point smallest;
	Point largest;
	vector<const Point *> arranged;
};

unique_ptr<ColumnPoints> MakeColumnPoints(PhysicalType type, Allocator &allocator) {
	switch (type) {
	case PhysicalType::BOOL:
		return make_uniq<TypedColumnPoints<bool>>(allocator);
	case PhysicalType::INT8:
		return make_uniq<TypedColumnPoints<int8_t>>(allocator);
	case PhysicalType::INT16:
		return make_uniq<TypedColumnPoints<int16_t>>(allocator);
	case PhysicalType::INT32:
		return make_uniq<TypedColumnPoints<int32_t>>(allocator);
	case PhysicalType::INT64:
		return make_uniq<TypedColumnPoints<int64_t>>(allocator);
	case PhysicalType::INT128:
		return make_uniq<TypedColumnPoints<hugeint_t>>(allocator);
	case PhysicalType::UINT8:
		return make_uniq<TypedColumnPoints<uint8_t>>(allocator);
	case PhysicalType::UINT16:
		return make_uniq<TypedColumnPoints<uint16_t>>(allocator);
	case PhysicalType::UINT32:
		return make_uniq<TypedColumnPoints<uint32_t>>(allocator);
	case PhysicalType::UINT64:
		return make_uniq<TypedColumnPoints<uint64_t>>(allocator);
	case PhysicalType::UINT128:
		return make_uniq<TypedColumnPoints<uhugeint_t>>(allocator);
	case PhysicalType::FLOAT:
		return make_uniq<TypedColumnPoints<float>>(allocator);
	case PhysicalType::DOUBLE:
		return make_uniq<TypedColumnPoints<double>>(allocator);
	case PhysicalType::INTERVAL:
		return make_uniq<TypedColumnPoints<interval_t>>(allocator);
	case PhysicalType::VARCHAR:
		return make_uniq<TypedColumnPoints<string_t>>(allocator);
	default:
		throw InternalException("M4 has no order for %s", TypeIdToString(type));
	}
}

struct OpenWindow {
	wide_t number;
	vector<unique_ptr<ColumnPoints>> columns;
};

template <class T>
class M4Processor : public Processor {
public:
	M4Processor(const BoundM4 &bound, ClientContext &context)
	    : bound(bound), windows(bound.windows), allocator(BufferAllocator::Get(context)), loop(context) {
	}

	void BeginPartition() override {
		while (!open.empty()) {
			RecycleFront();
		}
	}

	void Consume(const InputRows &rows, ProcessorOutput &output) override {
		for (auto position = rows.begin; position < rows.end; position++) {
			if (rows.IsNull(0, position)) {
				ThrowNullTime("M4", bound.time_name);
			}
			auto time = rows.Get<T>(0, position);
			auto place = windows.Place<T>(time, rows.RowNumber(position));
			CloseBefore(place, output);
			OpenUpTo(place);
			loop.Step(open.size() * bound.column_types.size());
			for (auto &window : open) {
				AddRow(window, rows, position, time);
			}
		}
	}

	void EndPartition(ProcessorOutput &output) override {
		while (!open.empty()) {
			CloseFront(output);
		}
	}

private:
	void CloseBefore(int64_t place, ProcessorOutput &output) {
		while (!open.empty() && windows.End(open.front().number) <= place) {
			CloseFront(output);
		}
	}

	void OpenUpTo(int64_t place) {
		auto next = windows.First(place);
		if (!open.empty()) {
			next = MaxValue<wide_t>(next, open.back().number + 1);
		}
		for (auto last = windows.Last(place); next <= last; next++) {
			if (spare.empty()) {
				spare.emplace_back();
				for (auto type : bound.column_types) {
					spare.back().columns.push_back(MakeColumnPoints(type, allocator));
				}
			}
			open.push_back(std::move(spare.back()));
			spare.pop_back();
			open.back().number = next;
		}
	}

	static void AddRow(OpenWindow &window, const InputRows &rows, idx_t position, int64_t time) {
		for (idx_t column = 0; column < window.columns.size(); column++) {
			if (!rows.IsNull(column + 1, position)) {
				window.columns[column]->Add(rows, column + 1, position, time);
			}
		}
	}

	void CloseFront(ProcessorOutput &output) {
		auto &window = open.front();
		loop.Step(window.columns.size());
		vector<idx_t> counts;
		for (auto &column : window.columns) {
			counts.push_back(column->Arrange());
		}
		auto row_count = *std::max_element(counts.begin(), counts.end());
		for (idx_t row = 0; row < row_count; row++) {
			output.NewRow();
			windows.SetColumns<T>(output, window.number);
			for (idx_t column = 0; column < counts.size(); column++) {
				if (row < counts[column]) {
					auto target = windows.ColumnCount() + 2 * column;
					output.Set<T>(target, static_cast<T>(window.columns[column]->Time(row)));
					window.columns[column]->WriteValue(output, target + 1, row);
				}
			}
		}
		RecycleFront();
	}

	void RecycleFront() {
		for (auto &column : open.front().columns) {
			column->Clear();
		}
		spare.push_back(std::move(open.front()));
		open.pop_front();
	}

	const BoundM4 &bound;
	const SlidingWindows &windows;
	Allocator &allocator;
	LongLoop loop;
	//! In window order; each covers the last row seen or ends behind it.
	deque<OpenWindow> open;
	vector<OpenWindow> spare;
};

unique_ptr<Processor> BoundM4::MakeProcessor(ClientContext &context) const {
	return MakeForTimeType<M4Processor>(time_type, *this, context);
}

bool IsComparable(ClientContext &context, const LogicalType &type) {
	switch (type.id()) {
	case LogicalTypeId::BLOB:
	case LogicalTypeId::BIT:
	case LogicalTypeId::BIGNUM:
	case LogicalTypeId::GEOMETRY:
		return false;
	case LogicalTypeId::VARCHAR:
		return !TextCollation::Applies(context, type);
	default:
		return !type.IsNested();
	}
}

} // namespace

M4Function::M4Function() {
	name = "M4";
	description = "First, last, smallest and largest point of every window and column";
	pass_through = false;
	preserves_order = false;
	parameters = {ParameterDefinition("TIMECOL", ParameterKind::COLUMN), SlidingWindows::SizeParameter(),
	              SlidingWindows::SlideParameter(), SlidingWindows::OriginParameter()};
}

unique_ptr<BoundProcessor> M4Function::Bind(ClientContext &context, const BoundArguments &arguments) const {
	auto time = arguments.Time("TIMECOL");
	arguments.RequireOrderedBy("TIMECOL", time.column);
	auto &table = arguments.Table();
	auto result = make_uniq<BoundM4>();
	result->time_name = table.names[time.column];
	result->time_type = time.type;
	result->windows = SlidingWindows(context, arguments, time);
	result->windows.AddColumns(*result);
	auto columns = ParticipatingColumns::All(table, time.column);
	for (auto column : columns) {
		auto &type = table.types[column];
		if (!IsComparable(context, type)) {
			throw BinderException(
			    "M4: The type of the column [%s] is not comparable. It is %s; leave the column out of the input: "
			    "DATA => (SELECT ... FROM ...)",
			    table.names[column], type.ToString());
		}
	}
	if (columns.empty()) {
		throw BinderException(
		    "M4: No comparable columns found for M4 calculation. The input needs one beside the time column and "
		    "the PARTITION BY columns");
	}
	result->column_types = ParticipatingColumns::AddPoints(table, time, columns, *result);
	return std::move(result);
}

} // namespace merganser
