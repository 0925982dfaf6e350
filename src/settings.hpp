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
	//! merganser_prove_keys: false takes declared and enforced keys only.
	static bool ProveKeys(ClientContext &context);

	//! merganser_ordered_windows: false leaves every window to DuckDB.
	static bool OrderedWindows(ClientContext &context);
	//! merganser_ordered_windows_min_rows: the least number of rows for which a scan's layout is looked at.
	static idx_t OrderedWindowsMinRows(ClientContext &context);

	//! merganser_runner: "local", one that was registered, or empty for none.
	static string Runner(ClientContext &context);
	//! Whether tasks are threads of this process, as they are where no runner is set.
	static bool RunsInThisProcess(ClientContext &context);
	//! merganser_tasks: how many tasks a stage is divided into.
	static idx_t Tasks(ClientContext &context);
	//! merganser_slots: how many tasks run at the same time; where it is 0, DuckDB's threads.
	static idx_t Slots(ClientContext &context);
	//! merganser_slots as it was set.
	static idx_t AskedSlots(ClientContext &context);
	//! merganser_task_bytes: what one task should read. Unless set, 0 where merganser_distribute_min_bytes is 0.
	static idx_t TaskBytes(ClientContext &context);
	//! merganser_distribute_min_bytes: the least input worth stages.
	static idx_t DistributeMinBytes(ClientContext &context);
	//! merganser_send_max_bytes: the most rows of one scan that the session sends to tasks, in bytes.
	static idx_t SendMaxBytes(ClientContext &context);
	//! merganser_broadcast_max_bytes: the largest side of a join that goes to all tasks.
	static idx_t BroadcastMaxBytes(ClientContext &context);
	//! merganser_exchange_directory: where exchange files are; empty for the system's temporary folder.
	static string ExchangeDirectory(ClientContext &context);
	//! "none" or "lz4", if it is valid.
	static string ExchangeCompression(ClientContext &context);
	//! merganser_exchange_shared: whether every node sees the exchange directory, and what COPY writes.
	static bool ExchangeShared(ClientContext &context);
};

} // namespace merganser
