#include "grouping/plain_column.hpp"

#include "duckdb/common/vector/dictionary_vector.hpp"
#include "duckdb/common/vector/flat_vector.hpp"

namespace merganser {

namespace {

bool RefersTo(const sel_t *codes, idx_t count, sel_t wanted) {
	uint8_t found = 0;
	for (idx_t row = 0; row < count; row++) {
		found |= static_cast<uint8_t>(codes[row] == wanted);
	}
	return found != 0;
}

//! Whether no row is NULL, for dictionaries with at most one NULL entry.
bool HasNoNulls(const ValidityMask &dictionary, idx_t dictionary_size, const sel_t *codes, idx_t count) {
	auto valid = dictionary.CountValid(dictionary_size);
	if (valid == dictionary_size) {
		return true;
	}
	if (valid + 1 < dictionary_size) {
		return false;
	}
	auto null_entry = dictionary_size - 1; // where Parquet's reader puts it
	return !dictionary.RowIsValid(null_entry) && !RefersTo(codes, count, static_cast<sel_t>(null_entry));
}

} // namespace

template <class T>
void PlainColumn::WriteOut(Vector &column, const Vector &dictionary, const sel_t *codes, idx_t count) {
	if (!plain || plain->GetBufferRef().use_count() > 1) {
		plain = make_uniq<Vector>(column.GetType());
	}
	auto source = FlatVector::GetDataUnsafe<T>(dictionary);
	auto target = FlatVector::GetDataMutableUnsafe<T>(*plain);
	for (idx_t row = 0; row < count; row++) {
		target[row] = source[codes[row]];
	}
	FlatVector::SetSize(*plain, count);
	column.Reference(*plain);
}

void PlainColumn::TryWriteOut(Vector &column) {
	if (column.GetVectorType() != VectorType::DICTIONARY_VECTOR) {
		return;
	}
	auto &dictionary = DictionaryVector::Child(static_cast<const Vector &>(column));
	auto codes = DictionaryVector::SelVector(column).data();
	auto count = column.size();
	if (!TypeIsNumeric(column.GetType().InternalType()) || dictionary.GetVectorType() != VectorType::FLAT_VECTOR ||
	    !codes || !HasNoNulls(FlatVector::Validity(dictionary), dictionary.size(), codes, count)) {
		return;
	}
	switch (GetTypeIdSize(column.GetType().InternalType())) {
	case 1:
		return WriteOut<uint8_t>(column, dictionary, codes, count);
	case 2:
		return WriteOut<uint16_t>(column, dictionary, codes, count);
	case 4:
		return WriteOut<uint32_t>(column, dictionary, codes, count);
	case 8:
		return WriteOut<uint64_t>(column, dictionary, codes, count);
	default:
		return;
	}
}

} // namespace merganser
