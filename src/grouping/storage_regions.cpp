#include "grouping/storage_regions.hpp"

#include "duckdb/common/file_system.hpp"
#include "duckdb/common/multi_file/multi_file_states.hpp"
#include "duckdb/planner/filter/expression_filter.hpp"

namespace merganser {

static string DirectoryOf(const string &path) {
	return path.substr(0, path.find_last_of("/\\"));
}

StorageRegions::StorageRegions(optional_ptr<FunctionData> scan, bool whole_files) {
	auto multi_file = dynamic_cast<MultiFileBindData *>(scan.get());
	auto by_directory = multi_file && multi_file->file_options.hive_partitioning && !whole_files;
	unordered_map<string, idx_t> region_of;
	for (auto &file : multi_file ? multi_file->file_list->GetAllFiles() : vector<OpenFileInfo>()) {
		auto place = by_directory ? DirectoryOf(file.path) : file.path;
		auto entry = region_of.emplace(place, parts.size());
		if (entry.second) {
			parts.emplace_back();
			parts.back().emplace_back();
		}
		parts[entry.first->second][0].files.push_back(file);
	}
	if (parts.empty()) {
		parts.emplace_back();
		parts.back().emplace_back();
	}
}

StorageRegions::StorageRegions(vector<vector<Part>> parts_p, optional_idx filtered, vector<idx_t> rows_p)
    : parts(std::move(parts_p)), filtered(filtered), rows(std::move(rows_p)) {
}

bool StorageRegions::AreSingleFiles() const {
	return std::all_of(parts.begin(), parts.end(), [](const vector<Part> &region) {
		return region.size() == 1 && region[0].files.size() <= 1 && !region[0].filter;
	});
}

static string FilesName(const vector<OpenFileInfo> &files) {
	auto directory = DirectoryOf(files[0].path);
	if (files.size() == 1) {
		return files[0].path;
	}
	auto together = std::all_of(files.begin(), files.end(),
	                            [&](const OpenFileInfo &file) { return DirectoryOf(file.path) == directory; });
	return together ? directory : files[0].path + " and others";
}

string StorageRegions::Name(idx_t region, const string &table, const vector<string> &columns) const {
	vector<string> result;
	for (auto &part : parts[region]) {
		auto name = part.files.empty() ? table : FilesName(part.files);
		if (part.filter) {
			name += " (" + ExpressionFilter(part.filter->Copy()).ToString(columns[filtered.GetIndex()]) + ")";
		}
		result.push_back(std::move(name));
	}
	return StringUtil::Join(result, " with ");
}

static optional_idx FileSize(FileSystem &file_system, const OpenFileInfo &file) {
	idx_t size;
	if (file.extended_info && file.extended_info->TryGetOption("file_size", size)) {
		return size;
	}
	if (FileSystem::IsRemoteFile(file.path)) {
		return optional_idx();
	}
	auto handle = file_system.OpenFile(file, FileFlags::FILE_FLAGS_READ | FileFlags::FILE_FLAGS_NULL_IF_NOT_EXISTS);
	return handle ? optional_idx(file_system.GetFileSize(*handle)) : optional_idx();
}

double StorageRegions::LargestShareOfRows() const {
	idx_t largest = 0;
	idx_t total = 0;
	for (auto count : rows) {
		largest = MaxValue(largest, count);
		total += count;
	}
	return total == 0 ? 1 : static_cast<double>(largest) / static_cast<double>(total);
}

double StorageRegions::LargestShare(ClientContext &context) const {
	if (!rows.empty()) {
		return LargestShareOfRows();
	}
	auto &file_system = FileSystem::GetFileSystem(context);
	idx_t largest = 0;
	idx_t total = 0;
	for (auto &region : parts) {
		idx_t bytes = 0;
		for (auto &file : region[0].files) { // those that were found by rows are several parts
			auto size = FileSize(file_system, file);
			if (!size.IsValid()) {
				return 1.0 / static_cast<double>(Count());
			}
			bytes += size.GetIndex();
		}
		largest = MaxValue(largest, bytes);
		total += bytes;
	}
	return total == 0 ? 1 : static_cast<double>(largest) / static_cast<double>(total);
}

} // namespace merganser
