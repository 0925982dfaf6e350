#include "grouping/prepare_calls.hpp"

#include "grouping/arrival_of_input.hpp"
#include "grouping/logical_table_function.hpp"

#include "duckdb/main/config.hpp"
#include "duckdb/main/extension/extension_loader.hpp"
#include "duckdb/optimizer/optimizer.hpp"
#include "duckdb/optimizer/optimizer_extension.hpp"
#include "duckdb/optimizer/remove_unused_columns.hpp"
#include "duckdb/planner/expression/bound_columnref_expression.hpp"
#include "duckdb/planner/expression_iterator.hpp"
#include "duckdb/planner/logical_operator_visitor.hpp"
#include "duckdb/planner/operator/logical_filter.hpp"
#include "duckdb/planner/operator/logical_projection.hpp"

namespace merganser {

namespace {

optional_ptr<LogicalTableFunction> AsCall(LogicalOperator &op) {
	if (op.type != LogicalOperatorType::LOGICAL_EXTENSION_OPERATOR) {
		return nullptr;
	}
	return dynamic_cast<LogicalTableFunction *>(&op);
}

//! Callers before the calls in their input.
void CollectCalls(LogicalOperator &op, vector<reference<LogicalTableFunction>> &calls) {
	auto call = AsCall(op);
	if (call) {
		calls.push_back(*call);
	}
	for (auto &child : op.children) {
		CollectCalls(*child, calls);
	}
}

//===--------------------------------------------------------------------===//
// Filters
//===--------------------------------------------------------------------===//
//! The input column that a column of the call's output repeats, if a filter on it may move below the call.
optional_ptr<const Expression> MovableColumn(const LogicalTableFunction &call, const ColumnBinding &binding) {
	for (auto &output : call.outputs) {
		if (binding.table_index != call.table_index || output.binding != binding.column_index ||
		    output.source == ProcessorLayout::Source::PROPER) {
			continue;
		}
		auto column =
		    output.source == ProcessorLayout::Source::PARTITION ? call.partition_outputs[output.index] : output.index;
		if (call.definition.semantics == TableSemantics::ROW) {
			return call.expressions[column].get();
		}
		auto &partition = call.partition_columns;
		auto is_partition = std::find(partition.begin(), partition.end(), column) != partition.end();
		auto exact = PartitionBoundaries::EqualityIsIdentity(call.expressions[column]->GetReturnType());
		return is_partition && exact ? call.expressions[column].get() : nullptr;
	}
	return nullptr;
}

//! Replaces every column reference by what `replace` returns for it; false if it returns nothing for one.
template <class REPLACE>
bool ReplaceColumns(unique_ptr<Expression> &expression, REPLACE replace) {
	if (expression->GetExpressionClass() == ExpressionClass::BOUND_COLUMN_REF) {
		auto &reference = expression->Cast<BoundColumnRefExpression>();
		optional_ptr<const Expression> replacement = reference.Depth() == 0 ? replace(reference.Binding()) : nullptr;
		if (replacement) {
			expression = replacement->Copy();
		}
		return replacement;
	}
	auto replaced = true;
	ExpressionIterator::EnumerateChildren(
	    *expression, [&](unique_ptr<Expression> &child) { replaced = ReplaceColumns(child, replace) && replaced; });
	return replaced;
}

bool RefersToColumns(const Expression &expression) {
	auto refers = expression.GetExpressionClass() == ExpressionClass::BOUND_COLUMN_REF;
	ExpressionIterator::EnumerateChildren(expression,
	                                      [&](const Expression &child) { refers = refers || RefersToColumns(child); });
	return refers;
}

//! The filter in terms of the call's input, or null if it has to stay.
unique_ptr<Expression> BelowCall(const Expression &filter, LogicalOperator &below,
                                 optional_ptr<LogicalTableFunction> &call) {
	if (filter.IsVolatile() || filter.HasSubquery() || !RefersToColumns(filter)) {
		return nullptr;
	}
	auto result = filter.Copy();
	reference<LogicalOperator> current = below;
	while (current.get().type == LogicalOperatorType::LOGICAL_PROJECTION) {
		auto &projection = current.get().Cast<LogicalProjection>();
		auto resolve = [&](const ColumnBinding &binding) -> optional_ptr<const Expression> {
			auto ours = binding.table_index == projection.table_index;
			return ours ? &projection.GetExpression(binding) : nullptr;
		};
		if (!ReplaceColumns(result, resolve) || result->IsVolatile()) {
			return nullptr;
		}
		current = *projection.children[0];
	}
	call = AsCall(current);
	if (!call) {
		return nullptr;
	}
	auto movable = [&](const ColumnBinding &binding) {
		return MovableColumn(*call, binding);
	};
	return ReplaceColumns(result, movable) ? std::move(result) : nullptr;
}

void MoveFilters(unique_ptr<LogicalOperator> &owner) {
	if (owner->type == LogicalOperatorType::LOGICAL_FILTER) {
		auto &filter = owner->Cast<LogicalFilter>();
		filter.SplitPredicates();
		vector<unique_ptr<Expression>> staying;
		vector<unique_ptr<Expression>> moving;
		optional_ptr<LogicalTableFunction> call;
		for (auto &expression : filter.expressions) {
			auto moved = BelowCall(*expression, *filter.children[0], call);
			if (moved) {
				moving.push_back(std::move(moved));
			} else {
				staying.push_back(std::move(expression));
			}
		}
		filter.expressions = std::move(staying);
		if (!moving.empty()) {
			auto below = make_uniq<LogicalFilter>();
			below->expressions = std::move(moving);
			below->children.push_back(std::move(call->children[0]));
			call->children[0] = std::move(below);
		}
		if (filter.expressions.empty() && !filter.HasProjectionMap()) {
			owner = std::move(filter.children[0]);
			return MoveFilters(owner);
		}
	}
	for (auto &child : owner->children) {
		MoveFilters(child);
	}
}

//===--------------------------------------------------------------------===//
// Columns
//===--------------------------------------------------------------------===//
class ReferencedColumns : public LogicalOperatorVisitor {
public:
	explicit ReferencedColumns(TableIndex table_index) : table_index(table_index) {
	}

	unordered_set<idx_t> columns;

protected:
	unique_ptr<Expression> VisitReplace(BoundColumnRefExpression &expression, unique_ptr<Expression> *) override {
		if (expression.Binding().table_index == table_index) {
			columns.insert(expression.Binding().column_index.GetIndex());
		}
		return nullptr;
	}

private:
	const TableIndex table_index;
};

void DropUnusedColumns(Optimizer &optimizer, unique_ptr<LogicalOperator> &plan) {
	vector<reference<LogicalTableFunction>> calls;
	CollectCalls(*plan, calls);
	for (auto &call : calls) {
		RemoveUnusedColumns unused(optimizer);
		unused.VisitOperator(plan);
		ReferencedColumns referenced(call.get().table_index);
		referenced.VisitOperator(*plan);
		call.get().KeepOutputs(referenced.columns);
	}
}

bool ContainsCall(LogicalOperator &op) {
	return AsCall(op) || std::any_of(op.children.begin(), op.children.end(),
	                                 [](const unique_ptr<LogicalOperator> &child) { return ContainsCall(*child); });
}

void Run(OptimizerExtensionInput &input, unique_ptr<LogicalOperator> &plan) {
	if (!ContainsCall(*plan)) {
		return;
	}
	if (!input.optimizer.OptimizerDisabled(OptimizerType::FILTER_PUSHDOWN)) {
		MoveFilters(plan);
	}
	if (!input.optimizer.OptimizerDisabled(OptimizerType::UNUSED_COLUMNS)) {
		DropUnusedColumns(input.optimizer, plan);
	}
}

} // namespace

void PrepareCalls::Register(ExtensionLoader &loader) {
	OptimizerExtension extension;
	extension.pre_optimize_function = Run;
	extension.optimize_function = [](OptimizerExtensionInput &input, unique_ptr<LogicalOperator> &plan) {
		if (ContainsCall(*plan)) {
			ArrivalOfInput::Note(input.context, *plan);
		}
	};
	OptimizerExtension::Register(DBConfig::GetConfig(loader.GetDatabaseInstance()), std::move(extension));
}

} // namespace merganser
