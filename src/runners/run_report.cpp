#include "runners/run_report.hpp"

#include "runners/json_document.hpp"

#include <mutex>

using namespace duckdb_yyjson; // NOLINT

namespace merganser {

namespace {

std::mutex last_report_lock;
string last_report;

//! Rows or bytes the tasks of a stage read from the exchanges of other stages.
idx_t ReadFromStages(const StageReport &report, const std::function<idx_t(idx_t stage)> &written) {
	idx_t result = 0;
	for (auto &relation : report.decision.relations) {
		if (relation.IsInput() && relation.input.stage.IsValid()) {
			auto readers = relation.input.mode == ReadMode::ALL ? report.tasks.size() : 1;
			result += written(relation.input.stage.GetIndex()) * readers;
		}
	}
	return result;
}

void AddTimeline(JsonDocument &document, yyjson_mut_val *stage, const vector<TaskReport> &tasks) {
	auto list = yyjson_mut_obj_add_arr(document.Get(), stage, "timeline");
	for (auto &task : tasks) {
		auto object = yyjson_mut_arr_add_obj(document.Get(), list);
		document.AddText(object, "worker", StringUtil::Format("thread %llu", task.worker + 1));
		document.AddSeconds(object, "started", task.started);
		document.AddSeconds(object, "seconds", task.seconds);
	}
}

} // namespace

idx_t StageReport::RowsOut() const {
	idx_t result = 0;
	for (auto &task : tasks) {
		result += task.rows_out;
	}
	return result;
}

idx_t StageReport::BytesOut() const {
	idx_t result = 0;
	for (auto &task : tasks) {
		result += task.bytes_out;
	}
	return result;
}

double StageReport::TaskSeconds() const {
	double result = 0;
	for (auto &task : tasks) {
		result += task.seconds;
	}
	return result;
}

double StageReport::Skew() const {
	vector<double> seconds;
	for (auto &task : tasks) {
		seconds.push_back(task.seconds);
	}
	std::sort(seconds.begin(), seconds.end());
	auto median = seconds.empty() ? 0 : seconds[seconds.size() / 2];
	return median > 0 ? seconds.back() / median : 1;
}

string RunReport::ToJson(const string &runner, const QueryStages &query) const {
	JsonDocument document;
	document.AddText(document.Root(), "runner", runner);
	document.AddSeconds(document.Root(), "wall_seconds", wall_seconds);
	auto list = yyjson_mut_obj_add_arr(document.Get(), document.Root(), "stages");
	for (idx_t i = 0; i < stages.size(); i++) {
		auto &stage = *query.stages[i];
		auto &report = stages[i];
		auto object = yyjson_mut_arr_add_obj(document.Get(), list);
		document.AddNumber(object, "stage", stage.number);
		document.AddText(object, "partitioning", stage.PartitioningText());
		document.AddText(object, "reads", stage.InputsText());
		document.AddNumber(object, "tasks", report.tasks.size());
		document.AddSeconds(object, "task_seconds", report.TaskSeconds());
		document.AddSeconds(object, "wall_seconds", report.wall_seconds);
		document.AddNumber(object, "rows_in", report.decision.ScannedRows() + ReadFromStages(report, [&](idx_t number) {
			                                      return stages[number - 1].RowsOut();
		                                      }));
		document.AddNumber(object, "rows_out", report.RowsOut());
		document.AddNumber(object, "bytes_in",
		                   ReadFromStages(report, [&](idx_t number) { return stages[number - 1].BytesOut(); }));
		document.AddNumber(object, "bytes_out", report.BytesOut());
		document.AddNumber(object, "estimated_rows", stage.estimated_rows);
		document.AddNumber(object, "retries", 0);
		document.AddSeconds(object, "skew", report.Skew());
		document.AddNumber(object, "spilled_bytes", 0);
		document.AddText(object, "slowest_worker", report.tasks.empty() ? "" : "this process");
		document.AddTexts(object, "decisions", report.decision.reasons);
		AddTimeline(document, object, report.tasks);
	}
	return document.Text();
}

void LastReport::Set(string json) {
	std::lock_guard<std::mutex> guard(last_report_lock);
	last_report = std::move(json);
}

string LastReport::Get() {
	std::lock_guard<std::mutex> guard(last_report_lock);
	return last_report;
}

} // namespace merganser

extern "C" {

const char *merganser_last_query() {
	static thread_local std::string text;
	text = merganser::LastReport::Get();
	return text.c_str();
}
}
