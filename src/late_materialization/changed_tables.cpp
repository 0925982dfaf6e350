#include "late_materialization/changed_tables.hpp"

#include "keys/written_table.hpp"

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
		auto table = WrittenTable::Of(op);
		auto only_adds = !in_cte && op.type == LogicalOperatorType::LOGICAL_INSERT &&
		                 op.Cast<LogicalInsert>().on_conflict_info.action_type == OnConflictAction::THROW;
		if (table && !only_adds) {
			tables.insert(table.get());
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
