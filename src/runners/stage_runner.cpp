#include "runners/stage_runner.hpp"

#include "runners/foreign_runner.hpp"
#include "runners/local_runner.hpp"

namespace merganser {

unique_ptr<StageRunner> StageRunner::Make(QueryRun run) {
	auto name = Settings::Runner(run.context);
	if (name == LocalRunner::NAME || name.empty()) {
		return make_uniq<LocalRunner>(std::move(run));
	}
	CheckName(name);
	return make_uniq<ForeignRunner>(name, std::move(run));
}

void StageRunner::CheckName(const string &name) {
	if (name.empty() || name == LocalRunner::NAME || ForeignRunner::IsRegistered(name)) {
		return;
	}
	throw InvalidInputException(
	    "Setting \"merganser_runner\" must be '%s', empty, or a runner this process has; '%s' is none. In Python, "
	    "merganser.connect(runner=\"ray\") brings 'ray'",
	    LocalRunner::NAME, name);
}

} // namespace merganser
