//===----------------------------------------------------------------------===//
//                         Merganser
//
// runners/session_secrets.hpp
//
//   CREATE SECRET lake (TYPE s3, KEY_ID '...', SECRET '...', SCOPE 's3://lake');
//   SELECT count(*) FROM 's3://lake/*.parquet';
//
// Problem: tasks read files for which only the session has credentials: temporary and persistent secrets, those of its
// connection, and what SET gave, such as s3_secret_access_key. The secrets whose scope covers a file that the stages
// read go to each task and no other: as a secret of the task's own connection, gone with it, so that two queries
// of one worker never see each other's. Their values are in no SQL, plan document, report or log: a runner asks for
// them (merganser_query_secrets of foreign_runner.hpp) and hands each to
//   SELECT merganser_take_secret($1)
// as a parameter; of a setting, type "setting", the value as a SQL literal is what follows SET. Local tasks see the
// database's secrets anyway and need only those of the session's own connection.
// Errors: InvalidInputException where a secret cannot leave this process; merganser_take_secret throws where its type
// is not known.
//===----------------------------------------------------------------------===//

#pragma once

#include "stages/stage.hpp"

#include "duckdb/main/secret/secret.hpp"

namespace merganser {

struct SessionSecrets {
	static void Register(ExtensionLoader &loader);

	//! [{"name": "lake", "type": "s3", "secret": "<base64>"}, ...], those the stages need.
	static string Needed(ClientContext &context, const QueryStages &stages);
};

} // namespace merganser
