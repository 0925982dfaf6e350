#include "table_functions/text_collation.hpp"

#include "duckdb/common/type_visitor.hpp"
#include "duckdb/planner/expression/bound_reference_expression.hpp"
#include "duckdb/planner/expression_binder.hpp"

namespace merganser {

bool TextCollation::Applies(ClientContext &context, const LogicalType &type) {
	if (!TypeVisitor::Contains(type, LogicalTypeId::VARCHAR)) {
		return false;
	}
	unique_ptr<Expression> value = make_uniq<BoundReferenceExpression>(type, 0);
	return ExpressionBinder::PushCollation(context, value, type);
}

} // namespace merganser
