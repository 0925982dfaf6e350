#include "table_functions/parameter.hpp"

#include "table_functions/duration.hpp"

#include "duckdb/common/types/interval.hpp"

namespace merganser {

ParameterDefinition::ParameterDefinition(string name_p, ParameterKind kind_p) : name(std::move(name_p)), kind(kind_p) {
}

ParameterDefinition &ParameterDefinition::Positive() {
	positive = true;
	return *this;
}

ParameterDefinition &ParameterDefinition::NonNegative() {
	non_negative = true;
	return *this;
}

ParameterDefinition &ParameterDefinition::OneOf(vector<string> values) {
	allowed = std::move(values);
	return *this;
}

ParameterDefinition &ParameterDefinition::Optional() {
	required = false;
	return *this;
}

ParameterDefinition &ParameterDefinition::Default(Value value) {
	required = false;
	default_value = std::move(value);
	return *this;
}

string ParameterDefinition::TypeName() const {
	switch (kind) {
	case ParameterKind::INTEGER:
		return "BIGINT";
	case ParameterKind::DOUBLE:
		return "DOUBLE";
	case ParameterKind::BOOLEAN:
		return "BOOLEAN";
	case ParameterKind::STRING:
		return "VARCHAR";
	case ParameterKind::COLUMN:
		return "VARCHAR (a column name)";
	case ParameterKind::COLUMNS:
		return "VARCHAR[] (column names)";
	case ParameterKind::TIME_SPAN:
		return "duration, INTERVAL or BIGINT";
	case ParameterKind::TIME_POINT:
		return "TIMESTAMP, DATE or BIGINT";
	case ParameterKind::COUNT_OR_SPAN:
		return "BIGINT (rows), duration or INTERVAL";
	case ParameterKind::NUMBER_OR_SPAN:
		return "DOUBLE, duration or INTERVAL";
	}
	throw InternalException("Unknown parameter kind");
}

void ParameterDefinition::ThrowWrongType(const string &function, const Value &passed) const {
	if (passed.type().id() == LogicalTypeId::VARCHAR) {
		throw BinderException(
		    "%s: Invalid scalar argument '%s'. Expected scalar argument of type %s, got table or text '%s'", function,
		    name, TypeName(), StringValue::Get(passed));
	}
	throw BinderException("%s: Invalid scalar argument '%s'. Expected type %s, got %s", function, name, TypeName(),
	                      passed.type().ToString());
}

static bool IsTimePoint(const LogicalType &type) {
	switch (type.id()) {
	case LogicalTypeId::TIMESTAMP:
	case LogicalTypeId::TIMESTAMP_TZ:
	case LogicalTypeId::TIMESTAMP_SEC:
	case LogicalTypeId::TIMESTAMP_MS:
	case LogicalTypeId::TIMESTAMP_NS:
	case LogicalTypeId::DATE:
		return true;
	default:
		return type.IsIntegral();
	}
}

static bool NamesColumns(const Value &passed) {
	auto is_list = passed.type().id() == LogicalTypeId::LIST;
	if (!is_list || ListType::GetChildType(passed.type()).id() != LogicalTypeId::VARCHAR) {
		return false;
	}
	auto &names = ListValue::GetChildren(passed);
	auto is_null = [](const Value &name) {
		return name.IsNull();
	};
	return !names.empty() && std::none_of(names.begin(), names.end(), is_null);
}

//! '1h30m' or, as DuckDB writes an INTERVAL, '90 minutes'; other text is none.
static optional<Value> DurationOfText(const Value &passed) {
	if (passed.type().id() != LogicalTypeId::VARCHAR || passed.IsNull()) {
		return {};
	}
	auto &text = StringValue::Get(passed);
	if (text.empty() || !StringUtil::CharacterIsDigit(text[0])) {
		return {};
	}
	if (StringUtil::Contains(text, " ")) {
		return passed.DefaultTryCastAs(LogicalType::INTERVAL);
	}
	return Value::INTERVAL(0, 0, ParseDuration(text));
}

static bool TakesDuration(ParameterKind kind) {
	return kind == ParameterKind::TIME_SPAN || kind == ParameterKind::COUNT_OR_SPAN ||
	       kind == ParameterKind::NUMBER_OR_SPAN;
}

Value ParameterDefinition::Convert(const string &function, const Value &passed) const {
	if (TakesDuration(kind)) {
		auto duration = DurationOfText(passed);
		if (duration) {
			return *duration;
		}
	}
	auto &type = passed.type();
	auto wanted = LogicalType(LogicalType::SQLNULL);
	switch (kind) {
	case ParameterKind::INTEGER:
		wanted = type.IsIntegral() ? LogicalType::BIGINT : wanted;
		break;
	case ParameterKind::DOUBLE:
		wanted = type.IsNumeric() ? LogicalType::DOUBLE : wanted;
		break;
	case ParameterKind::BOOLEAN:
		wanted = type.id() == LogicalTypeId::BOOLEAN ? LogicalType::BOOLEAN : wanted;
		break;
	case ParameterKind::STRING:
	case ParameterKind::COLUMN:
		wanted = type.id() == LogicalTypeId::VARCHAR ? LogicalType::VARCHAR : wanted;
		break;
	case ParameterKind::COLUMNS:
		wanted = NamesColumns(passed) ? LogicalType::LIST(LogicalType::VARCHAR) : wanted;
		break;
	case ParameterKind::TIME_SPAN:
	case ParameterKind::COUNT_OR_SPAN:
		if (type.IsIntegral()) {
			wanted = LogicalType::BIGINT;
		} else if (type.id() == LogicalTypeId::INTERVAL) {
			wanted = LogicalType::INTERVAL;
		}
		break;
	case ParameterKind::NUMBER_OR_SPAN:
		if (type.IsNumeric()) {
			wanted = LogicalType::DOUBLE;
		} else if (type.id() == LogicalTypeId::INTERVAL) {
			wanted = LogicalType::INTERVAL;
		}
		break;
	case ParameterKind::TIME_POINT:
		wanted = IsTimePoint(type) ? (type.IsIntegral() ? LogicalType::BIGINT : type) : wanted;
		break;
	}
	auto result = passed.DefaultTryCastAs(wanted);
	if (wanted.id() == LogicalTypeId::SQLNULL || !result) {
		ThrowWrongType(function, passed);
	}
	return *result;
}

void ParameterDefinition::CheckSign(const string &function, const Value &value) const {
	int sign;
	if (value.type().id() == LogicalTypeId::INTERVAL) {
		auto interval = IntervalValue::Get(value);
		if (interval.months != 0) {
			throw BinderException(
			    "%s: Invalid scalar argument %s: Setting monthly intervals is not supported. Months and "
			    "years differ in length; use days, hours, ...",
			    function, name);
		}
		auto micros = Interval::GetMicro(interval);
		sign = micros > 0 ? 1 : (micros < 0 ? -1 : 0);
	} else if (value.type().id() == LogicalTypeId::DOUBLE) {
		auto number = DoubleValue::Get(value);
		if (Value::IsNan(number)) {
			throw BinderException("%s: Invalid scalar argument %s, should be a number", function, name);
		}
		sign = number > 0 ? 1 : (number < 0 ? -1 : 0);
	} else if (value.type().id() == LogicalTypeId::BIGINT) {
		auto number = BigIntValue::Get(value);
		sign = number > 0 ? 1 : (number < 0 ? -1 : 0);
	} else {
		return;
	}
	if (positive && sign <= 0) {
		throw BinderException("%s: Invalid scalar argument %s, should be a positive value", function, name);
	}
	if (non_negative && sign < 0) {
		throw BinderException("%s: Invalid scalar argument %s, should be a non-negative value", function, name);
	}
}

Value ParameterDefinition::Check(const string &function, const Value &passed) const {
	if (passed.IsNull()) {
		throw BinderException("%s: Invalid scalar argument %s, should not be NULL", function, name);
	}
	auto value = Convert(function, passed);
	CheckSign(function, value);
	if (!allowed.empty()) {
		auto text = StringUtil::Lower(StringValue::Get(value));
		for (auto &candidate : allowed) {
			if (StringUtil::Lower(candidate) == text) {
				return Value(candidate);
			}
		}
		throw BinderException("%s: Invalid scalar argument %s, should be one of: %s", function, name,
		                      StringUtil::Join(allowed, ", "));
	}
	return value;
}

} // namespace merganser
