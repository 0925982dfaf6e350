#include "runners/stage_error.hpp"

#include "open_file_limit.hpp"

#include "duckdb/common/enum_util.hpp"
#include "duckdb/common/query_location.hpp"
#include "duckdb/planner/expression/bound_cast_expression.hpp"
#include "duckdb/planner/expression_iterator.hpp"
#include "duckdb/planner/logical_operator_visitor.hpp"

#include <cstring>

namespace merganser {

namespace {

const char *const EXCERPT = "\n\nLINE ";
const char *const SOURCE = " when casting from source column ";
const char *const DIVISION = "Division by zero in expression ";

//! A cast in a plan, and the name of the column it reads where that is all it reads.
struct Cast {
	string column;
	LogicalType type;
	QueryLocation location;
};

void FindCasts(const Expression &expression, vector<Cast> &casts) {
	if (BoundCastExpression::IsCast(expression)) {
		auto &cast = expression.Cast<BoundFunctionExpression>();
		auto &child = BoundCastExpression::Child(cast);
		auto of_column = child.GetExpressionClass() == ExpressionClass::BOUND_COLUMN_REF && child.HasAlias();
		if (!BoundCastExpression::IsTryCast(cast)) {
			casts.push_back({of_column ? child.GetAlias().GetIdentifierName() : string(),
			                 BoundCastExpression::TargetType(cast), cast.GetQueryLocation()});
		}
	}
	ExpressionIterator::EnumerateChildren(expression, [&](const Expression &child) { FindCasts(child, casts); });
}

void FindDivisions(const Expression &expression, unordered_set<string> &divisions) {
	static const unordered_set<string> names {"/", "//", "%", "divide", "mod", "fmod"};
	if (expression.GetExpressionClass() == ExpressionClass::BOUND_FUNCTION &&
	    names.count(expression.Cast<BoundFunctionExpression>().Function().GetName().GetIdentifierName()) > 0) {
		divisions.insert(expression.ToString());
	}
	ExpressionIterator::EnumerateChildren(expression,
	                                      [&](const Expression &child) { FindDivisions(child, divisions); });
}

void Visit(LogicalOperator &op, const std::function<void(const Expression &)> &visit) {
	LogicalOperatorVisitor::EnumerateExpressions(op, [&](unique_ptr<Expression> *expression) { visit(**expression); });
	for (auto &child : op.children) {
		Visit(*child, visit);
	}
}

void Visit(const QueryStages &stages, const std::function<void(const Expression &)> &visit) {
	for (auto &stage : stages.stages) {
		Visit(*stage->plan, visit);
	}
}

//! DuckDB's messages tell types by their names or by those of their storage: "to INT32", "timestamp field".
bool Tells(const string &message, const LogicalType &type) {
	auto lower = StringUtil::Lower(message);
	return StringUtil::Contains(lower, StringUtil::Lower(type.ToString())) ||
	       StringUtil::Contains(lower, StringUtil::Lower(EnumUtil::ToString(type.id()))) ||
	       StringUtil::Contains(lower, StringUtil::Lower(TypeIdToString(type.InternalType())));
}

//! The casts, of plain columns or of others, that `message` can be about; none where they read several columns.
vector<Cast> FailedCasts(const QueryStages &stages, const string &message, bool of_columns) {
	vector<Cast> casts;
	Visit(stages, [&](const Expression &expression) { FindCasts(expression, casts); });
	auto is_other = [&](const Cast &cast) {
		return cast.column.empty() == of_columns;
	};
	casts.erase(std::remove_if(casts.begin(), casts.end(), is_other), casts.end());
	vector<Cast> result;
	std::copy_if(casts.begin(), casts.end(), std::back_inserter(result),
	             [&](const Cast &cast) { return Tells(message, cast.type); });
	if (result.empty()) {
		result = std::move(casts); // a type without a name that the message tells
	}
	auto same =
	    std::all_of(result.begin(), result.end(), [&](const Cast &cast) { return cast.column == result[0].column; });
	return same ? result : vector<Cast>();
}

//! With the place of these casts in the query, if it is one.
void AddPlace(ErrorData &error, const vector<Cast> &casts) {
	auto one_place = !casts.empty() && std::all_of(casts.begin(), casts.end(), [&](const Cast &cast) {
		return cast.location.offset == casts[0].location.offset && cast.location.length == casts[0].location.length;
	});
	if (one_place) {
		error.AddQueryLocation(casts[0].location);
	}
}

//! Two lines, the second with the marks below the first. A worker may have added what follows.
string WithoutExcerpt(const string &message, bool &found) {
	auto start = message.rfind(EXCERPT);
	found = start != string::npos;
	if (!found) {
		return message;
	}
	auto marks = message.find('\n', start + strlen(EXCERPT));
	auto end = marks == string::npos ? marks : message.find('\n', marks + 1);
	return message.substr(0, start) + (end == string::npos ? string() : message.substr(end));
}

ErrorData NameColumn(ExceptionType type, const string &message, const QueryStages &stages) {
	auto source = message.rfind(SOURCE);
	auto named = message.substr(0, source);
	auto casts = FailedCasts(stages, named, source != string::npos);
	if (casts.empty()) {
		casts = FailedCasts(stages, named, source == string::npos);
	} else if (source != string::npos) {
		named += SOURCE + casts[0].column;
	}
	ErrorData result(type, named);
	AddPlace(result, casts);
	return result;
}

//! The division as the query has it, if it has one.
string NameDivision(const string &message, const QueryStages &stages) {
	auto start = message.find(DIVISION);
	auto end = message.find(". Use TRY", start);
	if (start == string::npos || end == string::npos) {
		return message;
	}
	unordered_set<string> divisions;
	Visit(stages, [&](const Expression &expression) { FindDivisions(expression, divisions); });
	auto name = divisions.size() == 1 ? DIVISION + *divisions.begin() : "Division by zero";
	return message.substr(0, start) + name + message.substr(end);
}

} // namespace

void StageError::Throw(const ErrorData &error, const QueryStages &stages) {
	auto had_place = false;
	auto message = NameDivision(WithoutExcerpt(error.RawMessage(), had_place), stages);
	if (had_place && error.Type() == ExceptionType::CONVERSION) {
		NameColumn(error.Type(), message, stages).Throw();
	}
	auto is_changed = message != error.RawMessage() || error.ExtraInfo().count("position") > 0;
	(is_changed ? ErrorData(error.Type(), message) : OpenFileLimit::Explain(error)).Throw();
}

} // namespace merganser
