//===----------------------------------------------------------------------===//
//                         Merganser
//
// stages/stage_repeatability.hpp
//
// Whether the tasks of each stage write the same rows when they run again (properties/repeatability.hpp), from the plan
// of the stage, operator by operator:
//
//   slices of files, rows the session sent      in order: the files do not change, the session writes once
//   the exchange of another stage               as repeatable as that stage, relative to which this one is judged
//   projection, filter, unnest                  as what is below; random() and the like: not
//   join                                        any order: threads build the hash table; SINGLE, ASOF, positional: not
//   aggregate                                   any order, for count, min, max, bool_*, bit_* and for sum and avg of
//                                               whole numbers and decimals; not by keys, and not min and max, whose
//                                               equal values may differ (-0.0 and 0.0, collations): any may stay
//   DISTINCT, EXCEPT, INTERSECT                 any order, where equal rows are identical
//   ORDER BY                                    any order: rows that tie come in either
//   window                                      rank, dense_rank, percent_rank, cume_dist: the same for rows that tie
//   LIMIT, top N, sample, every other operator  not
//
// Its rows then go to partitions by their content (hash, range of the sort key), which changes nothing, or by their
// position (even shares): then the partitions are repeatable only where the order is.
//
// Why the order of scans, filters and projections is fixed although DuckDB has several threads: the COPY that writes an
// exchange file is not parallel while preserve_insertion_order is on, and the pipeline of a sink that is not parallel
// runs in one thread from its source on (Pipeline::ScheduleParallel, PhysicalUnion::BuildPipelines). The same rows then
// come in the same order, and PartitionedRows cuts them into shares by nothing else.
//
// A stage must be repeatable in order where what reads it has to see the order. Shares by content would be repeatable
// where those by position are not, but all rows of one value would be one share: after a fault its readers run again
// instead.
//===----------------------------------------------------------------------===//

#pragma once

#include "stages/stage.hpp"

namespace merganser {

struct StageRepeatability {
	//! Sets `repeatability` and `needed` of every stage; a reason of each that is not repeatable says why.
	static void Mark(ClientContext &context, QueryStages &query);
};

} // namespace merganser
