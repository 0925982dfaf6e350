#include "stages/sliced_tables.hpp"

#include "stages/sliced_files.hpp"

#include "duckdb/catalog/catalog_entry/duck_table_entry.hpp"
#include "duckdb/catalog/catalog_entry/schema_catalog_entry.hpp"
#include "duckdb/common/sql_identifier.hpp"
#include "duckdb/common/types/hash.hpp"
#include "duckdb/function/table/table_scan.hpp"
#include "duckdb/main/attached_database.hpp"
#include "duckdb/storage/data_table.hpp"

#include <filesystem>
#include <sys/stat.h>

namespace merganser {

namespace {

bool ReadsWholeRows(const LogicalGet &get) {
	auto &data = get.bind_data->Cast<TableScanBindData>();
	if (data.is_index_scan || data.is_create_index || data.partitions_to_scan || !get.scan_partition_indices.empty() ||
	    get.ordinality_idx.IsValid() || get.extra_info.sample_options) {
		return false;
	}
	for (auto &column : get.GetColumnIds()) {
		if (column.IsVirtualColumn() && !column.IsEmptyColumn() && !column.IsRowIdColumn()) {
			return false;
		}
	}
	return std::find(get.names.begin(), get.names.end(), "rowid") == get.names.end();
}

bool IsFileForReading(Catalog &catalog) {
	return catalog.IsDuckCatalog() && catalog.GetAttached().IsReadOnly() && !catalog.InMemory() &&
	       !catalog.IsEncrypted() && !FileSystem::IsRemoteFile(catalog.GetDBPath());
}

//! Of the file as this process sees it; nothing where it is not what it was when it was attached, or is not all.
unique_ptr<DatabaseFile> FileOf(Catalog &catalog) {
	auto path = std::filesystem::absolute(catalog.GetDBPath());
	struct stat status;
	if (stat(path.c_str(), &status) != 0 || std::filesystem::exists(path.string() + ".wal")) {
		return nullptr;
	}
	auto result = make_uniq<DatabaseFile>();
	result->path = path.string();
	result->bytes = NumericCast<idx_t>(status.st_size);
	result->changed =
	    NumericCast<idx_t>(status.st_mtim.tv_sec) * 1000000000 + NumericCast<idx_t>(status.st_mtim.tv_nsec);
	result->device = status.st_dev;
	auto version = StringUtil::Format("%s %llu %llu", result->path, result->bytes, result->changed);
	result->name = StringUtil::Format("merganser_%016x", Hash(version.c_str(), version.size()));
	return result;
}

bool WorkersSee(ClientContext &context, const DatabaseFile &file) {
	auto directory = Settings::ExchangeDirectory(context);
	if (directory.empty()) {
		directory = std::filesystem::temp_directory_path().string();
	}
	struct stat status;
	return Settings::ExchangeShared(context) && stat(directory.c_str(), &status) == 0 && status.st_dev == file.device;
}

TableFunctionToSQLResult NoTable(ClientContext &context, const LogicalGet &get) {
	throw InternalException("A slice of a table is read before it has a name");
}

} // namespace

unique_ptr<SlicedScan> SlicedTables::TrySlice(ClientContext &context, const LogicalGet &get) {
	if (get.function.GetName() != "seq_scan" || !get.GetTable() || !get.GetTable()->IsDuckTable() ||
	    !ReadsWholeRows(get)) {
		return nullptr;
	}
	auto &table = get.GetTable()->Cast<DuckTableEntry>();
	auto &catalog = table.ParentCatalog();
	if (!IsFileForReading(catalog)) {
		return nullptr;
	}
	auto file = FileOf(catalog);
	if (!file) {
		return nullptr;
	}
	auto attached = catalog.GetName();
	if (!Settings::RunsInThisProcess(context)) {
		if (!WorkersSee(context, *file)) {
			return nullptr;
		}
		attached = Identifier(file->name);
	} else {
		file.reset();
	}
	auto result = make_uniq<SlicedScan>();
	result->by_row_id = true;
	result->database = std::move(file);
	result->source = SQLIdentifier::ToString(attached) + "." + SQLIdentifier::ToString(table.schema.name) + "." +
	                 SQLIdentifier::ToString(table.name);
	auto rows = table.GetStorage().GetNextRowId();
	result->virtual_columns.push_back("rowid");
	result->files.push_back(
	    {rows, (rows + DEFAULT_ROW_GROUP_SIZE - 1) / DEFAULT_ROW_GROUP_SIZE, DEFAULT_ROW_GROUP_SIZE, {}});
	return result;
}

unique_ptr<LogicalOperator> SlicedTables::CopyOf(const LogicalGet &get) {
	auto function = get.function;
	function.get_table_entry = nullptr;
	function.to_sql = NoTable;
	auto result = make_uniq<LogicalGet>(get.table_index, std::move(function), get.bind_data->Copy(), get.returned_types,
	                                    get.names, get.virtual_columns);
	result->GetMutableColumnIds() = get.GetColumnIds();
	result->projection_ids = get.projection_ids;
	result->table_filters = std::move(*get.table_filters.Copy());
	if (get.has_estimated_cardinality) {
		result->SetEstimatedCardinality(get.estimated_cardinality);
	}
	return std::move(result);
}

} // namespace merganser
