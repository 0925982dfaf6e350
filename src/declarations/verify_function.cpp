#include "declarations/verify_function.hpp"

#include "declarations/declaration_store.hpp"
#include "declarations/verification_query.hpp"

#include "duckdb/catalog/catalog.hpp"
#include "duckdb/common/sql_identifier.hpp"
#include "duckdb/main/attached_database.hpp"
#include "duckdb/main/database_manager.hpp"
#include "duckdb/main/extension/extension_loader.hpp"
#include "duckdb/parser/parser.hpp"
#include "duckdb/parser/statement/select_statement.hpp"
#include "duckdb/parser/tableref/subqueryref.hpp"
#include "duckdb/parser/tableref/table_function_ref.hpp"
#include "duckdb/planner/binder.hpp"
#include "duckdb/transaction/meta_transaction.hpp"

namespace merganser {

namespace {

const char *const RECORD = "merganser_record_verification";

//! Position of the fields in a result row, see ResultQuery.
constexpr idx_t OBJECT = 0;
constexpr idx_t DECLARATION = 1;
constexpr idx_t HOLDS = 2;
constexpr idx_t RECORDED = 5;

class VerifyBinding {
public:
	VerifyBinding(ClientContext &context, TableFunctionBindInput &input) : context(context), input(input) {
	}

	unique_ptr<TableRef> Bind() {
		if (input.inputs.empty()) {
			AddEverything();
		} else {
			AddNamed(input.inputs[0]);
		}
		Parser parser(context);
		parser.ParseQuery(ResultQuery());
		return make_uniq<SubqueryRef>(unique_ptr_cast<SQLStatement, SelectStatement>(std::move(parser.statements[0])));
	}

private:
	void AddNamed(const Value &name) {
		if (name.IsNull()) {
			throw BinderException(input.ref,
			                      "merganser_verify: the object cannot be NULL; without one it verifies all");
		}
		auto object = DeclarationStore::Find(context, QualifiedName::Parse(StringValue::Get(name)));
		if (!object) {
			throw BinderException(input.ref, "merganser_verify: there is no table or view %s", StringValue::Get(name));
		}
		AddObject(*object);
	}

	void AddEverything() {
		for (auto &database : DatabaseManager::Get(context).GetDatabases(context)) {
			auto &catalog = database->GetCatalog();
			if (!catalog.IsDuckCatalog() || catalog.IsSystemCatalog()) {
				continue;
			}
			for (auto &object : DeclarationStore::DeclaredObjects(context, catalog)) {
				AddObject(object);
			}
		}
	}

	void AddObject(CatalogEntry &object) {
		auto stored = DeclarationStore::All(context, object);
		if (stored.empty()) {
			return;
		}
		bool recorded = CanRecord(object);
		VerificationQuery query(context, object);
		for (auto &declaration : stored) {
			checks.push_back("SELECT " + SQLString::ToString(DeclarationStore::NameOf(object).ToString()) +
			                 " AS object, " + SQLString::ToString(declaration.declaration.ToString()) +
			                 " AS declaration, holds, violating_keys, sample, " + (recorded ? "true" : "false") +
			                 " AS recorded FROM (" + query.Of(declaration) + ")");
		}
	}

	//! Whether times can be kept for this object; says to DuckDB that this statement writes its database.
	bool CanRecord(CatalogEntry &object) {
		if (DeclarationStore::KeptInSession(object)) {
			return true;
		}
		auto &transaction = MetaTransaction::Get(context);
		auto &database = object.ParentCatalog().GetAttached();
		if (!database.IsTemporary()) {
			auto modified = transaction.ModifiedDatabase();
			auto taken = written ? written : modified;
			if (transaction.IsReadOnly() || (taken && taken.get() != &database)) {
				return false;
			}
			written = &database;
		}
		input.binder->GetStatementProperties().RegisterDBModify(object.ParentCatalog(), context,
		                                                        DatabaseModificationType::ALTER_TABLE);
		return true;
	}

	string ResultQuery() const {
		if (checks.empty()) {
			return "SELECT ''::VARCHAR AS object, ''::VARCHAR AS declaration, NULL::BOOLEAN AS holds, "
			       "NULL::BIGINT AS violating_keys, []::VARCHAR[] AS sample WHERE false";
		}
		// all checks are done, in one row, before the first time is kept
		return string("SELECT result.object AS object, result.declaration AS declaration, result.holds AS holds, "
		              "result.violating_keys AS violating_keys, result.sample AS sample "
		              "FROM (SELECT unnest(results) AS result FROM ") +
		       RECORD +
		       "((SELECT list({'object': object, 'declaration': declaration, 'holds': holds, 'violating_keys': "
		       "violating_keys, 'sample': sample, 'recorded': recorded}) AS results FROM (" +
		       StringUtil::Join(checks, " UNION ALL ") + "))))";
	}

	ClientContext &context;
	TableFunctionBindInput &input;
	vector<string> checks;
	optional_ptr<AttachedDatabase> written;
};

unique_ptr<TableRef> BindVerify(ClientContext &context, TableFunctionBindInput &input) {
	return VerifyBinding(context, input).Bind();
}

unique_ptr<FunctionData> BindRecord(ClientContext &context, TableFunctionBindInput &input,
                                    vector<LogicalType> &return_types, vector<Identifier> &names) {
	return_types = input.input_table_types;
	names = input.input_table_names;
	return make_uniq<TableFunctionData>();
}

//! Keeps the time for the declarations of one object that were found to hold.
void RecordObject(ClientContext &context, const string &name, const vector<string> &held) {
	auto object = DeclarationStore::Find(context, QualifiedName::Parse(name));
	if (!object) {
		throw CatalogException("%s was dropped or renamed while it was verified", name);
	}
	auto now = Value::TIMESTAMPTZ(timestamp_tz_t(MetaTransaction::Get(context).start_timestamp));
	vector<Declaration> declarations;
	for (auto &stored : DeclarationStore::All(context, *object)) {
		auto text = stored.declaration.ToString();
		if (std::find(held.begin(), held.end(), text) != held.end()) {
			stored.declaration.verified_at = now;
		}
		declarations.push_back(std::move(stored.declaration));
	}
	DeclarationStore::Write(context, *object, std::move(declarations));
}

void RecordResults(ClientContext &context, const Value &results) {
	map<string, vector<string>> held;
	for (auto &result : ListValue::GetChildren(results)) {
		auto &fields = StructValue::GetChildren(result);
		bool holds = !fields[HOLDS].IsNull() && BooleanValue::Get(fields[HOLDS]);
		if (holds && BooleanValue::Get(fields[RECORDED])) {
			held[StringValue::Get(fields[OBJECT])].push_back(StringValue::Get(fields[DECLARATION]));
		}
	}
	for (auto &entry : held) {
		RecordObject(context, entry.first, entry.second);
	}
}

OperatorResultType Record(ExecutionContext &context, TableFunctionInput &data, DataChunk &input, DataChunk &output) {
	for (idx_t row = 0; row < input.size(); row++) {
		RecordResults(context.client, input.GetValue(0, row));
	}
	output.Reference(input);
	return OperatorResultType::NEED_MORE_INPUT;
}

} // namespace

void VerifyFunction::Register(ExtensionLoader &loader) {
	TableFunction record(RECORD, {LogicalType::TABLE}, nullptr, BindRecord);
	record.in_out_function = Record;
	loader.RegisterFunction(std::move(record));

	TableFunctionSet verify("merganser_verify");
	for (auto &arguments : {vector<LogicalType>(), vector<LogicalType>({LogicalType::VARCHAR})}) {
		TableFunction function("merganser_verify", arguments, nullptr);
		function.bind_replace = BindVerify;
		verify.AddFunction(std::move(function));
	}
	loader.RegisterFunction(std::move(verify));
}

} // namespace merganser
