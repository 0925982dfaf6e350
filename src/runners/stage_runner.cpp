#include "runners/stage_runner.hpp"

#include "runners/foreign_runner.hpp"
#include "runners/local_runner.hpp"

namespace merganser {

unique_ptr<StageRunner> StageRunner::Make(QueryRun run) {
	auto name = Settings::Runner(run.context);
	if (name == LocalRunner::NAME || name.empty() || !run.why_here.empty()) {
		return make_uniq<LocalRunner>(std::move(run));
	}
	return make_uniq<ForeignRunner>(name, std::move(run));
}

bool StageRunner::MustEnd(const ClientContext &context) {
	try {
		context.BlockingInterruptCheck();
	} catch (const InterruptException &) {
		return true; // Finish throws it
	}
	return false;
}

} // namespace merganser
