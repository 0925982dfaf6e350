//===----------------------------------------------------------------------===//
//                         Merganser
//
// table_functions/funnel.hpp
//
// FUNNEL(DATA [PARTITION BY ...] ORDER BY time, TIMECOL => 'time', STEPS, WITHIN): how far each partition gets in a
// chain of events.
//   SELECT steps, count(*) FROM FUNNEL(DATA => (SELECT visitor, time, page = 'item' AS viewed, page = 'cart' AS carted,
//                                               page = 'paid' AS paid FROM visit)
//                                      PARTITION BY visitor ORDER BY time, STEPS => ['viewed', 'carted', 'paid'],
//                                      WITHIN => 1h) GROUP BY steps
// STEPS: BOOLEAN columns, one a step, true in rows that are this step. A chain is a row of the first step, a later row
// of the second, and so on, other rows in between or not; its last row comes at most WITHIN after its first. Rows
// follow each other as ORDER BY says, so rows with equal times may be steps of one chain, and one row never is two of
// them.
// Output: one row a partition: the partition columns, steps INTEGER, the length of its longest chain, from 0 to the
// number of STEPS, and for every step a column of its name: the time of the step in the longest chain, NULL from the
// first step it does not reach. Of several, it is the chain complete first, and of these the one that begins last.
// Holds: as many times as there are pairs of steps. Exact: a chain that begins later has more time left, so the latest
// beginning of every length is all that later rows need; time a row: the number of steps.
// Errors: STEPS that are not BOOLEAN or more than 64; a NULL or infinite time; ORDER BY that another column leads or
// that descends; without ORDER BY, times that go back.
//===----------------------------------------------------------------------===//

#pragma once

#include "table_functions/processor.hpp"

namespace merganser {

struct FunnelFunction : public TableFunctionDefinition {
	FunnelFunction();

	unique_ptr<BoundProcessor> Bind(ClientContext &context, const BoundArguments &arguments) const override;
};

} // namespace merganser
