//===----------------------------------------------------------------------===//
//                         Merganser
//
// declarations/region_rows.hpp
//
// Problem: to check a layout one must know of each row which region it lies in and at which place. DuckDB shows that as
// virtual columns (filename, file_row_number, rowid), but a user's column of that name hides them, and a query that
// names them then checks against the user's values and finds nothing wrong.
//   CREATE VIEW v AS SELECT device, 'x' AS filename FROM 'sensor/*.parquet' WHERE time > 0
//   key_0, region, position      key_0 is device; region and position are the scan's own columns, by number
// So the object is bound and the two columns are added to the scan under it, through projections and filters; the
// result is a FROM item whose column names are ours alone.
// A region is a file; files in one hive directory are one region where partitions are checked. A DuckDB table is one
// region, in the order of its row ids.
// Limits: DuckDB tables, and views that show one Parquet scan, or a table or such a view, through projections and
// filters.
//===----------------------------------------------------------------------===//

#pragma once

#include "settings.hpp"

#include "duckdb/parser/tableref.hpp"
#include "duckdb/planner/binder.hpp"

namespace merganser {

struct RegionRows {
	//! A FROM item with the columns key_0, key_1, ... for `columns` of the object, region VARCHAR and position BIGINT.
	//! Null where the object is not of the kind that can be checked. `parent` binds the query it stands in.
	static unique_ptr<TableRef> Of(Binder &parent, CatalogEntry &table_or_view, const vector<string> &columns);
};

} // namespace merganser
