#include "stages/key_ranges.hpp"

#include "session_connection.hpp"

#include "duckdb/common/multi_file/multi_file_reader.hpp"
#include "duckdb/parser/keyword_helper.hpp"

namespace merganser {

namespace {

//! As many columns are read as a rule, of about the width of the key.
const idx_t COLUMNS_READ_BESIDE_KEYS = 8;

Value KeyOf(const Value &text, const LogicalType &type) {
	return text.DefaultTryCastAs(type).value_or(Value(type));
}

string FootersQuery(const vector<RangedFile> &files, const string &column) {
	vector<Value> paths;
	for (auto &file : files) {
		paths.push_back(Value::STRUCT({{OpenFileInfo::PATH_FIELD, Value(file.path)}}));
	}
	return "SELECT file_name, row_group_num_rows, stats_min_value, stats_max_value, stats_null_count "
	       "FROM parquet_metadata(" +
	       Value::LIST(std::move(paths)).ToSQLString() + ") WHERE path_in_schema = " + Value(column).ToSQLString() +
	       " AND type IN ('INT32', 'INT64')";
}

} // namespace

KeyRanges::KeyRanges(vector<Value> borders) : borders(std::move(borders)) {
}

string KeyRanges::Condition(const string &column, const Shares &shares) const {
	if (shares.Count() == 0 || shares.first >= Count()) {
		return "false";
	}
	auto name = SQLQuotedIdentifier::ToString(column);
	auto from = shares.first > 0 ? name + " >= " + borders[shares.first - 1].ToSQLString() : string();
	auto to = shares.last < Count() ? name + " < " + borders[shares.last - 1].ToSQLString() : string();
	if (!from.empty() && !to.empty()) {
		return from + " AND " + to;
	}
	if (!to.empty()) {
		return "(" + to + " OR " + name + " IS NULL)";
	}
	return from.empty() ? "true" : from;
}

idx_t KeyRanges::Of(const Value &key) const {
	return NumericCast<idx_t>(std::upper_bound(borders.begin(), borders.end(), key) - borders.begin());
}

Shares KeyRanges::Of(const Value &lowest, const Value &highest) const {
	return {Of(lowest), Of(highest) + 1};
}

RangedReading::RangedReading(string column, LogicalType type, vector<RowGroupKeys> row_groups)
    : column(std::move(column)), type(std::move(type)), row_groups(std::move(row_groups)) {
}

void RangedReading::Divide(shared_ptr<const KeyRanges> ranges_p) {
	ranges = std::move(ranges_p);
	shares_of_keys.clear();
	for (auto &keys : row_groups) {
		shares_of_keys.push_back(keys.AreKnown() ? ranges->Of(keys.lowest, keys.highest) : Shares {0, ranges->Count()});
	}
}

vector<idx_t> RangedReading::RowsOfShares(idx_t count) const {
	vector<idx_t> result(count, 0);
	for (idx_t i = 0; i < row_groups.size(); i++) {
		auto &keys = row_groups[i];
		for (auto share = shares_of_keys[i].first; share < shares_of_keys[i].last; share++) {
			result[share] += keys.rows;
		}
		if (keys.nulls > 0 && shares_of_keys[i].first > 0) {
			result[0] += MinValue(keys.rows, keys.nulls + keys.rows / COLUMNS_READ_BESIDE_KEYS);
		}
	}
	return result;
}

bool RangedReading::IsWorthwhile(idx_t count) const {
	idx_t rows = 0;
	for (auto &keys : row_groups) {
		rows += keys.rows;
	}
	idx_t read = 0;
	for (auto of_share : RowsOfShares(count)) {
		read += of_share;
	}
	return read <= rows + rows / 2;
}

vector<idx_t> RangedReading::Files(const Shares &shares) const {
	vector<idx_t> result;
	for (idx_t i = 0; i < row_groups.size(); i++) {
		auto has_keys = shares_of_keys[i].first < shares.last && shares.first < shares_of_keys[i].last;
		auto has_nulls = row_groups[i].nulls > 0 && shares.first == 0 && shares.last > 0;
		auto file = row_groups[i].file;
		if ((has_keys || has_nulls) && (result.empty() || result.back() != file)) {
			result.push_back(file);
		}
	}
	return result;
}

LogicalType RowGroupRanges::TypeOfKeys(const LogicalType &type) {
	switch (type.id()) {
	case LogicalTypeId::TINYINT:
	case LogicalTypeId::SMALLINT:
	case LogicalTypeId::INTEGER:
	case LogicalTypeId::BIGINT:
	case LogicalTypeId::UTINYINT:
	case LogicalTypeId::USMALLINT:
	case LogicalTypeId::UINTEGER:
		return LogicalType::BIGINT;
	case LogicalTypeId::DATE:
	case LogicalTypeId::TIMESTAMP:
	case LogicalTypeId::DECIMAL:
		return type;
	default:
		return LogicalType::INVALID;
	}
}

vector<RowGroupKeys> RowGroupRanges::Read(ClientContext &context, const vector<RangedFile> &files, const string &column,
                                          const LogicalType &column_type) {
	auto type = TypeOfKeys(column_type);
	if (type.id() == LogicalTypeId::INVALID) {
		return {};
	}
	auto footers = SessionConnection::Open(context)->Query(FootersQuery(files, column));
	if (footers->HasError()) {
		footers->ThrowError();
	}
	unordered_map<string, vector<RowGroupKeys>> by_path;
	for (auto &row : *footers) {
		RowGroupKeys keys;
		keys.rows = NumericCast<idx_t>(row.GetValue<int64_t>(1));
		keys.lowest = KeyOf(row.GetBaseValue(2), type);
		keys.highest = KeyOf(row.GetBaseValue(3), type);
		keys.nulls = row.IsNull(4) ? keys.rows : NumericCast<idx_t>(row.GetValue<int64_t>(4));
		by_path[row.GetValue<string>(0)].push_back(std::move(keys));
	}
	vector<RowGroupKeys> result;
	for (idx_t i = 0; i < files.size(); i++) {
		idx_t rows = 0;
		for (auto &keys : by_path[files[i].path]) {
			rows += keys.rows;
			keys.file = i;
			result.push_back(std::move(keys));
		}
		if (rows != files[i].rows) {
			return {};
		}
	}
	return result;
}

shared_ptr<const KeyRanges> RowGroupRanges::Divide(vector<RowGroupKeys> row_groups, idx_t ranges) {
	idx_t rows = 0;
	for (auto &keys : row_groups) {
		rows += keys.rows;
	}
	std::sort(row_groups.begin(), row_groups.end(), [](const RowGroupKeys &left, const RowGroupKeys &right) {
		return !left.lowest.IsNull() && (right.lowest.IsNull() || left.lowest < right.lowest);
	});
	vector<Value> borders;
	idx_t before = 0;
	for (auto &keys : row_groups) {
		auto &start = borders.empty() ? row_groups[0].lowest : borders.back();
		auto begins_later = !keys.lowest.IsNull() && start < keys.lowest;
		if (begins_later && before * ranges >= rows * (borders.size() + 1)) {
			borders.push_back(keys.lowest);
		}
		before += keys.rows;
	}
	return make_shared_ptr<KeyRanges>(std::move(borders));
}

} // namespace merganser
