#include "grouping/grouping_decision.hpp"

namespace merganser {

string GroupingDecision::Name() const {
	switch (grouping) {
	case Grouping::ROWS:
		return "rows";
	case Grouping::FUSED:
		return "fused";
	case Grouping::REGION_LOCAL:
		return "region_local";
	case Grouping::HASHED:
		return "hashed";
	case Grouping::SINGLE:
		return "single";
	}
	throw InternalException("Unknown grouping");
}

} // namespace merganser
