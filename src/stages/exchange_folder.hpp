//===----------------------------------------------------------------------===//
//                         Merganser
//
// stages/exchange_folder.hpp
//
// The folder of one execution of a query: <directory>/merganser-<user id>/<random>, for its owner only (mode 0700). It
// is removed with everything in it when the object dies: at the end of the query, after an error and after a cancel.
// Errors: IOException naming the folder that could not be made.
//===----------------------------------------------------------------------===//

#pragma once

#include "settings.hpp"

namespace merganser {

class ExchangeFolder {
public:
	explicit ExchangeFolder(ClientContext &context);
	~ExchangeFolder();
	ExchangeFolder(const ExchangeFolder &) = delete;

	//! File of one attempt at one task: s<stage>/a<attempt>/t<task>. Makes the folders above it.
	string TaskFile(idx_t stage, idx_t attempt, idx_t task);
	//! File of rows the session sends.
	string SentFile(idx_t sent);

private:
	string path;

	string MakeFolder(const string &relative) const;
};

} // namespace merganser
