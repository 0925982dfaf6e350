#include "open_database.hpp"
#include "stages/stage_check.hpp"

#include "duckdb/parser/parser.hpp"

namespace merganser {

using namespace duckdb;

namespace {

//! A stage of this SQL, of whose columns the plan expects the types; it reads rows of the session with one INTEGER.
QueryStages OneStage(OpenDatabase &database, const string &sql, vector<LogicalType> planned) {
	StageInput input;
	input.sent = 0;
	auto stage = make_uniq<Stage>();
	stage->number = 1;
	stage->inputs.push_back(std::move(input));
	stage->columns = planned.size();
	stage->types = planned;
	stage->sql_types = std::move(planned);
	stage->query = Parser(*database.connection.context).ParseSelectNode(sql);
	QueryStages result;
	SentInput sent;
	sent.types = {LogicalType::INTEGER};
	result.sent.push_back(std::move(sent));
	result.stages.push_back(std::move(stage));
	return result;
}

//! What the check refuses the stage with; nothing where it takes it.
string Refusal(const string &sql, vector<LogicalType> planned) {
	OpenDatabase database;
	string result;
	auto &context = *database.connection.context;
	context.RunFunctionInTransaction([&]() {
		auto stages = OneStage(database, sql, std::move(planned));
		try {
			StageCheck::Check(context, stages);
		} catch (const NotImplementedException &refusal) {
			result = ErrorData(refusal).RawMessage();
		}
	});
	return result;
}

const string SENT = " FROM merganser_sent_1";

} // namespace

TEST_CASE("A stage whose SQL has the types of its plan is taken", "[stage_check]") {
	REQUIRE(Refusal("SELECT c0, CAST(c0 AS VARCHAR) AS s" + SENT, {LogicalType::INTEGER, LogicalType::VARCHAR}) == "");
}

TEST_CASE("Keys that follow the columns of a stage are none of its rows", "[stage_check]") {
	REQUIRE(Refusal("SELECT c0, CAST(c0 AS VARCHAR) AS s" + SENT, {LogicalType::INTEGER}) == "");
}

TEST_CASE("A stage whose SQL has other types than its plan is refused", "[stage_check]") {
	REQUIRE(Refusal("SELECT c0" + SENT, {LogicalType::BIGINT}) ==
	        "stage 1 would return INTEGER where the plan has BIGINT");
	REQUIRE(Refusal("SELECT c0, {'a': c0} AS s" + SENT,
	                {LogicalType::INTEGER, LogicalType::STRUCT({{"a", LogicalType::BIGINT}})}) ==
	        "stage 1 would return STRUCT(a INTEGER) where the plan has STRUCT(a BIGINT)");
}

TEST_CASE("A stage whose SQL has fewer columns than its plan is refused", "[stage_check]") {
	REQUIRE(Refusal("SELECT c0" + SENT, {LogicalType::INTEGER, LogicalType::INTEGER}) ==
	        "stage 1 would return no column where the plan has INTEGER");
}

} // namespace merganser
