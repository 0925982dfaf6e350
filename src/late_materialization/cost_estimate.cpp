#include "late_materialization/cost_estimate.hpp"

#include "declarations/same_plan.hpp"
#include "keys/key_values.hpp"
#include "late_materialization/column_width.hpp"

#include "duckdb/common/multi_file/multi_file_states.hpp"
#include "duckdb/planner/expression/bound_aggregate_expression.hpp"
#include "duckdb/planner/operator/logical_get.hpp"

#include <algorithm>

namespace merganser {

namespace {

//! What one row of a join costs, in bytes moved.
const double JOINED_ROW_BYTES = 32;
//! What one row costs whose key is checked, in bytes moved: kept as a bit, or grouped.
const double CHECK_BYTES_AS_BIT = 8;
const double CHECK_BYTES_GROUPED = 64;
//! How many times the proof of a key the gain has to be.
const double PROOF_MARGIN = 4;
//! What one row of a proof costs, in bytes moved: kept as a bit, or hashed.
const double PROOF_BYTES_AS_BIT = 8;
const double PROOF_BYTES_HASHED = 64;
//! The same of a text file, of which every line is read.
const double PROOF_BYTES_OF_TEXT = 200;
//! What opening one more file costs a proof, in bytes moved: 0.2 ms, or some requests.
const double PROOF_BYTES_OF_FILE = 100000;
const double PROOF_BYTES_OF_REMOTE_FILE = 50000000;
//! How many rows must meet one row of the other table for DuckDB to aggregate before the join.
const double AGGREGATED_FIRST_RATIO = 4;

double ProofBytesPerRow(const BaseRelation &relation, const RelationKey &key) {
	auto &scan = relation.source->Cast<LogicalGet>();
	if (!scan.GetTable() && ScanIdentity(scan).function != "read_parquet") {
		return PROOF_BYTES_OF_TEXT;
	}
	auto &type = relation.types[relation.PositionOf(key.columns[0])];
	return key.columns.size() == 1 && KeyValues::KeptAsBits(type) ? PROOF_BYTES_AS_BIT : PROOF_BYTES_HASHED;
}

double ProofBytesOfFiles(const BaseRelation &relation) {
	auto &scan = relation.source->Cast<LogicalGet>();
	if (scan.GetTable()) {
		return 0;
	}
	auto &files = *scan.bind_data->Cast<MultiFileBindData>().file_list;
	auto is_remote = FileSystem::IsRemoteFile(files.GetFirstFile().path);
	return double(files.GetTotalFileCount()) * (is_remote ? PROOF_BYTES_OF_REMOTE_FILE : PROOF_BYTES_OF_FILE);
}

} // namespace

CostEstimate::CostEstimate(const AggregateInput &input, const Deferral &deferral, const AggregateShape &shape)
    : input(input), deferral(deferral), shape(shape), input_rows(double(input.EstimatedRows())),
      groups(EstimateGroups()) {
	for (auto &column : deferral.Columns()) {
		if (column.retained) {
			continue;
		}
		auto type = column.resolved->GetReturnType();
		saved_bytes_per_row += double(ColumnWidth::Of(type));
		defers_wide = defers_wide || ColumnWidth::IsWide(type);
	}
	AddLinks();
	if (!shape.bound.IsValid()) {
		AddEveryGroup();
	}
}

void CostEstimate::AddLinks() {
	for (auto &link : deferral.Chain()) {
		auto &relation = input.Relations()[link.relation];
		auto &key = relation.keys[link.key];
		auto rows = double(relation.cardinality);
		rows_read_again += rows;
		if (!key.guaranteed) {
			rows_read_again += rows;
			price_bytes += rows * (key.dense ? CHECK_BYTES_AS_BIT : CHECK_BYTES_GROUPED);
		}
		if (key.candidate) {
			rows_to_prove += rows;
			proof_bytes += rows * ProofBytesPerRow(relation, key) + ProofBytesOfFiles(relation);
		}
		for (auto &key_column : key.columns) {
			auto &type = relation.types[relation.PositionOf(key_column)];
			price_bytes += rows * double(ColumnWidth::Of(type));
		}
	}
}

void CostEstimate::AddEveryGroup() {
	for (auto &link : deferral.Chain()) {
		auto &relation = input.Relations()[link.relation];
		price_bytes += groups * JOINED_ROW_BYTES;
		if (IsAggregatedFirst()) {
			input_rows = MinValue(input_rows, double(relation.cardinality));
		}
	}
	if (!deferral.Chain().empty()) {
		price_bytes += groups * saved_bytes_per_row / 2;
	}
}

bool CostEstimate::IsAggregatedFirst() const {
	if (input.TableCount() != 2 || deferral.Chain().size() != 1) {
		return false;
	}
	for (auto &expression : shape.aggregate->expressions) {
		auto &aggregate = expression->Cast<BoundAggregateExpression>();
		if (aggregate.IsDistinct() || aggregate.GetFilter() || aggregate.GetOrderBys() ||
		    aggregate.GetChildren().size() > 1) {
			return false;
		}
	}
	auto dimension_rows = double(input.Relations()[deferral.Chain()[0].relation].cardinality);
	return input_rows >= AGGREGATED_FIRST_RATIO * dimension_rows;
}

//! At most the rows of the tables whose columns make up the narrow plan's group key.
double CostEstimate::EstimateGroups() const {
	unordered_set<idx_t> relations;
	double most = 1;
	for (auto &column : deferral.Columns()) {
		if (!column.is_group || !column.retained) {
			continue;
		}
		column_binding_set_t bases;
		AggregateShape::CollectColumns(*column.resolved, bases);
		for (auto &base : bases) {
			auto relation = input.SmallestRelationOf(base);
			if (!relation.IsValid()) {
				most = input_rows;
			} else if (relations.insert(relation.GetIndex()).second) {
				most *= double(input.Relations()[relation.GetIndex()].cardinality);
			}
		}
	}
	most = MinValue(most, input_rows);
	return shape.bound.IsValid() ? MinValue(most, double(shape.bound.GetIndex())) : most;
}

idx_t CostEstimate::Groups() const {
	return idx_t(groups);
}

bool CostEstimate::Pays() const {
	return PaysWithoutProof() && input_rows * saved_bytes_per_row - price_bytes >= PROOF_MARGIN * proof_bytes;
}

bool CostEstimate::PaysWithoutProof() const {
	return input_rows >= double(SMALL_INPUT_ROWS) && defers_wide && input_rows * saved_bytes_per_row > price_bytes;
}

optional_idx CostEstimate::FindThinLink(const Deferral &deferral) {
	for (idx_t link = deferral.Chain().size(); link-- > 0;) {
		auto &columns = deferral.Columns();
		auto wide = std::any_of(columns.begin(), columns.end(), [&](const OutputColumn &column) {
			return !column.retained && ColumnWidth::IsWide(column.resolved->GetReturnType()) &&
			       deferral.RelyOn(column, link);
		});
		if (!wide) {
			return link;
		}
	}
	return optional_idx();
}

string CostEstimate::ToString() const {
	auto text =
	    StringUtil::Format("saves %llu rows x %llu bytes, reads again %llu rows (%llu bytes)", idx_t(input_rows),
		                   idx_t(saved_bytes_per_row), idx_t(rows_read_again), idx_t(price_bytes));
	if (!shape.bound.IsValid()) {
		text += StringUtil::Format(", fetches %llu rows", Groups());
	}
	return rows_to_prove > 0 ? text + StringUtil::Format(", proves over %llu rows", idx_t(rows_to_prove)) : text;
}

} // namespace merganser
