//===----------------------------------------------------------------------===//
//                         Merganser
//
// grouping/logical_table_function.hpp
//
// A bound call of a table function in a logical plan, over the bound table argument.
// Its expressions are references to the input columns it uses, so DuckDB's passes keep them up to date; everything else
// counts positions among those expressions. Which grouping runs it is decided when the physical plan is made, from the
// input that is really there.
//===----------------------------------------------------------------------===//

#pragma once

#include "grouping/grouping_decision.hpp"
#include "grouping/processor_stream.hpp"
#include "properties/arrival_order.hpp"
#include "properties/partitioning.hpp"
#include "travelling_operator.hpp"

namespace merganser {

class LogicalTableFunction : public TravellingOperator {
public:
	LogicalTableFunction(ClientContext &context, TableIndex table_index, const TableFunctionDefinition &definition,
	                     shared_ptr<BoundProcessor> bound, const TableArgument &table,
	                     case_insensitive_map_t<Value> passed, unique_ptr<LogicalOperator> input);

	//! A call with the columns, arguments and outputs of another, over no input yet.
	explicit LogicalTableFunction(const LogicalTableFunction &other);

	//! One column of the output that is still carried.
	struct Output {
		ProcessorLayout::Source source;
		//! PROPER: which proper column. PARTITION: which partition column. INPUT: position among the expressions.
		idx_t index;
		//! Position in the full output, which its ColumnBinding keeps when other columns are dropped.
		ProjectionIndex binding;
		string name;
	};

	vector<ColumnBinding> GetColumnBindings() override;
	vector<TableIndex> GetTableIndex() const override;
	string GetName() const override;
	InsertionOrderPreservingMap<string> ParamsToString() const override;
	bool SupportSerialization() const override {
		return false;
	}
	//! DuckDB copies plans by writing and reading them, which a bound processor does not survive. Throws.
	void Serialize(Serializer &serializer) const override;
	optional_ptr<const string> GetTypeBindingVerificationIdentifier() const noexcept override;
	idx_t EstimateCardinality(ClientContext &context) override;
	PhysicalOperator &CreatePlan(ClientContext &context, PhysicalPlanGenerator &planner) override;
	unique_ptr<LogicalOperator> CopyAlone() const override;
	LogicalPlanSQLExportResult ToSQL(LogicalPlanSQLExportContext &context,
	                                 const LogicalPlanVerificationPath &path) override;

	//! Stops carrying output columns that nothing refers to, and the input columns only they needed.
	void KeepOutputs(const unordered_set<idx_t> &bindings);
	ProcessorLayout Layout() const;
	InsertionOrderPreservingMap<string> Description() const;
	vector<string> ExpressionNames() const;
	//! Whether ORDER BY says anything about rows of one partition, in which partition columns are constant.
	bool HasOrder() const;
	//! How many expressions are columns of the table argument; they come first.
	idx_t ArgumentColumnCount() const {
		return expressions.size() - compared_columns.size();
	}

	const TableIndex table_index;
	const TableFunctionDefinition &definition;
	shared_ptr<BoundProcessor> bound;
	//! As the call passed them; defaults are not among them.
	case_insensitive_map_t<Value> passed;
	//! Positions among the expressions. Columns that DuckDB compares by another value, such as INTERVAL and text with a
	//! collation, are partitioned and ordered by an expression for that value.
	vector<idx_t> partition_columns;
	//! The columns of PARTITION BY themselves, for the output.
	vector<idx_t> partition_outputs;
	//! The last expressions: of each the column that it is the compared value of. Both are always carried.
	vector<idx_t> compared_columns;
	vector<OrderItem> ordering;
	vector<idx_t> required_columns;
	vector<Output> outputs;
	//! In which order the rows of the table argument arrive; see arrival_of_input.hpp.
	optional<ArrivalOrder> arrival;

protected:
	void ResolveTypes() override;

private:
	//! Whether there is no ORDER BY, and rows keep the order they arrive in.
	bool KeepsOrderOfInput(ClientContext &context);
	idx_t ComparedColumn(ClientContext &context, idx_t column);
};

} // namespace merganser
