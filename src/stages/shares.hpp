//===----------------------------------------------------------------------===//
//                         Merganser
//
// stages/shares.hpp
//
// Neighbouring shares of a stage, of which one task computes all.
//===----------------------------------------------------------------------===//

#pragma once

#include "settings.hpp"

namespace merganser {

//! The shares first to last - 1 of a stage.
struct Shares {
	idx_t first;
	idx_t last;

	idx_t Count() const {
		return last - first;
	}
};

} // namespace merganser
