//===----------------------------------------------------------------------===//
//                         Merganser
//
// table_functions/sliding_windows.hpp
//
// The windows of M4 and LTTB, from their arguments SIZE, SLIDE (SIZE by default) and ORIGIN.
//   SIZE => 10m, SLIDE => 5m     windows of time: [ORIGIN + k * SLIDE, ORIGIN + k * SLIDE + SIZE) for every integer k
//   SIZE => 100, SLIDE => 50     windows of rows: row numbers [k * SLIDE, k * SLIDE + SIZE) for k = 0, 1, ...
// The unit of SIZE tells which. A row is in every window that covers its time or row number: in several where SLIDE <
// SIZE, in none where it falls into a gap of SLIDE > SIZE. Rows before ORIGIN are in windows too. ORIGIN is the epoch
// by default. Bounds beyond the time type's range are its infinities, so nothing overflows. Errors: SLIDE in another
// unit than SIZE, ORIGIN with windows of rows, more than 65536 windows over one row; in windows of time, rows with an
// infinite time.
//===----------------------------------------------------------------------===//

#pragma once

#include "table_functions/processor.hpp"
#include "table_functions/time_dispatch.hpp"

namespace merganser {

__extension__ typedef __int128 wide_t;

class SlidingWindows {
public:
	//! TIMECOL is declared by the function; these are the parameters that come after it.
	static ParameterDefinition SizeParameter();
	static ParameterDefinition SlideParameter();
	static ParameterDefinition OriginParameter();

	SlidingWindows() = default;
	SlidingWindows(ClientContext &context, const BoundArguments &arguments, const TimeColumn &time);

	//! window_index, or window_start and window_end; the first proper columns.
	void AddColumns(BoundProcessor &bound) const;
	//! What windows are counted in: the row's number or its time. T is the time column's type.
	template <class T>
	int64_t Place(T time, idx_t row) const {
		if (by_count) {
			return static_cast<int64_t>(row);
		}
		if (!time_type.IsIntegral() && IsInfiniteTime(time)) {
			ThrowInfiniteTime(function, time_name);
		}
		return time;
	}
	//! The windows that cover a place; none where First > Last.
	wide_t First(int64_t place) const;
	wide_t Last(int64_t place) const;
	wide_t Start(wide_t window) const {
		return origin + window * slide;
	}
	wide_t End(wide_t window) const {
		return Start(window) + size;
	}
	idx_t ColumnCount() const {
		return by_count ? 1 : 2;
	}
	template <class T>
	void SetColumns(ProcessorOutput &output, wide_t window) const {
		if (by_count) {
			output.Set<int64_t>(0, static_cast<int64_t>(window));
			return;
		}
		output.Set<T>(0, Bound<T>(Start(window)));
		output.Set<T>(1, Bound<T>(End(window)));
	}

private:
	template <class T>
	static T Bound(wide_t place) {
		const wide_t limit = std::numeric_limits<T>::max();
		return static_cast<T>(place > limit ? limit : (place < -limit ? -limit : place));
	}

	string function;
	string time_name;
	LogicalType time_type;
	bool by_count = false;
	int64_t size = 1;
	int64_t slide = 1;
	int64_t origin = 0;
};

} // namespace merganser
