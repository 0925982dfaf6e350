#include "table_functions/variation.hpp"

#include "table_functions/text_collation.hpp"

#include "duckdb/common/operator/comparison_operators.hpp"
#include "duckdb/common/vector_operations/vector_operations.hpp"
#include "duckdb/storage/buffer_manager.hpp"

namespace merganser {

namespace {

struct BoundVariation : public BoundProcessor {
	LogicalType type;
	double delta;
	bool ignore_null;

	unique_ptr<Processor> MakeProcessor(ClientContext &context) const override;
};

//! Numbers within DELTA of the base. Whole numbers are compared exactly.
template <class T>
class NumericBase {
public:
	NumericBase(ClientContext &context, const BoundVariation &bound) : delta(bound.delta) {
	}

	void Set(const InputRows &rows, idx_t position) {
		base = rows.Get<T>(0, position);
	}

	bool Near(const InputRows &rows, idx_t position) const {
		auto value = rows.Get<T>(0, position);
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

private:
	const double delta;
	T base {};
};

//! Any type, DELTA 0.
class EqualBase {
public:
	EqualBase(ClientContext &context, const BoundVariation &bound) : type(bound.type) {
	}

	void Set(const InputRows &rows, idx_t position) {
		base = make_uniq<Vector>(type, 1);
		VectorOperations::Copy(rows.Column(0), *base, position + 1, position, 0);
		FlatVector::SetSize(*base, 1);
	}

	bool Near(const InputRows &rows, idx_t position) const {
		Vector value(rows.Column(0), position, position + 1);
		Vector distinct(LogicalType::BOOLEAN, 1);
		VectorOperations::DistinctFrom(value, *base, distinct);
		distinct.Flatten();
		return !FlatVector::GetData<bool>(distinct)[0];
	}

private:
	const LogicalType type;
	unique_ptr<Vector> base;
};

//! Text and blobs, DELTA 0.
class TextBase {
public:
	TextBase(ClientContext &context, const BoundVariation &bound) {
	}

	void Set(const InputRows &rows, idx_t position) {
		base = rows.Get<string_t>(0, position).GetString();
	}

	bool Near(const InputRows &rows, idx_t position) const {
		return rows.Get<string_t>(0, position) == string_t(base.data(), static_cast<uint32_t>(base.size()));
	}

private:
	string base;
};

template <class BASE>
class VariationProcessor : public Processor {
public:
	VariationProcessor(ClientContext &context, const BoundVariation &bound)
	    : base(context, bound), ignore_null(bound.ignore_null) {
	}

	void BeginPartition() override {
		window = -1;
		has_base = false;
	}

	void Consume(const InputRows &rows, ProcessorOutput &output) override {
		auto run_begin = rows.begin;
		for (auto position = rows.begin; position < rows.end; position++) {
			if (StartsWindow(rows, position)) {
				Emit(rows, run_begin, position, output);
				run_begin = position;
				window++;
			}
		}
		Emit(rows, run_begin, rows.end, output);
		output.ReleaseBefore(rows.RowNumber(rows.end));
	}

private:
	bool StartsWindow(const InputRows &rows, idx_t position) {
		auto null = rows.IsNull(0, position);
		auto first = window < 0;
		if (null) {
			auto starts = first || (!ignore_null && has_base);
			has_base = has_base && !starts;
			return starts;
		}
		// without a base the window has only NULLs so far
		auto starts = first || (has_base ? !base.Near(rows, position) : !ignore_null);
		if (starts || !has_base) {
			base.Set(rows, position);
			has_base = true;
		}
		return starts;
	}

	void Emit(const InputRows &rows, idx_t begin, idx_t end, ProcessorOutput &output) const {
		if (begin < end) {
			output.EmitRows(rows.RowNumber(begin), end - begin);
			output.SetProper<int64_t>(0, window);
		}
	}

	BASE base;
	const bool ignore_null;
	bool has_base = false;
	int64_t window = -1;
};

unique_ptr<Processor> BoundVariation::MakeProcessor(ClientContext &context) const {
	switch (type.id()) {
	case LogicalTypeId::TINYINT:
		return make_uniq<VariationProcessor<NumericBase<int8_t>>>(context, *this);
	case LogicalTypeId::SMALLINT:
		return make_uniq<VariationProcessor<NumericBase<int16_t>>>(context, *this);
	case LogicalTypeId::INTEGER:
		return make_uniq<VariationProcessor<NumericBase<int32_t>>>(context, *this);
	case LogicalTypeId::BIGINT:
		return make_uniq<VariationProcessor<NumericBase<int64_t>>>(context, *this);
	case LogicalTypeId::FLOAT:
		return make_uniq<VariationProcessor<NumericBase<float>>>(context, *this);
	case LogicalTypeId::DOUBLE:
		return make_uniq<VariationProcessor<NumericBase<double>>>(context, *this);
	case LogicalTypeId::VARCHAR:
	case LogicalTypeId::BLOB:
		return make_uniq<VariationProcessor<TextBase>>(context, *this);
	default:
		return make_uniq<VariationProcessor<EqualBase>>(context, *this);
	}
}

bool IsNumeric(const LogicalType &type) {
	switch (type.id()) {
	case LogicalTypeId::TINYINT:
	case LogicalTypeId::SMALLINT:
	case LogicalTypeId::INTEGER:
	case LogicalTypeId::BIGINT:
	case LogicalTypeId::FLOAT:
	case LogicalTypeId::DOUBLE:
		return true;
	default:
		return false;
	}
}

} // namespace

VariationFunction::VariationFunction() {
	name = "VARIATION";
	description = "Windows in which a column stays within DELTA of the window's first value";
	parameters = {ParameterDefinition("COL", ParameterKind::COLUMN),
	              ParameterDefinition("DELTA", ParameterKind::DOUBLE).NonNegative().Default(Value::DOUBLE(0)),
	              ParameterDefinition("IGNORE_NULL", ParameterKind::BOOLEAN).Default(Value::BOOLEAN(true))};
}

unique_ptr<BoundProcessor> VariationFunction::Bind(ClientContext &context, const BoundArguments &arguments) const {
	auto column = arguments.Column("COL");
	auto result = make_uniq<BoundVariation>();
	result->type = arguments.Table().types[column];
	result->delta = arguments.Double("DELTA");
	result->ignore_null = arguments.Boolean("IGNORE_NULL");
	if (result->delta != 0 && !IsNumeric(result->type)) {
		throw BinderException(
		    "%s: The type of the column [%s] is not as expected. The column type must be numeric if DELTA is "
		    "not 0. It is %s, and TINYINT, SMALLINT, INTEGER, BIGINT, FLOAT and DOUBLE are allowed",
		    name, arguments.Table().names[column], result->type.ToString());
	}
	if (TextCollation::Applies(context, result->type)) {
		throw BinderException(
		    "%s: The column [%s] has a collation, which is not supported. Use a column without collation, "
		    "and no default_collation",
		    name, arguments.Table().names[column]);
	}
	result->names = {"window_index"};
	result->types = {LogicalType::BIGINT};
	result->required_columns = {column};
	return std::move(result);
}

} // namespace merganser
