#include "runners/output_folder.hpp"

#include "runners/task_copy.hpp"

#include "duckdb/common/types/uuid.hpp"

#include <cstdio>
#include <fcntl.h>
#include <fstream>
#include <sys/stat.h>
#include <unistd.h>

namespace fs = std::filesystem;

namespace merganser {

namespace {

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

string OutputFolder::ChooseStaging(const string &folder, bool &is_inside) {
	auto target = Target(folder);
	auto above = target.parent_path();
	auto random = UUID::ToString(UUID::GenerateRandomUUID());
	is_inside = fs::is_directory(target) && (!AreOnOneDevice(target, above) || access(above.c_str(), W_OK | X_OK) != 0);
	auto staging =
	    is_inside ? target / (".merganser-" + random) : above / ("." + target.filename().string() + "." + random);
	return staging.string();
}

OutputFolder::OutputFolder(const TaskCopy &copy)
    : target(Target(copy.folder)), staging(copy.staging), staging_is_inside(copy.staging_is_inside),
      mode(copy.overwrite_mode), name(copy.folder) {
	CheckTarget();
	std::error_code error;
	fs::create_directory(staging, error);
	if (!error) {
		fs::permissions(staging, fs::perms::owner_all, error);
	}
	if (error) {
		throw IOException("Failed to create directory \"%s\": %s", staging.string(), error.message());
	}
}

OutputFolder::~OutputFolder() {
	std::error_code error;
	auto removed = fs::path(staging.string() + "-removed");
	fs::rename(staging, removed, error);
	fs::remove_all(removed, error);
}

vector<fs::path> OutputFolder::ExistingFiles() const {
	vector<fs::path> result;
	if (!fs::is_directory(target)) {
		return result;
	}
	for (auto entry = fs::recursive_directory_iterator(target); entry != fs::recursive_directory_iterator(); entry++) {
		if (entry->path() == staging) {
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

void OutputFolder::Publish(const vector<StagedFile> &files, const string &manifest_name, const string &manifest) {
	CheckTarget();
	auto staged_manifest = staging / manifest_name;
	std::ofstream stream(staged_manifest);
	if (!(stream << manifest << std::flush)) {
		throw IOException("Cannot write \"%s\"", staged_manifest.string());
	}
	auto all = files;
	all.push_back({staged_manifest.string(), manifest_name});
	try {
		auto replaces = !fs::exists(target) || mode == CopyOverwriteMode::COPY_OVERWRITE;
		if (replaces && !staging_is_inside) {
			PutInPlace(all);
		} else {
			MoveIntoTarget(all);
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
	if (!fs::exists(target)) {
		fs::rename(whole, target);
		return;
	}
	if (fs::is_directory(target)) {
		fs::permissions(whole, fs::status(target).permissions());
	}
	if (!Exchange(whole, target)) {
		Moves moves;
		moves.Move(target, staging / "replaced");
		moves.Move(whole, target);
		moves.Keep();
	}
}

void OutputFolder::MoveIntoTarget(const vector<StagedFile> &files) {
	Moves moves;
	auto put_aside = [&](const fs::path &existing) {
		moves.Move(existing, staging / "replaced" / existing.lexically_relative(target));
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
