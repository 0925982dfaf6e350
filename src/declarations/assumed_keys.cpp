#include "declarations/assumed_keys.hpp"

#include "declarations/declaration_store.hpp"
#include "declarations/shown_scans.hpp"

#include "duckdb/catalog/catalog_entry/table_catalog_entry.hpp"
#include "duckdb/common/sql_identifier.hpp"

#include <algorithm>

namespace merganser {

namespace {

const char *const STATE = "merganser_assumed_keys";

string CallOf(const LogicalGet &get) {
	vector<string> arguments;
	for (auto &parameter : get.parameters) {
		arguments.push_back(parameter.ToSQLString());
	}
	for (auto &option : get.named_parameters) {
		arguments.push_back(SQLIdentifier::ToString(option.first) + " := " + option.second.ToSQLString());
	}
	std::sort(arguments.begin() + NumericCast<int64_t>(get.parameters.size()), arguments.end());
	auto function = get.function.GetName().GetIdentifierName();
	return (function == "parquet_scan" ? "read_parquet" : function) + "(" + StringUtil::Join(arguments, ", ") + ")";
}

} // namespace

shared_ptr<AssumedKeys> AssumedKeys::Find(ClientContext &context) {
	auto result = context.registered_state->Get<AssumedKeys>(STATE);
	return result && result->active ? result : nullptr;
}

AssumedKeys &AssumedKeys::Get(ClientContext &context) {
	return *context.registered_state->GetOrCreate<AssumedKeys>(STATE);
}

string AssumedKeys::RelationOf(const LogicalGet &get) {
	auto table = get.GetTable();
	if (table && table->IsDuckTable() && get.children.empty()) {
		return DeclarationStore::NameOf(*table).ToString();
	}
	return ShownScans::ReadsFiles(get) ? CallOf(get) : string();
}

string AssumedKeys::StemOf(const LogicalGet &get) {
	auto path = get.parameters.empty() ? Value() : get.parameters[0];
	if (path.type().id() == LogicalTypeId::LIST && !path.IsNull() && !ListValue::GetChildren(path).empty()) {
		path = ListValue::GetChildren(path)[0];
	}
	auto text = path.ToString();
	auto slash = text.find_last_of("/\\");
	text = slash == string::npos ? text : text.substr(slash + 1);
	string result;
	for (auto c : text) {
		if (c == '.' || (!result.empty() && !StringUtil::CharacterIsAlphaNumeric(c) && c != '_')) {
			break;
		}
		result += StringUtil::CharacterIsAlphaNumeric(c) || c == '_' ? string(1, c) : string();
	}
	return result.empty() ? "files" : result;
}

} // namespace merganser
