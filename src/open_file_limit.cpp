#include "open_file_limit.hpp"

#include <cerrno>
#include <cstring>
#include <sys/resource.h>

namespace merganser {

namespace {

//! One part of so many is for the files of tasks; the rest is for the database, spilled data, input files and others.
const idx_t SHARE_OF_TASKS = 2;

//! As DuckDB keeps it with what it could not open; 0 where it is something else.
int CodeOf(const ErrorData &error) {
	auto &info = error.ExtraInfo();
	auto entry = info.find("errno");
	for (auto code : {EMFILE, ENFILE}) {
		if (entry != info.end() && entry->second == to_string(code)) {
			return code;
		}
	}
	return 0;
}

//! What to do where `code`, of the system, is that no more files can be opened; otherwise nothing.
string Remedy(int code) {
	if (code == EMFILE) {
		return StringUtil::Format("This process may have %llu files open at a time (ulimit -n): raise that limit, or "
		                          "SET threads or merganser_slots to fewer",
		                          OpenFileLimit::OfProcess());
	}
	if (code == ENFILE) {
		return "All processes of this machine together have as many files open as it allows (fs.file-max): raise that "
		       "limit";
	}
	return string();
}

} // namespace

idx_t OpenFileLimit::OfProcess() {
	rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
		return NumericLimits<idx_t>::Maximum();
	}
	return limit.rlim_cur;
}

idx_t OpenFileLimit::Tasks(idx_t files_of_task) {
	return MaxValue<idx_t>(OfProcess() / SHARE_OF_TASKS / MaxValue<idx_t>(files_of_task, 1), 1);
}

void OpenFileLimit::ThrowIfReached(int code, const string &path) {
	auto remedy = Remedy(code);
	if (!remedy.empty()) {
		throw IOException("Cannot open \"%s\": %s. %s", path, strerror(code), remedy);
	}
}

ErrorData OpenFileLimit::Explain(const ErrorData &error) {
	auto remedy = Remedy(CodeOf(error));
	return remedy.empty() ? error : ErrorData(error.Type(), error.RawMessage() + ". " + remedy);
}

} // namespace merganser
