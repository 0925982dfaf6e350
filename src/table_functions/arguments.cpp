#include "table_functions/arguments.hpp"

#include "duckdb/common/types/interval.hpp"

namespace merganser {

int64_t TimeColumn::Span(const string &function, const string &parameter, const Value &value) const {
	if (type.IsIntegral()) {
		if (value.type().id() != LogicalTypeId::BIGINT) {
			throw BinderException(
			    "%s: Invalid scalar argument '%s'. The time column has type %s, so %s is an integer count, "
			    "not a duration",
			    function, parameter, type.ToString(), parameter);
		}
		return BigIntValue::Get(value);
	}
	if (value.type().id() != LogicalTypeId::INTERVAL) {
		throw BinderException(
		    "%s: Invalid scalar argument '%s'. The time column has type %s, so %s is a duration (1m, 1h30m, "
		    "500ms) or an INTERVAL, not an integer",
		    function, parameter, type.ToString(), parameter);
	}
	auto micros = Interval::GetMicro(IntervalValue::Get(value));
	int64_t unit = 1;
	switch (type.id()) {
	case LogicalTypeId::DATE:
		unit = Interval::MICROS_PER_DAY;
		break;
	case LogicalTypeId::TIMESTAMP_SEC:
		unit = Interval::MICROS_PER_SEC;
		break;
	case LogicalTypeId::TIMESTAMP_MS:
		unit = Interval::MICROS_PER_MSEC;
		break;
	case LogicalTypeId::TIMESTAMP_NS: {
		int64_t nanos;
		if (__builtin_mul_overflow(micros, Interval::NANOS_PER_MICRO, &nanos)) {
			throw BinderException("%s: Invalid scalar argument %s, too long for a %s column", function, parameter,
			                      type.ToString());
		}
		return nanos;
	}
	default:
		break;
	}
	if (micros % unit != 0) {
		throw BinderException("%s: Invalid scalar argument %s, should be a whole number of the units of its %s column",
		                      function, parameter, type.ToString());
	}
	return micros / unit;
}

int64_t TimeColumn::Point(ClientContext &context, const string &function, const string &parameter,
                          const Value &value) const {
	auto fits = type.IsIntegral() == value.type().IsIntegral();
	auto result = value.TryCastAs(context, type);
	if (!fits || !result) {
		throw BinderException("%s: Invalid scalar argument '%s'. Expected a value of the time column's type %s, got %s",
		                      function, parameter, type.ToString(), value.type().ToString());
	}
	auto &cast = *result;
	switch (type.InternalType()) {
	case PhysicalType::INT64:
		return cast.GetValueUnsafe<int64_t>();
	case PhysicalType::INT32:
		return cast.GetValueUnsafe<int32_t>();
	default:
		return BigIntValue::Get(cast.DefaultCastAs(LogicalType::BIGINT));
	}
}

BoundArguments::BoundArguments(string function_p, const vector<ParameterDefinition> &parameters, TableArgument table_p,
                               const case_insensitive_map_t<Value> &passed)
    : function(std::move(function_p)), table(std::move(table_p)) {
	for (auto &parameter : parameters) {
		auto entry = passed.find(parameter.name);
		if (entry != passed.end()) {
			values[parameter.name] = parameter.Check(function, entry->second);
			passed_names.insert(parameter.name);
		} else if (parameter.required) {
			throw BinderException("%s: Missing required argument: %s", function, parameter.name);
		} else if (!parameter.default_value.IsNull()) {
			values[parameter.name] = parameter.default_value;
		}
	}
}

bool BoundArguments::IsPassed(const string &parameter) const {
	return passed_names.find(parameter) != passed_names.end();
}

bool BoundArguments::HasValue(const string &parameter) const {
	return values.find(parameter) != values.end();
}

const Value &BoundArguments::Get(const string &parameter) const {
	auto entry = values.find(parameter);
	if (entry == values.end()) {
		throw InternalException("%s: argument %s has no value", function, parameter);
	}
	return entry->second;
}

int64_t BoundArguments::Integer(const string &parameter) const {
	return BigIntValue::Get(Get(parameter));
}

double BoundArguments::Double(const string &parameter) const {
	return DoubleValue::Get(Get(parameter));
}

bool BoundArguments::Boolean(const string &parameter) const {
	return BooleanValue::Get(Get(parameter));
}

string BoundArguments::String(const string &parameter) const {
	return StringValue::Get(Get(parameter));
}

idx_t BoundArguments::Column(const string &parameter) const {
	return ColumnNamed(parameter, String(parameter));
}

vector<idx_t> BoundArguments::Columns(const string &parameter) const {
	vector<idx_t> result;
	for (auto &wanted : ListValue::GetChildren(Get(parameter))) {
		result.push_back(ColumnNamed(parameter, StringValue::Get(wanted)));
	}
	return result;
}

idx_t BoundArguments::ColumnNamed(const string &parameter, const string &wanted) const {
	for (idx_t column = 0; column < table.names.size(); column++) {
		if (StringUtil::CIEquals(table.names[column], wanted)) {
			return column;
		}
	}
	throw BinderException(
	    "%s: Required column [%s] not found in the source table argument. %s names a column, and the input "
	    "has: %s",
	    function, wanted, parameter, StringUtil::Join(table.names, ", "));
}

static bool HoldsTimes(const LogicalType &type) {
	switch (type.id()) {
	case LogicalTypeId::TIMESTAMP:
	case LogicalTypeId::TIMESTAMP_TZ:
	case LogicalTypeId::TIMESTAMP_SEC:
	case LogicalTypeId::TIMESTAMP_MS:
	case LogicalTypeId::TIMESTAMP_NS:
	case LogicalTypeId::DATE:
	case LogicalTypeId::TINYINT:
	case LogicalTypeId::SMALLINT:
	case LogicalTypeId::INTEGER:
	case LogicalTypeId::BIGINT:
		return true;
	default:
		return false;
	}
}

TimeColumn BoundArguments::Time(const string &parameter) const {
	auto column = Column(parameter);
	auto &type = table.types[column];
	if (!HoldsTimes(type)) {
		throw BinderException(
		    "%s: The type of the column [%s] is not as expected. A time column is a TIMESTAMP, DATE, TINYINT, "
		    "SMALLINT, INTEGER or BIGINT, not %s",
		    function, table.names[column], type.ToString());
	}
	return {column, type};
}

optional_ptr<const OrderItem> BoundArguments::LeadingOrder() const {
	auto &constant = table.partition_columns;
	for (auto &item : table.ordering) {
		if (std::find(constant.begin(), constant.end(), item.column) == constant.end()) {
			return item;
		}
	}
	return nullptr;
}

TimeColumn BoundArguments::TimeInOrder(const string &parameter) const {
	auto &ordering = table.ordering;
	if (!IsPassed(parameter) && ordering.size() == 1 && HoldsTimes(table.types[ordering[0].column])) {
		return {ordering[0].column, table.types[ordering[0].column]};
	}
	auto result = Time(parameter);
	auto leading = LeadingOrder();
	if (!ordering.empty() && (!leading || leading->column != result.column)) {
		auto sorted = table.names[leading ? leading->column : ordering[0].column];
		throw BinderException(
		    "%s: the time column is [%s], but ORDER BY sorts by [%s]. Rows have to come in the order of "
		    "their times: write ORDER BY %s, or %s => '%s' if that is the time",
		    function, table.names[result.column], sorted, table.names[result.column], parameter, sorted);
	}
	return result;
}

TimeColumn BoundArguments::AscendingTime(const string &parameter) const {
	auto result = TimeInOrder(parameter);
	if (Descends()) {
		throw BinderException("%s: The ORDER BY clause of the DATA argument must sort the time column in ascending "
		                      "order. Write ORDER BY %s",
		                      function, table.names[result.column]);
	}
	return result;
}

bool BoundArguments::Descends() const {
	auto leading = LeadingOrder();
	return leading && leading->direction == OrderType::DESCENDING;
}

void BoundArguments::RequireOrderedBy(const string &parameter, idx_t column) const {
	if (table.ordering.empty()) {
		throw BinderException("%s: Table argument with set semantics requires an ORDER BY clause. Write ORDER BY %s",
		                      function, table.names[column]);
	}
	if (table.ordering.size() != 1 || table.ordering[0].column != column) {
		throw BinderException(
		    "%s: The ORDER BY clause of the DATA argument must contain exactly the time column specified by "
		    "the %s argument. Write ORDER BY %s",
		    function, parameter, table.names[column]);
	}
	if (table.ordering[0].direction != OrderType::ASCENDING) {
		throw BinderException(
		    "%s: The ORDER BY clause of the DATA argument must sort the time column in ascending order. "
		    "Write ORDER BY %s",
		    function, table.names[column]);
	}
}

} // namespace merganser
