//===----------------------------------------------------------------------===//
//                         Merganser
//
// bound_plan.hpp
//
// A query as the rules see it: bound, not yet optimised, with its aggregate found.
//   WithBoundPlan(database, "SELECT ...", [&](BoundPlan &plan) { ... plan.Aggregate() ... });
//===----------------------------------------------------------------------===//

#pragma once

#include "late_materialization/columns_read.hpp"
#include "late_materialization/shapes/bounded_top_n.hpp"
#include "late_materialization/shapes/every_group.hpp"
#include "open_database.hpp"

#include "duckdb/optimizer/optimizer.hpp"
#include "duckdb/planner/planner.hpp"

namespace merganser {

class BoundPlan {
public:
	BoundPlan(duckdb::ClientContext &context, duckdb::Connection &parsing, const duckdb::string &sql)
	    : planner(context) {
		planner.CreatePlan(std::move(parsing.ExtractStatements(sql)[0]));
		root = std::move(planner.plan);
		REQUIRE(FindAggregate(root));
	}

	LogicalAggregate &Aggregate() {
		return owner->get()->Cast<LogicalAggregate>();
	}
	bool TryMatch(idx_t max_rows, AggregateShape &result, DeclineReason &reason) {
		result.displayed = ColumnsRead::Of(ancestors, Aggregate());
		return BoundedTopN::TryMatch(ancestors, *owner, max_rows, result, reason);
	}
	AggregateShape EveryGroupShape() {
		return EveryGroup::Of(ancestors, *owner);
	}

	duckdb::Planner planner;
	unique_ptr<LogicalOperator> root;
	//! Of the aggregate.
	AncestorPath ancestors;

private:
	bool FindAggregate(unique_ptr<LogicalOperator> &op) {
		if (op->type == LogicalOperatorType::LOGICAL_AGGREGATE_AND_GROUP_BY) {
			owner = op;
			return true;
		}
		ancestors.push_back(op);
		for (auto &child : op->children) {
			if (FindAggregate(child)) {
				return true;
			}
		}
		ancestors.pop_back();
		return false;
	}

	optional_ptr<unique_ptr<LogicalOperator>> owner;
};

template <class USE>
void WithBoundPlan(OpenDatabase &database, const duckdb::string &sql, USE use) {
	duckdb::Connection parsing(database.database);
	auto &context = *database.connection.context;
	context.RunFunctionInTransaction([&]() {
		BoundPlan plan(context, parsing, sql);
		use(plan);
	});
}

} // namespace merganser
