//===----------------------------------------------------------------------===//
//                         Merganser
//
// runners/exchange_folder.hpp
//
// The folder of one execution of a query: <directory>/merganser-<user id>/<process>/<query>, for its owner only (mode
// 0700); <query> is random, <process> is the folder that process_folder.hpp locks. It is removed with everything in it
// when the object dies: at the end of the query, after an error and after a cancel. A directory in which this user may
// not make it, or which is not there, is a reason not to run in stages, found when the query is planned. Errors:
// IOException naming the folder that could not be made.
//===----------------------------------------------------------------------===//

#pragma once

#include "runners/process_folder.hpp"

namespace merganser {

class ExchangeFolder {
public:
	//! Why this user cannot make one, as far as can be seen without making it; empty where nothing is known.
	static string WhyNot(ClientContext &context);

	explicit ExchangeFolder(ClientContext &context);
	~ExchangeFolder();
	ExchangeFolder(const ExchangeFolder &) = delete;

	const string &Path() const {
		return path;
	}
	//! File of one attempt at one task: s<stage>/t<task>-a<attempt>. Makes the folders above it.
	string TaskFile(idx_t stage, idx_t task, idx_t attempt);
	//! File of rows the session sends.
	string SentFile(idx_t sent);

private:
	const shared_ptr<ProcessFolder> of_process;
	string path;

	string MakeFolder(const string &relative) const;
};

} // namespace merganser
