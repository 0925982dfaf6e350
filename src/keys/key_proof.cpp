#include "keys/key_proof.hpp"

#include "duckdb/common/error_data.hpp"
#include "duckdb/execution/execution_context.hpp"
#include "duckdb/parallel/thread_context.hpp"

#include <chrono>

namespace merganser {

namespace {

//! One reading of a scan, by this thread.
class Reading {
public:
	Reading(ClientContext &context, const LogicalGet &get, const vector<ColumnIndex> &columns,
	        const vector<LogicalType> &types)
	    : context(context), function(get.function), bind_data(get.bind_data->Copy()), thread(context),
	      execution(context, thread, nullptr) {
		chunk.Initialize(context, types);
		TableFunctionInitInput input(bind_data.get(), columns, vector<idx_t>(), nullptr);
		if (function.init_global) {
			global_state = function.init_global(context, input);
		}
		if (function.init_local) {
			local_state = function.init_local(execution, input, global_state.get());
		}
	}

	//! The next rows, which are none where it ends.
	DataChunk &Next() {
		chunk.Reset();
		while (!finished && chunk.size() == 0) {
			context.InterruptCheck();
			chunk.Reset();
			TableFunctionInput data(bind_data.get(), local_state.get(), global_state.get());
			data.async_result = AsyncResultType::IMPLICIT;
			function.function(context, data, chunk);
			auto result = data.async_result.GetResultType();
			if (result == AsyncResultType::BLOCKED) {
				data.async_result.ExecuteTasksSynchronously(context);
				continue;
			}
			finished = AsyncResult::GetSourceResultType(result, chunk.size()) == SourceResultType::FINISHED;
		}
		return chunk;
	}

private:
	ClientContext &context;
	const BoundTableFunction &function;
	unique_ptr<FunctionData> bind_data;
	ThreadContext thread;
	ExecutionContext execution;
	unique_ptr<GlobalTableFunctionState> global_state;
	unique_ptr<LocalTableFunctionState> local_state;
	DataChunk chunk;
	bool finished = false;
};

KeyProof::Outcome Read(ClientContext &context, const LogicalGet &get, const vector<ColumnIndex> &columns, idx_t &rows) {
	vector<LogicalType> types;
	for (auto &column : columns) {
		types.push_back(get.GetColumnType(column));
	}
	Reading reading(context, get, columns, types);
	KeyValues values(context, std::move(types));
	while (true) {
		auto &chunk = reading.Next();
		if (chunk.size() == 0) {
			return KeyProof::Outcome::HOLDS;
		}
		rows += chunk.size();
		switch (values.Add(chunk)) {
		case KeyBreach::DUPLICATE:
			return KeyProof::Outcome::DUPLICATE;
		case KeyBreach::HAS_NULL:
			return KeyProof::Outcome::HAS_NULL;
		case KeyBreach::NONE:
			break;
		}
	}
}

//! What is wrong with the data or its size is an answer; what is wrong with the statement or with us is an error.
bool IsAnswer(const ErrorData &error) {
	switch (error.Type()) {
	case ExceptionType::IO:
	case ExceptionType::HTTP:
	case ExceptionType::CONVERSION:
	case ExceptionType::INVALID_INPUT:
	case ExceptionType::OUT_OF_RANGE:
	case ExceptionType::OUT_OF_MEMORY:
		return true;
	default:
		return false;
	}
}

} // namespace

KeyProof KeyProof::Take(ClientContext &context, const LogicalGet &get, const vector<ColumnIndex> &columns) {
	KeyProof result;
	auto start = std::chrono::steady_clock::now();
	try {
		result.outcome = Read(context, get, columns, result.rows);
	} catch (const std::exception &exception) {
		if (!IsAnswer(ErrorData(exception))) {
			throw;
		}
		result.outcome = Outcome::UNREADABLE;
	}
	std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - start;
	result.milliseconds = elapsed.count();
	return result;
}

string KeyProof::ToString() const {
	switch (outcome) {
	case Outcome::HOLDS:
		return "holds";
	case Outcome::DUPLICATE:
		return "a value stands twice";
	case Outcome::HAS_NULL:
		return "has NULL";
	case Outcome::CHANGED:
		return "changed while it was read";
	default:
		return "cannot be read";
	}
}

} // namespace merganser
