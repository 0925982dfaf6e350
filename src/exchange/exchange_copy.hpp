//===----------------------------------------------------------------------===//
//                         Merganser
//
// exchange/exchange_copy.hpp
//
//   COPY (SELECT ...) TO 'file' (FORMAT merganser_exchange, PARTITION_BY (a, b), PARTITIONS 8);
//
// Writes one exchange file. With PARTITION_BY, rows equal on these columns land in one of PARTITIONS partitions;
// without, the rows keep their order and each partition gets a contiguous share. PARTITIONS is 1 unless given.
// PRESERVE_ORDER writes the rows in the order they come even where DuckDB fixes none, as the branches of UNION ALL
// above joins. Errors: BinderException for an unknown option or column, PARTITIONS outside 1..65536, a key that has no
// hash.
//===----------------------------------------------------------------------===//

#pragma once

#include "settings.hpp"

namespace merganser {

struct ExchangeCopy {
	static constexpr const char *NAME = "merganser_exchange";

	static void Register(ExtensionLoader &loader);
};

} // namespace merganser
