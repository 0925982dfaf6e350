#include "runners/json_document.hpp"

#include <cmath>

using namespace duckdb_yyjson; // NOLINT

namespace merganser {

JsonDocument::JsonDocument() : document(yyjson_mut_doc_new(nullptr)), root(yyjson_mut_obj(document)) {
	yyjson_mut_doc_set_root(document, root);
}

JsonDocument::~JsonDocument() {
	yyjson_mut_doc_free(document);
}

void JsonDocument::AddText(yyjson_mut_val *object, const char *name, const string &text) const {
	yyjson_mut_obj_add_strncpy(document, object, name, text.c_str(), text.size());
}

void JsonDocument::AddNumber(yyjson_mut_val *object, const char *name, idx_t number) const {
	yyjson_mut_obj_add_uint(document, object, name, number);
}

void JsonDocument::AddSeconds(yyjson_mut_val *object, const char *name, double seconds) const {
	yyjson_mut_obj_add_real(document, object, name, std::round(seconds * 1e6) / 1e6);
}

void JsonDocument::AddTexts(yyjson_mut_val *object, const char *name, const vector<string> &texts) const {
	auto list = yyjson_mut_obj_add_arr(document, object, name);
	for (auto &text : texts) {
		yyjson_mut_arr_add_strncpy(document, list, text.c_str(), text.size());
	}
}

string JsonDocument::Text() const {
	size_t length;
	auto text = yyjson_mut_write(document, YYJSON_WRITE_ALLOW_INVALID_UNICODE, &length);
	if (!text) {
		throw InternalException("A JSON document could not be written");
	}
	string result(text, length);
	free(text); // NOLINT: allocated by yyjson
	return result;
}

} // namespace merganser
