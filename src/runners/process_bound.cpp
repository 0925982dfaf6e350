#include "runners/process_bound.hpp"

#include "runners/session_secrets.hpp"
#include "stages/sliced_files.hpp"

#include "duckdb/catalog/catalog_entry/aggregate_function_catalog_entry.hpp"
#include "duckdb/catalog/catalog_entry/scalar_function_catalog_entry.hpp"
#include "duckdb/planner/expression/bound_aggregate_expression.hpp"
#include "duckdb/planner/expression/bound_function_expression.hpp"
#include "duckdb/planner/expression_iterator.hpp"
#include "duckdb/planner/logical_operator_visitor.hpp"
#include "duckdb/transaction/transaction.hpp"

namespace merganser {

namespace {

//! What DuckDB and its extensions register is as old as the database.
template <class ENTRY>
bool IsOfClient(ClientContext &context, const Identifier &name) {
	auto entry =
	    Catalog::GetEntry<ENTRY>(context, QualifiedName(Identifier::SystemCatalog(), Identifier::DefaultSchema(), name),
		                         OnEntryNotFound::RETURN_NULL);
	return entry && entry->timestamp > SYSTEM_TRANSACTION_TIMESTAMP;
}

bool IsOfClient(ClientContext &context, const Expression &expression, Identifier &name) {
	switch (expression.GetExpressionClass()) {
	case ExpressionClass::BOUND_FUNCTION:
		name = expression.Cast<BoundFunctionExpression>().Function().GetName();
		return IsOfClient<ScalarFunctionCatalogEntry>(context, name);
	case ExpressionClass::BOUND_AGGREGATE:
		name = expression.Cast<BoundAggregateExpression>().Function().GetName();
		return IsOfClient<AggregateFunctionCatalogEntry>(context, name);
	default:
		return false;
	}
}

void CheckFunctions(ClientContext &context, const Expression &expression) {
	Identifier name;
	if (IsOfClient(context, expression, name)) {
		throw NotImplementedException("the function %s was registered in this process only", name.GetIdentifierName());
	}
	ExpressionIterator::EnumerateChildren(expression, [&](const Expression &child) { CheckFunctions(context, child); });
}

//! Workers have DuckDB's file systems and those of its extensions.
bool MayBeReadElsewhere(const string &path) {
	static const unordered_set<string> schemes {"file", "http", "https", "s3",    "s3a", "s3n",  "gcs",
	                                            "gs",   "r2",   "hf",    "azure", "az",  "abfs", "abfss"};
	auto end = path.find("://");
	return end == string::npos || schemes.count(StringUtil::Lower(path.substr(0, end))) > 0;
}

void CheckFiles(const LogicalOperator &op) {
	if (op.type != LogicalOperatorType::LOGICAL_GET || !SlicedFiles::MaySlice(op.Cast<LogicalGet>())) {
		return;
	}
	for (auto &file : SlicedFiles::Files(op.Cast<LogicalGet>())) {
		if (!MayBeReadElsewhere(file.path)) {
			throw NotImplementedException("the file system of \"%s\" was registered in this process only", file.path);
		}
	}
}

void CheckPlan(ClientContext &context, LogicalOperator &op) {
	CheckFiles(op);
	LogicalOperatorVisitor::EnumerateExpressions(
	    op, [&](unique_ptr<Expression> *expression) { CheckFunctions(context, **expression); });
	for (auto &child : op.children) {
		CheckPlan(context, *child);
	}
}

} // namespace

void ProcessBound::Check(ClientContext &context, const QueryStages &stages) {
	for (auto &stage : stages.stages) {
		CheckPlan(context, *stage->plan);
	}
	SessionSecrets::Needed(context, stages);
}

} // namespace merganser
