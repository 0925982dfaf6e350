#include "late_materialization/column_width.hpp"

namespace merganser {

namespace {

//! The inlined 16 bytes and a medium-sized payload.
const idx_t STRING_BYTES = 40;
const idx_t NESTED_BYTES = 64;

} // namespace

bool ColumnWidth::IsWide(const LogicalType &type) {
	return !TypeIsConstantSize(type.InternalType());
}

idx_t ColumnWidth::Of(const LogicalType &type) {
	if (!IsWide(type)) {
		return GetTypeIdSize(type.InternalType());
	}
	return type.InternalType() == PhysicalType::VARCHAR ? STRING_BYTES : NESTED_BYTES;
}

} // namespace merganser
