//===----------------------------------------------------------------------===//
//                         Merganser
//
// stages/stage.hpp
//
// A query in stages: every stage is a piece of DuckDB's optimised plan that ends at an exchange and begins at slices of
// files and at the exchanges of other stages. A stage has one share or several; share i of n
//   reads slice i of n of its sliced files, or what range i of a key has of them (key_ranges.hpp),
//   reads partition i of n of an exchange in mode PARTITION, the i-th of n even pieces of all its rows, one behind the
//   other, in mode CONSECUTIVE, all partitions of one in mode ALL.
// Where the branches of UNION ALL follow each other, each has shares of its own: of 16, the first branch slices 0 to 7
// of 8, the second is empty there and has its slices 0 to 7 in shares 8 to 15.
// A task computes one share or several neighbouring ones (runners/stage_tasks.hpp) and writes one exchange file.
// Stages are numbered from 1 in the order they can run; the last one returns the query's rows.
//===----------------------------------------------------------------------===//

#pragma once

#include "file_version.hpp"
#include "properties/repeatability.hpp"
#include "properties/row_order.hpp"
#include "stages/shares.hpp"

#include "duckdb/parser/query_node.hpp"
#include "duckdb/planner/logical_operator.hpp"

namespace merganser {

class RangedReading;

//! How the rows of a piece of plan lie over the tasks that compute it.
enum class Distribution : uint8_t {
	//! All rows in one task.
	ONE_TASK,
	//! Every row in exactly one of several tasks.
	SPLIT,
	//! As SPLIT, and rows equal on the keys are in the same task, in whichever.
	TOGETHER,
	//! As SPLIT, and rows equal on the keys are in the task that their hash says.
	HASHED,
	//! As SPLIT, and rows equal on one of the keys, on any of them, are in the task that has their range
	//! (key_ranges.hpp); the scans below read these ranges.
	RANGED
};

struct Partitioning {
	Distribution distribution = Distribution::ONE_TASK;
	//! Not for ONE_TASK and SPLIT: columns of the piece, in the order they are hashed.
	vector<ColumnBinding> keys;
	//! In which the rows come.
	RowOrder order {};
	//! Shares of the stage; 0: as many as usual.
	idx_t shares = 0;

	bool IsOneTask() const {
		return distribution == Distribution::ONE_TASK;
	}
	//! Whether rows that agree on all of `columns` are surely in one task.
	bool KeepsTogether(const vector<ColumnBinding> &columns) const;
	//! The same rows where `name` says what is left of a key, or nothing: of HASHED rows all keys must be left.
	Partitioning Renamed(const std::function<optional<ColumnBinding>(const ColumnBinding &)> &name) const;
	//! The same rows, of which no column is known any more.
	Partitioning WithoutColumns() const;
};

enum class ReadMode : uint8_t { PARTITION, CONSECUTIVE, ALL };

//! Where the shares of an input lie among those of the stage that reads it: they are all of these, or those of one
//! branch of UNION ALL.
struct Placement {
	idx_t first = 0;
	//! 0: as many as the stage has.
	idx_t count = 0;

	idx_t Count(idx_t of_stage) const {
		return count == 0 ? of_stage : count;
	}
	//! The shares of the input that are among these of a stage with `of_stage`; none where first = last.
	Shares Of(const Shares &shares, idx_t of_stage) const;
	//! Whether the input has `usual` shares, and a stage with `of_stage` has all of them.
	bool Fits(idx_t usual, idx_t of_stage) const;
};

//! A database file that workers of other processes attach for reading.
struct DatabaseFile {
	//! What they call it.
	string name;
	string path;
	//! Of the file as the session sees it; `changed` in nanoseconds since 1970.
	idx_t bytes;
	idx_t changed;
	uint64_t device;
};

//! Files too many for SQL: a task has them in a variable, a list of structs as merganser_slice takes them.
struct FileList {
	string variable;
	vector<Value> files;
};

//! A scan of files, or of a table in a file, whose rows the tasks of a stage divide among them.
struct SlicedScan {
	//! The relation that stands for the scan in the SQL of the stage.
	string name;
	//! Its columns, in the order of `SELECT *`, and the virtual ones that are read.
	vector<Identifier> column_names;
	vector<LogicalType> column_types;
	//! FROM clause of the whole scan: read_parquet(...), or a table.
	string source;
	//! Of files: DuckDB's function that reads them, and what a task must know of the scan (slice_scan.hpp).
	string function;
	string description;
	//! Files whose columns are those of the scan, where they are not in the description.
	vector<Value> sample;
	//! Virtual columns that are read.
	vector<string> virtual_columns;
	struct File {
		//! Rows, or bytes where `whole_files` are divided whose rows are not known.
		idx_t size;
		idx_t row_groups;
		//! Rows of each row group but the last; 0 where they differ.
		idx_t group_rows = 0;
		//! Nothing for a table.
		FileVersion version;
	};
	//! In the order of the scan.
	vector<File> files;
	//! Every file is read by one task.
	bool whole_files = false;
	//! Not slices, but ranges of a key.
	shared_ptr<const RangedReading> ranged;
	bool rows_are_known = true;
	//! Bytes of a row in the columns that are read, about; 1 where sizes are bytes.
	idx_t width = 1;
	//! The one file is a table, and its rows are ranges of row ids.
	bool by_row_id = false;
	Placement placement;
	//! Only where workers attach it.
	unique_ptr<DatabaseFile> database;

	//! Rows start to end - 1 of a file.
	struct Piece {
		reference<const File> file;
		idx_t start;
		idx_t end;
	};

	//! Of all files, in rows or bytes.
	idx_t Size() const;
	//! 0 where they are not known.
	idx_t Rows() const;
	vector<Piece> Pieces(const Shares &shares, idx_t of) const;
	//! SELECT of these slices, `of` as many; contiguous rows, cut at row groups where there are enough of them.
	string SliceSql(const Shares &shares, idx_t of) const;
	//! Bytes that each of `count` shares reads, about.
	vector<idx_t> BytesOfShares(idx_t count) const;
	//! What that SELECT has in variables.
	vector<FileList> Lists(const Shares &shares, idx_t of) const;
	//! "*", and the virtual columns.
	string Columns() const;

private:
	//! SELECT of whole files, or of rows of one.
	string Select(const vector<Value> &slice) const;
	Value FileValue(const File &file) const;
	//! The files among them that are read whole.
	vector<Value> Whole(const vector<Piece> &pieces) const;
	vector<Value> FilesOfRanges(const Shares &shares) const;
	string RangeSql(const Shares &shares) const;
};

//! Rows of the session's own process (tables, data frames), which the coordinator writes as an exchange file.
struct SentInput {
	vector<LogicalType> types;
	idx_t partitions = 1;
};

struct StageInput {
	//! Exactly one of these is set: a stage number, an index of SentInput.
	optional_idx stage;
	optional_idx sent;
	ReadMode mode = ReadMode::PARTITION;
	//! Whether what reads the rows sees the order in which they arrive.
	bool ordered = false;
	//! Not of mode ALL, which every share reads.
	Placement placement {};

	//! The relation that stands for the input in the SQL of the stage: merganser_stage_3, merganser_all_of_stage_3,
	//! merganser_pieces_of_stage_3, merganser_stage_3_from_share_8.
	string Name() const;
};

struct Stage {
	idx_t number = 0;
	unique_ptr<LogicalOperator> plan;
	//! The first `columns` columns are the rows; keys that are none of them follow.
	idx_t columns = 0;
	//! Positions of the keys its exchange is hashed by.
	vector<idx_t> keys;
	//! Instead of keys: the column that holds the number of a row's partition.
	optional_idx partition_number;
	//! What the planner expects to come back, one for each of `columns`.
	vector<LogicalType> types;
	//! What the SQL delivers.
	vector<LogicalType> sql_types;
	//! It runs as so many tasks, or fewer.
	idx_t tasks = 1;
	//! What the tasks divide among them; more than `tasks` where branches of UNION ALL follow each other.
	idx_t shares = 1;
	//! The order in which its rows must come; each task writes them so, and task after task they are so.
	RowOrder order;
	//! Partitions of the exchange it writes.
	idx_t partitions = 1;
	idx_t estimated_rows = 0;
	vector<StageInput> inputs;
	vector<SlicedScan> scans;
	//! Whether its tasks write the same when they run again (stage_repeatability.hpp).
	Repeatability repeatability;
	//! How much of that what reads the stage relies on.
	Repeatability::Level needed = Repeatability::Level::ROWS;
	//! Why the stage ends here, and why it runs as it does.
	vector<string> reasons;
	unique_ptr<QueryNode> query;
	//! Instead of an exchange of its rows: options of the COPY that writes them as files and returns the list of these.
	string files;
	//! Whether these lie in a folder for each value of some columns.
	bool files_are_partitioned = false;

	//! Whether a file of it may be written again without its readers.
	bool IsRepeatable() const {
		return repeatability.Satisfies(needed);
	}
	//! "hash(2 keys) into 8", "gather", ...
	string PartitioningText() const;
	string InputsText() const;
	string ReasonText() const;
	//! The SQL of the stage with its inputs by name.
	string Sql() const;
	//! The options of the COPY that writes the exchange of a task.
	string WriteOptions() const;
};

//! A join that reads two stages, each hashed by its keys. Where `small` turns out to have at most `max_bytes`, `other`
//! need not run: each task of `reader` computes its share of `other` and reads all of `small`.
struct LateBroadcast {
	idx_t small = 0;
	//! Directly behind `small`.
	idx_t other = 0;
	idx_t reader = 0;
	idx_t max_bytes = 0;
};

struct QueryStages {
	vector<unique_ptr<Stage>> stages;
	vector<SentInput> sent;
	vector<LateBroadcast> late_broadcasts;

	const Stage &Get(idx_t number) const {
		return *stages[number - 1];
	}
};

} // namespace merganser
