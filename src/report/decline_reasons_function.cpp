#include "report/decline_reasons_function.hpp"

#include "late_materialization/decline_reason.hpp"
#include "late_materialization/late_materialization.hpp"
#include "listed_rows.hpp"

#include "duckdb/main/extension/extension_loader.hpp"

namespace merganser {

namespace {

unique_ptr<FunctionData> Bind(ClientContext &context, TableFunctionBindInput &input, vector<LogicalType> &types,
                              vector<Identifier> &names) {
	names = {"rule", "code", "meaning", "remedy"};
	types = vector<LogicalType>(names.size(), LogicalType::VARCHAR);
	auto result = make_uniq<ListedRows>();
	for (auto &reason : DeclineReasons::All()) {
		result->rows.push_back(
		    {Value(LateMaterialization::NAME), Value(reason.code), Value(reason.sentence), Value(reason.remedy)});
	}
	return std::move(result);
}

} // namespace

void DeclineReasonsFunction::Register(ExtensionLoader &loader) {
	loader.RegisterFunction(ListedRows::Function("merganser_decline_reasons", {}, Bind));
}

} // namespace merganser
