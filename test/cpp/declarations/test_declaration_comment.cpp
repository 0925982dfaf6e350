#include "catch.hpp"

#include "declarations/declaration_comment.hpp"

using namespace merganser; // NOLINT

namespace {

const Identifier HERE("here");

Declaration PrimaryKey(vector<string> columns) {
	Declaration result;
	result.kind = DeclarationKind::PRIMARY_KEY;
	result.types.resize(columns.size(), "INTEGER");
	result.columns = std::move(columns);
	return result;
}

Declaration ForeignKeyTo(QualifiedName referenced) {
	auto result = PrimaryKey({"x"});
	result.kind = DeclarationKind::FOREIGN_KEY;
	result.referenced = std::move(referenced);
	result.referenced_columns = {"y"};
	return result;
}

QualifiedName In(const char *catalog, const char *schema, const char *name) {
	return QualifiedName(Identifier(catalog), Identifier(schema), Identifier(name));
}

vector<Declaration> EveryKind() {
	auto key = PrimaryKey({"a \"quoted\" name", "line\nbreak; {\"x\": 1}", "Ünï 🦆"});
	key.types = {"DECIMAL(18,3)", "ENUM('a', 'b''c')", "STRUCT(x INTEGER, y VARCHAR[])"};
	key.verified_at = Value::TIMESTAMPTZ(timestamp_tz_t(1234567890123456));
	auto unique = PrimaryKey({"u"});
	unique.kind = DeclarationKind::UNIQUE;
	unique.voided = "the type of column \"u\" was altered";
	auto partitioned = PrimaryKey({"p", "q"});
	partitioned.kind = DeclarationKind::PARTITIONED_BY;
	auto sorted = PrimaryKey({"s", "t"});
	sorted.kind = DeclarationKind::SORTED_BY;
	sorted.directions = {OrderType::DESCENDING, OrderType::ASCENDING};
	sorted.null_orders = {OrderByNullType::NULLS_LAST, OrderByNullType::NULLS_FIRST};
	auto nested = ForeignKeyTo(
	    QualifiedName::FromCatalogSchema(HERE, {Identifier("outer"), Identifier("in.ner")}, Identifier("u")));
	return {key,         unique, ForeignKeyTo(In("here", "main", "u")), ForeignKeyTo(In("there", "main", "u")), nested,
	        partitioned, sorted};
}

void RequireRoundTrip(const Value &text) {
	DeclarationComment comment;
	comment.text = text;
	comment.declarations = EveryKind();
	auto stored = comment.ToValue(HERE);
	REQUIRE(DeclarationComment::HasDeclarations(stored));
	auto parsed = DeclarationComment::Parse(stored, HERE);
	REQUIRE(Value::NotDistinctFrom(parsed.text, text));
	REQUIRE(parsed.declarations.size() == comment.declarations.size());
	for (idx_t i = 0; i < parsed.declarations.size(); i++) {
		INFO(comment.declarations[i].ToString());
		REQUIRE(parsed.declarations[i] == comment.declarations[i]);
	}
}

void RequireUsersOwn(const Value &comment) {
	auto parsed = DeclarationComment::Parse(comment, HERE);
	REQUIRE(parsed.declarations.empty());
	REQUIRE(Value::NotDistinctFrom(parsed.text, comment));
	REQUIRE(Value::NotDistinctFrom(parsed.ToValue(HERE), comment));
}

} // namespace

TEST_CASE("Every kind of declaration comes back from a comment, and so does the user's text", "[declarations]") {
	RequireRoundTrip(Value(LogicalType::VARCHAR));
	for (auto text :
	     {"", "customers", "two\nlines", "ends in a line break\n", "merganser: {", "merganser: {}\nand more"}) {
		INFO(text);
		RequireRoundTrip(Value(text));
	}
}

TEST_CASE("References within the database are stored without its name", "[declarations]") {
	DeclarationComment comment;
	comment.declarations = {ForeignKeyTo(In("here", "main", "u")), ForeignKeyTo(In("there", "main", "u"))};
	auto elsewhere = DeclarationComment::Parse(comment.ToValue(HERE), Identifier("renamed"));
	REQUIRE(elsewhere.declarations[0].referenced == In("renamed", "main", "u"));
	REQUIRE(elsewhere.declarations[1].referenced == In("there", "main", "u"));
}

TEST_CASE("A comment without declarations is the user's, byte for byte", "[declarations]") {
	RequireUsersOwn(Value(LogicalType::VARCHAR));
	for (auto text :
	     {"", "a comment", "merganser", "merganser: {", "merganser: {}", "merganser: {\"version\":2}",
	      "merganser: {\"version\":2,\"declarations\":[]}", "merganser: {\"version\":1,\"declarations\":[{}]}",
	      "merganser: {\"version\":1,\"declarations\":[{\"kind\":\"key\",\"columns\":[],\"types\":[]}]}",
	      "merganser: {\"version\":1,\"declarations\":[{\"kind\":\"unique\",\"columns\":[\"a\"],\"types\":[]}]}",
	      "merganser: {\"version\":1,\"declarations\":[{\"kind\":\"unique\",\"columns\":[1],\"types\":[2]}]}",
	      "merganser: {\"version\":1,\"declarations\":[{\"kind\":\"sorted "
	      "by\",\"columns\":[\"a\"],\"types\":[\"INTEGER\"],\"descending\":[],\"nulls_first\":[true]}]}",
	      "merganser: {\"version\":1,\"declarations\":[{\"kind\":\"unique\",\"columns\":[\"a\"],\"types\":["
	      "\"INTEGER\"],\"verified_at\":\"yesterday\"}]}"}) {
		INFO(text);
		RequireUsersOwn(Value(text));
	}
}

TEST_CASE("Declarations read as they are written in ALTER", "[declarations]") {
	vector<string> texts;
	for (auto &declaration : EveryKind()) {
		texts.push_back(declaration.ToString());
	}
	REQUIRE(texts[1] == "UNIQUE (u)");
	REQUIRE(texts[2] == "FOREIGN KEY (x) REFERENCES here.main.u (y)");
	REQUIRE(texts[5] == "PARTITIONED BY (p, q)");
	REQUIRE(texts[6] == "SORTED BY (s DESC NULLS LAST, t NULLS FIRST)");
	REQUIRE(PrimaryKey({"a", "Select", "b c"}).ToString() == "PRIMARY KEY (a, \"Select\", \"b c\")");
}

TEST_CASE("One declaration takes another's place only where both cannot stand", "[declarations]") {
	REQUIRE(PrimaryKey({"a"}).IsReplacedBy(PrimaryKey({"b", "c"})));
	auto unique = PrimaryKey({"a", "b"});
	unique.kind = DeclarationKind::UNIQUE;
	auto turned = PrimaryKey({"B", "A"});
	turned.kind = DeclarationKind::UNIQUE;
	auto other = PrimaryKey({"a"});
	other.kind = DeclarationKind::UNIQUE;
	REQUIRE(unique.IsReplacedBy(turned));
	REQUIRE_FALSE(unique.IsReplacedBy(other));
	REQUIRE_FALSE(unique.IsReplacedBy(PrimaryKey({"a", "b"})));
	REQUIRE(ForeignKeyTo(In("here", "main", "u")).IsReplacedBy(ForeignKeyTo(In("HERE", "main", "U"))));
	REQUIRE_FALSE(ForeignKeyTo(In("here", "main", "u")).IsReplacedBy(ForeignKeyTo(In("here", "main", "w"))));
}
