#include "late_materialization/changed_tables.hpp"

#include "duckdb/catalog/catalog_entry/table_catalog_entry.hpp"
#include "duckdb/planner/operator/list.hpp"

namespace merganser {

namespace {

class Changes {
public:
	explicit Changes(bool all_is_read_first) : all_is_read_first(all_is_read_first) {
	}

	void Collect(const LogicalOperator &op, bool in_cte) {
		if (in_cte || !all_is_read_first) {
			Note(op, in_cte);
		}
		auto is_cte = op.type == LogicalOperatorType::LOGICAL_MATERIALIZED_CTE ||
		              op.type == LogicalOperatorType::LOGICAL_RECURSIVE_CTE;
		for (idx_t i = 0; i < op.children.size(); i++) {
			Collect(*op.children[i], in_cte || (is_cte && i == 0));
		}
	}

	bool Contain(const TableCatalogEntry &table) const {
		return tables.find(&table) != tables.end();
	}

private:
	void Note(const LogicalOperator &op, bool in_cte) {
		switch (op.type) {
		case LogicalOperatorType::LOGICAL_INSERT: {
			auto &insert = op.Cast<LogicalInsert>();
			if (in_cte || insert.on_conflict_info.action_type != OnConflictAction::THROW) {
				tables.insert(&insert.table);
			}
			break;
		}
		case LogicalOperatorType::LOGICAL_UPDATE:
			tables.insert(&op.Cast<LogicalUpdate>().table);
			break;
		case LogicalOperatorType::LOGICAL_DELETE:
			tables.insert(&op.Cast<LogicalDelete>().table);
			break;
		case LogicalOperatorType::LOGICAL_MERGE_INTO:
			tables.insert(&op.Cast<LogicalMergeInto>().table);
			break;
		default:
			break;
		}
	}

	const bool all_is_read_first;
	unordered_set<const TableCatalogEntry *> tables;
};

} // namespace

bool ChangedTables::AreFetched(const LogicalOperator &root, const AggregateInput &input, const Deferral &deferral,
                               bool all_is_read_first) {
	Changes changes(all_is_read_first);
	changes.Collect(root, false);
	for (auto &link : deferral.Chain()) {
		auto &source = *input.Relations()[link.relation].source;
		if (source.type != LogicalOperatorType::LOGICAL_GET) {
			continue;
		}
		auto table = source.Cast<LogicalGet>().GetTable();
		if (table && changes.Contain(*table)) {
			return true;
		}
	}
	return false;
}

} // namespace merganser
