//===----------------------------------------------------------------------===//
//                         Merganser
//
// table_functions/pattern_match.hpp
//
// PATTERN_MATCH(DATA, TIME_COL => 'time', DATA_COL, PATTERN, SMOOTH, THRESHOLD, WIDTH, HEIGHT,
//               SMOOTH_ON_PATTERN => false): where a series has the shape of PATTERN, whatever its size.
//   SELECT * FROM PATTERN_MATCH(DATA => TABLE(sensor) PARTITION BY device ORDER BY time, DATA_COL => 'pressure',
//                               PATTERN => '1,2,{3,2,3}+,1', SMOOTH => 0.5, THRESHOLD => 4)
// The series is cut where two points are more than twice as far apart as the first two were, and then, with
// smoothness SMOOTH, into sections (shape_sections.hpp); so is PATTERN, without smoothness unless SMOOTH_ON_PATTERN
// (shape_pattern.hpp). Every run of sections that has, one by one, the directions of a reading of the pattern, is no
// wider than WIDTH and no higher than HEIGHT, and is no further than THRESHOLD from the reading, is a match. Runs may
// overlap; where several readings match one run, each is a match.
// Distance: over the run's sections s and the reading's sections p, with w and h their width and height, W and H those
// of the run, V and G those of the reading (G is SMOOTH where H is 0), and r = max(h(s), SMOOTH) / max(h(p) * G,
// SMOOTH) (1 where both are 0), the sum of
//   ln(w(s) / w(p) / (W / V))^2 + ln(r)^2 + mean |(p(i) - p(0)) * G * r - (s(i) - s(0))| / (H, or SMOOTH where H is 0)
// over the points i > 0 of s, p interpolated linearly to as many points. A distance that is not finite is no match.
// Output: match_index INTEGER, from 0 in each partition, by first row, last row and distance; similarity DOUBLE, the
// distance; then every input column, a row per point of each match.
// Rows whose value is NULL, infinite or NaN are no points: the series goes on without them.
// Holds: the points from the first section on that may begin a match that is not yet complete, and the rows of these.
// Errors: a NULL or infinite time; times that go back; a DATA_COL that is no number; a PATTERN that is none; a negative
// SMOOTH, THRESHOLD, WIDTH or HEIGHT; too many readings or matches at once.
// Source of the method: M. Mannino, A. Abouzied: Expressive Time Series Querying with Hand-Drawn Scale-Free Sketches.
//===----------------------------------------------------------------------===//

#pragma once

#include "table_functions/processor.hpp"

namespace merganser {

struct PatternMatchFunction : public TableFunctionDefinition {
	PatternMatchFunction();

	unique_ptr<BoundProcessor> Bind(ClientContext &context, const BoundArguments &arguments) const override;
};

} // namespace merganser
