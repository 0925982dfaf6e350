//===----------------------------------------------------------------------===//
//                         Merganser
//
// table_functions/arguments.hpp
//
// What a call of a table function passes, checked against the declared parameters:
//   SESSION(DATA => TABLE(sensor) PARTITION BY (plant, device) ORDER BY time, GAP => 1m)
// A function's Bind reads it: the table argument's columns, PARTITION BY as column positions, ORDER BY with directions,
// and scalar values that already have the declared kind.
// Errors: BinderException that names function, argument and what is allowed.
//===----------------------------------------------------------------------===//

#pragma once

#include "properties/order_item.hpp"
#include "table_functions/parameter.hpp"

namespace merganser {

struct TableArgument {
	//! What its clauses are called where a call is written without grammar.
	static constexpr const char *PARTITION_BY = "partition_by";
	static constexpr const char *ORDER_BY = "order_by";

	vector<string> names;
	vector<LogicalType> types;
	//! Positions of the PARTITION BY columns, as written but without repetitions.
	vector<idx_t> partition_columns;
	//! ORDER BY as written, without repetitions.
	vector<OrderItem> ordering;
};

//! A time column's values are handled as integers in the column's own unit.
struct TimeColumn {
	idx_t column;
	LogicalType type;

	//! The span in this column's unit (days for DATE, microseconds for TIMESTAMP, ...). Throws BinderException where a
	//! span is no whole number of units, or is an integer while the column is no integer.
	int64_t Span(const string &function, const string &parameter, const Value &value) const;
	//! The point in this column's unit. Between types with and without zone, the session's time zone counts.
	int64_t Point(ClientContext &context, const string &function, const string &parameter, const Value &value) const;
};

class BoundArguments {
public:
	BoundArguments(string function, const vector<ParameterDefinition> &parameters, TableArgument table,
	               const case_insensitive_map_t<Value> &passed);

	const string &Function() const {
		return function;
	}
	const TableArgument &Table() const {
		return table;
	}
	//! Whether the caller wrote it; a default does not count.
	bool IsPassed(const string &parameter) const;
	//! Passed, or has a default.
	bool HasValue(const string &parameter) const;
	const Value &Get(const string &parameter) const;
	int64_t Integer(const string &parameter) const;
	double Double(const string &parameter) const;
	bool Boolean(const string &parameter) const;
	string String(const string &parameter) const;
	//! Position of the column that a COLUMN parameter names.
	idx_t Column(const string &parameter) const;
	//! The column that a COLUMN parameter names, which has to hold times: TIMESTAMP in any precision, with or without
	//! zone, DATE or an integer type.
	TimeColumn Time(const string &parameter) const;
	//! The same for functions that go through times in their order: where `parameter` is not passed, the single ORDER
	//! BY item if it holds times, else the default. Where there is an ORDER BY, this column has to lead it.
	TimeColumn TimeInOrder(const string &parameter) const;
	//! The same for functions that take them in ascending order only.
	TimeColumn AscendingTime(const string &parameter) const;
	//! Positions of the columns that a COLUMNS parameter names.
	vector<idx_t> Columns(const string &parameter) const;
	//! Whether ORDER BY leads with descending values.
	bool Descends() const;
	//! ORDER BY has to be exactly the column that `parameter` names, ascending.
	void RequireOrderedBy(const string &parameter, idx_t column) const;

private:
	idx_t ColumnNamed(const string &parameter, const string &wanted) const;
	//! What ORDER BY sorts the rows of a partition by first.
	optional_ptr<const OrderItem> LeadingOrder() const;

	string function;
	TableArgument table;
	case_insensitive_map_t<Value> values;
	case_insensitive_set_t passed_names;
};

} // namespace merganser
