#define CATCH_CONFIG_RUNNER
#include "catch.hpp"

#include <iostream>

namespace {

struct Summary : Catch::TestEventListenerBase {
	using TestEventListenerBase::TestEventListenerBase;

	void testRunEnded(const Catch::TestRunStats &stats) override {
		auto &cases = stats.totals.testCases;
		std::cout << cases.passed << " passed, " << cases.failed << " failed" << std::endl;
	}
};

CATCH_REGISTER_LISTENER(Summary)

} // namespace

//! Called by run.py. Takes Catch2's command line; returns the number of failed assertions, at most 255.
extern "C" int merganser_run_tests(int argc, char **argv) {
	return Catch::Session().run(argc, argv);
}
