#include "table_functions/lowpass.hpp"

#include "table_functions/frequency_filter.hpp"

namespace merganser {

LowpassFunction::LowpassFunction() {
	name = "LOWPASS";
	description = "Removes the frequencies above WPASS";
	pass_through = false;
	parameters = FrequencyFilter::Parameters();
}

unique_ptr<BoundProcessor> LowpassFunction::Bind(ClientContext &context, const BoundArguments &arguments) const {
	return FrequencyFilter::Bind(arguments, [](idx_t bin, double edge) { return static_cast<double>(bin) >= edge; });
}

} // namespace merganser
