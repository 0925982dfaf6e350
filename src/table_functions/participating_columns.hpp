//===----------------------------------------------------------------------===//
//                         Merganser
//
// table_functions/participating_columns.hpp
//
// The columns that functions such as M4, LTTB and FFT compute on: every column of the table argument that is neither
// the time column nor a PARTITION BY column, in the order of the table argument.
//   M4(DATA => (SELECT device, time, speed, state FROM sensor) PARTITION BY device ORDER BY time, ...)
//                                                                            -- speed and state
//===----------------------------------------------------------------------===//

#pragma once

#include "table_functions/processor.hpp"

namespace merganser {

struct ParticipatingColumns {
	//! Positions in the table argument.
	static vector<idx_t> All(const TableArgument &table, idx_t time_column);
	//! Only those with a numeric type. Throws BinderException if there are none.
	static vector<idx_t> Numeric(const BoundArguments &arguments, idx_t time_column);
	//! For each of `columns` the proper columns c_time and c, behind those there are, and as required columns the time
	//! column and all of these. Returns their types.
	static vector<PhysicalType> AddPoints(const TableArgument &table, const TimeColumn &time,
	                                      const vector<idx_t> &columns, BoundProcessor &bound);
};

//! Reads a column of any numeric type as DOUBLE.
class NumericReader {
public:
	//! The integer types, DECIMAL, FLOAT and DOUBLE.
	static bool Accepts(const LogicalType &type);

	explicit NumericReader(const LogicalType &type);

	//! The value must not be NULL.
	double Read(const InputRows &rows, idx_t required, idx_t position) const;

private:
	PhysicalType type;
	//! 10 to the power of the DECIMAL's scale, 1 for all other types.
	double divisor;
};

} // namespace merganser
