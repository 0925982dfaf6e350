#include "window_settings.hpp"

namespace merganser {

static Value Current(ClientContext &context, const char *name) {
	Value result;
	if (!context.TryGetCurrentSetting(name, result) || result.IsNull()) {
		throw InvalidInputException("Setting \"%s\" has no value; use RESET %s", name, name);
	}
	return result;
}

bool WindowSettings::Enabled(ClientContext &context) {
	return BooleanValue::Get(Current(context, ENABLED));
}

idx_t WindowSettings::MinRows(ClientContext &context) {
	return UBigIntValue::Get(Current(context, MIN_ROWS));
}

} // namespace merganser
