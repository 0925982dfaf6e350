#include "ordered_windows/window_decline.hpp"

namespace merganser {

const char *WindowDeclines::Code(WindowDecline reason) {
	switch (reason) {
	case WindowDecline::SWITCHED_OFF:
		return "switched_off";
	case WindowDecline::DIFFERENT_PARTITIONS:
		return "different_partitions";
	case WindowDecline::DIFFERENT_ORDERS:
		return "different_orders";
	case WindowDecline::FEW_ROWS:
		return "few_rows";
	case WindowDecline::UNORDERED_INPUT:
		return "unordered_input";
	case WindowDecline::UNEVEN_REGIONS:
		return "uneven_regions";
	}
	throw InternalException("Unknown reason to leave a window to DuckDB");
}

const char *WindowDeclines::Sentence(WindowDecline reason) {
	switch (reason) {
	case WindowDecline::SWITCHED_OFF:
		return "merganser_ordered_windows is off";
	case WindowDecline::DIFFERENT_PARTITIONS:
		return "its functions are over different partitions";
	case WindowDecline::DIFFERENT_ORDERS:
		return "its functions are over different orders, none of which begins with the others";
	case WindowDecline::FEW_ROWS:
		return "fewer rows than merganser_ordered_windows_min_rows are expected";
	case WindowDecline::UNORDERED_INPUT:
		return "its rows are not known to come partition by partition, in order";
	case WindowDecline::UNEVEN_REGIONS:
		return "too much of the data lies in one region, which one thread reads";
	}
	throw InternalException("Unknown reason to leave a window to DuckDB");
}

} // namespace merganser
