#include "table_functions/variation.hpp"

#include "table_functions/text_collation.hpp"
#include "table_functions/window_base.hpp"

namespace merganser {

namespace {

struct BoundVariation : public BoundProcessor {
	LogicalType type;
	double delta;
	bool ignore_null;

	unique_ptr<Processor> MakeProcessor(ClientContext &context) const override;
};

template <class BASE>
class VariationProcessor : public Processor {
public:
	VariationProcessor(BASE base, const BoundVariation &bound) : base(std::move(base)), ignore_null(bound.ignore_null) {
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
	return WithWindowBase(0, type, delta, [&](auto base) -> unique_ptr<Processor> {
		return make_uniq<VariationProcessor<decltype(base)>>(std::move(base), *this);
	});
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
