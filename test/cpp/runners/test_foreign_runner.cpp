#include "open_database.hpp"
#include "runners/foreign_runner.hpp"
#include "runners/run_report.hpp"

#include "duckdb/catalog/catalog_transaction.hpp"
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

std::atomic<bool> was_cancelled {false};

void WaitForCancel(const char *plan, uint64_t query) {
	provider = std::thread([query]() {
		while (!merganser_query_is_cancelled(query)) {
			std::this_thread::sleep_for(std::chrono::milliseconds(1));
		}
		was_cancelled = true;
		merganser_query_ended(query, "{\"files\": []}");
	});
}

struct DatabaseWithRunner : public OpenDatabase {
	explicit DatabaseWithRunner(merganser_submit_t submit) {
		merganser_register_runner("elsewhere", submit);
		Run("CREATE TABLE t AS SELECT i, i % 3 AS g FROM range(1000) r(i)");
		Run("SET merganser_distribute_min_bytes = 0");
		Run("SET merganser_tasks = 2");
		Run("SET merganser_runner = 'elsewhere'");
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
		std::this_thread::sleep_for(std::chrono::milliseconds(50));
		database.connection.Interrupt();
	});
	auto result = database.Query();
	interrupting.join();
	provider.join();
	REQUIRE(result->GetErrorObject().Type() == duckdb::ExceptionType::INTERRUPT);
	REQUIRE(was_cancelled);
}

TEST_CASE("A secret that cannot be written ends the query of a runner elsewhere", "[foreign_runner]") {
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
	auto result = database.connection.Query("SELECT sum(i) FROM 'test_foreign_runner_*.parquet'");
	std::remove("test_foreign_runner_1.parquet");
	std::remove("test_foreign_runner_2.parquet");
	REQUIRE_THAT(result->GetError(),
	             Catch::Contains("The secret \"of_this_process\" of type http cannot leave this process"));
	REQUIRE(submitted_plan.empty());
	REQUIRE_FALSE(database.Query()->HasError());
}

TEST_CASE("A runner nobody registered is refused by name", "[foreign_runner]") {
	OpenDatabase database;
	database.Run("SET merganser_runner = 'nobody'");
	REQUIRE_THAT(database.connection.Query("SELECT 42")->GetError(), Catch::Contains("'nobody' is none"));
}
