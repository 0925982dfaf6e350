#include "syntax/misspelt_grammar.hpp"

#include "table_functions/table_function_registry.hpp"

#include "duckdb/parser/parsed_data/alter_info.hpp"
#include "duckdb/parser/peg/transformer/peg_transformer.hpp"
#include "duckdb/parser/tableref/basetableref.hpp"

namespace merganser {

namespace {

//! Edits between a name and the one it is taken for.
const idx_t MOST_EDITS = 3;

ListParseResult &Parts(ParseResult &result) {
	return result.Cast<ListParseResult>();
}

//! The keyword that a rule of nothing but keywords matched, however it is written.
string Keyword(ParseResult &rule) {
	auto &part = Parts(rule).GetChild(0);
	auto &keyword = part.type == ParseResultType::CHOICE ? part.Cast<ChoiceParseResult>().GetResult() : part;
	return StringUtil::Upper(keyword.Cast<KeywordParseResult>().keyword);
}

//! The function of ours that is written most like `name`; empty where none is near.
string NearestFunction(const string &name) {
	string result;
	auto least = MinValue<idx_t>(MOST_EDITS, name.size() / 2) + 1;
	for (auto &function : TableFunctionRegistry::Functions()) {
		auto candidate = StringUtil::Upper(function->name);
		auto edits = StringUtil::LevenshteinDistance(StringUtil::Upper(name), candidate);
		if (edits < least) {
			least = edits;
			result = candidate;
		}
	}
	return result;
}

//! name(... a table argument ...): the name is none that takes a table.
arena_ptr<TransformResultValue> RefuseCall(PEGTransformer &transformer, ParseResult &result) {
	auto &name_part = Parts(result).GetChild(1);
	auto name = transformer.Transform<Identifier>(name_part).GetIdentifierName();
	auto nearest = NearestFunction(name);
	throw ParserException(name_part.GetLocation(),
	                      "There is no table function %s that takes a table with PARTITION BY and ORDER BY. %s", name,
	                      nearest.empty() ? "FROM merganser_table_functions() lists those there are."
	                                      : StringUtil::Format("Did you mean \"%s\"?", nearest));
}

//! ALTER TABLE t SET PARTITION BY ..., SET SORTED BY without parentheses, and the like.
arena_ptr<TransformResultValue> RefuseLayout(PEGTransformer &transformer, ParseResult &result) {
	auto &parts = Parts(result);
	auto table = transformer.Transform<unique_ptr<BaseTableRef>>(parts, 2)->GetQualifiedName().ToString();
	auto word = Keyword(parts.GetChild(4));
	auto &items = Parts(parts.GetChild(6)).GetChild(0).Cast<ChoiceParseResult>().GetResult();
	reference<ParseResult> list(Parts(items).GetChild(0));
	if (items.Name() == "MerganserItemList") {
		list = PEGTransformerFactory::ExtractResultFromParens(list.get());
	}
	vector<string> texts;
	for (auto &item : PEGTransformerFactory::ExtractParseResultsFromList(list.get())) {
		texts.push_back(transformer.Transform<OrderByNode>(item.get()).ToString());
	}
	auto right = StringUtil::StartsWith(word, "PARTITION") ? "PARTITIONED" : "SORTED";
	throw ParserException(parts.GetChild(4).GetLocation(), "Write: ALTER %s %s SET %s BY (%s)",
	                      Keyword(parts.GetChild(0)), table, right, StringUtil::Join(texts, ", "));
}

grammar_transform_process_function_t Process(arena_ptr<TransformResultValue> (*refuse)(PEGTransformer &,
                                                                                       ParseResult &)) {
	return [refuse](PEGTransformer &transformer, ParseResult &result) {
		return transformer.MakeProcess<FinalizeTransformProcess>(transformer, result, refuse);
	};
}

} // namespace

vector<GrammarChange> MisspeltGrammar::Changes() {
	vector<GrammarChange> changes;
	for (auto rule : {
	         "MerganserTableOrView <- 'TABLE' / 'VIEW'",
	         "MerganserLayoutWord <- 'PARTITIONED' / 'PARTITION' / 'SORTED' / 'SORT' / 'ORDERED' / 'ORDER'",
	         "MerganserBareItems <- List(OrderByExpression)",
	         "MerganserLayoutItems <- MerganserItemList / MerganserBareItems",
	     }) {
		changes.push_back(GrammarChange::AddRule(rule));
	}
	changes.push_back(
	    GrammarChange::AddRule("MerganserMisspeltCall <- Lateral? TypeFuncName Parens(List(MerganserArgument)) "
		                       "WithOrdinality? TableAlias? SampleClause?",
		                       Process(RefuseCall)));
	changes.push_back(
	    GrammarChange::AddRule("MerganserMisspeltLayout <- MerganserTableOrView IfExists? BaseTableName 'SET' "
		                       "MerganserLayoutWord 'BY' MerganserLayoutItems",
		                       Process(RefuseLayout)));
	changes.push_back(GrammarChange::AddChoice("TableFunction", "MerganserMisspeltCall"));
	changes.push_back(GrammarChange::AddChoice("AlterOptions", "MerganserMisspeltLayout"));
	return changes;
}

} // namespace merganser
