//===----------------------------------------------------------------------===//
//                         Merganser
//
// report/decline_reasons_function.hpp
//
//   FROM merganser_decline_reasons();
// Every reason for which a rule may leave a query alone: rule, code, meaning, remedy, all VARCHAR. It is the table that
// merganser_explain takes its words from.
//===----------------------------------------------------------------------===//

#pragma once

#include "settings.hpp"

namespace merganser {

struct DeclineReasonsFunction {
	static void Register(ExtensionLoader &loader);
};

} // namespace merganser
