//===----------------------------------------------------------------------===//
//                         Merganser
//
// exchange/exchange_compression.hpp
//
// Blocks of exchange files compressed one by one by LZ4, which costs little: for exchange directories on storage that
// is slower than a local disk's cache. A block that does not get smaller stays as it is.
//   SET merganser_exchange_compression = 'lz4';
//   COPY (...) TO 'file' (FORMAT merganser_exchange, COMPRESSION lz4)
//===----------------------------------------------------------------------===//

#pragma once

#include "settings.hpp"

namespace merganser {

class ExchangeCompression {
public:
	//! Throws InvalidInputException unless `name` is "none" or "lz4"; `place` names where it stands.
	static bool IsOn(const string &name, const string &place);
	//! The setting merganser_exchange_compression.
	static bool IsOn(ClientContext &context);

	//! False where the result would not be smaller than `data`.
	static bool TryCompress(const_data_ptr_t data, idx_t length, unsafe_vector<data_t> &result);
	//! False where `data` is not what TryCompress made of `length` bytes.
	static bool TryDecompress(const_data_ptr_t data, idx_t compressed_length, data_ptr_t result, idx_t length);
};

} // namespace merganser
