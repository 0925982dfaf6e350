#include "properties/column_equivalences.hpp"

#include "duckdb/common/types.hpp"

namespace merganser {

bool ColumnEquivalences::HasIdentityEquality(const LogicalType &type) {
	switch (type.id()) {
	case LogicalTypeId::BOOLEAN:
	case LogicalTypeId::TINYINT:
	case LogicalTypeId::SMALLINT:
	case LogicalTypeId::INTEGER:
	case LogicalTypeId::BIGINT:
	case LogicalTypeId::HUGEINT:
	case LogicalTypeId::UTINYINT:
	case LogicalTypeId::USMALLINT:
	case LogicalTypeId::UINTEGER:
	case LogicalTypeId::UBIGINT:
	case LogicalTypeId::UHUGEINT:
	case LogicalTypeId::DECIMAL:
	case LogicalTypeId::DATE:
	case LogicalTypeId::TIME:
	case LogicalTypeId::TIMESTAMP:
	case LogicalTypeId::TIMESTAMP_SEC:
	case LogicalTypeId::TIMESTAMP_MS:
	case LogicalTypeId::TIMESTAMP_NS:
	case LogicalTypeId::TIMESTAMP_TZ:
	case LogicalTypeId::UUID:
	case LogicalTypeId::BLOB:
	case LogicalTypeId::ENUM:
		return true;
	case LogicalTypeId::VARCHAR:
		return !type.IsJSONType() && StringType::GetCollation(type).empty();
	default:
		return false;
	}
}

idx_t ColumnEquivalences::ClassFor(const ColumnBinding &column) {
	auto entry = class_of.find(column);
	if (entry != class_of.end()) {
		return entry->second;
	}
	auto index = classes.size();
	classes.emplace_back();
	classes.back().members.push_back(column);
	class_of[column] = index;
	return index;
}

void ColumnEquivalences::AddEqual(const ColumnBinding &left, const ColumnBinding &right) {
	auto target = ClassFor(left);
	auto source = ClassFor(right);
	if (target == source) {
		return;
	}
	auto absorbed = std::move(classes[source]);
	classes[source] = EquivalenceClass();
	for (auto &member : absorbed.members) {
		class_of[member] = target;
		classes[target].members.push_back(member);
	}
	for (auto &constant : absorbed.constants) {
		classes[target].constants.push_back(std::move(constant));
	}
}

void ColumnEquivalences::AddConstant(const ColumnBinding &column, Value constant) {
	classes[ClassFor(column)].constants.push_back(std::move(constant));
}

bool ColumnEquivalences::AreEqual(const ColumnBinding &left, const ColumnBinding &right) const {
	if (left == right) {
		return true;
	}
	auto left_entry = class_of.find(left);
	auto right_entry = class_of.find(right);
	return left_entry != class_of.end() && right_entry != class_of.end() && left_entry->second == right_entry->second;
}

vector<ColumnBinding> ColumnEquivalences::EqualTo(const ColumnBinding &column) const {
	vector<ColumnBinding> result {column};
	auto entry = class_of.find(column);
	if (entry == class_of.end()) {
		return result;
	}
	for (auto &member : classes[entry->second].members) {
		if (member != column) {
			result.push_back(member);
		}
	}
	return result;
}

optional_ptr<const Value> ColumnEquivalences::ConstantOf(const ColumnBinding &column) const {
	auto entry = class_of.find(column);
	if (entry == class_of.end() || classes[entry->second].constants.empty()) {
		return nullptr;
	}
	return classes[entry->second].constants[0];
}

} // namespace merganser
