#include "declarations/declaration_comment.hpp"

#include "duckdb/common/types/timestamp.hpp"

#include "yyjson.hpp"

namespace merganser {

using namespace duckdb_yyjson; // NOLINT

namespace {

const char *const MARKER = "merganser: {";
const int64_t VERSION = 1;

const DeclarationKind ALL_KINDS[] = {DeclarationKind::PRIMARY_KEY, DeclarationKind::UNIQUE,
                                     DeclarationKind::FOREIGN_KEY, DeclarationKind::PARTITIONED_BY,
                                     DeclarationKind::SORTED_BY};

//! Where our line starts, invalid if the comment has none.
optional_idx MarkerPosition(const string &comment) {
	auto newline = comment.rfind('\n');
	auto start = newline == string::npos ? 0 : newline + 1;
	return comment.compare(start, strlen(MARKER), MARKER) == 0 ? optional_idx(start) : optional_idx();
}

class DeclarationWriter {
public:
	explicit DeclarationWriter(const Identifier &catalog) : catalog(catalog), doc(yyjson_mut_doc_new(nullptr)) {
	}
	~DeclarationWriter() {
		yyjson_mut_doc_free(doc);
	}

	string Write(const vector<Declaration> &declarations) {
		auto root = yyjson_mut_obj(doc);
		yyjson_mut_doc_set_root(doc, root);
		yyjson_mut_obj_add_int(doc, root, "version", VERSION);
		auto list = yyjson_mut_obj_add_arr(doc, root, "declarations");
		for (auto &declaration : declarations) {
			yyjson_mut_arr_append(list, ToObject(declaration));
		}
		size_t length;
		auto text = yyjson_mut_write(doc, YYJSON_WRITE_NOFLAG, &length);
		if (!text) {
			throw InvalidInputException("A declaration cannot be stored: a name in it is not valid UTF-8");
		}
		string result(text, length);
		free(text);
		return result;
	}

private:
	yyjson_mut_val *ToObject(const Declaration &declaration) {
		auto object = yyjson_mut_obj(doc);
		yyjson_mut_obj_add_str(doc, object, "kind", Declaration::KindName(declaration.kind));
		AddStrings(object, "columns", declaration.columns);
		AddStrings(object, "types", declaration.types);
		AddPositions(object, "positions", declaration.positions);
		if (declaration.kind == DeclarationKind::SORTED_BY) {
			AddFlags(object, "descending", declaration.directions, OrderType::DESCENDING);
			AddFlags(object, "nulls_first", declaration.null_orders, OrderByNullType::NULLS_FIRST);
		}
		if (declaration.kind == DeclarationKind::FOREIGN_KEY) {
			AddReference(object, declaration);
		}
		if (!declaration.voided.empty()) {
			yyjson_mut_obj_add_strncpy(doc, object, "voided", declaration.voided.c_str(), declaration.voided.size());
		}
		if (!declaration.verified_at.IsNull()) {
			auto micros = timestamp_t(declaration.verified_at.GetValue<timestamp_tz_t>().value);
			yyjson_mut_obj_add_strcpy(doc, object, "verified_at", (Timestamp::ToString(micros) + "Z").c_str());
		}
		return object;
	}

	void AddReference(yyjson_mut_val *object, const Declaration &declaration) {
		auto &referenced = declaration.referenced;
		if (referenced.Catalog() != catalog) {
			yyjson_mut_obj_add_strcpy(doc, object, "referenced_database", referenced.Catalog().c_str());
		}
		vector<string> path;
		for (auto &schema : referenced.SchemaPath()) {
			path.push_back(schema.GetIdentifierName());
		}
		path.push_back(referenced.Name().GetIdentifierName());
		AddStrings(object, "referenced", path);
		AddStrings(object, "referenced_columns", declaration.referenced_columns);
		AddPositions(object, "referenced_positions", declaration.referenced_positions);
	}

	void AddPositions(yyjson_mut_val *object, const char *name, const vector<idx_t> &positions) {
		if (positions.empty()) {
			return;
		}
		auto list = yyjson_mut_obj_add_arr(doc, object, name);
		for (auto position : positions) {
			yyjson_mut_arr_add_uint(doc, list, position);
		}
	}

	void AddStrings(yyjson_mut_val *object, const char *name, const vector<string> &values) {
		auto list = yyjson_mut_obj_add_arr(doc, object, name);
		for (auto &value : values) {
			yyjson_mut_arr_add_strncpy(doc, list, value.c_str(), value.size());
		}
	}

	template <class T>
	void AddFlags(yyjson_mut_val *object, const char *name, const vector<T> &values, T set) {
		auto list = yyjson_mut_obj_add_arr(doc, object, name);
		for (auto &value : values) {
			yyjson_mut_arr_add_bool(doc, list, value == set);
		}
	}

	const Identifier &catalog;
	yyjson_mut_doc *doc;
};

//! Reads what DeclarationWriter writes; anything else makes Read() return false.
class DeclarationReader {
public:
	DeclarationReader(const char *text, idx_t length, const Identifier &catalog)
	    : catalog(catalog), doc(yyjson_read(text, length, YYJSON_READ_NOFLAG)) {
	}
	~DeclarationReader() {
		yyjson_doc_free(doc);
	}

	//! Whether it is well-formed, and of a version other than ours.
	bool IsOfOtherVersion(int64_t &version) {
		auto stated = yyjson_obj_get(yyjson_doc_get_root(doc), "version");
		version = yyjson_get_sint(stated);
		return yyjson_is_int(stated) && version != VERSION;
	}

	bool Read(vector<Declaration> &result) {
		auto root = yyjson_doc_get_root(doc);
		auto list = yyjson_obj_get(root, "declarations");
		if (yyjson_get_sint(yyjson_obj_get(root, "version")) != VERSION || !yyjson_is_arr(list)) {
			return false;
		}
		size_t index, count;
		yyjson_val *object;
		yyjson_arr_foreach(list, index, count, object) {
			Declaration declaration;
			if (!ReadDeclaration(object, declaration)) {
				return false;
			}
			result.push_back(std::move(declaration));
		}
		return true;
	}

private:
	bool ReadDeclaration(yyjson_val *object, Declaration &result) {
		return ReadKind(object, result.kind) && ReadStrings(object, "columns", result.columns) &&
		       ReadStrings(object, "types", result.types) && !result.columns.empty() &&
		       result.columns.size() == result.types.size() && ReadSorting(object, result) &&
		       ReadPositions(object, "positions", result.columns.size(), result.positions) &&
		       ReadReference(object, result) && ReadState(object, result);
	}

	//! Lines of earlier times have none.
	static bool ReadPositions(yyjson_val *object, const char *name, idx_t columns, vector<idx_t> &result) {
		auto list = yyjson_obj_get(object, name);
		size_t index, count;
		yyjson_val *value;
		yyjson_arr_foreach(list, index, count, value) {
			if (!yyjson_is_uint(value)) {
				return false;
			}
			result.push_back(yyjson_get_uint(value));
		}
		return !list || (yyjson_is_arr(list) && result.size() == columns);
	}

	bool ReadKind(yyjson_val *object, DeclarationKind &result) {
		auto name = yyjson_obj_get(object, "kind");
		for (auto kind : ALL_KINDS) {
			if (yyjson_equals_str(name, Declaration::KindName(kind))) {
				result = kind;
				return true;
			}
		}
		return false;
	}

	bool ReadSorting(yyjson_val *object, Declaration &result) {
		if (result.kind != DeclarationKind::SORTED_BY) {
			return true;
		}
		return ReadFlags(object, "descending", result.directions, OrderType::DESCENDING, OrderType::ASCENDING) &&
		       ReadFlags(object, "nulls_first", result.null_orders, OrderByNullType::NULLS_FIRST,
		                 OrderByNullType::NULLS_LAST) &&
		       result.directions.size() == result.columns.size() && result.null_orders.size() == result.columns.size();
	}

	bool ReadReference(yyjson_val *object, Declaration &result) {
		if (result.kind != DeclarationKind::FOREIGN_KEY) {
			return true;
		}
		vector<string> names;
		if (!ReadStrings(object, "referenced", names) || names.empty() ||
		    !ReadStrings(object, "referenced_columns", result.referenced_columns) ||
		    result.referenced_columns.size() != result.columns.size() ||
		    !ReadPositions(object, "referenced_positions", result.columns.size(), result.referenced_positions)) {
			return false;
		}
		auto database = yyjson_obj_get(object, "referenced_database");
		vector<Identifier> schemas;
		for (idx_t i = 0; i + 1 < names.size(); i++) {
			schemas.emplace_back(names[i]);
		}
		result.referenced =
		    QualifiedName::FromCatalogSchema(yyjson_is_str(database) ? Identifier(yyjson_get_str(database)) : catalog,
			                                 std::move(schemas), Identifier(names.back()));
		return true;
	}

	bool ReadState(yyjson_val *object, Declaration &result) {
		auto voided = yyjson_obj_get(object, "voided");
		if (yyjson_is_str(voided)) {
			result.voided = string(yyjson_get_str(voided), yyjson_get_len(voided));
		}
		auto verified_at = yyjson_obj_get(object, "verified_at");
		if (!verified_at) {
			return true;
		}
		auto text = Value(yyjson_is_str(verified_at) ? yyjson_get_str(verified_at) : "");
		auto time = text.DefaultTryCastAs(LogicalType::TIMESTAMP);
		if (!time) {
			return false;
		}
		result.verified_at = Value::TIMESTAMPTZ(timestamp_tz_t(time->GetValue<timestamp_t>()));
		return true;
	}

	static bool ReadStrings(yyjson_val *object, const char *name, vector<string> &result) {
		auto list = yyjson_obj_get(object, name);
		size_t index, count;
		yyjson_val *value;
		yyjson_arr_foreach(list, index, count, value) {
			if (!yyjson_is_str(value)) {
				return false;
			}
			result.emplace_back(yyjson_get_str(value), yyjson_get_len(value));
		}
		return yyjson_is_arr(list);
	}

	template <class T>
	static bool ReadFlags(yyjson_val *object, const char *name, vector<T> &result, T set, T unset) {
		auto list = yyjson_obj_get(object, name);
		size_t index, count;
		yyjson_val *value;
		yyjson_arr_foreach(list, index, count, value) {
			result.push_back(yyjson_is_true(value) ? set : unset);
		}
		return yyjson_is_arr(list);
	}

	const Identifier &catalog;
	yyjson_doc *doc;
};

} // namespace

bool DeclarationComment::HasDeclarations(const Value &comment) {
	return !comment.IsNull() && comment.type().id() == LogicalTypeId::VARCHAR &&
	       MarkerPosition(StringValue::Get(comment)).IsValid();
}

DeclarationComment DeclarationComment::Parse(const Value &comment, const Identifier &catalog) {
	DeclarationComment result;
	if (!HasDeclarations(comment)) {
		result.text = comment;
		return result;
	}
	auto &text = StringValue::Get(comment);
	auto position = MarkerPosition(text).GetIndex();
	auto json = position + strlen(MARKER) - 1;
	vector<Declaration> declarations;
	DeclarationReader reader(text.data() + json, text.size() - json, catalog);
	if (!reader.Read(declarations)) {
		int64_t version;
		result.of_other_version = reader.IsOfOtherVersion(version);
		result.unreadable =
		    result.of_other_version
		        ? StringUtil::Format("it is of version %lld, and this extension reads version %lld", version, VERSION)
		        : "it is damaged";
		result.text = comment;
		return result;
	}
	result.declarations = std::move(declarations);
	if (position > 0) {
		result.text = Value(text.substr(0, position - 1));
	}
	return result;
}

Value DeclarationComment::ToValue(const Identifier &catalog) const {
	if (declarations.empty()) {
		return text;
	}
	auto before = text.IsNull() ? string() : StringValue::Get(text) + "\n";
	auto marker = string(MARKER, strlen(MARKER) - 1);
	return Value(before + marker + DeclarationWriter(catalog).Write(declarations));
}

} // namespace merganser
