#include "declarations/key.hpp"

#include "declarations/declaration.hpp"

#include "duckdb/parser/keyword_helper.hpp"

namespace merganser {

namespace {

string NameWithColumns(const QualifiedName &object, const vector<string> &columns) {
	return SQLIdentifier::ToString(object.Name()) + " " + Declaration::ColumnList(columns);
}

} // namespace

string Key::ToString() const {
	return NameWithColumns(object, columns);
}

string ForeignKey::ToString() const {
	return NameWithColumns(object, columns) + " -> " + NameWithColumns(referenced, referenced_columns);
}

string ForeignKey::ToSentence() const {
	return NameWithColumns(object, columns) + " references " + NameWithColumns(referenced, referenced_columns);
}

} // namespace merganser
