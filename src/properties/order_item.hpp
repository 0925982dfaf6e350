//===----------------------------------------------------------------------===//
//                         Merganser
//
// properties/order_item.hpp
//
// One item of an ORDER BY list: a column with its direction and the place of NULL.
//===----------------------------------------------------------------------===//

#pragma once

#include "settings.hpp"

#include "duckdb/common/enums/order_type.hpp"

namespace merganser {

struct OrderItem {
	//! Position among the columns of what is ordered.
	idx_t column;
	OrderType direction;
	OrderByNullType null_order;

	bool operator==(const OrderItem &other) const {
		return column == other.column && direction == other.direction && null_order == other.null_order;
	}
};

} // namespace merganser
