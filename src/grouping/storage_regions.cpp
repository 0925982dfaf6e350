#include "grouping/storage_regions.hpp"

#include "duckdb/common/file_system.hpp"
#include "duckdb/common/multi_file/multi_file_states.hpp"

namespace merganser {

static string DirectoryOf(const string &path) {
	return path.substr(0, path.find_last_of("/\\"));
}

StorageRegions::StorageRegions(optional_ptr<FunctionData> scan, bool whole_files) {
	auto multi_file = dynamic_cast<MultiFileBindData *>(scan.get());
	if (!multi_file) {
		return;
	}
	auto by_directory = multi_file->file_options.hive_partitioning && !whole_files;
	unordered_map<string, idx_t> region_of;
	for (auto &file : multi_file->file_list->GetAllFiles()) {
		auto place = by_directory ? DirectoryOf(file.path) : file.path;
		auto entry = region_of.emplace(place, files.size());
		if (entry.second) {
			files.emplace_back();
		}
		files[entry.first->second].push_back(file);
	}
}

bool StorageRegions::AreSingleFiles() const {
	return std::all_of(files.begin(), files.end(),
	                   [](const vector<OpenFileInfo> &region) { return region.size() == 1; });
}

string StorageRegions::Name(idx_t region) const {
	auto &path = files[region][0].path;
	return files[region].size() == 1 ? path : DirectoryOf(path);
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

double StorageRegions::LargestShare(ClientContext &context) const {
	auto &file_system = FileSystem::GetFileSystem(context);
	idx_t largest = 0;
	idx_t total = 0;
	for (auto &region : files) {
		idx_t bytes = 0;
		for (auto &file : region) {
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
