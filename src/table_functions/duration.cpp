#include "table_functions/duration.hpp"

#include "duckdb/common/types/interval.hpp"

namespace merganser {

namespace {

struct DurationUnit {
	const char *name;
	int64_t nanoseconds;
};

const int64_t SECOND = 1000000000;

const DurationUnit UNITS[] = {{"w", SECOND * 86400 * 7},
                              {"week", SECOND * 86400 * 7},
                              {"d", 86400 * SECOND},
                              {"day", 86400 * SECOND},
                              {"h", 3600 * SECOND},
                              {"hour", 3600 * SECOND},
                              {"m", 60 * SECOND},
                              {"minute", 60 * SECOND},
                              {"s", SECOND},
                              {"second", SECOND},
                              {"ms", SECOND / 1000},
                              {"us", SECOND / 1000000},
                              {"ns", 1}};

[[noreturn]] void ThrowNoDuration(const string &text) {
	throw BinderException(
	    "\"%s\" is no duration. Write integers with units, such as 1m, 1h30m or 500ms; the units are w, d, h, m, "
	    "s, ms, us and ns",
	    text);
}

int64_t UnitNanoseconds(const string &unit, const string &text) {
	if (unit == "y" || unit == "year" || unit == "mo" || unit == "month") {
		throw BinderException(
		    "\"%s\": Setting monthly intervals is not supported. Months and years differ in length; use days, "
		    "hours, ...",
		    text);
	}
	for (auto &candidate : UNITS) {
		if (unit == candidate.name) {
			return candidate.nanoseconds;
		}
	}
	ThrowNoDuration(text);
}

} // namespace

int64_t ParseDuration(const string &text) {
	auto lower = StringUtil::Lower(text);
	__int128 total = 0;
	idx_t position = 0;
	while (position < lower.size()) {
		__int128 amount = 0;
		auto digits = position;
		while (position < lower.size() && StringUtil::CharacterIsDigit(lower[position])) {
			amount = amount * 10 + (lower[position++] - '0');
			if (amount > NumericLimits<int64_t>::Maximum()) {
				throw BinderException("\"%s\" is too long a duration", text);
			}
		}
		auto unit = position;
		while (position < lower.size() && StringUtil::CharacterIsAlpha(lower[position])) {
			position++;
		}
		if (digits == unit || unit == position) {
			ThrowNoDuration(text);
		}
		total += amount * UnitNanoseconds(lower.substr(unit, position - unit), text);
	}
	if (total % 1000 != 0) {
		throw BinderException("\"%s\" is no whole number of microseconds, which is the smallest unit of an INTERVAL",
		                      text);
	}
	total /= 1000;
	if (total > NumericLimits<int64_t>::Maximum()) {
		throw BinderException("\"%s\" is too long a duration", text);
	}
	return static_cast<int64_t>(total);
}

} // namespace merganser
