//===----------------------------------------------------------------------===//
//                         Merganser
//
// table_functions/window_base.hpp
//
// The value that a window of rows began with, and whether other values are near it: what VARIATION and STATES go by.
// Numbers are near within a DELTA, and NaN only to NaN; values of any other type, and numbers with DELTA 0, when equal.
// Nothing is compared by a collation: callers refuse such columns.
//===----------------------------------------------------------------------===//

#pragma once

#include "table_functions/processor.hpp"

#include "duckdb/common/operator/comparison_operators.hpp"
#include "duckdb/common/vector/flat_vector.hpp"
#include "duckdb/common/vector_operations/vector_operations.hpp"

namespace merganser {

//! Values are those of one required column, and not NULL.
class WindowBase {
public:
	virtual ~WindowBase() = default;

	virtual void Set(const InputRows &rows, idx_t position) = 0;
	virtual bool Near(const InputRows &rows, idx_t position) const = 0;
	virtual void Write(ProcessorOutput &output, idx_t column) const = 0;
};

//! Numbers within DELTA of the base. Whole numbers are compared exactly.
template <class T>
class NumericBase final : public WindowBase {
public:
	NumericBase(idx_t required, double delta) : required(required), delta(delta) {
	}

	void Set(const InputRows &rows, idx_t position) override {
		base = rows.Get<T>(required, position);
	}

	bool Near(const InputRows &rows, idx_t position) const override {
		auto value = rows.Get<T>(required, position);
		if (Equals::Operation<T>(value, base)) {
			return true;
		}
		if (delta == 0) {
			return false;
		}
		if (std::is_integral<T>::value) {
			auto distance = value > base ? static_cast<uint64_t>(value) - static_cast<uint64_t>(base)
			                             : static_cast<uint64_t>(base) - static_cast<uint64_t>(value);
			return static_cast<long double>(distance) <= static_cast<long double>(delta);
		}
		return std::fabs(static_cast<double>(value) - static_cast<double>(base)) <= delta;
	}
	void Write(ProcessorOutput &output, idx_t column) const override {
		output.Set<T>(column, base);
	}

private:
	idx_t required;
	double delta;
	T base {};
};

//! Any type, DELTA 0.
class EqualBase final : public WindowBase {
public:
	EqualBase(idx_t required, const LogicalType &type) : required(required), type(type) {
	}

	void Set(const InputRows &rows, idx_t position) override {
		base = make_uniq<Vector>(type, 1);
		VectorOperations::Copy(rows.Column(required), *base, position + 1, position, 0);
		FlatVector::SetSize(*base, 1);
	}

	bool Near(const InputRows &rows, idx_t position) const override {
		Vector value(rows.Column(required), position, position + 1);
		Vector distinct(LogicalType::BOOLEAN, 1);
		VectorOperations::DistinctFrom(value, *base, distinct);
		distinct.Flatten();
		return !FlatVector::GetData<bool>(distinct)[0];
	}
	void Write(ProcessorOutput &output, idx_t column) const override {
		output.SetFrom(column, *base, 0);
	}

private:
	idx_t required;
	LogicalType type;
	unique_ptr<Vector> base;
};

//! Text and blobs, DELTA 0.
class TextBase final : public WindowBase {
public:
	explicit TextBase(idx_t required) : required(required) {
	}

	void Set(const InputRows &rows, idx_t position) override {
		base = rows.Get<string_t>(required, position).GetString();
	}

	bool Near(const InputRows &rows, idx_t position) const override {
		return rows.Get<string_t>(required, position) == string_t(base.data(), static_cast<uint32_t>(base.size()));
	}
	void Write(ProcessorOutput &output, idx_t column) const override {
		output.SetString(column, string_t(base.data(), static_cast<uint32_t>(base.size())));
	}

private:
	idx_t required;
	string base;
};

//! Calls `make` with the base for a column of this type.
template <class MAKE>
auto WithWindowBase(idx_t required, const LogicalType &type, double delta, MAKE make) {
	switch (type.id()) {
	case LogicalTypeId::TINYINT:
		return make(NumericBase<int8_t>(required, delta));
	case LogicalTypeId::SMALLINT:
		return make(NumericBase<int16_t>(required, delta));
	case LogicalTypeId::INTEGER:
		return make(NumericBase<int32_t>(required, delta));
	case LogicalTypeId::BIGINT:
		return make(NumericBase<int64_t>(required, delta));
	case LogicalTypeId::FLOAT:
		return make(NumericBase<float>(required, delta));
	case LogicalTypeId::DOUBLE:
		return make(NumericBase<double>(required, delta));
	case LogicalTypeId::VARCHAR:
	case LogicalTypeId::BLOB:
		return make(TextBase(required));
	default:
		return make(EqualBase(required, type));
	}
}

} // namespace merganser
