#include "late_materialization/proposed_keys.hpp"

#include "decision_log.hpp"
#include "late_materialization/late_materialization.hpp"

#include "duckdb/catalog/catalog_entry/table_catalog_entry.hpp"
#include "duckdb/common/sql_identifier.hpp"

#include <algorithm>

namespace merganser {

namespace {

const char *const STATE = "merganser_proposed_keys";

bool HasPrimaryKey(ClientContext &context, CatalogEntry &entry) {
	auto keys = DeclarationStore::Keys(context, entry);
	return std::any_of(keys.begin(), keys.end(), [](const Key &key) { return key.primary; });
}

string AddPrimaryKey(const string &kind, const string &object, const vector<string> &columns) {
	return "ALTER " + kind + " " + object + " ADD PRIMARY KEY " + Declaration::ColumnList(columns) +
	       " NOT ENFORCED RELY;";
}

//! A table has one primary key; another key is a UNIQUE of columns that are NOT NULL. Empty where that takes a change
//! DuckDB may refuse, as it does for a table with enforced keys.
string StatementForTable(ClientContext &context, TableCatalogEntry &table, const vector<string> &columns) {
	auto object = DeclarationStore::NameOf(table).ToString();
	if (!HasPrimaryKey(context, table)) {
		return AddPrimaryKey("TABLE", object, columns);
	}
	auto keys = DeclarationStore::Keys(context, table);
	auto enforced = std::any_of(keys.begin(), keys.end(), [](const Key &key) { return key.enforced; });
	auto stated = std::any_of(keys.begin(), keys.end(),
	                          [&](const Key &key) { return Declaration::SameColumnSet(key.columns, columns); });
	if (enforced) {
		return string();
	}
	string result;
	for (auto &column : columns) {
		result += "ALTER TABLE " + object + " ALTER COLUMN " + SQLIdentifier::ToString(column) + " SET NOT NULL;\n";
	}
	if (!stated) {
		result += "ALTER TABLE " + object + " ADD UNIQUE " + Declaration::ColumnList(columns) + " NOT ENFORCED RELY;\n";
	}
	StringUtil::RTrim(result);
	return result;
}

//! The names under which the view shows columns of its scan; empty if it does not show one.
vector<string> ColumnsOfView(const ShownScan &shown, const vector<string> &scan_columns) {
	vector<string> result;
	for (auto &column : scan_columns) {
		for (auto &entry : shown.scan_column) {
			if (StringUtil::CIEquals(entry.second, column)) {
				result.push_back(entry.first);
				break;
			}
		}
	}
	return result.size() == scan_columns.size() ? result : vector<string>();
}

} // namespace

shared_ptr<ProposedKeys> ProposedKeys::Find(ClientContext &context) {
	auto result = context.registered_state->Get<ProposedKeys>(STATE);
	return result && result->active ? result : nullptr;
}

const string &ProposedKeys::NewView(ClientContext &context, const LogicalGet &get) {
	auto &name = new_views[AssumedKeys::RelationOf(get)];
	auto stem = AssumedKeys::StemOf(get);
	auto is_taken = [&](const string &wanted) {
		return DeclarationStore::Find(context, Identifier(wanted)) ||
		       std::any_of(new_views.begin(), new_views.end(), [&](const pair<const string, string> &view) {
			       return StringUtil::CIEquals(view.second, wanted);
		       });
	};
	for (idx_t i = 1; name.empty(); i++) {
		auto wanted = i == 1 ? stem : stem + "_" + to_string(i);
		name = is_taken(wanted) ? string() : wanted;
	}
	return name;
}

string ProposedKeys::StatementForFiles(ClientContext &context, const LogicalGet &get, const vector<string> &columns) {
	auto views = ShownScans::Named(context, get);
	auto declared = ShownScans::Of(context, get);
	views.insert(views.end(), declared.begin(), declared.end());
	for (auto &shown : views) {
		auto view_columns = ColumnsOfView(shown, columns);
		if (!view_columns.empty()) {
			auto &view = shown.view.get();
			return HasPrimaryKey(context, view)
			           ? string()
					   : AddPrimaryKey("VIEW", DeclarationStore::NameOf(view).ToString(), view_columns);
		}
	}
	auto name = SQLIdentifier::ToString(NewView(context, get));
	auto view = "CREATE VIEW " + name + " AS FROM " + AssumedKeys::RelationOf(get) + ";\n";
	return view + AddPrimaryKey("VIEW", name, columns);
}

void ProposedKeys::Propose(ClientContext &context, const AggregateInput &input, const Deferral &deferral) {
	auto &log = DecisionLog::Get(context).Decisions();
	auto &decided =
	    proposals[NumericCast<idx_t>(std::count_if(log.begin(), log.end(), [](const RuleDecision &decision) {
		    return decision.rule == LateMaterialization::NAME;
	    }))];
	for (auto &candidate : PlausibleKeys::Of(context, input, deferral)) {
		auto &relation = input.Relations()[candidate.relation];
		if (relation.source->type != LogicalOperatorType::LOGICAL_GET) {
			continue;
		}
		auto &get = relation.source->Cast<LogicalGet>();
		ProposedKey proposal;
		proposal.relation = AssumedKeys::RelationOf(get);
		for (auto &column : candidate.columns) {
			proposal.columns.push_back(relation.column_names[relation.PositionOf(column)]);
		}
		proposal.name = relation.name + " " + Declaration::ColumnList(proposal.columns);
		proposal.statement = get.GetTable() ? StatementForTable(context, *get.GetTable(), proposal.columns)
		                                    : StatementForFiles(context, get, proposal.columns);
		auto same = [&](const ProposedKey &other) {
			return other.relation == proposal.relation && other.columns == proposal.columns;
		};
		if (!proposal.statement.empty() && std::none_of(decided.begin(), decided.end(), same)) {
			decided.push_back(std::move(proposal));
		}
	}
}

ProposingKeys::ProposingKeys(ClientContext &context, const vector<ProposedKey> &keys)
    : proposed(context.registered_state->GetOrCreate<ProposedKeys>(STATE)), assumed(AssumedKeys::Get(context)) {
	proposed->active = true;
	proposed->Clear();
	assumed.active = true;
	assumed.keys.assign(keys.begin(), keys.end());
}

ProposingKeys::~ProposingKeys() {
	proposed->active = false;
	assumed.active = false;
	assumed.keys.clear();
}

} // namespace merganser
