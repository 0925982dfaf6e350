//===----------------------------------------------------------------------===//
//                         Merganser
//
// ordered_windows/choose_window.hpp
//
// Whether the rows of a window come as it needs them: each partition whole, in one stream, in the order of the longest
// ORDER BY of its functions. They do
//   region_local  over a scan whose declared or recorded layout says so (grouping/choose_grouping.hpp), or whose
//                 regions, found ones among them, hold whole partitions and are sorted one by one if need be
//   fused         over a table function, or another ordered window, with the same partition set, whose rows still come
//                 in this order: a window adds columns to its rows, and neither drops nor reorders them
// Costs: a scan of fewer rows than merganser_ordered_windows_min_rows is not looked at, as reading what is recorded in
// files takes longer. One thread reads a region, so a scan is left to DuckDB, which shares all rows among its threads,
// where one region has much more than a thread's share. Where the setting is 0, neither is weighed.
//===----------------------------------------------------------------------===//

#pragma once

#include "grouping/choose_grouping.hpp"
#include "ordered_windows/window_decline.hpp"

#include "duckdb/planner/expression/bound_window_expression.hpp"

namespace merganser {

class LogicalOrderedWindow;

struct WindowDecision {
	//! Whether the window runs here.
	bool applies = false;
	//! Where it does: FUSED or REGION_LOCAL.
	GroupingDecision grouping;
	//! REGION_LOCAL: what the layout is, and who says so.
	ScanLayout layout;
	//! What the window needs: positions in its input.
	WantedRows wanted;
	//! The names of those columns, at their positions.
	vector<string> names;
	//! Where it does not.
	WindowDecline decline = WindowDecline::UNORDERED_INPUT;
	//! What deciding took.
	double microseconds = 0;
};

struct ChooseWindow {
	//! For a plan whose column bindings are resolved to positions.
	static WindowDecision For(ClientContext &context, LogicalOperator &window);
	static string Description(const WindowDecision &decision);
};

} // namespace merganser
