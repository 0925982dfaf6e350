//===----------------------------------------------------------------------===//
//                         Merganser
//
// settings.hpp
//
// Every setting of the extension, in one table (settings.cpp): name, type, default, description.
// Users change them with SET merganser_...; code reads them through the typed accessors below.
//===----------------------------------------------------------------------===//

#pragma once

#include "duckdb.hpp"

namespace merganser {

using namespace duckdb; // NOLINT: the extension speaks DuckDB's vocabulary throughout

struct Settings {
	static void Register(ExtensionLoader &loader);

	//! merganser_late_materialization, unless the environment variable MERGANSER_LATE_MATERIALIZATION says off.
	static bool LateMaterialization(ClientContext &context);
	//! merganser_late_materialization_max_rows: the largest LIMIT + OFFSET for which a join-back is considered.
	static idx_t LateMaterializationMaxRows(ClientContext &context);
	//! merganser_late_materialization_max_chain: the largest number of tables one join-back may fetch from.
	static idx_t LateMaterializationMaxChain(ClientContext &context);
	//! merganser_late_materialization_cost: false rewrites every query for which it is sound (used by the tests).
	static bool LateMaterializationCost(ClientContext &context);
};

} // namespace merganser
