//===----------------------------------------------------------------------===//
//                         Merganser
//
// stages/plan_columns.hpp
//
// What the rules of the stage planner ask about columns and expressions of a plan: how wide, whether rows can be hashed
// by them, and which of them pass an operator unchanged.
//===----------------------------------------------------------------------===//

#pragma once

#include "stages/stage.hpp"

#include "duckdb/planner/expression.hpp"

namespace merganser {

struct PlanColumns {
	//! Bytes a value of this type takes on its way, about.
	static idx_t Width(const LogicalType &type);
	//! Whether equal values have equal hashes.
	static bool CanHash(const LogicalType &type);
	//! Whether there are keys, and rows can be hashed by them.
	static bool CanHash(const vector<unique_ptr<Expression>> &keys);
	static vector<unique_ptr<Expression>> Copies(const vector<unique_ptr<Expression>> &expressions);
	//! The expressions over `others`, which are `columns` read once more.
	static vector<unique_ptr<Expression>> Over(const vector<unique_ptr<Expression>> &expressions,
	                                           const vector<ColumnBinding> &columns,
	                                           const vector<ColumnBinding> &others);
	//! The columns the expressions are, or none where one of them computes something.
	static vector<ColumnBinding> Plain(const vector<unique_ptr<Expression>> &expressions);
	//! The column an expression is, or packs into fewer bytes, or unpacks: DuckDB does that between operators, and SQL
	//! of a plan shows nothing of it (CompressedMaterialization). Nothing where it computes something.
	static optional<ColumnBinding> ColumnOf(const Expression &expression);
	//! The same, also where the column is cast from one type of integers to another: to values equal to its own, or an
	//! error. DuckDB does that where statistics say that fewer bytes are enough.
	static optional<ColumnBinding> ColumnOfValue(const Expression &expression);
	//! A reference to each column `op` delivers.
	static vector<unique_ptr<Expression>> All(LogicalOperator &op);
	static bool Contains(const vector<ColumnBinding> &bindings, const ColumnBinding &binding);
	//! What is left of `delivered` above `op`, which leaves rows where they are: the keys are known only while their
	//! columns are there.
	static Partitioning KeepAvailable(Partitioning delivered, LogicalOperator &op);
};

} // namespace merganser
