#include "table_functions/shape_sections.hpp"

namespace merganser {

using Direction = ShapeSection::Direction;

//! Levels of more points are sections of their own.
static constexpr idx_t MOST_POINTS_OF_SHORT_LEVEL = 4;

void ShapeSection::Append(const ShapeSection &next) {
	last = next.last;
	if (next.lowest < lowest) {
		lowest = next.lowest;
		lowest_at = next.lowest_at;
	}
	if (next.highest > highest) {
		highest = next.highest;
		highest_at = next.highest_at;
	}
}

ShapeSections::ShapeSections(optional<double> smoothness, ValueAt value_at)
    : smooths(smoothness.has_value()), smoothness(smoothness.value_or(0)), value_at(std::move(value_at)) {
}

ShapeSection ShapeSections::Cut(Direction direction, idx_t first, idx_t last) const {
	auto value = value_at(first);
	ShapeSection result {direction, first, last, value, value, first, first};
	for (auto point = first + 1; point <= last; point++) {
		value = value_at(point);
		result.Append(ShapeSection {direction, point, point, value, value, point, point});
	}
	return result;
}

void ShapeSections::Add(double value) {
	auto point = points++;
	auto before = previous;
	previous = value;
	if (point == 0) {
		return;
	}
	auto direction = value > before ? Direction::RISE : (value < before ? Direction::FALL : Direction::LEVEL);
	if (open && open->direction != direction) {
		Close(*open);
		open.reset();
	}
	if (!open) {
		open = ShapeSection {direction, point - 1, point - 1, before, before, point - 1, point - 1};
	}
	open->Append(ShapeSection {direction, point, point, value, value, point, point});
}

void ShapeSections::Finish(bool join_tail) {
	if (open) {
		Close(*open);
		open.reset();
	}
	finished = true;
	auto count = placed.size();
	if (count < 2 || placed.back().direction != Direction::LEVEL) {
		return;
	}
	auto tail = placed.back();
	if (tail.PointCount() == 1 || (join_tail && tail.PointCount() <= MOST_POINTS_OF_SHORT_LEVEL)) {
		placed.pop_back();
		placed.back().Append(tail);
	}
}

void ShapeSections::Clear() {
	points = 0;
	open.reset();
	placed.clear();
	finished = false;
}

bool ShapeSections::Take(ShapeSection &section) {
	if (placed.empty() || (!finished && placed.size() <= 2)) {
		return false;
	}
	section = placed.front();
	placed.pop_front();
	return true;
}

idx_t ShapeSections::FirstNeeded() const {
	if (!placed.empty()) {
		return placed.front().first;
	}
	if (open) {
		return open->first;
	}
	return points == 0 ? 0 : points - 1;
}

void ShapeSections::Close(ShapeSection section) {
	if (!smooths) {
		placed.push_back(section);
		return;
	}
	if (section.Height() <= smoothness) {
		section.direction = Direction::LEVEL;
	}
	if (!placed.empty() && placed.back().direction == Direction::LEVEL) {
		PlaceAfterLevel(section);
	} else {
		placed.push_back(section);
	}
}

void ShapeSections::PlaceAfterLevel(const ShapeSection &next) {
	auto level = placed.back();
	if (next.direction == Direction::LEVEL) {
		auto both = level;
		both.Append(next);
		placed.pop_back();
		if (both.Height() <= smoothness) {
			placed.push_back(both);
		} else {
			SplitLevels(level, next);
		}
	} else if (placed.size() > 1 && level.PointCount() <= MOST_POINTS_OF_SHORT_LEVEL) {
		placed.pop_back();
		JoinLast(level, next);
	} else {
		placed.push_back(next);
	}
}

//! Both levels are within the smoothness, together they are not: either `next` is higher, or it is lower.
void ShapeSections::SplitLevels(const ShapeSection &level, const ShapeSection &next) {
	auto rises = next.highest > level.highest;
	auto first = rises ? level.lowest_at : level.highest_at;
	auto last = rises ? next.highest_at : next.lowest_at;
	auto head = Cut(Direction::LEVEL, level.first, first);
	auto slope = Cut(rises ? Direction::RISE : Direction::FALL, first, last);
	if (!placed.empty() && head.PointCount() <= MOST_POINTS_OF_SHORT_LEVEL) {
		JoinLast(head, slope);
	} else {
		if (head.PointCount() > 1) {
			placed.push_back(head);
		}
		placed.push_back(slope);
	}
	// one point is no section, but the place where the next level may still join
	placed.push_back(Cut(Direction::LEVEL, last, next.last));
}

void ShapeSections::JoinLast(const ShapeSection &level, const ShapeSection &next) {
	placed.back().Append(level);
	if (placed.back().direction == next.direction) {
		placed.back().Append(next);
	} else {
		placed.push_back(next);
	}
}

} // namespace merganser
