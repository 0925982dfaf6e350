//===----------------------------------------------------------------------===//
//                         Merganser
//
// late_materialization/relation_keys.hpp
//
// Finds the keys and foreign keys of what a bound plan scans, as column bindings.
//   a DuckDB table                        its enforced and declared keys
//   a scan of files                       keys declared on a view that shows that very scan, whether the query names
//                                         the view or calls read_parquet('...') itself
//   the subtree of a view with filters    keys declared on the view: they hold for the rows the view shows, so the
//                                         whole subtree is the relation
//
// A bound plan does not say which views it was made from; declarations/shown_scans.hpp finds those that show a scan and
// govern it. A view with filters is compared with what the plan holds: same functions, arguments, columns and
// expressions, up to table indexes.
//===----------------------------------------------------------------------===//

#pragma once

#include "declarations/declaration_store.hpp"
#include "declarations/shown_scans.hpp"
#include "keys/seen_data.hpp"
#include "keys/dense_integers.hpp"
#include "keys/proved_keys.hpp"

#include "duckdb/optimizer/optimizer.hpp"
#include "duckdb/planner/column_binding_map.hpp"
#include "duckdb/planner/operator/logical_get.hpp"

namespace merganser {

struct RelationKey {
	vector<ColumnBinding> columns;
	//! "customer (c_custkey)".
	string name;
	//! Name of the table or view that merganser_verify takes.
	string object;
	bool enforced = false;
	//! Key::guaranteed: needs no guard.
	bool guaranteed = false;
	//! Of one column of integers that lie close together: a bit for each value is enough to look at all of them.
	optional<DenseIntegers> dense;
	//! Nobody has said so, and it has to be proved before anything relies on it.
	bool candidate = false;
	//! Where nobody has stated it, and it was found to hold.
	shared_ptr<const ProvedKey> proof;
	//! That was found before this statement.
	bool known = false;
	//! A column may be NULL: rows with NULL are not told apart.
	bool nullable = false;
	//! Equality of a column's type is not identity.
	bool inexact = false;

	bool IsUsable() const {
		return !nullable && !inexact;
	}
};

struct RelationForeignKey {
	vector<ColumnBinding> columns;
	QualifiedName referenced;
	vector<string> referenced_columns;
	//! "orders (o_custkey) -> customer (c_custkey)", and the same as a part of a sentence.
	string name;
	string sentence;
	//! Name of the referencing table or view, as merganser_verify takes it.
	string object;
	bool nullable = true;
};

//! A table or view that shows a scan; foreign keys point to it.
struct ScannedObject {
	QualifiedName name;
	//! The object's column -> the scan's own name for it. Computed columns are missing.
	case_insensitive_map_t<string> scan_column;
};

struct ScanKeys {
	//! "customer".
	string name;
	//! The table or views whose keys these are.
	vector<ScannedObject> objects;
	vector<RelationKey> keys;
	vector<RelationForeignKey> foreign_keys;
};

struct ViewMatch {
	string name;
	vector<string> column_names;
	vector<RelationKey> keys;
};

class RelationKeys {
public:
	explicit RelationKeys(Optimizer &optimizer);

	//! Whether the scan can be read again with the same rows; if so, its keys, which may be none.
	bool TryOfScan(const LogicalGet &get, ScanKeys &result);
	//! Whether the subtree is a declared view that is more than a scan under projections.
	bool TryMatchView(LogicalOperator &op, ViewMatch &result);

private:
	//! Enforced and declared ones.
	bool TryOfStatedKeys(const LogicalGet &get, ScanKeys &result);
	const vector<BoundView> &FilteredViews(const LogicalGet &get);

	Optimizer &optimizer;
	unordered_map<const LogicalGet *, vector<BoundView>> filtered_views;
	ListedFiles listed_files;
};

} // namespace merganser
