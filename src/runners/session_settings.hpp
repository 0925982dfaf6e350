//===----------------------------------------------------------------------===//
//                         Merganser
//
// runners/session_settings.hpp
//
// Problem: a task in another process must give the rows the session would give: TimeZone, default_null_order,
// integer_division and their like change answers.
// What SET changed, for the session or for its database, except what belongs to a process or a client (memory, threads,
// folders, how a result is shown) and settings that can only be changed for a whole database. TimeZone and Calendar
// also where nothing changed them: their defaults are the machine's.
//
// Credentials are settings too: SET s3_secret_access_key, http_proxy_password. A setting of an extension is taken for
// one unless it is known to be none, so that a new one is never shown by mistake: such settings travel with the secrets
// (session_secrets.hpp), in no plan document, report or log.
//===----------------------------------------------------------------------===//

#pragma once

#include "settings.hpp"

namespace merganser {

struct SessionSettings {
	//! Name and value, the value as a SQL literal; without those that may be credentials.
	static vector<pair<string, string>> Changed(ClientContext &context);
	//! Those that may be credentials.
	static vector<pair<string, string>> Confidential(ClientContext &context);
	//! Extensions that are loaded and not part of DuckDB's Python package, without this one.
	static vector<string> Extensions(ClientContext &context);
	//! What keeps this session from running in stages, which write files and pass settings on; empty where nothing
	//! does.
	static string Restriction(ClientContext &context);
};

} // namespace merganser
