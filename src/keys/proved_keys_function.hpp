//===----------------------------------------------------------------------===//
//                         Merganser
//
// keys/proved_keys_function.hpp
//
//   FROM merganser_proved_keys();
//
// One row for each proof of a key that this database instance remembers, in the order they were taken:
//   relation        memory.main.customer, or read_parquet('customer.parquet')
//   columns         [c_custkey]
//   holds           true, or false where a value stands twice or is NULL
//   found           "holds", "a value stands twice", "has NULL", "cannot be read"
//   rows            that were read: all of them where it holds
//   seen            what was read: "1 row groups, 150000 rows", "/data/customer.parquet, 4711 bytes, changed at ..."
//   milliseconds    that reading took
//   taken_at        when
// A row says what was found then. Whether the data are still that is looked at when a statement needs the key.
//===----------------------------------------------------------------------===//

#pragma once

#include "settings.hpp"

namespace merganser {

struct ProvedKeysFunction {
	static void Register(ExtensionLoader &loader);
};

} // namespace merganser
