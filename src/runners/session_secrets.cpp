#include "runners/session_secrets.hpp"

#include "runners/json_document.hpp"
#include "runners/session_settings.hpp"
#include "session_connection.hpp"
#include "stages/sliced_files.hpp"

#include "duckdb/catalog/catalog_transaction.hpp"
#include "duckdb/common/serializer/binary_deserializer.hpp"
#include "duckdb/common/serializer/binary_serializer.hpp"
#include "duckdb/common/serializer/memory_stream.hpp"
#include "duckdb/common/types/blob.hpp"
#include "duckdb/common/vector_operations/unary_executor.hpp"
#include "duckdb/execution/expression_executor_state.hpp"
#include "duckdb/function/scalar_function.hpp"
#include "duckdb/main/extension/extension_loader.hpp"
#include "duckdb/main/secret/secret_manager.hpp"

using namespace duckdb_yyjson; // NOLINT

namespace merganser {

namespace {

bool IsOfConnection(const SecretEntry &entry) {
	return entry.storage_mode == SecretManager::CONNECTION_STORAGE_NAME ||
	       entry.storage_mode == SecretManager::TRANSACTION_STORAGE_NAME;
}

//! Those of the connection last: of two with one name, they are the ones it uses.
vector<SecretEntry> AllSecrets(ClientContext &context) {
	auto transaction = CatalogTransaction::GetSystemCatalogTransaction(context);
	auto secrets = SecretManager::Get(context).AllSecrets(transaction);
	vector<SecretEntry> result;
	for (auto of_connection : {false, true}) {
		for (auto &entry : secrets) {
			if (IsOfConnection(entry) == of_connection) {
				result.push_back(entry);
			}
		}
	}
	return result;
}

void CollectPaths(const LogicalOperator &op, unordered_set<string> &paths) {
	if (op.type == LogicalOperatorType::LOGICAL_GET && SlicedFiles::MaySlice(op.Cast<LogicalGet>())) {
		for (auto &file : SlicedFiles::Files(op.Cast<LogicalGet>())) {
			paths.insert(file.path);
		}
	}
	for (auto &child : op.children) {
		CollectPaths(*child, paths);
	}
}

bool Covers(const BaseSecret &secret, const unordered_set<string> &paths) {
	return std::any_of(paths.begin(), paths.end(),
	                   [&](const string &path) { return secret.MatchScore(path) > NumericLimits<int64_t>::Minimum(); });
}

string ToBase64(const char *data, idx_t size) {
	return Blob::ToBase64(string_t(data, NumericCast<uint32_t>(size)));
}

string Write(const BaseSecret &secret) {
	if (!secret.IsSerializable()) {
		throw InvalidInputException(
		    "The secret \"%s\" of type %s cannot leave this process, so that tasks elsewhere cannot read the files it "
		    "is for; SET merganser_runner = '' runs the query in DuckDB alone",
		    secret.GetName().GetIdentifierName(), secret.GetType().GetIdentifierName());
	}
	MemoryStream stream;
	BinarySerializer serializer(stream);
	serializer.Begin();
	secret.Serialize(serializer);
	serializer.End();
	return ToBase64(const_char_ptr_cast(stream.GetData()), stream.GetPosition());
}

void Take(DataChunk &arguments, ExpressionState &state, Vector &result) {
	auto &context = state.GetContext();
	UnaryExecutor::Execute<string_t, bool>(arguments.data[0], result, [&](string_t written) {
		MemoryStream stream(data_ptr_cast(const_cast<char *>(written.GetData())), written.GetSize()); // NOLINT
		BinaryDeserializer deserializer(stream);
		deserializer.Begin();
		auto secret = SecretManager::Get(context).DeserializeSecret(deserializer);
		deserializer.End();
		SessionConnection::GiveSecret(context, *secret);
		return true;
	});
}

} // namespace

string SessionSecrets::Needed(ClientContext &context, const QueryStages &stages) {
	JsonDocument document;
	auto list = yyjson_mut_arr(document.Get());
	yyjson_mut_doc_set_root(document.Get(), list);
	unordered_set<string> paths;
	for (auto &stage : stages.stages) {
		CollectPaths(*stage->plan, paths);
	}
	auto add = [&](const string &name, const string &type, const string &secret) {
		auto object = yyjson_mut_arr_add_obj(document.Get(), list);
		document.AddText(object, "name", name);
		document.AddText(object, "type", type);
		document.AddText(object, "secret", secret);
	};
	for (auto &setting : SessionSettings::Confidential(context)) {
		add(setting.first, "setting", ToBase64(setting.second.data(), setting.second.size()));
	}
	if (paths.empty()) {
		return document.Text();
	}
	for (auto &entry : AllSecrets(context)) {
		auto &secret = *entry.secret;
		if (Covers(secret, paths)) {
			add(secret.GetName().GetIdentifierName(), secret.GetType().GetIdentifierName(), Write(secret));
		}
	}
	return document.Text();
}

void SessionSecrets::Register(ExtensionLoader &loader) {
	ScalarFunction function("merganser_take_secret", {LogicalType::BLOB}, LogicalType::BOOLEAN, Take);
	function.SetStability(FunctionStability::VOLATILE);
	loader.RegisterFunction(function);
}

} // namespace merganser
