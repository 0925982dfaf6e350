#include "properties/repeatability.hpp"

namespace merganser {

Repeatability::Repeatability() : Repeatability(Level::NOTHING, "nothing is known of it") {
}

Repeatability::Repeatability(Level level, string why) : level(level), why(std::move(why)) {
}

Repeatability Repeatability::InOrder() {
	return Repeatability(Level::ROWS_IN_ORDER, string());
}

Repeatability Repeatability::InAnyOrder(string why) {
	return Repeatability(Level::ROWS, std::move(why));
}

Repeatability Repeatability::None(string why) {
	return Repeatability(Level::NOTHING, std::move(why));
}

const Repeatability &Repeatability::And(const Repeatability &other) const {
	return other.level < level ? other : *this;
}

Repeatability Repeatability::WithoutOrder(string why_not) const {
	return level == Level::ROWS_IN_ORDER ? InAnyOrder(std::move(why_not)) : *this;
}

string Repeatability::ToString() const {
	switch (level) {
	case Level::ROWS_IN_ORDER:
		return "repeatable";
	case Level::ROWS:
		return "repeatable in any order: " + why;
	default:
		return "not repeatable: " + why;
	}
}

} // namespace merganser
