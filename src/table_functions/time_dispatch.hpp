//===----------------------------------------------------------------------===//
//                         Merganser
//
// table_functions/time_dispatch.hpp
//
// A processor over a time column is a template over the column's physical type; this picks the instance.
//   return MakeForTimeType<SessionProcessor>(time.type, name, span);
//===----------------------------------------------------------------------===//

#pragma once

#include "table_functions/processor.hpp"

namespace merganser {

template <template <class> class PROCESSOR, class... ARGS>
unique_ptr<Processor> MakeForTimeType(const LogicalType &type, ARGS &&...args) {
	switch (type.InternalType()) {
	case PhysicalType::INT8:
		return make_uniq<PROCESSOR<int8_t>>(std::forward<ARGS>(args)...);
	case PhysicalType::INT16:
		return make_uniq<PROCESSOR<int16_t>>(std::forward<ARGS>(args)...);
	case PhysicalType::INT32:
		return make_uniq<PROCESSOR<int32_t>>(std::forward<ARGS>(args)...);
	case PhysicalType::INT64:
		return make_uniq<PROCESSOR<int64_t>>(std::forward<ARGS>(args)...);
	default:
		throw InternalException("%s is no time type", type.ToString());
	}
}

//! Every function with a time column refuses NULL there.
[[noreturn]] inline void ThrowNullTime(const string &function, const string &column) {
	throw InvalidInputException(
	    "%s: the time column [%s] is NULL in a row. Leave such rows out of the input: DATA => (SELECT * "
	    "FROM ... WHERE %s IS NOT NULL)",
	    function, column, column);
}

//! Of a TIMESTAMP or DATE; T is its physical type.
template <class T>
bool IsInfiniteTime(T time) {
	return time == std::numeric_limits<T>::max() || time == -std::numeric_limits<T>::max();
}

//! For functions that compute distances of times.
[[noreturn]] inline void ThrowInfiniteTime(const string &function, const string &column) {
	throw InvalidInputException("%s: the time column [%s] is infinite in a row. Leave such rows out of the input: DATA "
	                            "=> (SELECT * FROM ... WHERE isfinite(%s))",
	                            function, column, column);
}

} // namespace merganser
