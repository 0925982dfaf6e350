#include "keys/written_table.hpp"

#include "duckdb/planner/operator/list.hpp"

namespace merganser {

optional_ptr<const TableCatalogEntry> WrittenTable::Of(const LogicalOperator &op) {
	switch (op.type) {
	case LogicalOperatorType::LOGICAL_INSERT:
		return op.Cast<LogicalInsert>().table;
	case LogicalOperatorType::LOGICAL_UPDATE:
		return op.Cast<LogicalUpdate>().table;
	case LogicalOperatorType::LOGICAL_DELETE:
		return op.Cast<LogicalDelete>().table;
	case LogicalOperatorType::LOGICAL_MERGE_INTO:
		return op.Cast<LogicalMergeInto>().table;
	default:
		return nullptr;
	}
}

} // namespace merganser
