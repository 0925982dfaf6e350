//===----------------------------------------------------------------------===//
//                         Merganser
//
// declarations/shown_scans.hpp
//
// Problem: a bound plan does not say which views it was made from, but what is declared of files is declared on views.
//   CREATE VIEW sensor AS SELECT device, time, v FROM 'sensor/*.parquet';   -- shows a scan and nothing else
//   SESSION(DATA => sensor ...)     is a call over that scan
// This is the one place that knows which declared views show a scan: a view whose plan is the same scan (function,
// arguments, schema) under projections only.
//
// What is declared of keys holds for the scan, whoever reads it. Of layouts those of the query's own views hold:
// * Where the query names views over these files, itself or through other views: the declared ones among those. So what
//   is declared on another view of the same files, and may be wrong, does not concern it.
// * Where it names none (it calls read_parquet('sensor/*.parquet') itself, or through a macro): those that show exactly
//   its scan.
//
// Cost: binding a view opens its files. So declared views are indexed by the texts in them that can name files, once a
// catalog version, and only those that name the files of the query's own scan are looked at; and of those it is kept,
// for the same catalog version, which scan they show, so that each is bound once.
// Sound: a version of a catalog fixes the view and what it is made of, if that lies in the same database and calls no
// function, which may be a macro of another one; the scan's arguments and schema, compared with those of the query's
// scan, fix the rest. Where they differ, as when files were replaced by others, the view is bound again. Views of other
// kinds are bound each time.
// Limits: views in the databases the transaction has looked into, which those a query names are.
//===----------------------------------------------------------------------===//

#pragma once

#include "settings.hpp"

#include "duckdb/catalog/catalog_entry/view_catalog_entry.hpp"
#include "duckdb/planner/operator/logical_get.hpp"

namespace merganser {

//! A declared view that shows a scan.
struct ShownScan {
	reference<ViewCatalogEntry> view;
	//! The view's column -> the scan's own name for it. Computed columns are missing.
	case_insensitive_map_t<string> scan_column;

	//! The names under which the scan delivers these columns of the view; an empty name, which no scan has, where one
	//! is computed.
	vector<string> ScanColumns(const vector<string> &columns) const;
};

//! A declared view that is more than a scan under projections, bound as the query's binder would bind it.
struct BoundView {
	reference<ViewCatalogEntry> view;
	unique_ptr<LogicalOperator> plan;
	vector<string> column_names;
};

class ShownScans {
public:
	static void Register(ExtensionLoader &loader);

	//! All declared views that show a scan of files.
	static vector<ShownScan> Of(ClientContext &context, const LogicalGet &get);
	//! Those of them that the query which is being planned is about.
	static vector<ShownScan> Governing(ClientContext &context, const LogicalGet &get);
	//! The views that show the scan and that the running query names, itself or through others, declared or not.
	static vector<ShownScan> Named(ClientContext &context, const LogicalGet &get);
	//! The declared views over the files `get` reads that are more than a scan under projections.
	static vector<BoundView> MoreThan(ClientContext &context, const LogicalGet &get);
	//! Whether it reads files that a view can show.
	static bool ReadsFiles(const LogicalGet &get);
	//! How many views this connection has bound to answer; for tests.
	static idx_t ViewsBound(ClientContext &context);
};

} // namespace merganser
