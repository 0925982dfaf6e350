#include "exchange/exchange_compression.hpp"

#include "lz4.hpp"

namespace merganser {

bool ExchangeCompression::IsOn(const string &name, const string &place) {
	auto lower = StringUtil::Lower(name);
	if (lower != "none" && lower != "lz4") {
		throw InvalidInputException("%s must be 'none' or 'lz4', not '%s'", place, name);
	}
	return lower == "lz4";
}

bool ExchangeCompression::IsOn(ClientContext &context) {
	return Settings::ExchangeCompression(context) == "lz4";
}

bool ExchangeCompression::TryCompress(const_data_ptr_t data, idx_t length, unsafe_vector<data_t> &result) {
	if (length > NumericCast<idx_t>(LZ4_MAX_INPUT_SIZE)) {
		return false;
	}
	auto source = NumericCast<int>(length);
	result.resize(length);
	auto written =
	    duckdb_lz4::LZ4_compress_default(const_char_ptr_cast(data), char_ptr_cast(result.data()), source, source - 1);
	result.resize(NumericCast<idx_t>(written));
	return written > 0;
}

bool ExchangeCompression::TryDecompress(const_data_ptr_t data, idx_t compressed_length, data_ptr_t result,
                                        idx_t length) {
	auto written = duckdb_lz4::LZ4_decompress_safe(const_char_ptr_cast(data), char_ptr_cast(result),
	                                               NumericCast<int>(compressed_length), NumericCast<int>(length));
	return written >= 0 && NumericCast<idx_t>(written) == length;
}

} // namespace merganser
