#include "syntax/declaration_grammar.hpp"

#include "declarations/alter_declaration_info.hpp"

#include "duckdb/parser/constraints/foreign_key_constraint.hpp"
#include "duckdb/parser/constraints/unique_constraint.hpp"
#include "duckdb/parser/parsed_data/alter_table_info.hpp"
#include "duckdb/parser/peg/transformer/peg_transformer.hpp"

namespace merganser {

namespace {

//! What every form starts with: TABLE or VIEW, IF EXISTS, the name.
constexpr idx_t IF_EXISTS = 1;
constexpr idx_t NAME = 2;
//! What follows.
constexpr idx_t FIRST = 3;

using Transform = unique_ptr<AlterDeclarationInfo> (*)(PEGTransformer &transformer, ListParseResult &list);

vector<string> Names(const vector<Identifier> &identifiers) {
	vector<string> result;
	for (auto &identifier : identifiers) {
		result.push_back(identifier.GetIdentifierName());
	}
	return result;
}

Declaration ToDeclaration(const Constraint &constraint, QueryLocation location) {
	Declaration result;
	if (constraint.type == ConstraintType::UNIQUE) {
		auto &unique = constraint.Cast<UniqueConstraint>();
		result.kind = unique.IsPrimaryKey() ? DeclarationKind::PRIMARY_KEY : DeclarationKind::UNIQUE;
		result.columns = Names(unique.GetColumnNames());
	} else if (constraint.type == ConstraintType::FOREIGN_KEY) {
		auto &foreign_key = constraint.Cast<ForeignKeyConstraint>();
		result.kind = DeclarationKind::FOREIGN_KEY;
		result.columns = Names(foreign_key.fk_columns);
		result.referenced = foreign_key.referenced_table;
		result.referenced_columns = Names(foreign_key.pk_columns);
	} else {
		throw ParserException(location, "Only PRIMARY KEY, UNIQUE and FOREIGN KEY can be NOT ENFORCED RELY, not CHECK");
	}
	return result;
}

unique_ptr<AlterDeclarationInfo> Added(PEGTransformer &transformer, ListParseResult &list) {
	auto &clause = list.GetChild(FIRST + 1);
	auto location = clause.GetLocation();
	auto constraint = transformer.Transform<unique_ptr<Constraint>>(clause);
	return make_uniq<AlterDeclarationInfo>(DeclarationAction::ADD, ToDeclaration(*constraint, location), location);
}

string WithRely(const AlterDeclarationInfo &info, PEGTransformer &transformer, ListParseResult &list) {
	auto name = transformer.Transform<unique_ptr<BaseTableRef>>(list, NAME)->GetQualifiedName().ToString();
	return string("ALTER ") + (info.alter_view ? "VIEW " : "TABLE ") + name + " ADD " + info.declaration.ToString() +
	       " NOT ENFORCED RELY";
}

//! TABLE t ADD constraint NOT ENFORCED RELY?
unique_ptr<AlterDeclarationInfo> AddToTable(PEGTransformer &transformer, ListParseResult &list) {
	auto result = Added(transformer, list);
	if (!list.Child<OptionalParseResult>(FIRST + 4).HasResult()) {
		throw ParserException(
		    result->location,
		    "A constraint that is NOT ENFORCED says something only if queries may rely on it; write: %s",
		    WithRely(*result, transformer, list));
	}
	return result;
}

//! VIEW v ADD constraint (NOT ENFORCED)? RELY?
unique_ptr<AlterDeclarationInfo> AddToView(PEGTransformer &transformer, ListParseResult &list) {
	auto result = Added(transformer, list);
	result->alter_view = true;
	if (!list.Child<OptionalParseResult>(FIRST + 2).HasResult() ||
	    !list.Child<OptionalParseResult>(FIRST + 3).HasResult()) {
		throw ParserException(result->location,
		                      "DuckDB cannot enforce constraints on a view. To promise one, write: %s",
		                      WithRely(*result, transformer, list));
	}
	return result;
}

unique_ptr<AlterDeclarationInfo> Dropped(DeclarationKind kind, vector<string> columns, ParseResult &clause) {
	Declaration declaration;
	declaration.kind = kind;
	declaration.columns = std::move(columns);
	return make_uniq<AlterDeclarationInfo>(DeclarationAction::DROP, std::move(declaration), clause.GetLocation());
}

//! DROP PRIMARY KEY
unique_ptr<AlterDeclarationInfo> DropPrimaryKey(PEGTransformer &transformer, ListParseResult &list) {
	return Dropped(DeclarationKind::PRIMARY_KEY, {}, list.GetChild(FIRST + 1));
}

//! DROP UNIQUE (a)
unique_ptr<AlterDeclarationInfo> DropUnique(PEGTransformer &transformer, ListParseResult &list) {
	auto &columns = list.GetChild(FIRST + 2);
	return Dropped(DeclarationKind::UNIQUE, transformer.Transform<vector<string>>(columns), columns);
}

//! DROP FOREIGN KEY (x)
unique_ptr<AlterDeclarationInfo> DropForeignKey(PEGTransformer &transformer, ListParseResult &list) {
	auto &columns = list.GetChild(FIRST + 3);
	return Dropped(DeclarationKind::FOREIGN_KEY, transformer.Transform<vector<string>>(columns), columns);
}

unique_ptr<AlterDeclarationInfo> PartitionedBy(PEGTransformer &transformer, ListParseResult &list) {
	auto &clause = list.GetChild(FIRST);
	auto alter = transformer.Transform<unique_ptr<AlterTableInfo>>(clause);
	return AlterDeclarationInfo::PartitionedBy(alter->Cast<SetPartitionedByInfo>().partition_keys,
	                                           clause.GetLocation());
}

unique_ptr<AlterDeclarationInfo> SortedBy(PEGTransformer &transformer, ListParseResult &list) {
	auto &clause = list.GetChild(FIRST);
	auto alter = transformer.Transform<unique_ptr<AlterTableInfo>>(clause);
	return AlterDeclarationInfo::SortedBy(alter->Cast<SetSortedByInfo>().orders, clause.GetLocation());
}

struct Form {
	const char *name;
	const char *object;
	const char *clause;
	Transform transform;
};

const Form FORMS[] = {
    {"MerganserTableAdd", "TABLE", "'ADD' TopLevelConstraint 'NOT' 'ENFORCED' MerganserRely?", AddToTable},
    {"MerganserTableDropPrimaryKey", "TABLE", "'DROP' 'PRIMARY' 'KEY'", DropPrimaryKey},
    {"MerganserTableDropUnique", "TABLE", "'DROP' 'UNIQUE' ColumnIdList", DropUnique},
    {"MerganserTableDropForeignKey", "TABLE", "'DROP' 'FOREIGN' 'KEY' ColumnIdList", DropForeignKey},
    {"MerganserViewAdd", "VIEW", "'ADD' TopLevelConstraint MerganserNotEnforced? MerganserRely?", AddToView},
    {"MerganserViewDropPrimaryKey", "VIEW", "'DROP' 'PRIMARY' 'KEY'", DropPrimaryKey},
    {"MerganserViewDropUnique", "VIEW", "'DROP' 'UNIQUE' ColumnIdList", DropUnique},
    {"MerganserViewDropForeignKey", "VIEW", "'DROP' 'FOREIGN' 'KEY' ColumnIdList", DropForeignKey},
    {"MerganserViewSetPartitionedBy", "VIEW", "SetPartitionedBy", PartitionedBy},
    {"MerganserViewResetPartitionedBy", "VIEW", "ResetPartitionedBy", PartitionedBy},
    {"MerganserViewSetSortedBy", "VIEW", "SetSortedBy", SortedBy},
    {"MerganserViewResetSortedBy", "VIEW", "ResetSortedBy", SortedBy},
};

GrammarChange AddForm(const Form &form) {
	auto rule = string(form.name) + " <- '" + form.object + "' IfExists? BaseTableName " + form.clause;
	auto transform = form.transform;
	bool is_view = string(form.object) == "VIEW";
	auto finalize = [transform, is_view](PEGTransformer &transformer, ParseResult &result) {
		auto &list = result.Cast<ListParseResult>();
		auto info = transform(transformer, list);
		info->alter_view = is_view;
		info->SetQualifiedName(transformer.Transform<unique_ptr<BaseTableRef>>(list, NAME)->GetQualifiedName());
		if (list.Child<OptionalParseResult>(IF_EXISTS).HasResult()) {
			info->if_not_found = OnEntryNotFound::RETURN_NULL;
		}
		return transformer.MakeResult<unique_ptr<AlterInfo>>(std::move(info));
	};
	return GrammarChange::AddRule(rule, [finalize](PEGTransformer &transformer, ParseResult &result) {
		return transformer.MakeProcess<FinalizeTransformProcess>(transformer, result, finalize);
	});
}

} // namespace

vector<GrammarChange> DeclarationGrammar::GetChanges() {
	vector<GrammarChange> changes;
	changes.push_back(GrammarChange::AddRule("MerganserRely <- 'RELY'"));
	changes.push_back(GrammarChange::AddRule("MerganserNotEnforced <- 'NOT' 'ENFORCED'"));
	for (auto &form : FORMS) {
		changes.push_back(AddForm(form));
		changes.push_back(GrammarChange::PrependChoice("AlterOptions", form.name));
	}
	return changes;
}

} // namespace merganser
