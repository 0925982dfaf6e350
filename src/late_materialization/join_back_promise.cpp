#include "late_materialization/join_back_promise.hpp"

namespace merganser {

namespace {

const char *const RUN_AGAIN =
    "It held when the query was planned, so the data changed while it ran. Run the query again";

string Remedy(const string &table) {
	return StringUtil::Format("Find the rows with: CALL merganser_verify('%s')", StringUtil::Replace(table, "'", "''"));
}

} // namespace

void JoinBackPromise::CheckFiles(ClientContext &context) const {
	if (!proof || !proof->seen) {
		return;
	}
	for (auto &file : proof->seen->Files()) {
		if (!FileSystem::IsRemoteFile(file.path) && !file.IsCurrent(context)) {
			throw IOException("File \"%s\" changed while the query ran, which relied on %s, a key it had proved over "
			                  "the file. Run the query again; to run it while files change, SET merganser_prove_keys = "
			                  "false",
			                  file.path, key);
		}
	}
}

InvalidInputException JoinBackPromise::Broken(ClientContext &context, const string &message) const {
	if (proof) {
		ProvedKeys::Get(context)->Forget(*proof);
	}
	return InvalidInputException(message);
}

string JoinBackPromise::DuplicateMessage() const {
	return StringUtil::Format("Key %s does not hold: \"%s\" has more than one row for a value of it. %s", key, table,
	                          proof ? RUN_AGAIN : Remedy(table));
}

string JoinBackPromise::NullMessage() const {
	return StringUtil::Format("Key %s does not hold: \"%s\" has a row in which a column of it is NULL. %s", key, table,
	                          proof ? RUN_AGAIN : Remedy(table));
}

string JoinBackPromise::MissingMessage() const {
	auto broken = foreign_key.empty() ? "Key " + key : "Foreign key " + foreign_key;
	if (proof && foreign_key.empty()) {
		return StringUtil::Format("%s does not hold: a row found no row of \"%s\" by it. %s", broken, table, RUN_AGAIN);
	}
	auto reason = foreign_key.empty() ? "a column of it is NULL there" : "the rows it references are not all there";
	return StringUtil::Format(
	    "%s does not hold: a row found no row of \"%s\" by it; %s, or the data changed during the "
	    "query. %s",
	    broken, table, reason, Remedy(foreign_key.empty() ? table : referencing));
}

} // namespace merganser
