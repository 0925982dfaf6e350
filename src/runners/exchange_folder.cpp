#include "runners/exchange_folder.hpp"

#include "duckdb/common/types/uuid.hpp"

#include <cstring>
#include <unistd.h>

namespace merganser {

namespace {

std::filesystem::path Directory(ClientContext &context) {
	auto directory = Settings::ExchangeDirectory(context);
	return directory.empty() ? std::filesystem::temp_directory_path() : std::filesystem::path(directory);
}

//! The folder itself, or the one in which it, or those above it, would be made.
std::filesystem::path NearestThatExists(std::filesystem::path folder) {
	while (access(folder.c_str(), F_OK) != 0 && errno == ENOENT && folder.has_relative_path()) {
		folder = folder.parent_path();
	}
	return folder;
}

} // namespace

string ExchangeFolder::WhyNot(ClientContext &context) {
	std::filesystem::path directory;
	try {
		directory = Directory(context);
	} catch (const std::filesystem::filesystem_error &error) {
		return StringUtil::Format(
		    "there is no folder for temporary files (%s): SET merganser_exchange_directory to one",
		    error.code().message());
	}
	if (access(ProcessFolder::RootIn(directory).c_str(), F_OK) == 0 ||
	    access((NearestThatExists(directory) / ".").c_str(), W_OK | X_OK) == 0) {
		return string();
	}
	return StringUtil::Format("no exchange folder can be made in \"%s\" (%s): SET merganser_exchange_directory to a "
	                          "folder of your own",
	                          directory.string(), strerror(errno));
}

ExchangeFolder::ExchangeFolder(ClientContext &context) : of_process(ProcessFolder::In(Directory(context))) {
	path = of_process->MakeFolder(UUID::ToString(UUID::GenerateRandomUUID())).string();
}

ExchangeFolder::~ExchangeFolder() {
	std::error_code error;
	std::filesystem::remove_all(path, error);
}

string ExchangeFolder::MakeFolder(const string &relative) const {
	auto folder = std::filesystem::path(path) / relative;
	std::error_code error;
	std::filesystem::create_directories(folder, error);
	if (error) {
		throw IOException("Cannot make the exchange folder \"%s\": %s", folder.string(), error.message());
	}
	return folder.string();
}

string ExchangeFolder::TaskFile(idx_t stage, idx_t task, idx_t attempt) {
	return MakeFolder("s" + to_string(stage)) + StringUtil::Format("/t%llu-a%llu", task, attempt);
}

string ExchangeFolder::SentFile(idx_t sent) {
	return MakeFolder("sent") + "/" + to_string(sent);
}

} // namespace merganser
