#include "grouping/found_layout.hpp"

#include "grouping/row_group_statistics.hpp"

#include "duckdb/catalog/catalog_entry/table_catalog_entry.hpp"
#include "duckdb/common/multi_file/multi_file_reader.hpp"
#include "duckdb/common/multi_file/multi_file_states.hpp"
#include "duckdb/parallel/task_scheduler.hpp"
#include "duckdb/planner/expression/bound_reference_expression.hpp"
#include "duckdb/planner/filter/expression_filter.hpp"

#include <typeinfo>

namespace merganser {

namespace {

const char *const CHANGED_FILES =
    "The files were changed after the statement was planned, or the statistics in them are wrong: run it again, or "
    "write them again. SET merganser_ordered_windows_min_rows = 1000000000000 looks for no layout";
const char *const FAULT = "This is a fault of Merganser: please report the query. SET "
                          "merganser_ordered_windows_min_rows = 1000000000000 avoids it";

class Search {
public:
	Search(ClientContext &context, const LogicalGet &get, const set<idx_t> &partition, ScanLayout &result,
	       string &reason)
	    : context(context), get(get), partition(partition), result(result), reason(reason) {
		for (auto &name : get.names) {
			names.push_back(name.GetIdentifierName());
		}
	}

	bool TryFiles() {
		auto &bind_data = get.bind_data->Cast<MultiFileBindData>();
		auto &reader = *bind_data.multi_file_reader;
		auto function = get.function.GetName();
		if ((function != "read_parquet" && function != "parquet_scan") || typeid(reader) != typeid(MultiFileReader)) {
			reason = "layouts are found of Parquet files and tables";
			return false;
		}
		if (TryFolders(bind_data)) {
			return true;
		}
		auto files = bind_data.file_list->GetTotalFileCount();
		if (MinimumRows() > 0 && files * FoundLayout::FOOTER_ROWS > ExpectedRows()) {
			reason = "the files are too small for their footers to be read";
			return false;
		}
		if (!bind_data.file_options.schema.empty() || !bind_data.file_options.bound_schema.empty()) {
			reason = "the scan has a schema of its own";
			return false;
		}
		auto columns = BoundedColumns();
		if (columns.empty() || !TryRanges(RowGroupStatistics::OfFiles(context, get, columns, reason), columns)) {
			return false;
		}
		result.source = "found in the files' footers";
		result.remedy = CHANGED_FILES;
		return true;
	}

	bool TryTable() {
		auto columns = BoundedColumns();
		if (columns.empty() || !TryRanges(RowGroupStatistics::OfTable(context, get, columns, reason), columns)) {
			return false;
		}
		result.source = "found in the table's row groups";
		result.remedy = FAULT;
		return true;
	}

	bool AreEnoughRows() {
		if (ExpectedRows() >= MinimumRows()) {
			return true;
		}
		reason = "fewer rows than merganser_ordered_windows_min_rows are expected";
		return false;
	}

private:
	idx_t MinimumRows() {
		return Settings::OrderedWindowsMinRows(context);
	}

	idx_t ExpectedRows() {
		auto estimate = const_cast<LogicalGet &>(get).EstimateCardinality(context); // NOLINT: it keeps the estimate
		return get.has_estimated_cardinality ? get.estimated_cardinality : estimate;
	}

	//===----------------------------------------------------------------===//
	// Folders
	//===----------------------------------------------------------------===//
	bool TryFolders(const MultiFileBindData &bind_data) {
		vector<reference<const HivePartitioningIndex>> keys;
		for (auto &key : bind_data.reader_bind.hive_partitioning_indexes) {
			if (partition.count(key.index) && RowGroupStatistics::HasOrderedBounds(get.returned_types[key.index])) {
				keys.push_back(key);
			}
		}
		vector<vector<StorageRegions::Part>> regions;
		unordered_map<string, idx_t> region_of;
		for (auto &file : keys.empty() ? vector<OpenFileInfo>() : bind_data.file_list->GetAllFiles()) {
			string place;
			if (!TryPlace(bind_data, keys, file.path, place)) {
				return false;
			}
			auto entry = region_of.emplace(place, regions.size());
			if (entry.second) {
				regions.emplace_back();
				regions.back().emplace_back();
			}
			regions[entry.first->second][0].files.push_back(file);
		}
		if (regions.size() < 2) {
			return false;
		}
		for (auto &key : keys) {
			result.partitioned_by.push_back(key.get().index);
		}
		result.regions = make_shared_ptr<StorageRegions>(std::move(regions), optional_idx(), vector<idx_t>());
		result.source = "found in the names of the folders";
		result.remedy = FAULT;
		return true;
	}

	//! The values of the keys in a file's path, as text that tells different ones apart.
	bool TryPlace(const MultiFileBindData &bind_data, const vector<reference<const HivePartitioningIndex>> &keys,
	              const string &path, string &place) {
		auto values = HivePartitioning::Parse(path);
		for (auto &key : keys) {
			auto entry = values.find(key.get().value);
			if (entry == values.end()) {
				return false;
			}
			auto value = bind_data.file_options.GetHivePartitionValue(entry->second, key.get().value, context);
			auto text = value.IsNull() ? string() : value.ToString();
			place += value.IsNull() ? "NULL " : to_string(text.size()) + ":" + text + " ";
		}
		return true;
	}

	//===----------------------------------------------------------------===//
	// Ranges
	//===----------------------------------------------------------------===//
	vector<idx_t> BoundedColumns() {
		const idx_t most = 3;
		vector<idx_t> columns;
		for (auto column : partition) {
			if (columns.size() < most && RowGroupStatistics::HasOrderedBounds(get.returned_types[column]) &&
			    !IsOfFolder(column)) {
				columns.push_back(column);
			}
		}
		if (columns.empty()) {
			reason = "no column of the partition set has bounds in row groups";
		}
		return columns;
	}

	bool IsOfFolder(idx_t column) const {
		auto files = dynamic_cast<const MultiFileBindData *>(get.bind_data.get());
		return files && (column >= files->names.size() || files->IsGeneratedColumn(column));
	}

	bool TryRanges(const vector<vector<RowGroupRange>> &groups, const vector<idx_t> &columns) {
		unique_ptr<ValueRanges> best;
		idx_t best_column = 0;
		for (idx_t i = 0; i < groups.size(); i++) {
			if (groups[i].empty()) {
				continue;
			}
			auto ranges = make_uniq<ValueRanges>(groups[i], RegionRows(groups[i]));
			if (!best || ranges->Count() > best->Count()) {
				best = std::move(ranges);
				best_column = columns[i];
			}
		}
		if (!best || best->Count() < 2) {
			reason = reason.empty() ? "the row groups' ranges of " + Names(columns) + " overlap" : reason;
			return false;
		}
		result.partitioned_by = {best_column};
		result.regions = make_shared_ptr<StorageRegions>(Parts(*best), best_column, best->Rows());
		return true;
	}

	//! Several regions for each thread, so that all end at about the same time, of rows that memory can hold.
	idx_t RegionRows(const vector<RowGroupRange> &groups) {
		const idx_t regions_per_thread = 4;
		const idx_t most_rows = 2000000;
		idx_t rows = 0;
		for (auto &group : groups) {
			rows += group.rows;
		}
		auto threads = NumericCast<idx_t>(TaskScheduler::GetScheduler(context).NumberOfThreads());
		return MinValue(most_rows, rows / (regions_per_thread * threads));
	}

	string Names(const vector<idx_t> &columns) const {
		vector<string> result;
		for (auto column : columns) {
			result.push_back(names[column]);
		}
		return StringUtil::Join(result, ", ");
	}

	vector<vector<StorageRegions::Part>> Parts(const ValueRanges &ranges) {
		vector<OpenFileInfo> files;
		if (auto multi_file = dynamic_cast<const MultiFileBindData *>(get.bind_data.get())) {
			files = multi_file->file_list->GetAllFiles();
		}
		vector<vector<StorageRegions::Part>> regions(ranges.Count());
		for (auto &piece : ranges.Pieces()) {
			auto &parts = regions[piece.region];
			if (parts.empty() || !piece.is_whole || parts.back().filter) {
				parts.emplace_back();
			}
			if (!files.empty()) {
				parts.back().files.push_back(files[piece.source]);
			}
			if (!piece.is_whole) {
				parts.back().filter = FilterOf(piece);
			}
		}
		return regions;
	}

	static unique_ptr<Expression> NullCheck(const LogicalType &type, ExpressionType check) {
		return ExpressionFilter::CreateNullCheckExpression(make_uniq<BoundReferenceExpression>(type, idx_t(0)), check);
	}

	unique_ptr<Expression> FilterOf(const ValueRanges::Piece &piece) const {
		auto &type = get.returned_types[result.partitioned_by[0]];
		if (!piece.has_values) {
			return NullCheck(type, ExpressionType::OPERATOR_IS_NULL);
		}
		vector<unique_ptr<Expression>> bounds;
		if (!piece.from.IsNull()) {
			bounds.push_back(std::move(
			    ExpressionFilter::CreateComparisonFilter(ExpressionType::COMPARE_GREATERTHANOREQUALTO, piece.from)
			        ->expr));
		}
		if (!piece.below.IsNull()) {
			bounds.push_back(std::move(
			    ExpressionFilter::CreateComparisonFilter(ExpressionType::COMPARE_LESSTHAN, piece.below)->expr));
		}
		if (bounds.empty()) {
			return NullCheck(type, ExpressionType::OPERATOR_IS_NOT_NULL);
		}
		auto range = BoundConjunctionExpression::Create(ExpressionType::CONJUNCTION_AND, std::move(bounds));
		if (!piece.has_null) {
			return range;
		}
		return make_uniq<BoundConjunctionExpression>(ExpressionType::CONJUNCTION_OR, std::move(range),
		                                             NullCheck(type, ExpressionType::OPERATOR_IS_NULL));
	}

	ClientContext &context;
	const LogicalGet &get;
	const set<idx_t> &partition;
	ScanLayout &result;
	string &reason;
	vector<string> names;
};

} // namespace

bool FoundLayout::TryFind(ClientContext &context, const LogicalGet &get, const set<idx_t> &partition,
                          ScanLayout &result, string &reason) {
	result = ScanLayout();
	reason.clear();
	Search search(context, get, partition, result, reason);
	if (partition.empty() || !search.AreEnoughRows()) {
		return false;
	}
	auto table = get.GetTable();
	if (table) {
		return table->IsDuckTable() && get.function.get_partition_stats && search.TryTable();
	}
	return dynamic_cast<const MultiFileBindData *>(get.bind_data.get()) && get.children.empty() && search.TryFiles();
}

} // namespace merganser
