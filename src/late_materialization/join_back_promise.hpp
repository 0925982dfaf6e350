//===----------------------------------------------------------------------===//
//                         Merganser
//
// late_materialization/join_back_promise.hpp
//
// What one join of a join-back stands on, and the sentences that say that it does not hold. Whoever checks it, the
// guard in this process, a stage's SQL or the key check, throws these:
//   Key d (id) does not hold: "memory.main.d" has more than one row for a value of it. Find the rows with: ...
//   Key d (id) does not hold: "memory.main.d" has a row in which a column of it is NULL. Find the rows with: ...
//   Key d (id) does not hold: a row found no row of "memory.main.d" by it; ...
//   Foreign key f (d) references d (id) does not hold: a row found no row of "memory.main.d" by it; ...
//   File "d.parquet" changed while the query ran, ...
// The foreign key's is thrown where the narrow plan left out its join with the table because of it: then a row without
// a partner is the referencing table's fault, and that is the table to verify.
// A key that was proved when the statement was planned held then, so the data have changed since. Nobody has promised
// that they do not: the sentences say to run the query again, and the proof is forgotten, so that the next run takes
// its own.
//===----------------------------------------------------------------------===//

#pragma once

#include "keys/proved_keys.hpp"

namespace merganser {

//! How many rows a join-back finds for each of its rows.
enum class FoundRows : uint8_t {
	ONE,
	//! None where the value that is looked for is NULL: a row an outer join had supplied with NULL.
	ONE_UNLESS_NULL,
	//! As the outer join whose comparison this is.
	AT_MOST_ONE
};

struct JoinBackPromise {
	//! "d (id)".
	string key;
	FoundRows found = FoundRows::ONE;
	//! The table or view the key is of, as merganser_verify takes it.
	string table;
	//! "f (d) references d (id)", or empty where no foreign key took the join out of the narrow plan.
	string foreign_key;
	//! The table or view the foreign key is of, as merganser_verify takes it.
	string referencing;
	//! Of a key that nobody has stated.
	shared_ptr<const ProvedKey> proof;

	//! Throws IOException where a local file is not in the version the proof has read. A remote one is not looked at,
	//! as each look is a request.
	void CheckFiles(ClientContext &context) const;
	//! What to throw with one of the messages below.
	InvalidInputException Broken(ClientContext &context, const string &message) const;
	string DuplicateMessage() const;
	string NullMessage() const;
	string MissingMessage() const;
};

} // namespace merganser
