//===----------------------------------------------------------------------===//
//                         Merganser
//
// runners/files_format.hpp
//
//   COPY (SELECT ...) TO 'exchange file'
//     (FORMAT merganser_files, FOLDER '/data/.orders.1f0c', WRITE 'FORMAT parquet, PARTITION_BY (g), RETURN_STATS');
//
// What a task of the last stage runs where the tasks write the files of a COPY: its rows become files of a new folder
// below FOLDER, as COPY with the options WRITE makes them, and the exchange file says which: the rows RETURN_STATS or
// RETURN_FILES return. Every attempt has a folder of its own, so a retried or a second attempt never meets the files of
// another; the exchange file that the runner accepts names those that count.
// Errors: BinderException for other options; IOException where FOLDER is not there.
//===----------------------------------------------------------------------===//

#pragma once

#include "settings.hpp"

namespace merganser {

struct FilesFormat {
	static constexpr const char *NAME = "merganser_files";

	static void Register(ExtensionLoader &loader);
	//! Options of the COPY of a task.
	static string Options(const string &folder, const string &write);
};

} // namespace merganser
