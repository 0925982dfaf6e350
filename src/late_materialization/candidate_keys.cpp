#include "late_materialization/candidate_keys.hpp"

#include "late_materialization/plausible_keys.hpp"

#include "duckdb/catalog/catalog_entry/table_catalog_entry.hpp"

#include <algorithm>

namespace merganser {

namespace {

//! Candidates of one relation: each that fails has cost a reading.
const idx_t MOST_OF_RELATION = 6;

//! A column as the relation stores it, not one that is computed from others or from where a row is.
bool IsStored(const LogicalGet &scan, const ColumnIndex &column) {
	if (column.IsVirtualColumn() || column.HasChildren()) {
		return false;
	}
	auto table = scan.GetTable();
	return !table || !table->GetColumn(LogicalIndex(column.GetPrimaryIndex())).Generated();
}

//! Whether these columns hold a usable key already.
bool ContainKey(const BaseRelation &relation, const vector<ColumnBinding> &columns) {
	return std::any_of(relation.keys.begin(), relation.keys.end(), [&](const RelationKey &key) {
		return key.IsUsable() && !key.candidate &&
		       std::all_of(key.columns.begin(), key.columns.end(), [&](const ColumnBinding &column) {
			       return std::find(columns.begin(), columns.end(), column) != columns.end();
		       });
	});
}

} // namespace

CandidateKeys::CandidateKeys(ClientContext &context, KeyProver &prover, AggregateInput &input,
                             const AggregateShape &shape)
    : context(context), prover(prover), input(input) {
	vector<idx_t> added(input.Relations().size(), 0);
	for (auto &plausible : PlausibleKeys::Of(context, input, Deferral(input, shape))) {
		auto &relation = input.MutableRelations()[plausible.relation];
		if (relation.source->type != LogicalOperatorType::LOGICAL_GET || !prover.CanProve(ScanOf(relation))) {
			continue;
		}
		auto are_stored =
		    std::all_of(plausible.columns.begin(), plausible.columns.end(), [&](const ColumnBinding &column) {
			    return IsStored(ScanOf(relation), ScanOf(relation).GetColumnIndex(column));
		    });
		if (are_stored && !ContainKey(relation, plausible.columns) && added[plausible.relation] < MOST_OF_RELATION) {
			added[plausible.relation]++;
			Add(relation, plausible.columns);
		}
	}
}

void CandidateKeys::Add(BaseRelation &relation, const vector<ColumnBinding> &columns) {
	auto &scan = ScanOf(relation);
	RelationKey key;
	key.columns = columns;
	key.object = KeyProver::NameOf(scan);
	vector<string> names;
	for (auto &column : columns) {
		names.push_back(relation.column_names[relation.PositionOf(column)]);
	}
	key.name = relation.name + " (" + StringUtil::Join(names, ", ") + ")";
	auto known = prover.Remembered(scan, ColumnsOf(relation, key));
	if (known && !known->proof.Holds()) {
		taken.emplace_back("proof", key.name + " is known: " + known->ToString());
		return;
	}
	if (columns.size() == 1) {
		key.dense = DenseIntegers::In(context, scan, scan.GetColumnIndex(columns[0]));
	}
	key.candidate = !known;
	key.known = known != nullptr;
	key.proof = std::move(known);
	relation.keys.push_back(std::move(key));
}

optional_idx CandidateKeys::FindUnproved(const Deferral &deferral) const {
	for (idx_t i = 0; i < deferral.Chain().size(); i++) {
		auto &link = deferral.Chain()[i];
		if (input.Relations()[link.relation].keys[link.key].candidate) {
			return i;
		}
	}
	return optional_idx();
}

bool CandidateKeys::MayProve(const JoinBackLink &link) const {
	return prover.MayRead(input.Relations()[link.relation].cardinality);
}

bool CandidateKeys::RelyOnProof(const Deferral &deferral) const {
	return std::any_of(deferral.Chain().begin(), deferral.Chain().end(), [&](const JoinBackLink &link) {
		auto &key = input.Relations()[link.relation].keys[link.key];
		return key.candidate || key.proof;
	});
}

void CandidateKeys::Prove(const JoinBackLink &link) {
	auto &relation = input.MutableRelations()[link.relation];
	auto &key = relation.keys[link.key];
	auto found = prover.Prove(ScanOf(relation), ColumnsOf(relation, key));
	if (!found->proof.Holds()) {
		taken.emplace_back("proof", key.name + ": " + found->ToString());
		relation.keys.erase(relation.keys.begin() + NumericCast<int64_t>(link.key));
		return;
	}
	key.candidate = false;
	key.proof = std::move(found);
}

bool CandidateKeys::Drop(const Deferral &deferral) {
	optional_idx dearest;
	for (auto &link : deferral.Chain()) {
		auto &relation = input.Relations()[link.relation];
		if (relation.keys[link.key].candidate &&
		    (!dearest.IsValid() || relation.cardinality > input.Relations()[dearest.GetIndex()].cardinality)) {
			dearest = link.relation;
		}
	}
	bool result = false;
	for (idx_t i = 0; i < input.Relations().size(); i++) {
		if (dearest.IsValid() && dearest.GetIndex() != i) {
			continue;
		}
		auto &keys = input.MutableRelations()[i].keys;
		auto kept =
		    std::remove_if(keys.begin(), keys.end(), [](const RelationKey &key) { return bool(key.candidate); });
		result = result || kept != keys.end();
		keys.erase(kept, keys.end());
	}
	return result;
}

vector<pair<string, string>> CandidateKeys::Facts(const Deferral &deferral) const {
	auto result = taken;
	for (auto &link : deferral.Chain()) {
		auto &key = input.Relations()[link.relation].keys[link.key];
		if (key.proof) {
			result.emplace_back("proof", key.name + (key.known ? " is known: " : ": ") + key.proof->ToString());
		}
	}
	return result;
}

const LogicalGet &CandidateKeys::ScanOf(const BaseRelation &relation) const {
	return relation.source->Cast<LogicalGet>();
}

vector<ColumnIndex> CandidateKeys::ColumnsOf(const BaseRelation &relation, const RelationKey &key) const {
	vector<ColumnIndex> result;
	for (auto &column : key.columns) {
		result.push_back(ScanOf(relation).GetColumnIndex(column));
	}
	return result;
}

} // namespace merganser
