#include "stages/stages_pause.hpp"

#include "duckdb/main/client_context_state.hpp"

namespace merganser {

namespace {

struct PauseCount : public ClientContextState {
	idx_t pauses = 0;

	static PauseCount &Get(ClientContext &context) {
		return *context.registered_state->GetOrCreate<PauseCount>("merganser_stages_pause");
	}
};

} // namespace

StagesPause::StagesPause(ClientContext &context) : context(context) {
	PauseCount::Get(context).pauses++;
}

StagesPause::~StagesPause() {
	PauseCount::Get(context).pauses--;
}

bool StagesPause::IsActive(ClientContext &context) {
	return PauseCount::Get(context).pauses > 0;
}

} // namespace merganser
