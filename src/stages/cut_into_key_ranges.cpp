#include "stages/stage_planner.hpp"

#include "stages/key_ranges.hpp"
#include "stages/logical_exchange.hpp"
#include "stages/plan_columns.hpp"

#include "duckdb/common/hive_partitioning.hpp"
#include "duckdb/common/multi_file/multi_file_states.hpp"
#include "duckdb/planner/operator/list.hpp"

namespace merganser {

//! A scan in a piece of plan, and how its shares read ranges of a key, or could.
struct ScanByKey {
	reference<SlicedScan> scan;
	RangedReading reading;
};

namespace {

//! Of the scan with the fewest, for each range: those at the borders of ranges are read twice.
const idx_t ROW_GROUPS_OF_A_RANGE = 2;

//! How much larger the other side of a join must be for a side that may go to all tasks to go there: of a dimension
//! often few rows are left, near each other in the key, and then few of the tasks would have all work.
const idx_t TIMES_A_DIMENSION = 32;

//! Operators whose rows lie as those of the scan below them do, whichever rows each share of it has.
bool LeavesRowsWhereTheyAre(const LogicalOperator &op) {
	switch (op.type) {
	case LogicalOperatorType::LOGICAL_GET:
	case LogicalOperatorType::LOGICAL_FILTER:
	case LogicalOperatorType::LOGICAL_PROJECTION:
	case LogicalOperatorType::LOGICAL_UNNEST:
	case LogicalOperatorType::LOGICAL_COMPARISON_JOIN:
	case LogicalOperatorType::LOGICAL_ANY_JOIN:
	case LogicalOperatorType::LOGICAL_CROSS_PRODUCT:
		return true;
	default:
		return false;
	}
}

//! What `column` of `op` is in what `op` reads.
optional<ColumnBinding> Below(const LogicalOperator &op, const ColumnBinding &column) {
	if (op.type != LogicalOperatorType::LOGICAL_PROJECTION ||
	    op.Cast<LogicalProjection>().table_index != column.table_index) {
		return column;
	}
	return PlanColumns::ColumnOfValue(*op.expressions[column.column_index.GetIndex()]);
}

//! The position among the scan's columns of what is `column` of `op`.
optional_idx ColumnOfScan(const LogicalOperator &op, const ColumnBinding &column, const LogicalGet &scan) {
	if (&op == &scan) {
		auto is_mine = column.table_index == scan.table_index;
		auto index = is_mine ? scan.GetColumnIds()[column.column_index.GetIndex()] : ColumnIndex();
		return !is_mine || index.IsVirtualColumn() || index.HasChildren() ? optional_idx()
		                                                                  : optional_idx(index.GetPrimaryIndex());
	}
	auto below = Below(op, column);
	for (auto &child : op.children) {
		auto found = below ? ColumnOfScan(*child, *below, scan) : optional_idx();
		if (found.IsValid()) {
			return found;
		}
	}
	return optional_idx();
}

vector<RangedFile> FilesOf(const SlicedScan &scan) {
	vector<RangedFile> result;
	for (auto &file : scan.files) {
		result.push_back({file.version.path, file.size});
	}
	return result;
}

//! Ranges of a scan of Parquet files whose rows are divided as usual, in enough row groups.
bool MayReadRanges(const SlicedScan &scan, idx_t tasks) {
	idx_t row_groups = 0;
	for (auto &file : scan.files) {
		row_groups += file.row_groups;
	}
	auto is_usual = !scan.ranged && !scan.by_row_id && !scan.whole_files && scan.rows_are_known &&
	                scan.placement.first == 0 && scan.placement.count == 0;
	return is_usual && tasks > 1 && 2 * row_groups >= ROW_GROUPS_OF_A_RANGE * tasks;
}

//! Not a column that DuckDB makes of the path of a file, or finds in it otherwise than by its name.
bool IsReadFromFiles(const LogicalGet &get, idx_t column) {
	auto &bind_data = get.bind_data->Cast<MultiFileBindData>();
	auto &hive_keys = bind_data.reader_bind.hive_partitioning_indexes;
	auto has_schema = get.named_parameters.find(Identifier("schema")) != get.named_parameters.end();
	return !has_schema && bind_data.reader_bind.schema.empty() &&
	       std::none_of(hive_keys.begin(), hive_keys.end(),
	                    [&](const HivePartitioningIndex &key) { return key.index == column; });
}

//! Those some of the scans read already, and new ones: as many as fit the scan with the fewest row groups.
vector<shared_ptr<const KeyRanges>> PossibleRanges(const vector<ScanByKey> &scans, idx_t tasks) {
	vector<shared_ptr<const KeyRanges>> result;
	reference<const ScanByKey> largest = scans[0];
	auto fewest = scans[0].reading.row_groups.size();
	for (auto &scan : scans) {
		auto &ranges = scan.reading.Ranges();
		if (ranges && std::find(result.begin(), result.end(), ranges) == result.end()) {
			result.push_back(ranges);
		}
		fewest = MinValue(fewest, scan.reading.row_groups.size());
		if (scan.scan.get().Size() > largest.get().scan.get().Size()) {
			largest = scan;
		}
	}
	auto &row_groups = largest.get().reading.row_groups;
	auto ranges = RowGroupRanges::Divide(row_groups, MinValue(tasks, fewest / ROW_GROUPS_OF_A_RANGE));
	if (2 * ranges->Count() >= tasks) {
		result.push_back(std::move(ranges));
	}
	return result;
}

idx_t SizeOf(const vector<ScanByKey> &scans) {
	idx_t result = 0;
	for (auto &scan : scans) {
		result += scan.scan.get().Size();
	}
	return result;
}

bool IsDimension(idx_t left, idx_t right) {
	return MinValue(left, right) <= MaxValue(left, right) / TIMES_A_DIMENSION;
}

//! The keys of a join that are together in a range: of a side that is not supplied with NULLs.
vector<ColumnBinding> RangedKeys(JoinType kind, const ColumnBinding &left, const ColumnBinding &right) {
	vector<ColumnBinding> result;
	if (kind != JoinType::RIGHT && kind != JoinType::OUTER) {
		result.push_back(left);
	}
	if (kind != JoinType::LEFT && kind != JoinType::SINGLE && kind != JoinType::OUTER) {
		result.push_back(right);
	}
	return result;
}

} // namespace

void StagePlanner::CollectScans(LogicalOperator &op, vector<reference<LogicalGet>> &scans) {
	if (sliced.count(&op)) {
		scans.push_back(op.Cast<LogicalGet>());
	}
	for (auto &child : op.children) {
		CollectScans(*child, scans);
	}
}

bool StagePlanner::MayDivideOtherwise(LogicalOperator &op) {
	auto exchange = dynamic_cast<LogicalExchange *>(&op);
	if (exchange) {
		return exchange->input.mode == ReadMode::ALL;
	}
	return LeavesRowsWhereTheyAre(op) && needs->Of(op) == OrderNeed::NONE &&
	       std::all_of(op.children.begin(), op.children.end(),
	                   [&](const unique_ptr<LogicalOperator> &child) { return MayDivideOtherwise(*child); });
}

const vector<RowGroupKeys> &StagePlanner::RowGroupsOf(const LogicalGet &get, idx_t column) {
	auto place = std::make_pair(get.table_index.index, column);
	auto known = row_groups.find(place);
	if (known == row_groups.end()) {
		auto read = RowGroupRanges::Read(context, FilesOf(sliced.at(&get)), get.names[column].GetIdentifierName(),
		                                 get.returned_types[column]);
		known = row_groups.emplace(place, std::move(read)).first;
	}
	return known->second;
}

vector<ScanByKey> StagePlanner::ScansByKey(LogicalOperator &op, const Partitioning &lies, const ColumnBinding &key) {
	vector<ScanByKey> result;
	vector<reference<LogicalGet>> scans;
	CollectScans(op, scans);
	if (lies.distribution == Distribution::RANGED && PlanColumns::Contains(lies.keys, key)) {
		for (auto &get : scans) {
			auto &scan = sliced.at(&get.get());
			result.push_back({scan, *scan.ranged});
		}
		return result;
	}
	if (lies.distribution != Distribution::SPLIT || lies.shares > 0 || scans.size() != 1 || !MayDivideOtherwise(op)) {
		return result;
	}
	auto &get = scans[0].get();
	auto &scan = sliced.at(&get);
	auto column = ColumnOfScan(op, key, get);
	if (!column.IsValid() || !MayReadRanges(scan, tasks) || !IsReadFromFiles(get, column.GetIndex())) {
		return result;
	}
	auto &keys = RowGroupsOf(get, column.GetIndex());
	if (!keys.empty()) {
		auto &type = get.returned_types[column.GetIndex()];
		RangedReading reading(get.names[column.GetIndex()].GetIdentifierName(), RowGroupRanges::TypeOfKeys(type), keys);
		result.push_back({scan, std::move(reading)});
	}
	return result;
}

bool StagePlanner::DivideByKey(vector<ScanByKey> scans) {
	for (auto &ranges : PossibleRanges(scans, tasks)) {
		auto pays = true;
		for (auto &scan : scans) {
			scan.reading.Divide(ranges);
			pays = pays && scan.reading.type == scans[0].reading.type && scan.reading.IsWorthwhile(tasks);
		}
		if (!pays) {
			continue;
		}
		for (auto &scan : scans) {
			scan.scan.get().ranged = make_shared_ptr<RangedReading>(std::move(scan.reading));
		}
		return true;
	}
	return false;
}

bool StagePlanner::ReadInRanges(LogicalOperator &op, Partitioning &delivered, const vector<ColumnBinding> &keys) {
	for (auto &key : keys) {
		auto scans = ScansByKey(op, delivered, key);
		if (!scans.empty() && DivideByKey(std::move(scans))) {
			pending_reasons.push_back("rows equal in a key are together, as tasks read ranges of it");
			delivered = {Distribution::RANGED, {key}};
			return true;
		}
	}
	return false;
}

optional<Partitioning> StagePlanner::JoinInRanges(LogicalOperator &op, const Partitioning &left,
                                                  const Partitioning &right, const Keys &left_keys,
                                                  const Keys &right_keys) {
	for (idx_t i = 0; i < left_keys.size(); i++) {
		auto left_key = PlanColumns::ColumnOfValue(*left_keys[i]);
		auto right_key = PlanColumns::ColumnOfValue(*right_keys[i]);
		if (!left_key || !right_key) {
			continue;
		}
		auto scans = ScansByKey(*op.children[0], left, *left_key);
		auto of_right = scans.empty() ? vector<ScanByKey>() : ScansByKey(*op.children[1], right, *right_key);
		if (of_right.empty() || (MinValue(Bytes(*op.children[0]), Bytes(*op.children[1])) <= broadcast_bytes &&
		                         IsDimension(SizeOf(scans), SizeOf(of_right)))) {
			continue;
		}
		scans.insert(scans.end(), of_right.begin(), of_right.end());
		if (!DivideByKey(std::move(scans))) {
			continue;
		}
		pending_reasons.push_back("both sides of the join are read in ranges of its key, without an exchange");
		auto keys = RangedKeys(op.Cast<LogicalJoin>().join_type, *left_key, *right_key);
		return PlanColumns::KeepAvailable({Distribution::RANGED, std::move(keys)}, op);
	}
	return {};
}

} // namespace merganser
