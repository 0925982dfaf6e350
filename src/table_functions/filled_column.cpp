#include "table_functions/filled_column.hpp"

#include "table_functions/buffer_array.hpp"
#include "table_functions/participating_columns.hpp"

#include "duckdb/common/deque.hpp"
#include "duckdb/common/vector/flat_vector.hpp"
#include "duckdb/common/vector_operations/vector_operations.hpp"

namespace merganser {

namespace {

//! Values of one width, as they are.
template <class T>
class FixedValues {
public:
	FixedValues(ClientContext &context, idx_t required, const LogicalType &type) : required(required), values(context) {
	}

	void Add(const InputRows &rows, idx_t position) {
		values.Add(rows.Get<T>(required, position));
	}
	void RemoveLast() {
		values.Resize(values.Size() - 1, T());
	}
	void RemoveFront(idx_t count) {
		values.RemoveFront(count);
	}
	void Clear() {
		values.Clear();
	}
	void Write(idx_t index, ProcessorOutput &output, idx_t column) const {
		output.Set<T>(column, values[index]);
	}

private:
	const idx_t required;
	BufferArray<T> values;
};

//! Text and everything else that is a string of bytes.
class TextValues {
public:
	TextValues(ClientContext &context, idx_t required, const LogicalType &type)
	    : required(required), bytes(context), ends(context) {
	}

	void Add(const InputRows &rows, idx_t position) {
		auto &value = rows.Get<string_t>(required, position);
		bytes.Append(value.GetData(), value.GetSize());
		ends.Add(removed + bytes.Size());
	}
	void RemoveLast() {
		ends.Resize(ends.Size() - 1, 0);
		bytes.Resize((ends.Size() == 0 ? begin : ends[ends.Size() - 1]) - removed, '\0');
	}
	void RemoveFront(idx_t count) {
		begin = ends[count - 1];
		ends.RemoveFront(count);
		bytes.RemoveFront(begin - removed);
		removed = begin;
	}
	void Clear() {
		bytes.Clear();
		ends.Clear();
		begin = removed = 0;
	}
	void Write(idx_t index, ProcessorOutput &output, idx_t column) const {
		auto start = index == 0 ? begin : ends[index - 1];
		output.SetString(column,
		                 string_t(bytes.Data() + (start - removed), static_cast<uint32_t>(ends[index] - start)));
	}

private:
	const idx_t required;
	BufferArray<char> bytes;
	//! Where each value ends and the first begins, counted over all bytes since Clear, of which `removed` are gone.
	BufferArray<idx_t> ends;
	idx_t begin = 0;
	idx_t removed = 0;
};

//! Lists, structs and their kin.
class NestedValues {
public:
	NestedValues(ClientContext &context, idx_t required, const LogicalType &type) : required(required), type(type) {
	}

	void Add(const InputRows &rows, idx_t position) {
		auto value = make_uniq<Vector>(type, 1);
		VectorOperations::Copy(rows.Column(required), *value, position + 1, position, 0);
		FlatVector::SetSize(*value, 1);
		values.push_back(std::move(value));
	}
	void RemoveLast() {
		values.pop_back();
	}
	void RemoveFront(idx_t count) {
		values.erase(values.begin(), values.begin() + static_cast<int64_t>(count));
	}
	void Clear() {
		values.clear();
	}
	void Write(idx_t index, ProcessorOutput &output, idx_t column) const {
		output.SetFrom(column, *values[index], 0);
	}

private:
	const idx_t required;
	const LogicalType type;
	deque<unique_ptr<Vector>> values;
};

//! Numbers of any type, for lines between them.
class Numbers {
public:
	Numbers(ClientContext &context, idx_t required, const LogicalType &type)
	    : required(required), reader(type), values(context) {
	}

	void Add(const InputRows &rows, idx_t position) {
		values.Add(reader.Read(rows, required, position));
	}
	void RemoveLast() {
		values.Resize(values.Size() - 1, 0);
	}
	void RemoveFront(idx_t count) {
		values.RemoveFront(count);
	}
	void Clear() {
		values.Clear();
	}
	void Write(idx_t index, ProcessorOutput &output, idx_t column) const {
		output.Set<double>(column, values[index]);
	}
	//! Between values `index` and `index` + 1, `part` of the way.
	void WriteBetween(idx_t index, double part, ProcessorOutput &output, idx_t column) const {
		output.Set<double>(column, values[index] + (values[index + 1] - values[index]) * part);
	}

private:
	const idx_t required;
	const NumericReader reader;
	BufferArray<double> values;
};

//! Unsigned arithmetic: the distance of two times always fits.
uint64_t Distance(int64_t earlier, int64_t later) {
	return static_cast<uint64_t>(later) - static_cast<uint64_t>(earlier);
}

template <class VALUES>
class TypedFilledColumn : public FilledColumn {
public:
	TypedFilledColumn(ClientContext &context, FillRule rule, uint64_t reach, idx_t required, const LogicalType &type)
	    : values(context, required, type), times(context), rule(rule), reach(reach), required(required) {
	}

	void Clear() override {
		values.Clear();
		times.Clear();
	}

	void Add(const InputRows &rows, const int64_t *added_times) override {
		for (auto position = rows.begin; position < rows.end; position++) {
			if (rows.IsNull(required, position)) {
				continue;
			}
			auto time = added_times[position - rows.begin];
			if (times.Size() > 0 && times[times.Size() - 1] == time) {
				values.RemoveLast();
			} else {
				times.Add(time);
			}
			values.Add(rows, position);
		}
	}

	bool TryKnownUpTo(int64_t last, int64_t &point) const override {
		if (rule == FillRule::LAST || rule == FillRule::EXACT) {
			point = last - 1;
			return last > NumericLimits<int64_t>::Minimum();
		}
		// a row that is still to come may replace a value at `last`
		auto count = times.Size();
		count -= count > 0 && times[count - 1] == last ? 1 : 0;
		if (count == 0) {
			return false;
		}
		point = times[count - 1];
		return true;
	}

	void Fill(int64_t point, ProcessorOutput &output, idx_t column) override {
		DropPassed(point);
		if (times.Size() == 0) {
			return;
		}
		auto has_last = times[0] <= point;
		if (has_last && times[0] == point) {
			values.Write(0, output, column);
			return;
		}
		switch (rule) {
		case FillRule::EXACT:
			break;
		case FillRule::LAST:
			if (has_last && Distance(times[0], point) <= reach) {
				values.Write(0, output, column);
			}
			break;
		case FillRule::NEXT: {
			idx_t next = has_last ? 1 : 0;
			if (next < times.Size() && Distance(point, times[next]) <= reach) {
				values.Write(next, output, column);
			}
			break;
		}
		case FillRule::LINEAR:
			if (has_last && times.Size() > 1 && Distance(times[0], times[1]) <= reach) {
				WriteBetween(point, output, column);
			}
			break;
		}
	}

private:
	//! From now on the first time is the last one at or before the point, if there is one.
	void DropPassed(int64_t point) {
		idx_t passed = 0;
		while (passed + 1 < times.Size() && times[passed + 1] <= point) {
			passed++;
		}
		if (passed > 0) {
			times.RemoveFront(passed);
			values.RemoveFront(passed);
		}
	}

	void WriteBetween(int64_t point, ProcessorOutput &output, idx_t column) const {
		if constexpr (std::is_same<VALUES, Numbers>::value) {
			auto part =
			    static_cast<double>(Distance(times[0], point)) / static_cast<double>(Distance(times[0], times[1]));
			values.WriteBetween(0, part, output, column);
		} else {
			throw InternalException("There is no line between values that are no numbers");
		}
	}

	VALUES values;
	BufferArray<int64_t> times;
	const FillRule rule;
	const uint64_t reach;
	const idx_t required;
};

//! A type as a value.
template <class T>
struct As {
	using type = T;
};

} // namespace

FillRule FilledColumn::RuleFor(FillRule rule, const LogicalType &type) {
	return rule == FillRule::LINEAR && !NumericReader::Accepts(type) ? FillRule::LAST : rule;
}

LogicalType FilledColumn::TypeFor(FillRule rule, const LogicalType &type) {
	return RuleFor(rule, type) == FillRule::LINEAR ? LogicalType::DOUBLE : type;
}

unique_ptr<FilledColumn> FilledColumn::Make(ClientContext &context, FillRule wanted, uint64_t reach, idx_t required,
                                            const LogicalType &type) {
	auto rule = RuleFor(wanted, type);
	auto make = [&](auto values) -> unique_ptr<FilledColumn> {
		return make_uniq<TypedFilledColumn<typename decltype(values)::type>>(context, rule, reach, required, type);
	};
	if (rule == FillRule::LINEAR) {
		return make(As<Numbers>());
	}
	switch (type.InternalType()) {
	case PhysicalType::BOOL:
		return make(As<FixedValues<bool>>());
	case PhysicalType::INT8:
		return make(As<FixedValues<int8_t>>());
	case PhysicalType::INT16:
		return make(As<FixedValues<int16_t>>());
	case PhysicalType::INT32:
		return make(As<FixedValues<int32_t>>());
	case PhysicalType::INT64:
		return make(As<FixedValues<int64_t>>());
	case PhysicalType::INT128:
		return make(As<FixedValues<hugeint_t>>());
	case PhysicalType::UINT8:
		return make(As<FixedValues<uint8_t>>());
	case PhysicalType::UINT16:
		return make(As<FixedValues<uint16_t>>());
	case PhysicalType::UINT32:
		return make(As<FixedValues<uint32_t>>());
	case PhysicalType::UINT64:
		return make(As<FixedValues<uint64_t>>());
	case PhysicalType::UINT128:
		return make(As<FixedValues<uhugeint_t>>());
	case PhysicalType::FLOAT:
		return make(As<FixedValues<float>>());
	case PhysicalType::DOUBLE:
		return make(As<FixedValues<double>>());
	case PhysicalType::INTERVAL:
		return make(As<FixedValues<interval_t>>());
	case PhysicalType::VARCHAR:
		return make(As<TextValues>());
	default:
		return make(As<NestedValues>());
	}
}

} // namespace merganser
