#include "late_materialization/ancestor_path.hpp"

namespace merganser {

bool AncestorPaths::TryFind(unique_ptr<LogicalOperator> &op, const LogicalOperator &target, AncestorPath &path) {
	path.push_back(op);
	if (op.get() == &target) {
		return true;
	}
	for (auto &child : op->children) {
		if (TryFind(child, target, path)) {
			return true;
		}
	}
	path.pop_back();
	return false;
}

Ascent::Ascent(const AncestorPath &ancestors) : ancestors(ancestors), remaining(ancestors.size()) {
}

bool Ascent::AtTop() const {
	return remaining == 0;
}

LogicalOperator &Ascent::Current() const {
	return *ancestors[remaining - 1].get();
}

unique_ptr<LogicalOperator> &Ascent::CurrentOwner() const {
	return ancestors[remaining - 1].get();
}

bool Ascent::At(LogicalOperatorType type) const {
	return !AtTop() && Current().type == type;
}

void Ascent::Up() {
	remaining--;
}

} // namespace merganser
