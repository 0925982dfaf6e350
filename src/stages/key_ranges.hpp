//===----------------------------------------------------------------------===//
//                         Merganser
//
// stages/key_ranges.hpp
//
//   SELECT o_orderdate, sum(l_quantity) FROM 'orders.parquet' JOIN 'lineitem.parquet' ON l_orderkey = o_orderkey ...
//
// Problem: to join two large inputs their rows are exchanged, all of them, so that equal keys meet. But fact tables are
// mostly written in the order of a key or of time: then a row group holds a narrow range of it, and its footer says so.
//
// So the shares of a stage take ranges of the key instead of slices of the files: share i reads, of each input, the
// files whose row groups may have keys of range i, with the condition in SQL that the key is in it:
//   SELECT * FROM merganser_slice('read_parquet', [<files>], ...) WHERE o_orderkey >= 750000 AND o_orderkey < 1500000
// DuckDB reads the row groups that may have such rows. Row groups at the borders are read by two shares.
//
// Sound because the conditions say whose a row is: a key is in exactly one range, the first range takes NULLs, and
// equal keys of two inputs are in the same range as both are compared with the same borders, in the same type. Which
// files and row groups may have rows of a range is what footers say, on which DuckDB relies in every scan with a
// condition: only of numbers stored as integers (of dates, times, decimals too), and what a footer says nothing of is
// read by all shares. Whether ranges pay is found by the footers as well (IsWorthwhile).
//===----------------------------------------------------------------------===//

#pragma once

#include "stages/shares.hpp"

#include "duckdb/common/types/value.hpp"

namespace merganser {

//! Range i is from border i - 1, inclusive, to border i, exclusive. Shares behind the last range are empty.
class KeyRanges {
public:
	//! With these borders between the ranges, ascending.
	explicit KeyRanges(vector<Value> borders);

	//! Those that are not empty.
	idx_t Count() const {
		return borders.size() + 1;
	}
	//! SQL that is true of the keys of these shares, in the column of this name.
	string Condition(const string &column, const Shares &shares) const;
	//! The shares that have the keys from `lowest` to `highest`.
	Shares Of(const Value &lowest, const Value &highest) const;

private:
	//! The share that has it.
	idx_t Of(const Value &key) const;

	const vector<Value> borders;
};

//! What a footer says of a column in one row group.
struct RowGroupKeys {
	//! Position of its file in the scan.
	idx_t file;
	idx_t rows;
	//! NULL where it says nothing that can be relied on.
	Value lowest;
	Value highest;
	//! `rows` where it does not say.
	idx_t nulls;

	bool AreKnown() const {
		return !lowest.IsNull() && !highest.IsNull() && lowest <= highest;
	}
};

//! How the shares of a stage read a scan by ranges of one of its columns.
class RangedReading {
public:
	RangedReading(string column, LogicalType type, vector<RowGroupKeys> row_groups);

	//! The column's name in the scan, and the type its keys are compared in.
	string column;
	LogicalType type;
	vector<RowGroupKeys> row_groups;

	void Divide(shared_ptr<const KeyRanges> ranges);
	//! Nothing before it is divided.
	const shared_ptr<const KeyRanges> &Ranges() const {
		return ranges;
	}
	//! Rows that each of `count` shares reads, about: of a row group read for its NULLs alone, mostly the keys.
	vector<idx_t> RowsOfShares(idx_t count) const;
	//! Whether its row groups are read at most 1.5 times by `count` shares.
	bool IsWorthwhile(idx_t count) const;
	//! Positions of the files these shares read, ascending.
	vector<idx_t> Files(const Shares &shares) const;

private:
	shared_ptr<const KeyRanges> ranges;
	//! Of each row group, the shares that have its keys.
	vector<Shares> shares_of_keys;
};

struct RangedFile {
	string path;
	idx_t rows;
};

struct RowGroupRanges {
	//! In which keys of a column of this type are compared, with those of others too; INVALID for types that are not
	//! stored as integers in the order of their values.
	static LogicalType TypeOfKeys(const LogicalType &type);
	//! What the footers of these Parquet files say of a column; none where a file lacks it, or stores it in a way whose
	//! footers are not relied on.
	static vector<RowGroupKeys> Read(ClientContext &context, const vector<RangedFile> &files, const string &column,
	                                 const LogicalType &column_type);
	//! So many ranges of about as many rows each, or fewer, which begin where row groups begin.
	static shared_ptr<const KeyRanges> Divide(vector<RowGroupKeys> row_groups, idx_t ranges);
};

} // namespace merganser
