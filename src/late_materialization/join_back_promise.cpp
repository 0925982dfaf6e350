#include "late_materialization/join_back_promise.hpp"

namespace merganser {

namespace {

string Remedy(const string &table) {
	return StringUtil::Format("Find the rows with: CALL merganser_verify('%s')", StringUtil::Replace(table, "'", "''"));
}

} // namespace

string JoinBackPromise::DuplicateMessage() const {
	return StringUtil::Format("Key %s does not hold: \"%s\" has more than one row for a value of it. %s", key, table,
	                          Remedy(table));
}

string JoinBackPromise::NullMessage() const {
	return StringUtil::Format("Key %s does not hold: \"%s\" has a row in which a column of it is NULL. %s", key, table,
	                          Remedy(table));
}

string JoinBackPromise::MissingMessage() const {
	auto broken = foreign_key.empty() ? "Key " + key : "Foreign key " + foreign_key;
	auto reason = foreign_key.empty() ? "a column of it is NULL there" : "the rows it references are not all there";
	return StringUtil::Format(
	    "%s does not hold: a row found no row of \"%s\" by it; %s, or the data changed during the "
	    "query. %s",
	    broken, table, reason, Remedy(foreign_key.empty() ? table : referencing));
}

} // namespace merganser
