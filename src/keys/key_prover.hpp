//===----------------------------------------------------------------------===//
//                         Merganser
//
// keys/key_prover.hpp
//
// Proves keys for the statement that is being planned: by a proof that is remembered, or else by reading.
//   merganser_prove_keys = false        nothing is proved, and nothing remembered is used
//   while keys are assumed               the same: what declaring them gives is asked, and nothing is read for it
//   a table the statement itself writes nothing is proved: its rows change while it runs
//   PREPARE                             nothing is read; the statement is planned again at each EXECUTE
//   EXPLAIN, merganser_explain          what is read quickly
// A plan that stands on a proof must be run in the transaction in which it was taken, once. DuckDB keeps plans only in
// prepared statements, and this says there that each EXECUTE plans anew.
//===----------------------------------------------------------------------===//

#pragma once

#include "keys/proved_keys.hpp"

namespace duckdb {
class PreparedStatementData;
}

namespace merganser {

class KeyProver {
public:
	//! `root`: the plan of the whole statement.
	KeyProver(ClientContext &context, LogicalOperator &root);

	//! Whether keys of this scan can be proved.
	bool CanProve(const LogicalGet &get);
	//! The remembered proof, or null.
	shared_ptr<const ProvedKey> Remembered(const LogicalGet &get, const vector<ColumnIndex> &columns);
	//! Whether the statement may read so many rows for a proof.
	bool MayRead(idx_t rows) const;
	//! Reads, and remembers what it found where the data can be recognised.
	shared_ptr<const ProvedKey> Prove(const LogicalGet &get, const vector<ColumnIndex> &columns);
	//! The plan relies on a proof, or would if it were taken.
	void PlanAgainAtExecute();

	//! "memory.main.customer", "read_parquet('customer.parquet')".
	static string NameOf(const LogicalGet &get);

private:
	ClientContext &context;
	//! Of PREPARE.
	shared_ptr<PreparedStatementData> prepared;
	bool only_shown;
	unordered_set<const TableCatalogEntry *> written;
	bool is_on;
	ListedFiles listed_files;
};

} // namespace merganser
