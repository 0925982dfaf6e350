//===----------------------------------------------------------------------===//
//                         Merganser
//
// grouping/plain_column.hpp
//
// Parquet delivers numbers as dictionary vectors: every look at a value goes through its code, and the dictionary keeps
// an entry for NULL even where no row is NULL. A table function looks at its time column several times per row (order,
// distance, output), so such a column is written out once, as a flat vector that says it has no NULLs:
//   codes [0, 0, 1], dictionary [t1, t2, NULL]   becomes   [t1, t1, t2]
// Sound: the values stay the same, and so does what else refers to the dictionary. Limit: numbers of 1 to 8 bytes,
// dictionaries with at most one NULL entry, no NULL row; every other column stays as it is.
//===----------------------------------------------------------------------===//

#pragma once

#include "settings.hpp"

#include "duckdb/common/types/vector.hpp"

namespace merganser {

class PlainColumn {
public:
	//! Replaces the vector by a flat one where that is possible.
	void TryWriteOut(Vector &column);

private:
	template <class T>
	void WriteOut(Vector &column, const Vector &dictionary, const sel_t *codes, idx_t count);

	//! Written again once nothing refers to it any more.
	unique_ptr<Vector> plain;
};

} // namespace merganser
