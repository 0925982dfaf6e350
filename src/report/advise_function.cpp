#include "report/advise_function.hpp"

#include "declarations/query_in_statement.hpp"
#include "declarations/verification_query.hpp"
#include "listed_rows.hpp"
#include "report/advice.hpp"

#include "duckdb/common/file_system.hpp"
#include "duckdb/function/table_function.hpp"
#include "duckdb/main/extension/extension_loader.hpp"
#include "duckdb/parser/parser.hpp"

namespace merganser {

namespace {

const char *const NAME = "merganser_advise";

struct AdviceOnQuery {
	//! From 1.
	idx_t query;
	Advice advice;
};

struct AdviseData : public TableFunctionData {
	vector<AdviceOnQuery> advice;
	bool verify = false;
};

struct AdviseState : public GlobalTableFunctionState {
	vector<vector<Value>> rows;
	bool made = false;
	idx_t next = 0;
};

string ContentOf(ClientContext &context, const string &path) {
	auto handle = FileSystem::GetFileSystem(context).OpenFile(path, FileFlags::FILE_FLAGS_READ);
	string result(NumericCast<idx_t>(handle->GetFileSize()), '\0');
	handle->Read(&result[0], result.size());
	return result;
}

vector<Value> StatementsOf(ClientContext &context, const string &path) {
	Parser parser(context);
	parser.ParseQuery(ContentOf(context, path));
	vector<Value> result;
	for (auto &statement : parser.statements) {
		result.emplace_back(statement->query);
	}
	return result;
}

Value NamedOrNull(TableFunctionBindInput &input, const char *name) {
	auto entry = input.named_parameters.find(name);
	return entry == input.named_parameters.end() ? Value() : entry->second;
}

//! The queries asked about; `one` if it is one, whose errors are the caller's.
vector<Value> QueriesOf(ClientContext &context, TableFunctionBindInput &input, bool &one) {
	auto file = NamedOrNull(input, "file");
	auto has_file = !file.IsNull();
	one = !has_file && !input.inputs.empty() && input.inputs[0].type().id() != LogicalTypeId::LIST;
	if (has_file == !input.inputs.empty()) {
		throw BinderException(input.ref, "%s takes either queries or file := 'queries.sql'", NAME);
	}
	if (has_file) {
		return StatementsOf(context, StringValue::Get(file));
	}
	auto &source = input.inputs[0];
	if (source.IsNull()) {
		throw BinderException(input.ref, "%s takes the text of queries, not NULL", NAME);
	}
	return one ? vector<Value> {source} : ListValue::GetChildren(source);
}

//! Of several queries one may be broken; an interrupt, a lack of memory and a fault of ours are not the query's.
Advice CannotBePlanned(const std::exception &exception) {
	ErrorData error(exception);
	switch (error.Type()) {
	case ExceptionType::INTERRUPT:
	case ExceptionType::OUT_OF_MEMORY:
	case ExceptionType::INTERNAL:
	case ExceptionType::FATAL:
		error.Throw();
	default:
		break;
	}
	Advice result;
	result.reason = "cannot_be_planned";
	result.sentence = error.RawMessage();
	return result;
}

vector<Advice> AdviceOn(ClientContext &context, const Value &query, bool may_fail) {
	try {
		return Advice::Of(context, StatementToPlan(context, NAME, query));
	} catch (const std::exception &exception) {
		if (!may_fail) {
			throw;
		}
		return {CannotBePlanned(exception)};
	}
}

unique_ptr<FunctionData> Bind(ClientContext &context, TableFunctionBindInput &input, vector<LogicalType> &types,
                              vector<Identifier> &names) {
	names = {"query", "rule", "reason", "advice", "sql", "holds", "gain"};
	types = {LogicalType::UBIGINT, LogicalType::VARCHAR, LogicalType::VARCHAR, LogicalType::VARCHAR,
	         LogicalType::VARCHAR, LogicalType::BOOLEAN, LogicalType::VARCHAR};
	auto result = make_uniq<AdviseData>();
	auto verify = input.named_parameters.find("verify");
	result->verify =
	    verify != input.named_parameters.end() && !verify->second.IsNull() && BooleanValue::Get(verify->second);
	bool one;
	auto queries = QueriesOf(context, input, one);
	for (idx_t i = 0; i < queries.size(); i++) {
		context.InterruptCheck();
		for (auto &advice : AdviceOn(context, queries[i], !one)) {
			result->advice.push_back({i + 1, std::move(advice)});
		}
	}
	return std::move(result);
}

unique_ptr<GlobalTableFunctionState> Initialize(ClientContext &context, TableFunctionInitInput &input) {
	return make_uniq<AdviseState>();
}

Value TextOrNull(const string &text) {
	return text.empty() ? Value(LogicalType::VARCHAR) : Value(text);
}

vector<Value> Row(const AdviceOnQuery &on, const string &sentence, const string &statement, const Value &holds,
                  const string &gain) {
	return {Value::UBIGINT(on.query), TextOrNull(on.advice.rule), Value(on.advice.reason),
	        Value(sentence),          TextOrNull(statement),      holds,
	        TextOrNull(gain)};
}

class Rows {
public:
	Rows(ClientContext &context, bool verify) : verify(verify), queries(context) {
	}

	vector<vector<Value>> Of(const AdviceOnQuery &on) {
		auto &advice = on.advice;
		Value unknown(LogicalType::BOOLEAN);
		if (advice.keys.empty()) {
			return {Row(on, advice.sentence, advice.statement, unknown, advice.gain)};
		}
		if (!verify) {
			auto &best = advice.keys[0];
			return {Row(on, advice.sentence, best.Statements(), unknown, best.gain)};
		}
		vector<vector<Value>> result;
		for (auto &candidate : advice.keys) {
			auto breach = BreachOf(candidate);
			if (breach.empty()) {
				auto sentence = "declare the key " + candidate.Names() + ", which holds now";
				result.push_back(Row(on, sentence, candidate.Statements(), Value::BOOLEAN(true), candidate.gain));
				break;
			}
			result.push_back(Row(on, breach, string(), Value::BOOLEAN(false), candidate.gain));
		}
		return result;
	}

private:
	//! The first of the keys that does not hold, and why; empty if all do.
	string BreachOf(const KeyAdvice &advice) {
		for (auto &key : advice.keys) {
			auto rows = queries.Run(
			    [&](Binder &binder) { return VerificationQuery::OfPrimaryKey(binder, key.relation, key.columns); });
			auto violations = BigIntValue::Get(rows[0][0]);
			if (violations > 0) {
				auto sample = ListValue::GetChildren(rows[0][1])[0].ToString();
				return StringUtil::Format("%s is no key: %lld of its values stand in several rows or are NULL, such "
				                          "as %s",
				                          key.name, violations, sample);
			}
		}
		return string();
	}

	bool verify;
	QueryInStatement queries;
};

void Execute(ClientContext &context, TableFunctionInput &input, DataChunk &output) {
	auto &data = input.bind_data->Cast<AdviseData>();
	auto &state = input.global_state->Cast<AdviseState>();
	if (!state.made) {
		Rows rows(context, data.verify);
		for (auto &advice : data.advice) {
			for (auto &row : rows.Of(advice)) {
				state.rows.push_back(std::move(row));
			}
		}
		state.made = true;
	}
	ListedRows::Emit(state.rows, state.next, output);
}

} // namespace

void AdviseFunction::Register(ExtensionLoader &loader) {
	TableFunctionSet advise(NAME);
	for (auto &arguments : {vector<LogicalType>(), vector<LogicalType>({LogicalType::VARCHAR}),
	                        vector<LogicalType>({LogicalType::LIST(LogicalType::VARCHAR)})}) {
		TableFunction function(NAME, arguments, Execute, Bind, Initialize);
		function.GetSignature().AddKeywordOnly("file", LogicalType::VARCHAR, Value(LogicalType::VARCHAR));
		function.GetSignature().AddKeywordOnly("verify", LogicalType::BOOLEAN, Value::BOOLEAN(false));
		advise.AddFunction(std::move(function));
	}
	loader.RegisterFunction(std::move(advise));
}

} // namespace merganser
