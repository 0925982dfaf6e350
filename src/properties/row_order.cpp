#include "properties/row_order.hpp"

namespace merganser {

RowOrder RowOrder::AsProduced(Scope scope) {
	RowOrder result;
	result.kind = Kind::AS_PRODUCED;
	result.scope = scope;
	return result;
}

RowOrder RowOrder::Sorted(OrderingList list, Scope scope) {
	RowOrder result;
	result.kind = Kind::SORTED;
	result.scope = scope;
	result.list = std::move(list);
	return result;
}

bool RowOrder::Satisfies(const RowOrder &wanted) const {
	if (wanted.kind == Kind::NONE) {
		return true;
	}
	if (kind < wanted.kind || scope < wanted.scope) {
		return false;
	}
	return wanted.kind != Kind::SORTED || list.Satisfies(wanted.list, {});
}

RowOrder RowOrder::InEachTask() const {
	auto result = *this;
	result.scope = Scope::EACH_TASK;
	return result;
}

RowOrder RowOrder::WithoutColumns() const {
	return kind == Kind::SORTED ? AsProduced(scope) : *this;
}

string RowOrder::ToString(const vector<string> &names) const {
	if (kind == Kind::NONE) {
		return "none";
	}
	auto text = kind == Kind::SORTED ? "sorted by " + list.ToString(names) : "as produced";
	return scope == Scope::EACH_TASK ? text + " in each task" : text;
}

} // namespace merganser
