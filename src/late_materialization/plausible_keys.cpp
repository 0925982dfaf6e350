#include "late_materialization/plausible_keys.hpp"

#include "keys/column_statistics.hpp"

#include "duckdb/common/types/hugeint.hpp"
#include "duckdb/planner/expression/bound_columnref_expression.hpp"
#include "duckdb/planner/operator/logical_get.hpp"
#include "duckdb/storage/statistics/numeric_stats.hpp"

#include <algorithm>

namespace merganser {

namespace {

//! Counts of distinct values are estimates.
const double FAR_FEWER = 0.5;
//! Rows of a table are counted with those that were deleted and not yet removed.
const double FEWER = 0.9;

//! "customers" -> "customer", as columns are named after one row.
string OneOf(const string &relation) {
	auto name = StringUtil::Lower(relation);
	return StringUtil::EndsWith(name, "s") ? name.substr(0, name.size() - 1) : name;
}

bool IsNamedLikeAnIdentifier(const string &column) {
	auto name = StringUtil::Lower(column);
	for (auto ending : {"id", "key", "_sk", "_pk", "_no", "_nr", "_ref", "code", "number", "uuid", "guid", "sku"}) {
		if (StringUtil::EndsWith(name, ending)) {
			return true;
		}
	}
	return false;
}

//! Whether statistics say that the column has fewer values than the relation has rows.
bool IsRuledOut(ClientContext &context, const BaseRelation &relation, const ColumnBinding &column) {
	if (relation.source->type != LogicalOperatorType::LOGICAL_GET) {
		return false;
	}
	auto &get = relation.source->Cast<LogicalGet>();
	auto statistics = ColumnStatistics::Of(context, get, get.GetColumnIndex(column));
	if (!statistics) {
		return false;
	}
	auto rows = static_cast<double>(relation.cardinality);
	auto distinct = static_cast<double>(statistics->GetDistinctCount());
	if (distinct > 0 && distinct < FAR_FEWER * rows) {
		return true;
	}
	auto &type = statistics->GetType();
	if (!type.IsIntegral() || GetTypeIdSize(type.InternalType()) > sizeof(uint64_t) ||
	    !NumericStats::HasMinMax(*statistics)) {
		return false;
	}
	auto least = NumericStats::Min(*statistics).GetValue<hugeint_t>();
	auto greatest = NumericStats::Max(*statistics).GetValue<hugeint_t>();
	return Hugeint::Cast<double>(greatest - least) + 1 < FEWER * rows;
}

class Search {
public:
	Search(ClientContext &context, const AggregateInput &input, const Deferral &deferral)
	    : context(context), input(input), given_in(input.Relations().size()), useful(input.Relations().size(), false) {
		for (auto &column : deferral.Columns()) {
			if (column.is_group && column.resolved->GetExpressionClass() == ExpressionClass::BOUND_COLUMN_REF) {
				AddAvailable(column.resolved->Cast<BoundColumnRefExpression>().Binding());
			}
			if (column.resolved) {
				AggregateShape::CollectColumns(*column.resolved, wanted);
			}
		}
	}

	vector<PlausibleKey> Run() {
		Reach();
		FindUseful();
		vector<PlausibleKey> result;
		for (auto relation : reached) {
			if (useful[relation]) {
				AddCandidates(relation, result);
			}
		}
		return result;
	}

private:
	void AddAvailable(const ColumnBinding &column) {
		available.insert(column);
		for (auto &equal : input.Equivalences().EqualTo(column)) {
			available.insert(equal);
		}
	}

	bool IsGiven(const ColumnBinding &column) const {
		return available.count(column) || input.Equivalences().ConstantOf(column);
	}

	//! Relation after relation, as a chain of join-backs would come to them.
	void Reach() {
		auto &relations = input.Relations();
		vector<bool> done(relations.size(), false);
		for (bool progress = true; progress;) {
			progress = false;
			for (idx_t r = 0; r < relations.size(); r++) {
				for (auto &column : relations[r].columns) {
					if (!done[r] && IsGiven(column)) {
						given_in[r].push_back(column);
					}
				}
				if (done[r] || given_in[r].empty()) {
					continue;
				}
				done[r] = true;
				progress = true;
				reached.push_back(r);
				for (auto &column : relations[r].columns) {
					AddAvailable(column);
				}
			}
		}
	}

	//! Backwards: what leads to a useful relation is useful.
	void FindUseful() {
		for (auto r = reached.rbegin(); r != reached.rend(); ++r) {
			auto &columns = input.Relations()[*r].columns;
			useful[*r] = useful[*r] || std::any_of(columns.begin(), columns.end(), [&](const ColumnBinding &column) {
				             return wanted.count(column) != 0;
			             });
			if (!useful[*r]) {
				continue;
			}
			for (auto &column : given_in[*r]) {
				for (auto &equal : input.Equivalences().EqualTo(column)) {
					auto source = input.RelationOf(equal);
					if (source.IsValid()) {
						useful[source.GetIndex()] = true;
					}
				}
			}
		}
	}

	bool IsJoined(const ColumnBinding &column) const {
		auto equal = input.Equivalences().EqualTo(column);
		return std::any_of(equal.begin(), equal.end(),
		                   [&](const ColumnBinding &other) { return other.table_index != column.table_index; });
	}

	//! 0 for a column that keys are not made of.
	idx_t Plausibility(const BaseRelation &relation, const ColumnBinding &column) const {
		auto position = relation.PositionOf(column);
		if (!ColumnEquivalences::HasIdentityEquality(relation.types[position])) {
			return 0;
		}
		auto name = StringUtil::Lower(relation.column_names[position]);
		idx_t result = IsJoined(column) ? 2 : 0;
		if (IsNamedLikeAnIdentifier(name)) {
			auto of_this_relation = name == "id" || StringUtil::Contains(name, OneOf(relation.name));
			result += of_this_relation ? 3 : 1;
		}
		return result;
	}

	void AddCandidates(idx_t r, vector<PlausibleKey> &result) const {
		auto &relation = input.Relations()[r];
		vector<pair<idx_t, ColumnBinding>> parts;
		for (auto &column : given_in[r]) {
			auto plausibility = Plausibility(relation, column);
			if (plausibility > 0) {
				parts.emplace_back(plausibility, column);
			}
		}
		std::stable_sort(parts.begin(), parts.end(),
		                 [](const pair<idx_t, ColumnBinding> &left, const pair<idx_t, ColumnBinding> &right) {
			                 return left.first > right.first;
		                 });
		for (auto &part : parts) {
			if (!IsRuledOut(context, relation, part.second)) {
				result.push_back({r, {part.second}});
			}
		}
		for (idx_t i = 0; i < parts.size(); i++) {
			for (idx_t j = i + 1; j < parts.size(); j++) {
				result.push_back({r, {parts[i].second, parts[j].second}});
			}
		}
	}

	ClientContext &context;
	const AggregateInput &input;
	//! Given by the group key, and by what was reached.
	column_binding_set_t available;
	//! Read by group columns and by aggregates that return their argument.
	column_binding_set_t wanted;
	//! Relations, in the order in which they are reached.
	vector<idx_t> reached;
	//! Of each relation the columns that were given when it was reached.
	vector<vector<ColumnBinding>> given_in;
	vector<bool> useful;
};

} // namespace

vector<PlausibleKey> PlausibleKeys::Of(ClientContext &context, const AggregateInput &input, const Deferral &deferral) {
	return Search(context, input, deferral).Run();
}

} // namespace merganser
