//===----------------------------------------------------------------------===//
//                         Merganser
//
// merganser_extension.cpp
//
// The only list of what is registered, in the order a query meets it.
//===----------------------------------------------------------------------===//

#include "declarations/alter_interception.hpp"
#include "exchange/exchange_copy.hpp"
#include "exchange/exchange_scan.hpp"
#include "late_materialization/late_materialization.hpp"
#include "report/stages_function.hpp"
#include "settings.hpp"
#include "stages/stages.hpp"
#include "syntax/grammar.hpp"
#include "version_guard.hpp"

#include "duckdb/main/extension/extension_loader.hpp"

namespace merganser {

static void Load(ExtensionLoader &loader) {
	VersionGuard::Check();      // C++ symbols fit one DuckDB version only: refuse before touching anything else
	Settings::Register(loader); // everything below reads settings
	Grammar::Register(loader);  // parsing comes first
	AlterInterception::Register(loader);   // ALTER that states declarations, or touches what they name
	LateMaterialization::Register(loader); // on the bound plan, before DuckDB's optimizers
	ExchangeCopy::Register(loader);        // what a stage writes
	ExchangeScan::Register(loader);        // what the next stage reads
	Stages::Register(loader);              // on the optimised plan, after everything that changes it
	StagesFunction::Register(loader);      // shows what Stages would do
}

} // namespace merganser

extern "C" {

DUCKDB_CPP_EXTENSION_ENTRY(merganser, loader) {
	merganser::Load(loader);
}
}
