//===----------------------------------------------------------------------===//
//                         Merganser
//
// exchange/exchange_partitions.hpp
//
//   FROM merganser_exchange_partitions(['file', ...]);
//
// Rows and bytes of each partition over all of the exchange files, which have equally many partitions: from the files'
// indexes, without reading a row. Errors: BinderException for no file or files with different numbers of partitions;
// IOException naming a damaged file.
//===----------------------------------------------------------------------===//

#pragma once

#include "settings.hpp"

namespace merganser {

struct ExchangePartitions {
	static constexpr const char *NAME = "merganser_exchange_partitions";

	static void Register(ExtensionLoader &loader);
};

} // namespace merganser
