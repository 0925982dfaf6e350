//===----------------------------------------------------------------------===//
//                         Merganser
//
// keys/key_proof.hpp
//
// Problem: nobody has declared a key, and yet the column is one.
//   SELECT id, name, sum(price) FROM 'customer.parquet' JOIN sale ON customer_id = id GROUP BY id, name ...
// Whether `id` is a key of customer is found by reading that column, while the statement is planned: an exact answer,
// of the rows the statement will see. The scan's own table function is driven in the statement's context, so in its
// transaction: rows the transaction has written and not committed are among them, those others commit later are not.
// The scan shares the bind data of the plan's scans, hence their files, and has no filters. It ends at the first value
// that comes twice or is NULL, and when the statement is interrupted.
// Limits: one thread. What cannot be read (a file that is damaged where the statement itself would not look) is no key.
//===----------------------------------------------------------------------===//

#pragma once

#include "keys/key_values.hpp"

#include "duckdb/planner/operator/logical_get.hpp"

namespace merganser {

struct KeyProof {
	enum class Outcome : uint8_t { HOLDS, DUPLICATE, HAS_NULL, UNREADABLE, CHANGED };

	Outcome outcome = Outcome::UNREADABLE;
	//! Rows read: all of them where it holds.
	idx_t rows = 0;
	double milliseconds = 0;

	bool Holds() const {
		return outcome == Outcome::HOLDS;
	}
	//! "holds", "a value stands twice", "has NULL", "cannot be read" or "changed while it was read".
	string ToString() const;

	//! Reads `columns`, as the scan counts them. Throws InterruptException.
	static KeyProof Take(ClientContext &context, const LogicalGet &get, const vector<ColumnIndex> &columns);
};

} // namespace merganser
