//===----------------------------------------------------------------------===//
//                         Merganser
//
// setting_checks.hpp
//
// What DuckDB calls at SET merganser_...: a value that cannot be right is refused there, with the remedy, and not by
// the query that would use it. A size is written as a number of bytes or as text, '64MB' or '1GiB', and kept as bytes.
//===----------------------------------------------------------------------===//

#pragma once

#include "settings.hpp"

#include "duckdb/main/setting_info.hpp"

namespace merganser {

struct SettingChecks {
	//! From now on merganser_runner takes this name in every database of the process.
	static void AllowRunner(const string &name);

	//! Checks of the settings that need one; each throws InvalidInputException.
	static void Runner(ClientContext &context, SetScope scope, Value &value);
	static void ExchangeDirectory(ClientContext &context, SetScope scope, Value &value);
	static void ExchangeCompression(ClientContext &context, SetScope scope, Value &value);
	static void MemoryLimit(ClientContext &context, SetScope scope, Value &value);

	//! A number of `NAME` from LEAST to MOST.
	template <const char *const &NAME, idx_t LEAST, idx_t MOST>
	static void Number(ClientContext &context, SetScope scope, Value &value) {
		CheckNumber(NAME, LEAST, MOST, value);
	}
	//! A size; `value` becomes its bytes.
	template <const char *const &NAME>
	static void Size(ClientContext &context, SetScope scope, Value &value) {
		MakeBytes(NAME, value);
	}

private:
	static void CheckNumber(const char *name, idx_t least, idx_t most, const Value &value);
	static void MakeBytes(const char *name, Value &value);
};

} // namespace merganser
