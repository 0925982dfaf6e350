#include "bound_plan.hpp"
#include "declarations/same_plan.hpp"

#include <filesystem>

using namespace merganser; // NOLINT

namespace {

//! Whether the inputs of the two queries' aggregates are the same plan.
bool ReadTheSame(OpenDatabase &database, const string &left, const string &right) {
	bool result = false;
	string counted = "SELECT count(*) FROM ";
	WithBoundPlan(database, counted + left, [&](BoundPlan &first) {
		Connection parsing(database.database);
		BoundPlan second(*database.connection.context, parsing, counted + right);
		result = SamePlan::AreSame(*first.Aggregate().children[0], *second.Aggregate().children[0]);
	});
	return result;
}

} // namespace

TEST_CASE("A scan of files equals another one of the same files and options, and nothing else", "[same_plan]") {
	OpenDatabase database;
	auto folder = std::filesystem::temp_directory_path() / "merganser_same_plan";
	std::filesystem::create_directories(folder);
	auto csv = [&](const string &file, const string &options) {
		database.Run("COPY (SELECT 1 AS a, 'x' AS b) TO '" + (folder / file).string() + "'");
		return "read_csv('" + (folder / file).string() + "', " + options + ")";
	};
	auto one = csv("one.csv", "header = true, columns = {'a': 'INTEGER', 'b': 'VARCHAR'}");
	auto two = csv("two.csv", "header = true, columns = {'a': 'INTEGER', 'b': 'VARCHAR'}");
	auto other_type = csv("one.csv", "header = true, columns = {'a': 'BIGINT', 'b': 'VARCHAR'}");
	auto other_option = csv("one.csv", "header = false, columns = {'a': 'INTEGER', 'b': 'VARCHAR'}");
	REQUIRE(ReadTheSame(database, one, one));
	REQUIRE_FALSE(ReadTheSame(database, one, two));
	REQUIRE_FALSE(ReadTheSame(database, one, other_type));
	REQUIRE_FALSE(ReadTheSame(database, one, other_option));
	auto filtered = [&](const string &condition) {
		return "(SELECT a + 1 AS x FROM " + one + " WHERE " + condition + ")";
	};
	REQUIRE(ReadTheSame(database, filtered("a > 1"), filtered("a > 1")));
	REQUIRE_FALSE(ReadTheSame(database, filtered("a > 1"), filtered("a > 2")));
	REQUIRE_FALSE(ReadTheSame(database, filtered("a > 1"), filtered("b > '1'")));
	REQUIRE_FALSE(ReadTheSame(database, filtered("a > 1"), one));
	std::filesystem::remove_all(folder);
}
