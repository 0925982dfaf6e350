#include "keys/seen_data.hpp"

#include "declarations/shown_scans.hpp"

#include "duckdb/common/multi_file/multi_file_states.hpp"
#include "duckdb/storage/data_table.hpp"
#include "duckdb/storage/table/column_data.hpp"
#include "duckdb/storage/table/row_group_collection.hpp"
#include "duckdb/transaction/duck_transaction.hpp"
#include "duckdb/transaction/local_storage.hpp"

namespace merganser {

namespace {

optional_ptr<DuckTableEntry> TableOf(const LogicalGet &get) {
	auto table = get.GetTable();
	return get.children.empty() && table ? table->TryGetDuckTableEntry() : nullptr;
}

bool IsListedWithVersion(const OpenFileInfo &file) {
	timestamp_t changed;
	return file.extended_info && file.extended_info->TryGetOption("last_modified", changed);
}

ListedFiles::Versions VersionsOf(ClientContext &context, MultiFileList &list) {
	auto result = make_shared_ptr<vector<FileVersion>>();
	for (auto &file : list.GetAllFiles()) {
		if (!IsListedWithVersion(file)) {
			return nullptr;
		}
		auto version = FileVersion::Listed(context, file, FileVersion::AbsolutePath(file.path));
		if (!version) {
			return nullptr;
		}
		result->push_back(std::move(*version));
	}
	return result;
}

vector<idx_t> Positions(const vector<ColumnIndex> &columns) {
	vector<idx_t> result;
	for (auto &column : columns) {
		result.push_back(column.GetPrimaryIndex());
	}
	return result;
}

} // namespace

ListedFiles::Versions ListedFiles::Of(ClientContext &context, const LogicalGet &get) {
	auto &list = get.bind_data->Cast<MultiFileBindData>().file_list;
	auto &known = lists[list.get()];
	if (!known.list) {
		known = {list, VersionsOf(context, *list)};
	}
	return known.versions;
}

const vector<FileVersion> &SeenData::Files() const {
	static const vector<FileVersion> NONE;
	return NONE;
}

bool SeenData::MayBeReadAgain(ClientContext &context, const LogicalGet &get, ListedFiles &listed_files) {
	return TableOf(get) || (ShownScans::ReadsFiles(get) && listed_files.Of(context, get));
}

shared_ptr<SeenData> SeenData::Of(ClientContext &context, const LogicalGet &get, const vector<ColumnIndex> &columns,
                                  ListedFiles &listed_files) {
	if (TableOf(get)) {
		return SeenTable::Of(context, get, columns);
	}
	auto files = listed_files.Of(context, get);
	return files ? make_shared_ptr<SeenFiles>(get, columns, std::move(files)) : nullptr;
}

SeenFiles::SeenFiles(const LogicalGet &get, const vector<ColumnIndex> &columns, ListedFiles::Versions files)
    : scan(get), columns(Positions(columns)), files(std::move(files)) {
}

bool SeenFiles::Covers(const SeenData &now, bool holds) const {
	auto other = dynamic_cast<const SeenFiles *>(&now);
	return other && columns == other->columns && files->size() == other->files->size() && scan == other->scan &&
	       std::equal(files->begin(), files->end(), other->files->begin(),
	                  [](const FileVersion &a, const FileVersion &b) { return a.path == b.path && a.IsSame(b); });
}

bool SeenFiles::WasRead(ClientContext &context, const LogicalGet &get, const vector<ColumnIndex> &columns, bool holds,
                        idx_t rows) const {
	return std::all_of(files->begin(), files->end(),
	                   [&](const FileVersion &version) { return version.IsCurrent(context); });
}

string SeenFiles::ToString() const {
	idx_t bytes = 0;
	for (auto &file : *files) {
		bytes += file.bytes;
	}
	if (files->size() == 1) {
		return files->front().path + ", " + files->front().Text();
	}
	return StringUtil::Format("%llu files, %llu bytes", files->size(), bytes);
}

SeenTable::SeenTable(ClientContext &context, DuckTableEntry &table, vector<idx_t> columns_p)
    : columns(std::move(columns_p)) {
	auto &rows = *table.GetStorage().GetRowGroupCollection();
	TransactionData transaction(DuckTransaction::Get(context, table.ParentCatalog()));
	auto current = rows.GetRowGroups();
	tree = current;
	stored_rows = rows.GetTotalRows();
	while (auto node = current->GetSegmentByIndex(NumericCast<int64_t>(row_groups))) {
		auto &row_group = node->GetNode();
		visible_rows += row_group.GetVisibleRowCount(transaction);
		for (auto column : columns) {
			updated = updated || row_group.GetRawColumnData(column).HasUpdates();
		}
		row_groups++;
	}
}

shared_ptr<SeenTable> SeenTable::Of(ClientContext &context, const LogicalGet &get, const vector<ColumnIndex> &columns) {
	auto &table = *TableOf(get);
	if (LocalStorage::Get(context, table.ParentCatalog()).Find(table.GetStorage())) {
		return nullptr;
	}
	vector<idx_t> stored;
	for (auto &column : columns) {
		stored.push_back(table.GetStorageIndex(column).GetPrimaryIndex());
	}
	auto result = make_shared_ptr<SeenTable>(context, table, std::move(stored));
	return result->updated ? nullptr : std::move(result);
}

bool SeenTable::Covers(const SeenData &now, bool holds) const {
	auto other = dynamic_cast<const SeenTable *>(&now);
	if (!other || columns != other->columns || stored_rows != other->stored_rows) {
		return false;
	}
	auto tree_then = tree.lock();
	return tree_then && tree_then == other->tree.lock() && (holds || visible_rows == other->visible_rows);
}

bool SeenTable::WasRead(ClientContext &context, const LogicalGet &get, const vector<ColumnIndex> &columns, bool holds,
                        idx_t rows) const {
	auto now = Of(context, get, columns);
	return now && Covers(*now, holds) && (!holds || rows == stored_rows);
}

bool SeenTable::MayComeAgain() const {
	return !tree.expired();
}

string SeenTable::ToString() const {
	return StringUtil::Format("%llu row groups, %llu rows", row_groups, stored_rows);
}

} // namespace merganser
