//===----------------------------------------------------------------------===//
//                         Merganser
//
// late_materialization/cost_estimate.hpp
//
// Whether a late materialisation is expected to pay.
//   saved = rows that reach the aggregate x bytes of the deferred columns: what no longer crosses the joins
//   price = rows of every relation in the chain x bytes of its key: what the join-back reads again, and the check of a
//           declared key once more
// It pays when the input is not small, something wide leaves the joins, and saved exceeds price. A link that no wide
// column relies on is not worth its scan: the columns that do rely on it stay in the group key.
// Limits: DuckDB's base cardinalities, a fixed selectivity for filters, no statistics on string lengths.
//===----------------------------------------------------------------------===//

#pragma once

#include "late_materialization/deferral.hpp"

namespace merganser {

class CostEstimate {
public:
	CostEstimate(const AggregateInput &input, const Deferral &deferral);

	bool Pays() const;
	//! The position of a link that no wide dropped column relies on, or invalid.
	static optional_idx FindThinLink(const Deferral &deferral);
	//! "saves 6001215 rows x 141 bytes, reads again 150000 rows".
	string ToString() const;

private:
	double input_rows;
	double saved_bytes_per_row = 0;
	double price_bytes = 0;
	double rows_read_again = 0;
	bool defers_wide = false;
};

} // namespace merganser
