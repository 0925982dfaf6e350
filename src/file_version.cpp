#include "file_version.hpp"

#include "duckdb/common/path.hpp"
#include "duckdb/common/types/blob.hpp"
#include "duckdb/common/types/timestamp.hpp"
#include "duckdb/main/client_context_state.hpp"

#include <mutex>

namespace merganser {

namespace {

string Base64(const string &bytes) {
	return Blob::ToBase64(string_t(bytes));
}

//! Of the running query of one connection.
struct QueryFiles : public ClientContextState {
	void QueryBegin(ClientContext &context) override {
		Forget();
	}
	void QueryEnd() override {
		Forget();
	}
	void Add(const FileVersion &version) {
		std::lock_guard<std::mutex> guard(lock);
		if (known.insert(version.path + "\n" + version.tag + "\n" + to_string(version.changed.value)).second) {
			versions.push_back(version);
		}
	}
	vector<FileVersion> All() {
		std::lock_guard<std::mutex> guard(lock);
		return versions;
	}

	static shared_ptr<QueryFiles> Get(ClientContext &context) {
		return context.registered_state->GetOrCreate<QueryFiles>("merganser_read_files");
	}

private:
	std::mutex lock;
	vector<FileVersion> versions;
	unordered_set<string> known;

	void Forget() {
		std::lock_guard<std::mutex> guard(lock);
		versions.clear();
		known.clear();
	}
};

} // namespace

FileVersion FileVersion::Of(const string &path, const FileMetadata &metadata) {
	FileVersion result;
	result.path = path;
	result.bytes = NumericCast<idx_t>(metadata.file_size);
	result.changed = metadata.last_modification_time;
	result.tag = Base64(metadata.version_tag);
	return result;
}

optional<FileVersion> FileVersion::Listed(ClientContext &context, const OpenFileInfo &file, const string &path) {
	FileVersion result;
	result.path = path;
	string tag;
	if (file.extended_info && file.extended_info->TryGetOption("file_size", result.bytes) &&
	    file.extended_info->TryGetOption("last_modified", result.changed)) {
		file.extended_info->TryGetOption("etag", tag);
		result.tag = Base64(tag);
	} else {
		auto metadata = FileSystem::GetFileSystem(context).GetStatsIfExists(path);
		if (!metadata || metadata->file_size < 0 || metadata->file_type == FileType::FILE_TYPE_FIFO) {
			return {};
		}
		result = Of(path, *metadata);
	}
	if (!FileSystem::IsRemoteFile(path) && !Settings::RunsInThisProcess(context)) {
		// DuckDB's tag of a local file has the numbers its machine knows it by; another machine has others.
		result.tag.clear();
	}
	return result;
}

string FileVersion::AbsolutePath(const string &path) {
	auto parsed = Path::FromString(path);
	return parsed.IsAbsolute() || !parsed.IsLocal() ? path : FileSystem::GetWorkingDirectory() + "/" + path;
}

bool FileVersion::IsCurrent(ClientContext &context) const {
	auto metadata = FileSystem::GetFileSystem(context).GetStatsIfExists(path);
	return metadata && IsSame(Of(path, *metadata));
}

bool FileVersion::IsSame(const FileVersion &other) const {
	if (bytes != other.bytes) {
		return false;
	}
	return tag.empty() || other.tag.empty() ? changed == other.changed : tag == other.tag;
}

string FileVersion::Text() const {
	auto time = changed.IsFinite() ? ", changed at " + Timestamp::ToString(changed) : string();
	return StringUtil::Format("%llu bytes%s", bytes, time);
}

void FileVersion::Check(ClientContext &context) const {
	auto metadata = FileSystem::GetFileSystem(context).GetStatsIfExists(path);
	if (!metadata) {
		throw IOException("File \"%s\" is not there any more: when the query was planned, it had %s. The files of a "
		                  "query must stay as they are while it runs",
		                  path, Text());
	}
	auto now = Of(path, *metadata);
	if (!IsSame(now)) {
		throw IOException("File \"%s\" is not what it was when the query was planned: it had %s; another one of %s is "
		                  "there now. The files of a query must stay as they are while it runs",
		                  path, Text(), now.Text());
	}
}

void OpenedFiles::Add(ClientContext &context, const FileVersion &version) {
	QueryFiles::Get(context)->Add(version);
}

void OpenedFiles::Check(ClientContext &context) {
	for (auto &version : QueryFiles::Get(context)->All()) {
		version.Check(context);
	}
}

} // namespace merganser
