//===----------------------------------------------------------------------===//
//                         Merganser
//
// table_functions/shape_sections.hpp
//
// Cuts a series of values into sections that rise, fall or stay level, for PATTERN_MATCH. Neighbours share a point.
//   1 2 3 3 1   ->   rise 1 2 3, level 3 3, fall 3 1
// With a smoothness S, movements of at most S are level:
// * a rise or fall no higher than S is a level; a level that follows it joins it while both together are no higher;
// * two levels that are higher together have a slope between them, from the first lowest (highest) point of the one to
//   the first highest (lowest) point of the other;
// * a level of at most 4 points belongs to the section before it, if there is one; what follows it joins as well if it
//   goes on in the same direction.
// Sections are final, and are delivered, when two more have begun.
//===----------------------------------------------------------------------===//

#pragma once

#include "settings.hpp"

#include "duckdb/common/deque.hpp"
#include "duckdb/common/optional.hpp"

#include <functional>

namespace merganser {

struct ShapeSection {
	enum class Direction : int8_t { FALL = -1, LEVEL = 0, RISE = 1 };

	Direction direction;
	//! Its first and its last point, counted from the beginning of the series.
	idx_t first;
	idx_t last;
	double lowest;
	double highest;
	//! The first points with these values.
	idx_t lowest_at;
	idx_t highest_at;

	idx_t PointCount() const {
		return last - first + 1;
	}
	double Height() const {
		return highest - lowest;
	}
	void Append(const ShapeSection &next);
};

class ShapeSections {
public:
	using ValueAt = std::function<double(idx_t)>;

	//! Without a smoothness sections are what rises, falls or stays exactly level, however short.
	//! `value_at` gives the value of a point that FirstNeeded has not passed.
	ShapeSections(optional<double> smoothness, ValueAt value_at);

	//! The next point of the series.
	void Add(double value);
	//! The series is complete. `join_tail`: a short level at its end, too, belongs to the section before it.
	void Finish(bool join_tail);
	//! For the next series; what Take has not fetched is dropped.
	void Clear();
	//! The next final section, in order.
	bool Take(ShapeSection &section);
	//! No section to come begins before this point.
	idx_t FirstNeeded() const;

private:
	ShapeSection Cut(ShapeSection::Direction direction, idx_t first, idx_t last) const;
	void Close(ShapeSection section);
	void PlaceAfterLevel(const ShapeSection &next);
	void SplitLevels(const ShapeSection &level, const ShapeSection &next);
	void JoinLast(const ShapeSection &level, const ShapeSection &next);

	const bool smooths;
	const double smoothness;
	ValueAt value_at;
	idx_t points = 0;
	double previous = 0;
	//! What still goes on in one direction.
	optional<ShapeSection> open;
	//! The last two may still change.
	deque<ShapeSection> placed;
	bool finished = false;
};

} // namespace merganser
