#include "keys/key_prover.hpp"

#include "decision_log.hpp"
#include "declarations/assumed_keys.hpp"
#include "declarations/declaration_store.hpp"
#include "keys/written_table.hpp"

#include "duckdb/common/types/timestamp.hpp"
#include "duckdb/main/prepared_statement_data.hpp"
#include "duckdb/planner/operator/list.hpp"
#include "duckdb/storage/buffer_manager.hpp"

namespace merganser {

namespace {

//! Read in about a fifth of a second.
const idx_t QUICKLY_READ_ROWS = 10000000;
//! What the hash table of a proof takes for a row, about.
const idx_t BYTES_OF_ROW = 64;

void CollectWritten(LogicalOperator &op, unordered_set<const TableCatalogEntry *> &written) {
	if (auto table = WrittenTable::Of(op)) {
		written.insert(table.get());
	}
	for (auto &child : op.children) {
		CollectWritten(*child, written);
	}
}

//! Functions whose scan can be driven outside of a query. DuckDB's reader of JSON cannot.
bool IsReadForProofs(const LogicalGet &get) {
	auto function = ScanIdentity(get).function;
	return function == "read_parquet" || function == "read_csv" || function == "read_csv_auto";
}

bool IsExplain(const LogicalOperator &root) {
	return root.type == LogicalOperatorType::LOGICAL_EXPLAIN &&
	       root.Cast<LogicalExplain>().explain_type != ExplainType::EXPLAIN_ANALYZE;
}

} // namespace

KeyProver::KeyProver(ClientContext &context, LogicalOperator &root)
    : context(context), only_shown(IsExplain(root) || DecisionLog::Get(context).only_shown),
      is_on(Settings::ProveKeys(context) && !AssumedKeys::Find(context)) {
	if (root.type == LogicalOperatorType::LOGICAL_PREPARE) {
		prepared = root.Cast<LogicalPrepare>().prepared;
	}
	CollectWritten(root, written);
}

bool KeyProver::CanProve(const LogicalGet &get) {
	auto table = get.GetTable();
	auto is_readable = table ? !written.count(table.get()) : IsReadForProofs(get);
	return is_on && is_readable && SeenData::MayBeReadAgain(context, get, listed_files);
}

shared_ptr<const ProvedKey> KeyProver::Remembered(const LogicalGet &get, const vector<ColumnIndex> &columns) {
	auto now = SeenData::Of(context, get, columns, listed_files);
	return now ? ProvedKeys::Get(context)->Find(*now) : nullptr;
}

bool KeyProver::MayRead(idx_t rows) const {
	auto room = BufferManager::GetBufferManager(context).GetMaxMemory() / 2;
	return !prepared && rows <= room / BYTES_OF_ROW && (!only_shown || rows <= QUICKLY_READ_ROWS);
}

shared_ptr<const ProvedKey> KeyProver::Prove(const LogicalGet &get, const vector<ColumnIndex> &columns) {
	auto result = make_shared_ptr<ProvedKey>();
	result->relation = NameOf(get);
	for (auto &column : columns) {
		result->columns.push_back(get.GetColumnName(column).GetIdentifierName());
	}
	auto seen = SeenData::Of(context, get, columns, listed_files);
	auto &proof = result->proof;
	proof = KeyProof::Take(context, get, columns);
	result->taken = Timestamp::GetCurrentTimestamp();
	if (seen && seen->WasRead(context, get, columns, proof.Holds(), proof.rows)) {
		result->seen = std::move(seen);
		ProvedKeys::Get(context)->Add(result);
	} else if (!get.GetTable()) {
		// The statement's own scans may read another version of a file than the proof has.
		proof.outcome = KeyProof::Outcome::CHANGED;
	}
	return result;
}

void KeyProver::PlanAgainAtExecute() {
	if (prepared) {
		prepared->properties.always_require_rebind = true;
	}
}

string KeyProver::NameOf(const LogicalGet &get) {
	if (auto table = get.GetTable()) {
		return DeclarationStore::NameOf(*table).ToString();
	}
	auto argument = get.parameters.empty() ? string() : get.parameters[0].ToSQLString();
	return ScanIdentity(get).function + "(" + argument + ")";
}

} // namespace merganser
