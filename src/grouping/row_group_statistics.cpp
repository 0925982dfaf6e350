#include "grouping/row_group_statistics.hpp"

#include "session_connection.hpp"

#include "duckdb/common/multi_file/multi_file_states.hpp"
#include "duckdb/function/partition_stats.hpp"
#include "duckdb/main/client_context_state.hpp"
#include "duckdb/main/query_result.hpp"
#include "duckdb/storage/statistics/numeric_stats.hpp"
#include "duckdb/storage/statistics/string_stats.hpp"

namespace merganser {

namespace {

using Ranges = vector<vector<RowGroupRange>>;

//! Of the running statement of one connection.
struct KnownFooters : public ClientContextState {
	void QueryEnd() override {
		ranges.clear();
	}

	//! By the files' paths and the columns' names; with the reason where there are none.
	map<string, pair<Ranges, string>> ranges;
	idx_t read = 0;

	static KnownFooters &Get(ClientContext &context) {
		return *context.registered_state->GetOrCreate<KnownFooters>("merganser_known_footers");
	}
};

string ListOf(const vector<string> &values) {
	vector<Value> list;
	for (auto &value : values) {
		list.emplace_back(value);
	}
	return Value::LIST(LogicalType::VARCHAR, std::move(list)).ToSQLString();
}

//! The footers of some files of a scan.
class Footers {
public:
	Footers(ClientContext &context, const vector<string> &names, const vector<LogicalType> &types)
	    : ranges(names.size()), context(context), names(names), types(types) {
	}

	//! False, with a reason, where bounds of a column that is asked for are not known.
	bool TryRead(const vector<string> &files) {
		vector<string> lower;
		for (auto &name : names) {
			lower.push_back(StringUtil::Lower(name));
		}
		auto rows = Query("SELECT file_name, row_group_id, row_group_num_rows, lower(path_in_schema), type, "
		                  "stats_min_value, stats_max_value, stats_null_count, num_values, "
		                  "coalesce(min_is_exact AND max_is_exact, false) FROM parquet_metadata(" +
		                  ListOf(files) + ") WHERE list_contains(" + ListOf(lower) + ", lower(path_in_schema))");
		KnownFooters::Get(context).read += files.size();
		for (idx_t i = 0; i < files.size(); i++) {
			source_of[files[i]] = i;
		}
		if (reason.empty() && source_of.size() < files.size()) {
			reason = "a file is read twice";
		}
		for (idx_t i = 0; reason.empty() && i < rows.size(); i++) {
			Add(rows[i], lower);
		}
		return reason.empty() && EveryFileIsThere(files);
	}

	Ranges ranges;
	string reason;

private:
	vector<vector<Value>> Query(const string &sql) {
		vector<vector<Value>> result;
		auto answer = SessionConnection::Open(context)->Query(sql);
		if (answer->HasError()) {
			reason = "the files' footers cannot be read"; // the scan itself will say why
			return result;
		}
		for (auto &row : *answer) {
			vector<Value> values;
			for (idx_t i = 0; i < answer->ColumnCount(); i++) {
				values.push_back(row.GetBaseValue(i));
			}
			result.push_back(std::move(values));
		}
		return result;
	}

	void Add(const vector<Value> &row, const vector<string> &lower) {
		auto column = static_cast<idx_t>(std::find(lower.begin(), lower.end(), row[3].ToString()) - lower.begin());
		auto source = source_of.find(row[0].ToString());
		if (column == lower.size() || source == source_of.end()) {
			reason = "the files' footers name other files or columns";
			return;
		}
		RowGroupRange range {source->second, row[2].GetValue<idx_t>(), Value(), Value(), true};
		auto values = row[8].GetValue<idx_t>();
		auto nulls = row[7].IsNull() ? optional_idx() : optional_idx(row[7].GetValue<idx_t>());
		range.may_have_null = nulls != optional_idx(0);
		auto all_null = nulls == optional_idx(values);
		if (!all_null && (!TryBound(row, 5, types[column], range.min) || !TryBound(row, 6, types[column], range.max))) {
			reason = "the footers' statistics of " + names[column] + " are missing or not exact";
		}
		ranges[column].push_back(std::move(range));
	}

	static bool TryBound(const vector<Value> &row, idx_t position, const LogicalType &type, Value &bound) {
		auto is_text = type.id() == LogicalTypeId::VARCHAR;
		auto stored = row[4].ToString();
		if (row[position].IsNull() || (is_text ? stored != "BYTE_ARRAY" : stored != "INT32" && stored != "INT64")) {
			return false;
		}
		auto text = row[position].ToString();
		if (is_text) {
			bound = Value(text);
			return row[9].GetValue<bool>() && text.find('\\') == string::npos; // bytes that are no text are written so
		}
		auto value = row[position].DefaultTryCastAs(type);
		bound = value ? *value : Value();
		return !bound.IsNull() && bound.ToString() == text;
	}

	//! Files without row groups have no rows, and belong anywhere; but a file may also lack the column.
	bool EveryFileIsThere(const vector<string> &files) {
		for (idx_t column = 0; column < ranges.size(); column++) {
			auto missing = source_of;
			for (auto &range : ranges[column]) {
				missing.erase(files[range.source]);
			}
			if (!missing.empty() && !AddEmptyFiles(missing, column)) {
				return false;
			}
		}
		return true;
	}

	bool AddEmptyFiles(const unordered_map<string, idx_t> &missing, idx_t column) {
		vector<string> files;
		for (auto &entry : missing) {
			files.push_back(entry.first);
			ranges[column].push_back(RowGroupRange {entry.second, 0, Value(), Value(), false});
		}
		auto rows = Query("SELECT count(*) FROM parquet_file_metadata(" + ListOf(files) + ") WHERE num_rows > 0");
		if (reason.empty() && rows[0][0].GetValue<idx_t>() > 0) {
			reason = "a file has no column " + names[column];
		}
		return reason.empty();
	}

	ClientContext &context;
	const vector<string> &names;
	const vector<LogicalType> &types;
	unordered_map<string, idx_t> source_of;
};

//! The least and the greatest value of each source.
map<idx_t, pair<Value, Value>> BoundsOf(const vector<RowGroupRange> &groups) {
	map<idx_t, pair<Value, Value>> result;
	for (auto &group : groups) {
		if (group.min.IsNull()) {
			continue;
		}
		auto &bounds = result[group.source];
		bounds.first = bounds.first.IsNull() || group.min < bounds.first ? group.min : bounds.first;
		bounds.second = bounds.second.IsNull() || bounds.second < group.max ? group.max : bounds.second;
	}
	return result;
}

//! Whether each file has values between those of each other, and in more than a border.
bool AllOverlap(const vector<RowGroupRange> &groups) {
	Value latest_begin, first_end;
	auto bounds = BoundsOf(groups);
	for (auto &entry : bounds) {
		auto &file = entry.second;
		latest_begin = latest_begin.IsNull() || latest_begin < file.first ? file.first : latest_begin;
		first_end = first_end.IsNull() || file.second < first_end ? file.second : first_end;
	}
	return bounds.size() > 1 && latest_begin < first_end;
}

string Columns(const vector<string> &names) {
	return StringUtil::Join(names, ", ");
}

Ranges ReadAll(ClientContext &context, const vector<string> &files, const vector<string> &names,
               const vector<LogicalType> &types, string &reason) {
	const idx_t looked_at_first = 3;
	if (files.size() > looked_at_first) {
		Footers first(context, names, types);
		if (!first.TryRead({files.front(), files[files.size() / 2], files.back()})) {
			reason = first.reason;
			return {};
		}
		if (std::all_of(first.ranges.begin(), first.ranges.end(), AllOverlap)) {
			reason = "the files' ranges of " + Columns(names) + " overlap";
			return {};
		}
	}
	Footers all(context, names, types);
	if (!all.TryRead(files)) {
		reason = all.reason;
		return {};
	}
	return std::move(all.ranges);
}

bool TryRange(const BaseStatistics &statistics, RowGroupRange &range) {
	range.may_have_null = statistics.CanHaveNull();
	if (!statistics.CanHaveNoNull()) {
		return true;
	}
	if (statistics.GetStatsType() == StatisticsType::STRING_STATS) {
		range.min = StringStats::TryGetValidMin(statistics);
		range.max = StringStats::TryGetValidMax(statistics);
	} else if (statistics.GetStatsType() == StatisticsType::NUMERIC_STATS && NumericStats::HasMinMax(statistics)) {
		range.min = NumericStats::Min(statistics);
		range.max = NumericStats::Max(statistics);
	}
	return !range.min.IsNull() && !range.max.IsNull();
}

} // namespace

bool RowGroupStatistics::HasOrderedBounds(const LogicalType &type) {
	switch (type.id()) {
	case LogicalTypeId::TINYINT:
	case LogicalTypeId::SMALLINT:
	case LogicalTypeId::INTEGER:
	case LogicalTypeId::BIGINT:
	case LogicalTypeId::UTINYINT:
	case LogicalTypeId::USMALLINT:
	case LogicalTypeId::UINTEGER:
	case LogicalTypeId::UBIGINT:
	case LogicalTypeId::DATE:
	case LogicalTypeId::TIMESTAMP:
	case LogicalTypeId::TIMESTAMP_SEC:
	case LogicalTypeId::TIMESTAMP_MS:
	case LogicalTypeId::TIMESTAMP_NS:
	case LogicalTypeId::TIMESTAMP_TZ:
	case LogicalTypeId::VARCHAR:
		return true;
	default:
		return false;
	}
}

vector<vector<RowGroupRange>> RowGroupStatistics::OfFiles(ClientContext &context, const LogicalGet &get,
                                                          const vector<idx_t> &columns, string &reason) {
	auto &bind_data = get.bind_data->Cast<MultiFileBindData>();
	vector<string> files, names;
	vector<LogicalType> types;
	for (auto &file : bind_data.file_list->GetAllFiles()) {
		files.push_back(file.path);
	}
	for (auto column : columns) {
		names.push_back(bind_data.names[column].GetIdentifierName());
		types.push_back(bind_data.types[column]);
	}
	if (files.empty() || files.size() > MOST_FOOTERS) {
		reason = to_string(files.size()) + " files: the footers of at most " + to_string(MOST_FOOTERS) + " are read";
		return {};
	}
	auto key = StringUtil::Join(files, "\n") + "\n\n" + StringUtil::Join(names, "\n");
	auto &known = KnownFooters::Get(context).ranges;
	auto entry = known.find(key);
	if (entry == known.end()) {
		string why;
		auto ranges = ReadAll(context, files, names, types, why);
		entry = known.emplace(std::move(key), make_pair(std::move(ranges), std::move(why))).first;
	}
	reason = entry->second.second;
	return entry->second.first;
}

vector<vector<RowGroupRange>> RowGroupStatistics::OfTable(ClientContext &context, const LogicalGet &get,
                                                          const vector<idx_t> &columns, string &reason) {
	vector<vector<RowGroupRange>> result(columns.size());
	GetPartitionStatsInput input(get.function, get.bind_data.get());
	auto row_groups = get.function.get_partition_stats(context, input);
	for (idx_t i = 0; i < columns.size(); i++) {
		StorageIndex stored;
		auto known = get.TryGetStorageIndex(ColumnIndex(columns[i]), stored);
		for (auto &row_group : row_groups) {
			RowGroupRange range {0, row_group.count, Value(), Value(), true};
			auto statistics = known && row_group.partition_row_group
			                      ? row_group.partition_row_group->GetColumnStatistics(stored)
			                      : nullptr;
			if (!statistics || !TryRange(*statistics, range)) {
				reason = "the row groups' statistics of " + get.names[columns[i]].GetIdentifierName() + " are missing";
				return {};
			}
			result[i].push_back(std::move(range));
		}
	}
	return result;
}

idx_t RowGroupStatistics::FootersRead(ClientContext &context) {
	return KnownFooters::Get(context).read;
}

} // namespace merganser
