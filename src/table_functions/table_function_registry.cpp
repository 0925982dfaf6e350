#include "table_functions/table_function_registry.hpp"

#include "table_functions/capacity.hpp"
#include "table_functions/fft.hpp"
#include "table_functions/funnel.hpp"
#include "table_functions/highpass.hpp"
#include "table_functions/lowpass.hpp"
#include "table_functions/lttb.hpp"
#include "table_functions/m4.hpp"
#include "table_functions/pattern_match.hpp"
#include "table_functions/resample.hpp"
#include "table_functions/session.hpp"
#include "table_functions/states.hpp"
#include "table_functions/time_windows.hpp"
#include "table_functions/variation.hpp"
#include "table_functions/xcorr.hpp"

namespace merganser {

static vector<shared_ptr<const TableFunctionDefinition>> &Registered() {
	static vector<shared_ptr<const TableFunctionDefinition>> functions {
	    make_shared_ptr<TumbleFunction>(),       make_shared_ptr<HopFunction>(),
	    make_shared_ptr<CumulateFunction>(),     make_shared_ptr<SessionFunction>(),
	    make_shared_ptr<VariationFunction>(),    make_shared_ptr<CapacityFunction>(),
	    make_shared_ptr<M4Function>(),           make_shared_ptr<LttbFunction>(),
	    make_shared_ptr<FftFunction>(),          make_shared_ptr<LowpassFunction>(),
	    make_shared_ptr<HighpassFunction>(),     make_shared_ptr<XcorrFunction>(),
	    make_shared_ptr<PatternMatchFunction>(), make_shared_ptr<ResampleFunction>(),
	    make_shared_ptr<StatesFunction>(),       make_shared_ptr<FunnelFunction>(),
	};
	return functions;
}

const vector<shared_ptr<const TableFunctionDefinition>> &TableFunctionRegistry::Functions() {
	return Registered();
}

optional_ptr<const TableFunctionDefinition> TableFunctionRegistry::Find(const string &name) {
	for (auto &function : Registered()) {
		if (StringUtil::CIEquals(function->name, name)) {
			return function.get();
		}
	}
	return nullptr;
}

void TableFunctionRegistry::Add(shared_ptr<const TableFunctionDefinition> definition) {
	if (Find(definition->name)) {
		throw InvalidInputException("There already is a table function %s", definition->name);
	}
	Registered().push_back(std::move(definition));
}

} // namespace merganser
