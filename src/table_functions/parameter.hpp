//===----------------------------------------------------------------------===//
//                         Merganser
//
// table_functions/parameter.hpp
//
// A scalar parameter of a table function as its author declares it, and the check of the values users pass.
//   {"GAP", ParameterKind::TIME_SPAN}                      required
//   ParameterDefinition("SLIDE", ParameterKind::INTEGER).Positive().Optional()
// Checks look at passed values only, never at defaults, so a default may be a value that users cannot write.
// Errors: BinderException that names function, parameter and what is allowed.
//===----------------------------------------------------------------------===//

#pragma once

#include "settings.hpp"

namespace merganser {

enum class ParameterKind : uint8_t {
	INTEGER,       //! BIGINT
	DOUBLE,        //! DOUBLE; integers and decimals are accepted
	BOOLEAN,       //! BOOLEAN
	STRING,        //! VARCHAR
	COLUMN,        //! VARCHAR: the name of a column of the table argument
	COLUMNS,       //! VARCHAR[]: names of columns of the table argument, at least one
	TIME_SPAN,     //! a duration (1m) or INTERVAL without months, or an integer count in the time column's own unit
	TIME_POINT,    //! a timestamp, date or integer, matching the time column
	COUNT_OR_SPAN, //! an integer counts rows, a duration or INTERVAL is a time span
	NUMBER_OR_SPAN //! DOUBLE, in the unit of an integer time column, or a duration or INTERVAL
};

struct ParameterDefinition {
	ParameterDefinition(string name, ParameterKind kind);

	ParameterDefinition &Positive();
	ParameterDefinition &NonNegative();
	//! Compared without regard to case; STRING only.
	ParameterDefinition &OneOf(vector<string> values);
	//! May be left out; BoundArguments::IsPassed tells.
	ParameterDefinition &Optional();
	ParameterDefinition &Default(Value value);

	//! The value as the kind's type. Throws BinderException for NULL, a wrong type or a value that is not allowed.
	Value Check(const string &function, const Value &passed) const;
	string TypeName() const;

	string name;
	ParameterKind kind;
	bool required = true;
	//! NULL where there is none.
	Value default_value;
	bool positive = false;
	bool non_negative = false;
	vector<string> allowed;

private:
	Value Convert(const string &function, const Value &passed) const;
	void CheckSign(const string &function, const Value &value) const;
	[[noreturn]] void ThrowWrongType(const string &function, const Value &passed) const;
};

} // namespace merganser
