//===----------------------------------------------------------------------===//
//                         Merganser
//
// merganser_extension.cpp
//
// The only list of what is registered, in the order a query meets it.
//===----------------------------------------------------------------------===//

#include "declarations/alter_interception.hpp"
#include "declarations/declarations_function.hpp"
#include "declarations/declare_functions.hpp"
#include "declarations/shown_scans.hpp"
#include "declarations/verify_function.hpp"
#include "duckdb_binding.hpp"
#include "exchange/exchange_copy.hpp"
#include "exchange/exchange_partitions.hpp"
#include "exchange/exchange_scan.hpp"
#include "grouping/prepare_calls.hpp"
#include "grouping/write_regions.hpp"
#include "keys/proved_keys_function.hpp"
#include "late_materialization/late_materialization.hpp"
#include "ordered_windows/ordered_windows.hpp"
#include "report/advise_function.hpp"
#include "report/decline_reasons_function.hpp"
#include "report/explain_function.hpp"
#include "report/stages_function.hpp"
#include "runners/session_secrets.hpp"
#include "settings.hpp"
#include "runners/files_format.hpp"
#include "runners/run_in_stages.hpp"
#include "stages/slice_scan.hpp"
#include "syntax/grammar.hpp"
#include "table_functions/list_table_functions.hpp"
#include "grouping/table_function_binding.hpp"
#include "version_guard.hpp"

#include "duckdb/main/extension/extension_loader.hpp"

namespace merganser {

static void Load(ExtensionLoader &loader) {
	VersionGuard::Check();        // C++ symbols fit one DuckDB version only: refuse before touching anything else
	Settings::Register(loader);   // everything below reads settings
	Grammar::Register(loader);    // parsing comes first
	ShownScans::Register(loader); // which views a statement names, before it is bound
	AlterInterception::Register(loader);      // ALTER that states declarations, or touches what they name
	DeclareFunctions::Register(loader);       // the same for programs
	DeclarationsFunction::Register(loader);   // what is declared
	VerifyFunction::Register(loader);         // whether it is true
	TableFunctionBinding::Register(loader);   // what the grammar's TABLE arguments call
	ListTableFunctions::Register(loader);     // which there are
	ProvedKeysFunction::Register(loader);     // what was found to be a key without being declared
	LateMaterialization::Register(loader);    // on the bound plan, before DuckDB's optimizers
	WriteRegions::Register(loader);           // files that need no grouping
	PrepareCalls::Register(loader);           // filters and columns pass a table function
	ExchangeCopy::Register(loader);           // what a stage writes
	FilesFormat::Register(loader);            // what the last one writes for COPY
	ExchangeScan::Register(loader);           // what the next stage reads
	SliceScan::Register(loader);              // what a task reads of a scan of files
	ExchangePartitions::Register(loader);     // how much that is
	SessionSecrets::Register(loader);         // what a task needs to read its files
	RunInStages::Register(loader);            // on the optimised plan, after everything that changes it
	OrderedWindows::Register(loader);         // on what is left of the plan: the windows that this process computes
	StagesFunction::Register(loader);         // shows what Stages would do
	DeclineReasonsFunction::Register(loader); // what they may say
	AdviseFunction::Register(loader);         // and what would make them apply
	ExplainFunction::Register(loader);        // last, as it tells what all the others did
}

} // namespace merganser

extern "C" {

DUCKDB_CPP_EXTENSION_ENTRY(merganser, loader) {
	// Nothing of DuckDB, nor what an initializer sets up, may be used before.
	merganser::DuckDBBinding::BindTo(__builtin_return_address(0));
	merganser::Load(loader);
}
}
