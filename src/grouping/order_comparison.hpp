//===----------------------------------------------------------------------===//
//                         Merganser
//
// grouping/order_comparison.hpp
//
// Finds the first row of a chunk that should come before its predecessor, by an ORDER BY list, with DuckDB's order of
// values (NaN is the largest number). Nested types, INTERVAL, TIMETZ and BIT are compared by DuckDB's sort keys, every
// other type by its values.
//===----------------------------------------------------------------------===//

#pragma once

#include "table_functions/arguments.hpp"

namespace merganser {

class OrderComparison {
public:
	OrderComparison(ClientContext &context, vector<OrderItem> items, const vector<LogicalType> &input_types);

	//! `starts` are the rows that begin a partition and so have no predecessor. The predecessor of row 0 is the last
	//! row of the chunk before. Invalid if all rows are in order.
	optional_idx FindViolation(DataChunk &input, const vector<idx_t> &starts);
	//! The order columns' values of the violating row's predecessor and of the row itself: "ts goes back from ... to
	//! ...".
	string Describe(DataChunk &input, idx_t row, const vector<string> &names) const;
	//! Keeps the last row for the next chunk.
	void Remember(DataChunk &input);

private:
	static bool ComparesValues(const LogicalType &type);
	template <class T>
	void Compare(const Vector &column, idx_t item);
	void CompareSortKeys(const Vector &column, idx_t item);
	void CompareItem(DataChunk &input, idx_t item);
	bool AscendsPlainly(DataChunk &input, const vector<idx_t> &starts) const;
	Value PredecessorValue(DataChunk &input, idx_t row, idx_t item) const;

	ClientContext &context;
	vector<OrderItem> items;
	vector<LogicalType> types;
	//! Per row: -1 comes after its predecessor, 0 equal so far, 1 should come before it.
	unsafe_vector<int8_t> comparison;
	unique_ptr<DataChunk> last;
};

} // namespace merganser
