//===----------------------------------------------------------------------===//
//                         Merganser
//
// keys/seen_data.hpp
//
// Problem: a proof of a key is true of the rows it has read. It may be used again only while the same rows can be
// recognised, and a row more may break it.
//
// Files: what the scan was asked for and what columns it has (ScanIdentity), and the version of every file: path, size,
// time of change, and what tells files of one machine apart, or the ETag (file_version.hpp), as DuckDB listed it when
// it bound the statement, before it opened the file. A proof is kept where every file is still that version when it has
// been read; a statement that uses it looks again when it has read its files itself (join_back_guard.hpp). So every
// reading lies between two looks that saw the same version. A file of which DuckDB lists no version (a pipe, a plain
// URL) cannot be recognised, and its keys are not proved.
//
// Tables: DuckDB keeps no version of a table's rows, but what it keeps of them is enough. All rows of a table stand in
// one tree of row groups. A row is added at its end, which makes it larger; rows are deleted by a mark; a value is
// changed by an entry beside its column, which then has updates for good; and whatever else touches stored rows (a
// checkpoint, a vacuum, an ALTER, the return of a failed commit) makes another tree. So a proof is kept where it has
// read as many rows as the tree holds (none was in the middle of being added, none deleted) in columns without updates,
// and the transaction has written no rows of its own. It holds wherever the tree is the same, as large as it was, its
// columns have no updates, and the transaction has written no rows of its own: all that any snapshot can show are rows
// the proof has read. Rows deleted since do no harm. That a key does not hold is remembered only as long as exactly as
// many rows are visible, since deleting one may mend it.
// Limits: files that were changed and put back as they were, their time too; a checkpoint makes proofs be taken anew.
//===----------------------------------------------------------------------===//

#pragma once

#include "declarations/same_plan.hpp"
#include "file_version.hpp"

#include "duckdb/catalog/catalog_entry/duck_table_entry.hpp"
#include "duckdb/common/multi_file/multi_file_list.hpp"
#include "duckdb/planner/operator/logical_get.hpp"
#include "duckdb/storage/table/row_group_segment_tree.hpp"

namespace merganser {

//! The files of scans in the versions DuckDB listed, put together once a statement: there may be thousands.
class ListedFiles {
public:
	using Versions = shared_ptr<const vector<FileVersion>>;

	//! Null where DuckDB listed a file without a version.
	Versions Of(ClientContext &context, const LogicalGet &get);

private:
	struct Known {
		//! Held, so that no other list takes its place in memory.
		shared_ptr<MultiFileList> list;
		Versions versions;
	};

	unordered_map<const MultiFileList *, Known> lists;
};

class SeenData {
public:
	virtual ~SeenData() = default;

	//! What reading these columns of the scan now would see; null where it could not be recognised again.
	static shared_ptr<SeenData> Of(ClientContext &context, const LogicalGet &get, const vector<ColumnIndex> &columns,
	                               ListedFiles &listed_files);
	//! Whether a scan can be read more than once in a statement, with the same rows.
	static bool MayBeReadAgain(ClientContext &context, const LogicalGet &get, ListedFiles &listed_files);

	//! Whether a proof over this holds for `now`, or, if it failed, would fail again.
	virtual bool Covers(const SeenData &now, bool holds) const = 0;
	//! Whether what was read after this was taken, `rows` rows to the end if the key holds, is what it describes.
	virtual bool WasRead(ClientContext &context, const LogicalGet &get, const vector<ColumnIndex> &columns, bool holds,
	                     idx_t rows) const = 0;
	//! Whether it can still be met: a table that is gone cannot.
	virtual bool MayComeAgain() const = 0;
	//! For people: "3 files, 4711 bytes", "2 row groups, 150000 rows".
	virtual string ToString() const = 0;
	//! Of files, their versions.
	virtual const vector<FileVersion> &Files() const;
};

class SeenFiles : public SeenData {
public:
	SeenFiles(const LogicalGet &get, const vector<ColumnIndex> &columns, ListedFiles::Versions files);

	bool Covers(const SeenData &now, bool holds) const override;
	bool WasRead(ClientContext &context, const LogicalGet &get, const vector<ColumnIndex> &columns, bool holds,
	             idx_t rows) const override;
	bool MayComeAgain() const override {
		return true;
	}
	string ToString() const override;
	const vector<FileVersion> &Files() const override {
		return *files;
	}

private:
	ScanIdentity scan;
	vector<idx_t> columns;
	ListedFiles::Versions files;
};

class SeenTable : public SeenData {
public:
	SeenTable(ClientContext &context, DuckTableEntry &table, vector<idx_t> columns);

	//! Null where a column has updates, or the transaction has rows of its own.
	static shared_ptr<SeenTable> Of(ClientContext &context, const LogicalGet &get, const vector<ColumnIndex> &columns);

	bool Covers(const SeenData &now, bool holds) const override;
	bool WasRead(ClientContext &context, const LogicalGet &get, const vector<ColumnIndex> &columns, bool holds,
	             idx_t rows) const override;
	bool MayComeAgain() const override;
	string ToString() const override;

private:
	weak_ptr<RowGroupSegmentTree> tree;
	//! Where the table stores them.
	vector<idx_t> columns;
	idx_t stored_rows = 0;
	idx_t visible_rows = 0;
	idx_t row_groups = 0;
	bool updated = false;
};

} // namespace merganser
