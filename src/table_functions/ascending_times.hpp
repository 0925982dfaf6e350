//===----------------------------------------------------------------------===//
//                         Merganser
//
// table_functions/ascending_times.hpp
//
// Reads the time column, required column 0, of functions that go through a partition from its first time to its last.
// Errors: InvalidInputException for a NULL or infinite time, and for a time that goes back, which only happens without
// ORDER BY, as what that asks for is verified before.
//===----------------------------------------------------------------------===//

#pragma once

#include "table_functions/time_dispatch.hpp"

namespace merganser {

//! T is the column's physical type.
template <class T>
class AscendingTimes {
public:
	AscendingTimes(string function, string column, const LogicalType &type)
	    : function(std::move(function)), column(std::move(column)), may_be_infinite(!type.IsIntegral()) {
	}

	void BeginPartition() {
		begun = false;
	}
	//! The times of a slice, valid until the next call: entry i belongs to position rows.begin + i.
	const unsafe_vector<int64_t> &Read(const InputRows &rows) {
		times.clear();
		for (auto position = rows.begin; position < rows.end; position++) {
			if (rows.IsNull(0, position)) {
				ThrowNullTime(function, column);
			}
			auto time = rows.Get<T>(0, position);
			if (may_be_infinite && IsInfiniteTime(time)) {
				ThrowInfiniteTime(function, column);
			}
			if (begun && time < last) {
				throw InvalidInputException("%s: the time column [%s] goes back from one row to the next. Order the "
				                            "input by it: DATA => ... ORDER BY %s",
				                            function, column, column);
			}
			begun = true;
			last = time;
			times.push_back(time);
		}
		return times;
	}
	//! Of the row read last.
	int64_t Last() const {
		return last;
	}

private:
	const string function;
	const string column;
	const bool may_be_infinite;
	unsafe_vector<int64_t> times;
	//! Whether the partition has had rows.
	bool begun = false;
	int64_t last = 0;
};

} // namespace merganser
