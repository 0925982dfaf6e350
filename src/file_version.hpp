//===----------------------------------------------------------------------===//
//                         Merganser
//
// file_version.hpp
//
// Problem: the tasks of a query open its files one after another, some of them long after it was planned. A file that
// was replaced meanwhile would be read half old and half new.
//
// So a version of each file, its size and the time it was changed (of a remote file its ETag, where it has one), is
// taken when the session lists the files, and travels with the stages. It is compared when a task opens the file
// (stages/slice_scan.hpp), and once more when the task has written its rows, before they count (OpenedFiles::Check).
//
// Sound because every read of the file lies between these two: where both saw the version that was planned, no other
// one was there in between. Limits: a file that was changed and then put back as it was, its time too; a change within
// what the file system counts as the same moment, which keeps the size and, in this process, the file's number.
//===----------------------------------------------------------------------===//

#pragma once

#include "settings.hpp"

#include "duckdb/common/file_system.hpp"
#include "duckdb/common/open_file_info.hpp"

namespace merganser {

struct FileVersion {
	//! Where every process finds it: an absolute path, or a URL.
	string path;
	idx_t bytes = 0;
	timestamp_t changed;
	//! An ETag, or what tells files of this process's machine apart, in base64; empty where there is none.
	string tag;

	//! As it was when DuckDB listed the file; nothing where that is no regular file.
	static optional<FileVersion> Listed(ClientContext &context, const OpenFileInfo &file, const string &path);
	//! Where every process finds the file.
	static string AbsolutePath(const string &path);
	//! Whether they are the same version, of the same path.
	bool IsSame(const FileVersion &other) const;
	//! Whether it is there in this version.
	bool IsCurrent(ClientContext &context) const;
	//! "4711 bytes, changed at 2026-11-30 12:00:00".
	string Text() const;
	//! Throws IOException, which names the file, what was expected and what is there, unless it is this version.
	void Check(ClientContext &context) const;

private:
	static FileVersion Of(const string &path, const FileMetadata &metadata);
};

//! The files the running query of a connection has opened in a version that was given to it.
struct OpenedFiles {
	static void Add(ClientContext &context, const FileVersion &version);
	//! Throws, as FileVersion::Check does, where one is not that version any more.
	static void Check(ClientContext &context);
};

} // namespace merganser
