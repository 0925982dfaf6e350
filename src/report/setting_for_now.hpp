//===----------------------------------------------------------------------===//
//                         Merganser
//
// report/setting_for_now.hpp
//
// A setting of the connection has another value while this lives, to plan a statement as it would be planned with it.
// Afterwards it is what it was: the session's own value, or none.
//===----------------------------------------------------------------------===//

#pragma once

#include "settings.hpp"

namespace merganser {

class SettingForNow {
public:
	SettingForNow(ClientContext &context, const string &name, Value value);
	~SettingForNow();
	SettingForNow(const SettingForNow &) = delete;
	SettingForNow &operator=(const SettingForNow &) = delete;

private:
	ClientContext &context;
	idx_t index;
	bool was_set;
	Value before;
};

} // namespace merganser
