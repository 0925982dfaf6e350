//===----------------------------------------------------------------------===//
//                         Merganser
//
// late_materialization/cost_estimate.hpp
//
// Whether a late materialisation is expected to pay.
//   saved = rows that reach the aggregate x bytes of the deferred columns: what no longer crosses the joins
//   price = rows of every relation in the chain x bytes of its key: what the join-back reads again; and once more, for
//           the check of a key that is declared or proved, x what a row of it costs: integers that lie close together
//           an eighth of others
//   proof = rows that have to be read to prove a key nobody has declared, and files that have to be opened, in the same
//           bytes. It is certain and the gain is not, so the gain has to be PROOF_MARGIN times the proof. A proof that
//           is remembered costs nothing.
// It pays when the input is not small, something wide leaves the joins, and saved exceeds price. A link that no wide
// column relies on is not worth its scan: the columns that do rely on it stay in the group key.
//
// Where every group is fetched (shapes/every_group.hpp) the price is higher:
//   + groups x (a join of each link + half the bytes of the deferred columns): what the join-back moves
// and of two tables, of which one is aggregated over the other's key, DuckDB aggregates before it joins
// (partial_aggregate_pushdown): the deferred columns cross nothing, and at most the rows of their own table are saved.
// The weights are those with which the decisions agree with what was measured by hand on TPC-H: every group of wide
// dimensions over several joins pays 1.3 to 4 times, one name over two tables loses a tenth.
// Limits: DuckDB's base cardinalities, a fixed selectivity for filters, no statistics on string lengths.
//===----------------------------------------------------------------------===//

#pragma once

#include "late_materialization/deferral.hpp"

namespace merganser {

class CostEstimate {
public:
	//! Below this many rows every plan takes about a millisecond.
	static constexpr idx_t SMALL_INPUT_ROWS = 10000;

	CostEstimate(const AggregateInput &input, const Deferral &deferral, const AggregateShape &shape);

	bool Pays() const;
	//! Whether it would if no key had to be proved.
	bool PaysWithoutProof() const;
	//! The position of a link that no wide dropped column relies on, or invalid.
	static optional_idx FindThinLink(const Deferral &deferral);
	//! The rows the narrow plan is expected to return.
	idx_t Groups() const;
	//! "saves 6001215 rows x 141 bytes, reads again 150000 rows"; of every group, "fetches 150000 rows"; where a key
	//! has to be proved, "proves over 150000 rows".
	string ToString() const;

private:
	void AddLinks();
	void AddEveryGroup();
	//! Whether DuckDB aggregates before it joins, so that the deferred columns cross no join.
	bool IsAggregatedFirst() const;
	double EstimateGroups() const;

	const AggregateInput &input;
	const Deferral &deferral;
	const AggregateShape &shape;
	double input_rows;
	double groups;
	double saved_bytes_per_row = 0;
	double price_bytes = 0;
	double rows_read_again = 0;
	double rows_to_prove = 0;
	double proof_bytes = 0;
	bool defers_wide = false;
};

} // namespace merganser
