#include "table_functions/highpass.hpp"

#include "table_functions/frequency_filter.hpp"

namespace merganser {

HighpassFunction::HighpassFunction() {
	name = "HIGHPASS";
	description = "Removes the frequencies below WPASS";
	pass_through = false;
	parameters = FrequencyFilter::Parameters();
}

unique_ptr<BoundProcessor> HighpassFunction::Bind(ClientContext &context, const BoundArguments &arguments) const {
	return FrequencyFilter::Bind(arguments, [](idx_t bin, double edge) { return static_cast<double>(bin) <= edge; });
}

} // namespace merganser
