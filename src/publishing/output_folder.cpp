#include "publishing/output_folder.hpp"

#include "duckdb/common/types/uuid.hpp"

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

namespace fs = std::filesystem;

namespace merganser {

namespace {

//! Attempts at becoming the writer of a folder while others begin and end.
const idx_t ATTEMPTS = 100;
//! A file that says which machine's lock it is.
const char *const OWNER = "owner";
//! What was the target before, while a new one takes its place.
const char *const REPLACED = "replaced";

//! How long the folders below a target are kept after their exchange.
const std::chrono::milliseconds FOR_READERS(250);

//! Of the folder itself, where the statement names it by a link.
fs::path Target(const string &folder) {
	auto path = fs::weakly_canonical(fs::absolute(folder));
	return path.has_filename() ? path : path.parent_path();
}

bool AreOnOneDevice(const fs::path &left, const fs::path &right) {
	struct stat of_left, of_right;
	return stat(left.c_str(), &of_left) == 0 && stat(right.c_str(), &of_right) == 0 &&
	       of_left.st_dev == of_right.st_dev;
}

//! Puts `left` in the place of `right` and the other way round, at once; false where the system cannot.
bool Exchange(const fs::path &left, const fs::path &right) {
#ifdef RENAME_EXCHANGE
	return renameat2(AT_FDCWD, left.c_str(), AT_FDCWD, right.c_str(), RENAME_EXCHANGE) == 0;
#else
	return false;
#endif
}

bool HasFolders(const fs::path &folder) {
	std::error_code error;
	auto entries = fs::directory_iterator(folder, error);
	return std::any_of(begin(entries), end(entries),
	                   [](const fs::directory_entry &entry) { return entry.is_directory(); });
}

//! Renames files and makes the folders they need; undoes it all unless Keep is called.
class Moves {
public:
	~Moves() {
		if (kept) {
			return;
		}
		std::error_code error;
		for (auto move = done.rbegin(); move != done.rend(); move++) {
			fs::rename(move->second, move->first, error);
		}
		for (auto folder = folders.rbegin(); folder != folders.rend(); folder++) {
			fs::remove(*folder, error);
		}
	}
	void Move(const fs::path &from, const fs::path &to) {
		MakeFolder(to.parent_path());
		fs::rename(from, to);
		done.emplace_back(from, to);
	}
	void Keep() {
		kept = true;
	}

private:
	vector<std::pair<fs::path, fs::path>> done;
	vector<fs::path> folders;
	bool kept = false;

	void MakeFolder(const fs::path &folder) {
		if (fs::exists(folder)) {
			return;
		}
		MakeFolder(folder.parent_path());
		fs::create_directory(folder);
		folders.push_back(folder);
	}
};

} // namespace

OutputTarget OutputTarget::Choose(const string &folder, CopyOverwriteMode mode) {
	auto target = Target(folder);
	auto above = target.parent_path();
	auto is_inside =
	    fs::is_directory(target) && (!AreOnOneDevice(target, above) || access(above.c_str(), W_OK | X_OK) != 0);
	auto place = is_inside ? target / ".merganser" : above / ("." + target.filename().string() + ".merganser");
	auto staging = place / UUID::ToString(UUID::GenerateRandomUUID());
	return {folder, mode, staging.string(), is_inside};
}

OutputFolder::OutputFolder(const OutputTarget &output)
    : target(Target(output.folder)), staging(output.staging), place(staging.parent_path()),
      staging_is_inside(output.staging_is_inside), mode(output.mode), name(output.folder) {
	CheckTarget();
	TakePlace();
	if (mkdir(staging.c_str(), S_IRWXU) != 0) {
		throw IOException("Failed to create directory \"%s\": %s", staging.string(), strerror(errno));
	}
}

OutputFolder::~OutputFolder() {
	std::error_code error;
	auto removed = fs::path(staging.string() + "-removed");
	fs::rename(staging, removed, error);
	fs::remove_all(place, error);
}

void OutputFolder::TakePlace() {
	for (idx_t attempt = 0; attempt < ATTEMPTS; attempt++) {
		if (mkdir(place.c_str(), S_IRWXU) == 0) {
			ownership = FolderLock::TryNew(place);
			if (ownership.IsHeld()) {
				std::ofstream(place / OWNER) << FolderLock::Machine();
				return;
			}
		} else if (errno == EEXIST) {
			RemoveAbandonedPlace();
		} else {
			throw IOException("Failed to create directory \"%s\": %s", place.string(), strerror(errno));
		}
	}
	throw IOException("Cannot write to \"%s\": other COPYs begin to write it again and again", name);
}

//! What another machine has locked is not seen here.
static bool IsOfAnotherMachine(const fs::path &place) {
	string machine;
	std::ifstream(place / OWNER) >> machine;
	return !machine.empty() && machine != FolderLock::Machine();
}

void OutputFolder::RemoveAbandonedPlace() const {
	auto lock = FolderLock::Try(place);
	std::error_code error;
	if (!lock.IsHeld() && !fs::exists(fs::symlink_status(place, error))) {
		return; // its owner has ended meanwhile
	}
	if (!lock.IsHeld() || (IsOfAnotherMachine(place) && !FolderLock::IsOld(place))) {
		throw IOException("Another COPY is writing to \"%s\". Run this one when it has ended; if it was killed on "
		                  "another machine, remove \"%s\"",
		                  name, place.string());
	}
	for (auto &of_copy : fs::directory_iterator(place, error)) {
		if (!staging_is_inside && fs::exists(of_copy.path() / REPLACED) && !fs::exists(target)) {
			fs::rename(of_copy.path() / REPLACED, target);
		}
	}
	fs::remove_all(place, error);
}

vector<fs::path> OutputFolder::ExistingFiles() const {
	vector<fs::path> result;
	if (!fs::is_directory(target)) {
		return result;
	}
	for (auto entry = fs::recursive_directory_iterator(target); entry != fs::recursive_directory_iterator(); entry++) {
		if (entry->path() == place) {
			entry.disable_recursion_pending();
		} else if (!entry->is_directory()) {
			result.push_back(entry->path());
		}
	}
	return result;
}

void OutputFolder::CheckTarget() const {
	if (mode == CopyOverwriteMode::COPY_OVERWRITE) {
		return;
	}
	if (fs::exists(target) && !fs::is_directory(target)) {
		throw IOException("Cannot write to \"%s\" - it exists and is a file, not a directory! Enable OVERWRITE option "
		                  "to overwrite the file",
		                  name);
	}
	if (mode == CopyOverwriteMode::COPY_ERROR_ON_CONFLICT && !ExistingFiles().empty()) {
		throw IOException("Directory \"%s\" is not empty! Enable OVERWRITE option to overwrite files", name);
	}
}

void OutputFolder::Publish(const vector<StagedFile> &files) {
	CheckTarget();
	try {
		auto replaces = !fs::exists(target) || mode == CopyOverwriteMode::COPY_OVERWRITE ||
		                (fs::is_directory(target) && fs::is_empty(target));
		if (replaces && !staging_is_inside) {
			PutInPlace(files);
		} else {
			MoveIntoTarget(files);
		}
	} catch (fs::filesystem_error &error) {
		throw IOException("Cannot put the files of the COPY into \"%s\": %s", name, error.what());
	}
}

void OutputFolder::PutInPlace(const vector<StagedFile> &files) {
	auto whole = staging / "whole";
	Moves inside;
	for (auto &file : files) {
		inside.Move(file.staged, whole / file.relative);
	}
	inside.Keep();
	if (fs::is_directory(target)) {
		fs::permissions(whole, fs::status(target).permissions());
	}
	if (!fs::exists(target) || (fs::is_directory(target) && fs::is_empty(target))) {
		fs::rename(whole, target);
		return;
	}
	auto old = whole;
	if (!Exchange(whole, target)) {
		old = staging / REPLACED;
		Moves moves;
		moves.Move(target, old);
		moves.Move(whole, target);
		moves.Keep();
	}
	if (HasFolders(old)) {
		std::this_thread::sleep_for(FOR_READERS);
	}
}

void OutputFolder::MoveIntoTarget(const vector<StagedFile> &files) {
	Moves moves;
	auto put_aside = [&](const fs::path &existing) {
		moves.Move(existing, staging / REPLACED / existing.lexically_relative(target));
	};
	if (mode == CopyOverwriteMode::COPY_OVERWRITE) {
		for (auto &existing : ExistingFiles()) {
			put_aside(existing);
		}
	}
	for (auto &file : files) {
		if (fs::exists(target / file.relative)) {
			put_aside(target / file.relative);
		}
		moves.Move(file.staged, target / file.relative);
	}
	moves.Keep();
}

} // namespace merganser
