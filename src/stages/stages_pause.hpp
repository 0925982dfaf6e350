//===----------------------------------------------------------------------===//
//                         Merganser
//
// stages/stages_pause.hpp
//
// While a pause lives, queries planned on its connection are not replaced by staged ones: a plan is needed only to be
// looked at or to be cut.
//===----------------------------------------------------------------------===//

#pragma once

#include "settings.hpp"

namespace merganser {

class StagesPause {
public:
	explicit StagesPause(ClientContext &context);
	~StagesPause();

	static bool IsActive(ClientContext &context);

private:
	ClientContext &context;
};

} // namespace merganser
