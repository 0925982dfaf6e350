#include "table_functions/participating_columns.hpp"

#include "duckdb/common/types/hugeint.hpp"
#include "duckdb/common/types/uhugeint.hpp"

namespace merganser {

vector<idx_t> ParticipatingColumns::All(const TableArgument &table, idx_t time_column) {
	auto &partition = table.partition_columns;
	vector<idx_t> result;
	for (idx_t column = 0; column < table.names.size(); column++) {
		auto partitions = std::find(partition.begin(), partition.end(), column) != partition.end();
		if (column != time_column && !partitions) {
			result.push_back(column);
		}
	}
	return result;
}

vector<idx_t> ParticipatingColumns::Numeric(const BoundArguments &arguments, idx_t time_column) {
	auto &table = arguments.Table();
	vector<idx_t> result;
	for (auto column : All(table, time_column)) {
		if (NumericReader::Accepts(table.types[column])) {
			result.push_back(column);
		}
	}
	if (result.empty()) {
		throw BinderException(
		    "%s: No numeric columns found for %s calculation. The input needs one beside the time column and "
		    "the PARTITION BY columns",
		    arguments.Function(), arguments.Function());
	}
	return result;
}

vector<PhysicalType> ParticipatingColumns::AddPoints(const TableArgument &table, const TimeColumn &time,
                                                     const vector<idx_t> &columns, BoundProcessor &bound) {
	vector<PhysicalType> result;
	bound.proper_before_partition_columns = bound.names.size();
	bound.required_columns = {time.column};
	for (auto column : columns) {
		bound.names.push_back(table.names[column] + "_time");
		bound.names.push_back(table.names[column]);
		bound.types.push_back(time.type);
		bound.types.push_back(table.types[column]);
		bound.required_columns.push_back(column);
		result.push_back(table.types[column].InternalType());
	}
	return result;
}

bool NumericReader::Accepts(const LogicalType &type) {
	switch (type.id()) {
	case LogicalTypeId::FLOAT:
	case LogicalTypeId::DOUBLE:
	case LogicalTypeId::DECIMAL:
		return true;
	default:
		return type.IsIntegral();
	}
}

NumericReader::NumericReader(const LogicalType &logical_type) : type(logical_type.InternalType()), divisor(1) {
	if (logical_type.id() == LogicalTypeId::DECIMAL) {
		divisor = std::pow(10.0, DecimalType::GetScale(logical_type));
	}
}

double NumericReader::Read(const InputRows &rows, idx_t required, idx_t position) const {
	switch (type) {
	case PhysicalType::INT8:
		return rows.Get<int8_t>(required, position);
	case PhysicalType::INT16:
		return rows.Get<int16_t>(required, position) / divisor;
	case PhysicalType::INT32:
		return rows.Get<int32_t>(required, position) / divisor;
	case PhysicalType::INT64:
		return static_cast<double>(rows.Get<int64_t>(required, position)) / divisor;
	case PhysicalType::INT128:
		return Hugeint::Cast<double>(rows.Get<hugeint_t>(required, position)) / divisor;
	case PhysicalType::UINT8:
		return rows.Get<uint8_t>(required, position);
	case PhysicalType::UINT16:
		return rows.Get<uint16_t>(required, position);
	case PhysicalType::UINT32:
		return rows.Get<uint32_t>(required, position);
	case PhysicalType::UINT64:
		return static_cast<double>(rows.Get<uint64_t>(required, position));
	case PhysicalType::UINT128:
		return Uhugeint::Cast<double>(rows.Get<uhugeint_t>(required, position));
	case PhysicalType::FLOAT:
		return rows.Get<float>(required, position);
	case PhysicalType::DOUBLE:
		return rows.Get<double>(required, position);
	default:
		throw InternalException("%s is no numeric type", TypeIdToString(type));
	}
}

} // namespace merganser
