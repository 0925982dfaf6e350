#include "grouping/recorded_layout.hpp"

#include "session_connection.hpp"

#include "duckdb/common/file_system.hpp"
#include "duckdb/common/multi_file/multi_file_states.hpp"
#include "duckdb/main/query_result.hpp"
#include "duckdb/parser/keyword_helper.hpp"

namespace merganser {

namespace {

const char *const LAYOUT = "merganser_layout";
const char *const PARTITION_BY = "merganser_partition_by";
const char *const ORDER_BY = "merganser_order_by";
const char *const VERSION = "merganser-regions-1";

string NameList(const vector<string> &names) {
	vector<string> quoted;
	for (auto &name : names) {
		quoted.push_back("\"" + StringUtil::Replace(name, "\"", "\"\"") + "\"");
	}
	return StringUtil::Join(quoted, ",");
}

vector<string> ParseNameList(const string &text) {
	vector<string> result;
	idx_t position = 0;
	while (position < text.size()) {
		string name;
		for (position++; position < text.size(); position++) {
			if (text[position] != '"') {
				name += text[position];
			} else if (position + 1 < text.size() && text[position + 1] == '"') {
				name += text[position++];
			} else {
				break;
			}
		}
		result.push_back(name);
		position += 2; // the closing quote and the comma
	}
	return result;
}

//! Whether the footer of a file has no entry of ours. A look at its bytes costs much less than a query, and most files
//! are not ours. False where that cannot be told so.
bool FooterHasNone(ClientContext &context, const OpenFileInfo &file) {
	const idx_t tail_size = 8; // the footer's length, and "PAR1"
	if (FileSystem::IsRemoteFile(file.path)) {
		return false;
	}
	auto &file_system = FileSystem::GetFileSystem(context);
	auto handle = file_system.OpenFile(file, FileFlags::FILE_FLAGS_READ | FileFlags::FILE_FLAGS_NULL_IF_NOT_EXISTS);
	auto size = handle ? handle->GetFileSize() : 0;
	if (size < tail_size) {
		return false;
	}
	char tail[tail_size];
	handle->Read(tail, tail_size, size - tail_size);
	auto length = Load<uint32_t>(const_data_ptr_cast(tail));
	if (string(tail + sizeof(uint32_t), sizeof(uint32_t)) != "PAR1" || length > size - tail_size) {
		return false;
	}
	string footer(length, '\0');
	handle->Read(&footer[0], length, size - tail_size - length);
	return footer.find(LAYOUT) == string::npos;
}

//! The entries of these files, or nothing if one of them has none or others.
bool ReadEntries(ClientContext &context, const vector<string> &files, map<string, string> &entries) {
	vector<Value> paths;
	for (auto &file : files) {
		paths.emplace_back(file);
	}
	auto connection = SessionConnection::Open(context);
	auto list = Value::LIST(LogicalType::VARCHAR, std::move(paths)).ToSQLString();
	auto result = connection->Query("SELECT decode(key), min(decode(value)), max(decode(value)), count(*) FROM "
	                                "parquet_kv_metadata(" +
	                                list + ") WHERE starts_with(decode(key), 'merganser_') GROUP BY 1");
	if (result->HasError()) {
		return false; // files that are no Parquet files, or are gone: the scan itself will say so
	}
	for (auto &row : *result) {
		auto smallest = row.GetBaseValue(1).ToString();
		if (smallest != row.GetBaseValue(2).ToString() ||
		    row.GetBaseValue(3) != Value::BIGINT(static_cast<int64_t>(files.size()))) {
			return false;
		}
		entries[row.GetBaseValue(0).ToString()] = smallest;
	}
	return StringUtil::StartsWith(entries[LAYOUT], VERSION);
}

bool TryColumns(const LogicalGet &get, const string &text, vector<idx_t> &result) {
	for (auto &name : ParseNameList(text)) {
		auto found = std::find_if(get.names.begin(), get.names.end(),
		                          [&](const Identifier &column) { return column.GetIdentifierName() == name; });
		if (found == get.names.end()) {
			return false;
		}
		result.push_back(static_cast<idx_t>(found - get.names.begin()));
	}
	return true;
}

} // namespace

vector<pair<string, string>> RecordedLayout::Entries(const string &id, const vector<string> &partition_by,
                                                     const vector<string> &order_by) {
	return {
	    {LAYOUT, string(VERSION) + " " + id}, {PARTITION_BY, NameList(partition_by)}, {ORDER_BY, NameList(order_by)}};
}

bool RecordedLayout::TryRead(ClientContext &context, const LogicalGet &get, ScanLayout &result) {
	auto &bind_data = get.bind_data->Cast<MultiFileBindData>();
	if (get.function.GetName() != "read_parquet" && get.function.GetName() != "parquet_scan") {
		return false;
	}
	vector<string> files;
	for (auto &file : bind_data.file_list->GetAllFiles()) {
		if (files.empty() && FooterHasNone(context, file)) {
			return false;
		}
		files.push_back(file.path);
	}
	map<string, string> entries;
	if (files.empty() || !ReadEntries(context, {files[0]}, entries) ||
	    (files.size() > 1 && !ReadEntries(context, files, entries))) {
		return false;
	}
	vector<idx_t> order;
	if (!TryColumns(get, entries[PARTITION_BY], result.partitioned_by) || !TryColumns(get, entries[ORDER_BY], order)) {
		return false;
	}
	for (auto &columns : {result.partitioned_by, order}) {
		for (auto column : columns) {
			result.sorted_by.push_back(OrderItem {column, OrderType::ASCENDING, OrderByNullType::NULLS_LAST});
		}
	}
	result.is_recorded = true;
	result.source = "recorded in the files";
	result.remedy = "The files were changed after COPY (FORMAT merganser_regions) wrote them; write them again";
	return true;
}

} // namespace merganser
