//===----------------------------------------------------------------------===//
//                         Merganser
//
// runners/json_document.hpp
//
// A JSON object that is being written: its root, and its text. Frees what belongs to it.
//===----------------------------------------------------------------------===//

#pragma once

#include "duckdb.hpp"

#include "yyjson.hpp"

namespace merganser {

using namespace duckdb; // NOLINT: the extension speaks DuckDB's vocabulary throughout

class JsonDocument {
public:
	JsonDocument();
	~JsonDocument();
	JsonDocument(const JsonDocument &) = delete;

	duckdb_yyjson::yyjson_mut_doc *Get() const {
		return document;
	}
	duckdb_yyjson::yyjson_mut_val *Root() const {
		return root;
	}
	//! `text` is copied.
	void AddText(duckdb_yyjson::yyjson_mut_val *object, const char *name, const string &text) const;
	void AddNumber(duckdb_yyjson::yyjson_mut_val *object, const char *name, idx_t number) const;
	//! Rounded to microseconds.
	void AddSeconds(duckdb_yyjson::yyjson_mut_val *object, const char *name, double seconds) const;
	void AddTexts(duckdb_yyjson::yyjson_mut_val *object, const char *name, const vector<string> &texts) const;

	string Text() const;

private:
	duckdb_yyjson::yyjson_mut_doc *document;
	duckdb_yyjson::yyjson_mut_val *root;
};

} // namespace merganser
