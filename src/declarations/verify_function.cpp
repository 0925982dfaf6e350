#include "declarations/verify_function.hpp"

#include "declarations/declaration_store.hpp"
#include "declarations/query_in_statement.hpp"
#include "declarations/verification_query.hpp"
#include "listed_rows.hpp"

#include "duckdb/catalog/catalog.hpp"
#include "duckdb/main/attached_database.hpp"
#include "duckdb/main/database_manager.hpp"
#include "duckdb/main/extension/extension_loader.hpp"
#include "duckdb/parser/tableref/table_function_ref.hpp"
#include "duckdb/planner/binder.hpp"
#include "duckdb/transaction/meta_transaction.hpp"

#include <atomic>

namespace merganser {

namespace {

struct VerifyData : public TableFunctionData {
	//! Nothing for all objects with declarations.
	vector<QualifiedName> objects;
	//! The databases whose declarations keep the time.
	identifier_set_t written;
};

struct VerifyState : public GlobalTableFunctionState {
	vector<vector<Value>> rows;
	bool verified = false;
	idx_t next = 0;
	std::atomic<idx_t> checks {0};
	std::atomic<idx_t> checked {0};
};

vector<reference<CatalogEntry>> DeclaredObjects(ClientContext &context) {
	vector<reference<CatalogEntry>> result;
	for (auto &database : DatabaseManager::Get(context).GetDatabases(context)) {
		auto &catalog = database->GetCatalog();
		if (catalog.IsDuckCatalog() && !catalog.IsSystemCatalog()) {
			auto objects = DeclarationStore::DeclaredObjects(context, catalog);
			result.insert(result.end(), objects.begin(), objects.end());
		}
	}
	return result;
}

//! Finds the databases whose declarations can keep the time, and says to DuckDB that this statement writes them.
class WrittenDatabases {
public:
	WrittenDatabases(ClientContext &context, TableFunctionBindInput &input) : context(context), input(input) {
	}

	void Add(CatalogEntry &object, identifier_set_t &result) {
		if (DeclarationStore::KeptInSession(object)) {
			return;
		}
		auto &transaction = MetaTransaction::Get(context);
		auto &database = object.ParentCatalog().GetAttached();
		if (!database.IsTemporary()) {
			auto taken = written ? written : transaction.ModifiedDatabase();
			if (transaction.IsReadOnly() || (taken && taken.get() != &database)) {
				return;
			}
			written = &database;
		}
		input.binder->GetStatementProperties().RegisterDBModify(object.ParentCatalog(), context,
		                                                        DatabaseModificationType::ALTER_TABLE);
		result.insert(object.ParentCatalog().GetName());
	}

private:
	ClientContext &context;
	TableFunctionBindInput &input;
	optional_ptr<AttachedDatabase> written;
};

unique_ptr<FunctionData> Bind(ClientContext &context, TableFunctionBindInput &input, vector<LogicalType> &types,
                              vector<Identifier> &names) {
	names = {"object", "declaration", "holds", "violating_keys", "sample"};
	types = {LogicalType::VARCHAR, LogicalType::VARCHAR, LogicalType::BOOLEAN, LogicalType::BIGINT,
	         LogicalType::LIST(LogicalType::VARCHAR)};
	auto result = make_uniq<VerifyData>();
	WrittenDatabases databases(context, input);
	if (input.inputs.empty()) {
		for (auto &object : DeclaredObjects(context)) {
			databases.Add(object, result->written);
		}
		return std::move(result);
	}
	auto &name = input.inputs[0];
	if (name.IsNull()) {
		throw BinderException(input.ref, "merganser_verify: the object cannot be NULL; without one it verifies all");
	}
	auto object = DeclarationStore::Find(context, QualifiedName::Parse(StringValue::Get(name)));
	if (!object) {
		throw BinderException(input.ref, "merganser_verify: there is no table or view %s", StringValue::Get(name));
	}
	if (!DeclarationStore::All(context, *object).empty()) {
		databases.Add(*object, result->written);
	}
	result->objects.push_back(DeclarationStore::NameOf(*object));
	return std::move(result);
}

unique_ptr<GlobalTableFunctionState> Initialize(ClientContext &context, TableFunctionInitInput &input) {
	return make_uniq<VerifyState>();
}

//! Checks one declaration after the other, then keeps the time for those that hold.
class Verification {
public:
	Verification(ClientContext &context, const VerifyData &data, VerifyState &state)
	    : context(context), data(data), state(state), queries(context) {
	}

	void Run() {
		FindChecks();
		for (auto &check : checks) {
			context.InterruptCheck();
			state.rows.push_back(Perform(check));
			state.checked++;
		}
		for (auto &entry : held) {
			KeepTime(entry.first, entry.second);
		}
	}

private:
	struct Check {
		reference<CatalogEntry> object;
		StoredDeclaration stored;
	};

	void FindChecks() {
		auto binding = queries.BindingLock();
		vector<reference<CatalogEntry>> objects;
		for (auto &name : data.objects) {
			objects.push_back(Find(name));
		}
		for (auto &object : data.objects.empty() ? DeclaredObjects(context) : objects) {
			for (auto &stored : DeclarationStore::All(context, object)) {
				checks.push_back({object, std::move(stored)});
			}
		}
		state.checks = checks.size();
	}

	CatalogEntry &Find(const QualifiedName &name) {
		auto object = DeclarationStore::Find(context, name);
		if (!object) {
			throw CatalogException("%s was dropped or renamed before it was verified", name.ToString());
		}
		return *object;
	}

	vector<Value> Perform(const Check &check) {
		auto name = DeclarationStore::NameOf(check.object);
		auto declaration = check.stored.declaration.ToString();
		vector<Value> result {Value(name.ToString()), Value(declaration)};
		if (!check.stored.stale.empty()) {
			return NotTold(std::move(result), "stale: " + check.stored.stale);
		}
		auto known = true;
		auto rows = queries.Run([&](Binder &binder) { return QueryOf(binder, check, known); });
		if (!known) {
			return NotTold(std::move(result), "the layout of a view can be checked only if it shows one Parquet scan "
			                                  "through projections and filters");
		}
		auto &row = rows[0];
		if (BigIntValue::Get(row[2]) > 0) {
			throw InvalidInputException("merganser_verify: %s of %s cannot be checked, because its rows did not come "
			                            "in the order of their regions; SET preserve_insertion_order = true",
			                            declaration, name.ToString());
		}
		auto violations = BigIntValue::Get(row[0]);
		if (violations == 0) {
			held[name.ToString()].push_back(declaration);
		}
		result.push_back(Value::BOOLEAN(violations == 0));
		result.push_back(row[0]);
		result.push_back(row[1].IsNull() ? Value::LIST(LogicalType::VARCHAR, vector<Value>()) : row[1]);
		return result;
	}

	//! A query of nothing where there is none.
	static unique_ptr<SelectStatement> QueryOf(Binder &binder, const Check &check, bool &known) {
		auto result = VerificationQuery(binder, check.object).Of(check.stored.declaration);
		known = result != nullptr;
		return result ? std::move(result) : VerificationQuery::Nothing(binder);
	}

	static vector<Value> NotTold(vector<Value> row, const string &reason) {
		row.emplace_back(LogicalType::BOOLEAN);
		row.emplace_back(LogicalType::BIGINT);
		row.push_back(Value::LIST(LogicalType::VARCHAR, {Value(reason)}));
		return row;
	}

	void KeepTime(const string &name, const vector<string> &holding) {
		auto binding = queries.BindingLock();
		auto &object = Find(QualifiedName::Parse(name));
		if (!DeclarationStore::KeptInSession(object) && !data.written.count(object.ParentCatalog().GetName())) {
			return;
		}
		auto now = Value::TIMESTAMPTZ(timestamp_tz_t(MetaTransaction::Get(context).start_timestamp));
		vector<Declaration> declarations;
		for (auto &stored : DeclarationStore::All(context, object)) {
			auto text = stored.declaration.ToString();
			if (std::find(holding.begin(), holding.end(), text) != holding.end()) {
				stored.declaration.verified_at = now;
			}
			declarations.push_back(std::move(stored.declaration));
		}
		DeclarationStore::Write(context, object, std::move(declarations));
	}

	ClientContext &context;
	const VerifyData &data;
	VerifyState &state;
	QueryInStatement queries;
	vector<Check> checks;
	//! Object -> its declarations that hold.
	map<string, vector<string>> held;
};

void Verify(ClientContext &context, TableFunctionInput &input, DataChunk &output) {
	auto &state = input.global_state->Cast<VerifyState>();
	if (!state.verified) {
		Verification(context, input.bind_data->Cast<VerifyData>(), state).Run();
		state.verified = true;
	}
	ListedRows::Emit(state.rows, state.next, output);
}

double Progress(ClientContext &context, const FunctionData *data, const GlobalTableFunctionState *global_state) {
	auto &state = global_state->Cast<VerifyState>();
	auto checks = state.checks.load();
	return checks == 0 ? 0.0 : 100.0 * static_cast<double>(state.checked) / static_cast<double>(checks);
}

} // namespace

void VerifyFunction::Register(ExtensionLoader &loader) {
	TableFunctionSet verify("merganser_verify");
	for (auto &arguments : {vector<LogicalType>(), vector<LogicalType>({LogicalType::VARCHAR})}) {
		TableFunction function("merganser_verify", arguments, Verify, Bind, Initialize);
		function.table_scan_progress = Progress;
		verify.AddFunction(std::move(function));
	}
	loader.RegisterFunction(std::move(verify));
}

} // namespace merganser
