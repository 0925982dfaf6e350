//===----------------------------------------------------------------------===//
//                         Merganser
//
// exchange/exchange_scan.hpp
//
//   FROM merganser_exchange(['file', ...], partitions := [0, 3], ordered := true, identities := [1234, ...]);
//   FROM merganser_exchange(['file', ...], consecutive := [2, 3, 8]);
//
// Reads the given partitions (all, unless given) of exchange files that have the same columns: file after file, blocks
// in the order they were written. Only the blocks of these partitions are read. Several threads read more rows than one
// of DuckDB's row groups has, as for any table, which an aggregate such as list() sees; with `ordered` one thread does,
// in full vectors (full_vectors.hpp).
// `consecutive` divides the rows of all files, in this order, into even shares and reads those from the first number to
// before the second, of so many as the third: share after share gives back all rows in their order, whichever file
// they are in. Partitions of rows without a key are shares of each file instead. `identities` says of each file which
// one it must be (exchange_file.hpp); without, every thread still reads the file that was there at first. However many
// files there are, a thread has one of them open.
// Errors: BinderException for no file or files whose columns differ, shares that are none; IOException naming a damaged
// file, or one that is another.
//===----------------------------------------------------------------------===//

#pragma once

#include "settings.hpp"

namespace merganser {

struct ExchangeScan {
	static constexpr const char *NAME = "merganser_exchange";

	static void Register(ExtensionLoader &loader);

	//! The argument of `function`, a list of files. Throws BinderException where it is empty or holds NULL.
	static vector<string> FileList(const Value &argument, const char *function);
};

} // namespace merganser
