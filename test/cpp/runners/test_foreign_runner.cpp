#include "open_database.hpp"
#include "runners/foreign_runner.hpp"
#include "runners/run_report.hpp"

#include "duckdb/catalog/catalog_transaction.hpp"
#include "duckdb/common/local_file_system.hpp"
#include "duckdb/common/multi_file/multi_file_list.hpp"
#include "duckdb/common/types/blob.hpp"
#include "duckdb/common/vector_operations/unary_executor.hpp"
#include "duckdb/parser/parsed_data/create_scalar_function_info.hpp"
#include "duckdb/main/secret/secret_manager.hpp"

#include <atomic>
#include <chrono>
#include <cstdio>
#include <thread>

using merganser::OpenDatabase;

namespace {

duckdb::string submitted_plan;
duckdb::vector<duckdb::string> told_tasks;
duckdb::string next_outcome;
std::thread provider;

void EndAtOnce(const char *plan, uint64_t query) {
	submitted_plan = plan;
	merganser_query_ended(query, next_outcome.c_str());
}

void EndLater(const char *plan, uint64_t query) {
	provider = std::thread([query]() {
		std::this_thread::sleep_for(std::chrono::milliseconds(50));
		merganser_query_ended(query, next_outcome.c_str());
	});
}

//! Stage 1 of two, and stage 2 before and after stage 1 has ended.
void AskForTasks(const char *plan, uint64_t query) {
	uint64_t bytes[] = {10, 20};
	told_tasks = {merganser_stage_tasks(query, 1), merganser_stage_tasks(query, 2)};
	merganser_stage_ended(query, 1, bytes, 2);
	told_tasks.emplace_back(merganser_stage_tasks(query, 2));
	merganser_query_ended(query, R"({"files": []})");
	told_tasks.emplace_back(merganser_stage_tasks(query, 2));
}

std::atomic<bool> was_submitted {false};
std::atomic<bool> was_cancelled {false};

void WaitForCancel(const char *plan, uint64_t query) {
	provider = std::thread([query]() {
		was_submitted = true;
		while (!merganser_query_is_cancelled(query)) {
			std::this_thread::sleep_for(std::chrono::milliseconds(1));
		}
		was_cancelled = true;
		merganser_query_ended(query, "{\"files\": []}");
	});
}

duckdb::string told_secrets;

void TellSecrets(const char *plan, uint64_t query) {
	told_secrets = merganser_query_secrets(query);
	EndAtOnce(plan, query);
}

//! here://name is the file of that name.
class FilesOfThisProcess : public duckdb::LocalFileSystem {
public:
	bool CanHandleFile(const duckdb::string &path) override {
		return path.rfind("here://", 0) == 0;
	}
	duckdb::string GetName() const override {
		return "FilesOfThisProcess";
	}
	bool FileExists(const duckdb::string &path, duckdb::optional_ptr<duckdb::FileOpener> opener) override {
		return duckdb::LocalFileSystem::FileExists(path.substr(7), opener);
	}
	duckdb::optional<duckdb::FileMetadata> GetStatsIfExists(const duckdb::OpenFileInfo &file,
	                                                        duckdb::optional_ptr<duckdb::FileOpener> opener) override {
		return duckdb::LocalFileSystem::GetStatsIfExists(duckdb::OpenFileInfo(file.path.substr(7)), opener);
	}

protected:
	duckdb::unique_ptr<duckdb::MultiFileList> GlobFilesExtended(const duckdb::string &path,
	                                                            const duckdb::FileGlobInput &,
	                                                            duckdb::optional_ptr<duckdb::FileOpener>) override {
		return duckdb::make_uniq<duckdb::SimpleMultiFileList>(
		    duckdb::vector<duckdb::OpenFileInfo> {duckdb::OpenFileInfo(path)});
	}
	bool SupportsOpenFileExtended() const override {
		return true;
	}
	duckdb::unique_ptr<duckdb::FileHandle> OpenFileExtended(const duckdb::OpenFileInfo &file,
	                                                        duckdb::FileOpenFlags flags,
	                                                        duckdb::optional_ptr<duckdb::FileOpener> opener) override {
		return duckdb::LocalFileSystem::OpenFile(file.path.substr(7), flags, opener);
	}
};

struct DatabaseWithRunner : public OpenDatabase {
	explicit DatabaseWithRunner(merganser_submit_t submit) {
		merganser_register_runner("elsewhere", submit);
		Run("CREATE TABLE t AS SELECT i, i % 3 AS g FROM range(1000) r(i)");
		Run("SET merganser_distribute_min_bytes = 0");
		Run("SET merganser_tasks = 2");
		Run("SET merganser_runner = 'elsewhere'");
	}
	//! The first column of the first row.
	duckdb::string First(const duckdb::string &query) {
		auto result = Run(query);
		for (auto &row : *result) {
			return row.GetValue<duckdb::string>(0);
		}
		return duckdb::string();
	}
	//! Why the query runs as it does.
	duckdb::string Reason(const duckdb::string &query) {
		auto quoted = duckdb::StringUtil::Replace(query, "'", "''");
		return First("SELECT string_agg(reason, '; ') FROM merganser_stages('" + quoted + "')");
	}
	duckdb::unique_ptr<duckdb::QueryResult> Query() {
		return connection.Query("SELECT g, sum(i) FROM t GROUP BY g");
	}
};

} // namespace

TEST_CASE("A runner gets the plan, and its error is the query's", "[foreign_runner]") {
	DatabaseWithRunner database(EndAtOnce);
	database.Run("SET default_null_order = 'nulls_first'");
	next_outcome = R"({"error": {"type": "Conversion", "message": "not today"}, "report": {"runner": "elsewhere"}})";
	auto result = database.Query();
	REQUIRE(result->HasError());
	REQUIRE(result->GetErrorObject().Type() == duckdb::ExceptionType::CONVERSION);
	REQUIRE(result->GetErrorObject().RawMessage() == "not today");
	for (auto part : {R"("runner":"elsewhere")", R"("stage":1)", R"("tasks":2)", R"("after":[1])", "EXPORT_STATE",
	                  R"("default_null_order":"'NULLS_FIRST'")"}) {
		REQUIRE_THAT(submitted_plan, Catch::Contains(part, Catch::CaseSensitive::No));
	}
	REQUIRE(duckdb::string(merganser_last_query()) == R"({"runner":"elsewhere"})");
}

TEST_CASE("The query waits for a runner that takes time", "[foreign_runner]") {
	DatabaseWithRunner database(EndLater);
	next_outcome = R"({"files": []})";
	auto result = database.Query();
	provider.join();
	REQUIRE_FALSE(result->HasError());
	REQUIRE(result->RowCount() == 0);
}

TEST_CASE("A runner is told the tasks of a stage when their sizes are known", "[foreign_runner]") {
	DatabaseWithRunner database(AskForTasks);
	database.Run("SET merganser_task_bytes = 100");
	REQUIRE_FALSE(database.Query()->HasError());
	REQUIRE_THAT(told_tasks[0], Catch::Contains(R"({"name":"merganser_sent_1","sent":0,"all":false})") &&
	                                Catch::Contains(R"({"target":true})"));
	REQUIRE_THAT(told_tasks[1], Catch::Contains("merganser_stage_1 has not ended yet"));
	REQUIRE_THAT(told_tasks[2], Catch::Contains("2 shares of 30 bytes in 1 tasks"));
	REQUIRE(told_tasks[3].empty());
}

TEST_CASE("What broke a database elsewhere does not break this one", "[foreign_runner]") {
	DatabaseWithRunner database(EndAtOnce);
	for (auto type : {"INTERNAL", "FATAL", "no such type"}) {
		next_outcome = duckdb::string(R"({"error": {"type": ")") + type + R"(", "message": "broken"}})";
		REQUIRE(database.Query()->GetErrorObject().Type() == duckdb::ExceptionType::IO);
	}
	database.Run("SET merganser_runner = ''");
	database.Run("SELECT 42");
}

TEST_CASE("An outcome without files and without an error is refused", "[foreign_runner]") {
	DatabaseWithRunner database(EndAtOnce);
	for (auto outcome : {"{}", "", "[1", R"({"files": 3})"}) {
		next_outcome = outcome;
		REQUIRE_THAT(database.Query()->GetError(), Catch::Contains("without files and without an error"));
	}
}

TEST_CASE("A runner learns that its query was interrupted", "[foreign_runner]") {
	DatabaseWithRunner database(WaitForCancel);
	std::thread interrupting([&]() {
		while (!was_submitted) {
			std::this_thread::sleep_for(std::chrono::milliseconds(1));
		}
		database.connection.Interrupt();
	});
	auto result = database.Query();
	interrupting.join();
	provider.join();
	REQUIRE(result->GetErrorObject().Type() == duckdb::ExceptionType::INTERRUPT);
	REQUIRE(was_cancelled);
}

TEST_CASE("With a secret that cannot be written, DuckDB runs the query alone", "[foreign_runner]") {
	DatabaseWithRunner database(EndAtOnce);
	next_outcome = R"({"files": []})";
	submitted_plan.clear();
	database.Run("SET merganser_runner = ''");
	database.Run("COPY t TO 'test_foreign_runner_1.parquet'; COPY t TO 'test_foreign_runner_2.parquet'");
	database.Run("SET merganser_runner = 'elsewhere'");
	auto &context = *database.connection.context;
	context.RunFunctionInTransaction([&]() {
		auto secret = duckdb::make_uniq<duckdb::BaseSecret>(duckdb::vector<duckdb::string> {"test_foreign_runner_"},
		                                                    duckdb::Identifier("http"), duckdb::Identifier("config"),
		                                                    duckdb::Identifier("of_this_process"));
		duckdb::SecretManager::Get(context).RegisterSecret(
		    duckdb::CatalogTransaction::GetSystemCatalogTransaction(context), std::move(secret),
		    duckdb::OnCreateConflict::ERROR_ON_CONFLICT, duckdb::SecretPersistType::TEMPORARY);
	});
	auto query = duckdb::string("SELECT sum(i)::BIGINT FROM 'test_foreign_runner_*.parquet'");
	auto result = database.First(query);
	auto reason = database.Reason(query);
	std::remove("test_foreign_runner_1.parquet");
	std::remove("test_foreign_runner_2.parquet");
	REQUIRE(result == "999000");
	REQUIRE_THAT(reason, Catch::Contains("The secret \"of_this_process\" of type http cannot leave this process"));
	REQUIRE(submitted_plan.empty());
	REQUIRE_FALSE(database.Query()->HasError());
	REQUIRE_FALSE(submitted_plan.empty());
}

TEST_CASE("A credential that was SET travels with the secrets only", "[foreign_runner]") {
	DatabaseWithRunner database(TellSecrets);
	for (auto name : {"s3_secret_access_key", "some_token_of_tomorrow"}) {
		duckdb::DBConfig::GetConfig(*database.database.instance)
		    .AddExtensionOption(name, "", duckdb::LogicalType::VARCHAR, duckdb::Value(""));
	}
	database.Run("SET s3_secret_access_key = 'open-sesame'");
	database.Run("SET GLOBAL some_token_of_tomorrow = 'for-all'");
	database.Run("SET timezone = 'UTC'");
	next_outcome = R"({"files": []})";
	REQUIRE_FALSE(database.Query()->HasError());
	for (auto secret : {"open-sesame", "for-all", "s3_secret_access_key", "some_token_of_tomorrow"}) {
		REQUIRE_THAT(submitted_plan, !Catch::Contains(secret));
	}
	auto opened = duckdb::Blob::ToBase64(duckdb::string_t("'open-sesame'"));
	REQUIRE_THAT(told_secrets,
	             Catch::Contains(R"({"name":"s3_secret_access_key","type":"setting","secret":")" + opened));
	REQUIRE_THAT(told_secrets, Catch::Contains(R"("name":"some_token_of_tomorrow","type":"setting")"));
}

TEST_CASE("Files of a file system that was registered here are read here", "[foreign_runner]") {
	DatabaseWithRunner database(EndAtOnce);
	submitted_plan.clear();
	database.database.GetFileSystem().RegisterSubSystem(duckdb::make_uniq<FilesOfThisProcess>());
	database.Run("SET merganser_runner = ''");
	database.Run("COPY t TO 'test_foreign_runner_3.parquet'");
	database.Run("SET merganser_runner = 'elsewhere'");
	auto query = duckdb::string("SELECT sum(i)::BIGINT FROM read_parquet(['here://test_foreign_runner_3.parquet'])");
	auto result = database.First(query);
	auto reason = database.Reason(query);
	std::remove("test_foreign_runner_3.parquet");
	REQUIRE(result == "499500");
	REQUIRE_THAT(reason, Catch::Contains("here://test_foreign_runner_3.parquet\" was registered in this process only"));
	REQUIRE(submitted_plan.empty());
}

TEST_CASE("A function that a client registered runs here", "[foreign_runner]") {
	DatabaseWithRunner database(EndAtOnce);
	submitted_plan.clear();
	auto half = [](duckdb::DataChunk &arguments, duckdb::ExpressionState &, duckdb::Vector &result) {
		duckdb::UnaryExecutor::Execute<int64_t, int64_t>(arguments.data[0], result, [](int64_t i) { return i / 2; });
	};
	duckdb::ScalarFunction function("half", {duckdb::LogicalType::BIGINT}, duckdb::LogicalType::BIGINT, half);
	duckdb::CreateScalarFunctionInfo info(function);
	database.connection.context->RegisterFunction(info);
	auto query = duckdb::string("SELECT sum(half(i))::BIGINT FROM t");
	auto result = database.First(query);
	REQUIRE(result == "249500");
	REQUIRE_THAT(database.Reason(query), Catch::Contains("the function half was registered in this process only"));
	REQUIRE(submitted_plan.empty());
	REQUIRE_THAT(database.Reason("SELECT sum(abs(i)) FROM t"), !Catch::Contains("registered"));
}

TEST_CASE("A runner nobody registered is refused by name", "[foreign_runner]") {
	OpenDatabase database;
	REQUIRE_THAT(database.connection.Query("SET merganser_runner = 'nobody'")->GetError(),
	             Catch::Contains("'nobody' is none"));
}
