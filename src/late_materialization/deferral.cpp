#include "late_materialization/deferral.hpp"

#include "late_materialization/column_width.hpp"

#include "duckdb/planner/expression/bound_aggregate_expression.hpp"
#include "duckdb/planner/expression/bound_columnref_expression.hpp"
#include "duckdb/planner/expression_iterator.hpp"

#include <algorithm>

namespace merganser {

namespace {

//! Aggregates that return, over a group in which their argument is constant, that argument.
bool ReturnsItsConstantArgument(const BoundAggregateExpression &aggregate) {
	auto &name = aggregate.Function().GetName();
	return aggregate.GetChildren().size() == 1 && !aggregate.GetFilter() &&
	       aggregate.GetReturnType() == aggregate.GetChildren()[0]->GetReturnType() &&
	       (name == "any_value" || name == "first" || name == "arbitrary" || name == "last" || name == "min" ||
	        name == "max");
}

column_binding_set_t ColumnsOf(const Expression &expression) {
	column_binding_set_t result;
	AggregateShape::CollectColumns(expression, result);
	return result;
}

string Join(const vector<string> &names) {
	return "(" + StringUtil::Join(names, ", ") + ")";
}

} // namespace

Deferral::Deferral(const AggregateInput &input, const AggregateShape &query) : input(input), query(query) {
	auto &aggregate = *query.aggregate;
	for (idx_t i = 0; i < aggregate.groups.size(); i++) {
		OutputColumn column;
		column.output = ColumnBinding(aggregate.group_index, ProjectionIndex(i));
		column.resolved = input.Resolve(*aggregate.groups[i]);
		column.index = i;
		column.is_group = true;
		columns.push_back(std::move(column));
	}
	for (idx_t i = 0; i < aggregate.expressions.size(); i++) {
		auto &expression = aggregate.expressions[i]->Cast<BoundAggregateExpression>();
		OutputColumn column;
		column.output = ColumnBinding(aggregate.aggregate_index, ProjectionIndex(i));
		column.index = i;
		column.is_group = false;
		if (ReturnsItsConstantArgument(expression)) {
			column.resolved = input.Resolve(*expression.GetChildren()[0]);
		}
		columns.push_back(std::move(column));
	}
	for (auto &column : columns) {
		column.displayed = query.displayed.find(column.output) != query.displayed.end();
	}
	CollectRequired();
}

void Deferral::CollectRequired() {
	column_binding_set_t read;
	for (auto &order : query.orders) {
		AggregateShape::CollectColumns(*order.expression, read);
	}
	for (auto &condition : query.having) {
		AggregateShape::CollectColumns(*condition, read);
	}
	for (auto &column : columns) {
		column.read = column.is_group || column.displayed || read.find(column.output) != read.end();
		auto deferrable = column.resolved != nullptr && (column.displayed || column.is_group);
		pinned.push_back(!deferrable || read.find(column.output) != read.end());
	}
}

Deferral::ColumnSet Deferral::RetainedColumns() const {
	ColumnSet result;
	for (auto &column : columns) {
		if (column.is_group && column.retained && AggregateInput::IsColumn(*column.resolved) &&
		    ColumnEquivalences::HasIdentityEquality(column.resolved->GetReturnType())) {
			result.insert(column.resolved->Cast<BoundColumnRefExpression>().Binding());
		}
	}
	return result;
}

bool Deferral::IsReachable(const ColumnSet &available, const ColumnBinding &column) const {
	if (input.Equivalences().ConstantOf(column)) {
		return true;
	}
	for (auto &equal : input.Equivalences().EqualTo(column)) {
		if (available.find(equal) != available.end()) {
			return true;
		}
	}
	return false;
}

vector<JoinBackLink> Deferral::Closure(ColumnSet &available) const {
	vector<JoinBackLink> reached;
	auto &relations = input.Relations();
	vector<bool> done(relations.size(), false);
	for (bool progress = true; progress;) {
		progress = false;
		for (idx_t r = 0; r < relations.size(); r++) {
			JoinBackLink link;
			if (done[r] || (!TryReach(available, r, link) && !TryLookUp(available, r, link))) {
				continue;
			}
			done[r] = true;
			progress = true;
			reached.push_back(std::move(link));
			available.insert(relations[r].columns.begin(), relations[r].columns.end());
		}
	}
	return reached;
}

bool Deferral::TryReach(const ColumnSet &available, idx_t r, JoinBackLink &link) const {
	auto &relation = input.Relations()[r];
	for (idx_t k = 0; k < relation.keys.size(); k++) {
		auto &key = relation.keys[k];
		auto reachable = std::all_of(key.columns.begin(), key.columns.end(),
		                             [&](const ColumnBinding &column) { return IsReachable(available, column); });
		if (!key.IsUsable() || !reachable) {
			continue;
		}
		link.relation = r;
		link.key = k;
		for (auto &column : key.columns) {
			link.compared.push_back({column, column});
		}
		// A filter above the outer join that equates the column with a constant has left no row with NULL.
		auto may_be_null = relation.null_supplied && !input.Equivalences().ConstantOf(key.columns[0]);
		link.found = may_be_null ? FoundRows::ONE_UNLESS_NULL : FoundRows::ONE;
		return true;
	}
	return false;
}

bool Deferral::TryLookUp(const ColumnSet &available, idx_t r, JoinBackLink &link) const {
	auto &relation = input.Relations()[r];
	auto &lookup = relation.lookup;
	auto given = [&](const ComparedColumns &compared) {
		return IsReachable(available, compared.probe);
	};
	if (lookup.empty() || !std::all_of(lookup.begin(), lookup.end(), given)) {
		return false;
	}
	for (idx_t k = 0; k < relation.keys.size(); k++) {
		auto &key = relation.keys[k];
		auto compared = [&](const ColumnBinding &column) {
			return std::any_of(lookup.begin(), lookup.end(),
			                   [&](const ComparedColumns &pair) { return pair.column == column; });
		};
		if (key.IsUsable() && std::all_of(key.columns.begin(), key.columns.end(), compared)) {
			link.relation = r;
			link.key = k;
			link.compared = lookup;
			link.found = FoundRows::AT_MOST_ONE;
			return true;
		}
	}
	return false;
}

bool Deferral::Determines(const OutputColumn &candidate) const {
	auto available = RetainedColumns();
	Closure(available);
	auto needed = ColumnsOf(*candidate.resolved);
	return std::all_of(needed.begin(), needed.end(),
	                   [&](const ColumnBinding &column) { return IsReachable(available, column); });
}

bool Deferral::KeepsAGroup() const {
	return std::any_of(columns.begin(), columns.end(),
	                   [](const OutputColumn &column) { return column.is_group && column.retained; });
}

void Deferral::ReduceKey() {
	for (auto &column : columns) {
		column.retained = true;
	}
	vector<idx_t> order;
	for (idx_t i = 0; i < columns.size(); i++) {
		if (!pinned[i]) {
			order.push_back(i);
		}
	}
	// Wide columns first, so that what remains is the narrowest key; among equals the later one, as keys tend to be
	// written first.
	std::stable_sort(order.begin(), order.end(), [&](idx_t left, idx_t right) {
		auto left_width = ColumnWidth::Of(columns[left].resolved->GetReturnType());
		auto right_width = ColumnWidth::Of(columns[right].resolved->GetReturnType());
		return left_width != right_width ? left_width > right_width : left > right;
	});
	for (auto index : order) {
		columns[index].retained = false;
		// A group key never becomes empty: without groups an aggregate returns a row even for no input.
		if (!KeepsAGroup() || !Determines(columns[index])) {
			columns[index].retained = true;
		}
	}
}

bool Deferral::TryFind(idx_t max_chain, DeclineReason &reason) {
	ReduceKey();
	auto retained_all = std::all_of(columns.begin(), columns.end(), [](const OutputColumn &c) { return c.retained; });
	if (retained_all) {
		reason = WhyNothingDetermined();
		return false;
	}
	return TryBuildChain(max_chain, reason);
}

bool Deferral::TryBuildChain(idx_t max_chain, DeclineReason &reason) {
	auto available = RetainedColumns();
	chain = Closure(available);
	for (auto &column : columns) {
		column.relies_on.clear();
		if (column.retained) {
			continue;
		}
		for (auto &needed : ColumnsOf(*column.resolved)) {
			CollectRelations(needed, chain.size(), column.relies_on);
			if (column.displayed) {
				Fetch(needed, chain.size());
			}
		}
	}
	// Backwards: what finds a link that stays has to be fetched by the links before it.
	vector<JoinBackLink> kept;
	for (idx_t i = chain.size(); i-- > 0;) {
		auto &key = input.Relations()[chain[i].relation].keys[chain[i].key];
		auto guards = !key.guaranteed && std::any_of(columns.begin(), columns.end(), [&](const OutputColumn &column) {
			return !column.retained && RelyOn(column, i);
		});
		if (chain[i].fetched.empty() && !guards) {
			continue;
		}
		for (auto &compared : chain[i].compared) {
			Fetch(compared.probe, i);
		}
		kept.push_back(chain[i]);
	}
	std::reverse(kept.begin(), kept.end());
	chain = std::move(kept);
	if (chain.size() > max_chain) {
		reason = DeclineReason::CHAIN_TOO_LONG;
		return false;
	}
	return true;
}

//! The relation that provides the column and those whose columns find its row, and so on.
void Deferral::CollectRelations(const ColumnBinding &column, idx_t links, unordered_set<idx_t> &relations) const {
	auto provider = ProviderOf(column, links);
	if (provider.kind != Provider::Kind::FETCHED) {
		return;
	}
	auto &link = chain[provider.link];
	if (!relations.insert(link.relation).second) {
		return;
	}
	for (auto &compared : link.compared) {
		CollectRelations(compared.probe, provider.link, relations);
	}
}

bool Deferral::RelyOn(const OutputColumn &column, idx_t link) const {
	return column.relies_on.find(chain[link].relation) != column.relies_on.end();
}

Deferral::Provider Deferral::ProviderOf(const ColumnBinding &column, idx_t links) const {
	Provider result;
	auto retained = RetainedColumns();
	auto equal = input.Equivalences().EqualTo(column);
	for (auto &candidate : equal) {
		if (retained.find(candidate) != retained.end()) {
			result.kind = Provider::Kind::RETAINED;
			result.column = candidate;
			return result;
		}
	}
	if (auto constant = input.Equivalences().ConstantOf(column)) {
		result.kind = Provider::Kind::CONSTANT;
		result.constant = *constant;
		return result;
	}
	for (auto &candidate : equal) {
		auto relation = input.RelationOf(candidate);
		for (idx_t i = 0; i < links && relation.IsValid(); i++) {
			if (relation.GetIndex() == chain[i].relation) {
				result.kind = Provider::Kind::FETCHED;
				result.column = candidate;
				result.link = i;
				return result;
			}
		}
	}
	throw InternalException("Late materialization needs a column that nothing provides");
}

void Deferral::Fetch(const ColumnBinding &column, idx_t links) {
	auto provider = ProviderOf(column, links);
	if (provider.kind != Provider::Kind::FETCHED) {
		return;
	}
	auto &fetched = chain[provider.link].fetched;
	if (std::find(fetched.begin(), fetched.end(), provider.column) == fetched.end()) {
		fetched.push_back(provider.column);
	}
}

bool Deferral::TryWithoutLink(idx_t link, idx_t max_chain, DeclineReason &reason) {
	for (idx_t i = 0; i < columns.size(); i++) {
		if (!columns[i].retained && RelyOn(columns[i], link)) {
			pinned[i] = true;
		}
	}
	if (!TryFind(max_chain, reason)) {
		reason = DeclineReason::NOT_WORTH_IT;
		return false;
	}
	return true;
}

DeclineReason Deferral::WhyNothingDetermined() const {
	// Was something determined but needed by ORDER BY or HAVING?
	for (idx_t i = 0; i < columns.size(); i++) {
		if (!pinned[i] || !columns[i].resolved || !columns[i].is_group) {
			continue;
		}
		Deferral unpinned(input, query);
		unpinned.columns[i].retained = false;
		if (unpinned.Determines(unpinned.columns[i])) {
			return DeclineReason::ORDER_NEEDS_COLUMN;
		}
	}
	ColumnSet grouped;
	for (auto &column : columns) {
		if (column.is_group && AggregateInput::IsColumn(*column.resolved)) {
			grouped.insert(column.resolved->Cast<BoundColumnRefExpression>().Binding());
		}
	}
	for (auto &relation : input.Relations()) {
		for (auto &key : relation.keys) {
			auto reachable = std::all_of(key.columns.begin(), key.columns.end(),
			                             [&](const ColumnBinding &column) { return IsReachable(grouped, column); });
			if (reachable && key.nullable) {
				return DeclineReason::NULLABLE_KEY;
			}
			if (reachable && key.inexact) {
				return DeclineReason::INEXACT_KEY;
			}
		}
	}
	for (auto &column : columns) {
		if (!column.is_group) {
			continue;
		}
		for (auto &base : ColumnsOf(*column.resolved)) {
			if (input.IsOuterJoined(base)) {
				return DeclineReason::OUTER_JOINED_COLUMN;
			}
		}
	}
	return DeclineReason::NO_DETERMINED_COLUMN;
}

//! Names of the columns a link fetches and of those that are not shown but left the group key because of its key.
vector<string> Deferral::DeterminedBy(idx_t link) const {
	vector<string> result;
	for (auto &column : chain[link].fetched) {
		result.push_back(input.NameOf(column));
	}
	for (auto &column : columns) {
		if (column.retained || column.displayed) {
			continue;
		}
		for (auto &needed : ColumnsOf(*column.resolved)) {
			auto relation = input.RelationOf(needed);
			auto name = input.NameOf(needed);
			if (relation.IsValid() && relation.GetIndex() == chain[link].relation &&
			    std::find(result.begin(), result.end(), name) == result.end()) {
				result.push_back(name);
			}
		}
	}
	return result;
}

vector<pair<string, string>> Deferral::Facts() const {
	vector<pair<string, string>> facts;
	vector<string> retained;
	for (auto &column : columns) {
		if (column.is_group && column.retained) {
			for (auto &base : ColumnsOf(*column.resolved)) {
				retained.push_back(input.NameOf(base));
			}
		}
	}
	std::sort(retained.begin(), retained.end());
	facts.emplace_back("group key", Join(retained));
	for (idx_t i = 0; i < chain.size(); i++) {
		auto &key = input.Relations()[chain[i].relation].keys[chain[i].key];
		vector<string> key_columns;
		for (auto &compared : chain[i].compared) {
			auto name = input.NameOf(compared.probe);
			key_columns.push_back(name);
			if (compared.probe != compared.column) {
				facts.emplace_back("outer join", name + " = " + input.NameOf(compared.column));
			}
			auto provider = ProviderOf(compared.probe, i);
			if (provider.kind == Provider::Kind::CONSTANT) {
				facts.emplace_back("constant", name + " = " + provider.constant.ToString());
			} else if (provider.column != compared.probe) {
				facts.emplace_back("equal", input.NameOf(provider.column) + " = " + name);
			}
		}
		facts.emplace_back("key", key.name + (key.proof ? " proved" : key.enforced ? " enforced" : " declared"));
		facts.emplace_back("fd", Join(key_columns) + "-->" + Join(DeterminedBy(i)));
	}
	return facts;
}

} // namespace merganser
