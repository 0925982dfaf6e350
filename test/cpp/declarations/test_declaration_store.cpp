#include "declarations/declaration_store.hpp"
#include "open_database.hpp"

using namespace merganser; // NOLINT

namespace {

//! Asks the store within a transaction, as a rule does.
template <class ASK>
void Ask(OpenDatabase &database, const char *object, ASK ask) {
	auto &context = *database.connection.context;
	context.RunFunctionInTransaction([&]() {
		auto entry = DeclarationStore::Find(context, QualifiedName::Parse(object));
		REQUIRE(entry);
		ask(context, *entry);
	});
}

vector<string> KeysOf(OpenDatabase &database, const char *object) {
	vector<string> result;
	Ask(database, object, [&](ClientContext &context, CatalogEntry &entry) {
		for (auto &key : DeclarationStore::Keys(context, entry)) {
			result.push_back(key.ToString() + (key.primary ? " primary" : " unique") +
			                 (key.enforced ? " enforced" : " declared") +
			                 (key.IdentifiesRows() ? " key" : " nullable"));
		}
	});
	return result;
}

vector<string> ForeignKeysOf(OpenDatabase &database, const char *object) {
	vector<string> result;
	Ask(database, object, [&](ClientContext &context, CatalogEntry &entry) {
		for (auto &key : DeclarationStore::ForeignKeys(context, entry)) {
			result.push_back(key.ToString() + (key.enforced ? " enforced" : " declared") +
			                 (key.nullable ? " nullable" : " not null"));
		}
	});
	return result;
}

} // namespace

TEST_CASE("Enforced keys are keys without a declaration, a UNIQUE only if it cannot be NULL", "[declarations]") {
	OpenDatabase database;
	database.Run("CREATE TABLE t (a INTEGER, b INTEGER, c INTEGER UNIQUE, d INTEGER NOT NULL UNIQUE, "
	             "UNIQUE (d, c), PRIMARY KEY (a, b))");
	REQUIRE(KeysOf(database, "t") == vector<string> {"t (a, b) primary enforced key", "t (c) unique enforced nullable",
	                                                 "t (d) unique enforced key", "t (d, c) unique enforced nullable"});
}

TEST_CASE("A declared primary key proves its columns not NULL for the other keys", "[declarations]") {
	OpenDatabase database;
	database.Run("CREATE VIEW v AS SELECT 1 AS a, 2 AS b, 3 AS c");
	database.Run("ALTER VIEW v ADD UNIQUE (b) NOT ENFORCED RELY");
	database.Run("ALTER VIEW v ADD UNIQUE (c) NOT ENFORCED RELY");
	database.Run("ALTER VIEW v ADD PRIMARY KEY (a, b) NOT ENFORCED RELY");
	REQUIRE(KeysOf(database, "v") == vector<string> {"v (a, b) primary declared key", "v (b) unique declared key",
	                                                 "v (c) unique declared nullable"});
}

TEST_CASE("Foreign keys tell whether they can be NULL", "[declarations]") {
	OpenDatabase database;
	database.Run("CREATE TABLE p (k INTEGER PRIMARY KEY, parent INTEGER REFERENCES p (k))");
	database.Run(
	    "CREATE TABLE f (x INTEGER REFERENCES p (k), y INTEGER NOT NULL, z INTEGER NOT NULL REFERENCES p (k))");
	database.Run("ALTER TABLE f ADD FOREIGN KEY (y) REFERENCES p NOT ENFORCED RELY");
	REQUIRE(ForeignKeysOf(database, "f") == vector<string> {"f (x) -> p (k) enforced nullable",
	                                                        "f (z) -> p (k) enforced not null",
	                                                        "f (y) -> p (k) declared not null"});
	REQUIRE(ForeignKeysOf(database, "p") == vector<string> {"p (parent) -> p (k) enforced nullable"});
}

TEST_CASE("Stale declarations are listed and never handed to rules", "[declarations]") {
	OpenDatabase database;
	database.Run("CREATE TABLE t (a INTEGER, b INTEGER)");
	database.Run("CREATE TABLE u (x INTEGER)");
	database.Run("ALTER TABLE t ADD PRIMARY KEY (a) NOT ENFORCED RELY");
	database.Run("ALTER TABLE t SET SORTED BY (b)");
	database.Run("ALTER TABLE u ADD FOREIGN KEY (x) REFERENCES t NOT ENFORCED RELY");
	database.Run("ALTER TABLE t ALTER a TYPE BIGINT");
	REQUIRE(KeysOf(database, "t").empty());
	REQUIRE(ForeignKeysOf(database, "u").empty());
	Ask(database, "t", [](ClientContext &context, CatalogEntry &entry) {
		auto valid = DeclarationStore::Valid(context, entry);
		REQUIRE(valid.size() == 1);
		REQUIRE(valid[0].ToString() == "SORTED BY (b NULLS LAST)");
		REQUIRE(DeclarationStore::All(context, entry).size() == 2);
	});
}

TEST_CASE("The views of a database that have declarations are found", "[declarations]") {
	OpenDatabase database;
	database.Run("CREATE VIEW declared AS SELECT 1 AS a");
	database.Run("CREATE VIEW plain AS SELECT 1 AS a");
	database.Run("CREATE TEMP VIEW temporary AS SELECT 1 AS a");
	database.Run("ALTER VIEW declared ADD PRIMARY KEY (a) NOT ENFORCED RELY");
	database.Run("ALTER VIEW temporary ADD PRIMARY KEY (a) NOT ENFORCED RELY");
	vector<string> names;
	Ask(database, "plain", [&](ClientContext &context, CatalogEntry &) {
		for (auto object : {"plain", "temporary"}) {
			auto entry = DeclarationStore::Find(context, QualifiedName::Parse(object));
			for (auto &view : DeclarationStore::DeclaredViews(context, entry->ParentCatalog())) {
				names.push_back(view.get().name.GetIdentifierName());
			}
		}
	});
	REQUIRE(names == vector<string> {"declared", "temporary"});
}
