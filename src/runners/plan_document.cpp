#include "runners/plan_document.hpp"

#include "runners/json_document.hpp"
#include "runners/session_settings.hpp"

using namespace duckdb_yyjson; // NOLINT

namespace merganser {

namespace {

void AddDatabases(JsonDocument &document, yyjson_mut_val *root, const QueryStages &stages) {
	auto list = yyjson_mut_obj_add_arr(document.Get(), root, "databases");
	unordered_set<string> added;
	for (auto &stage : stages.stages) {
		for (auto &scan : stage->scans) {
			if (!scan.database || !added.insert(scan.database->name).second) {
				continue;
			}
			auto entry = yyjson_mut_arr_add_obj(document.Get(), list);
			document.AddText(entry, "name", scan.database->name);
			document.AddText(entry, "path", scan.database->path);
			document.AddNumber(entry, "bytes", scan.database->bytes);
			document.AddNumber(entry, "changed", scan.database->changed);
		}
	}
}

void AddStage(JsonDocument &document, yyjson_mut_val *list, const Stage &stage, const StageTasks &tasks) {
	auto object = yyjson_mut_arr_add_obj(document.Get(), list);
	document.AddNumber(object, "stage", stage.number);
	document.AddText(object, "sql", stage.query->ToString());
	document.AddNumber(object, "tasks", stage.tasks);
	document.AddNumber(object, "partitions", stage.partitions);
	auto after = yyjson_mut_obj_add_arr(document.Get(), object, "after");
	for (auto number : tasks.Awaited(stage.number)) {
		yyjson_mut_arr_add_uint(document.Get(), after, number);
	}
	document.AddText(object, "partitioning", stage.PartitioningText());
	document.AddText(object, "reads", stage.InputsText());
	document.AddNumber(object, "estimated_rows", stage.estimated_rows);
	yyjson_mut_obj_add_bool(document.Get(), object, "repeatable", stage.IsRepeatable());
	document.AddText(object, "repeatability", stage.repeatability.ToString());
	document.AddTexts(object, "reasons", stage.reasons);
}

} // namespace

string PlanDocument::Write(const string &runner, const QueryRun &run, const StageTasks &tasks) {
	JsonDocument document;
	auto root = document.Root();
	document.AddText(root, "runner", runner);
	document.AddText(root, "folder", run.folder.Path());
	document.AddNumber(root, "slots", Settings::AskedSlots(run.context));
	document.AddTexts(root, "sent", run.sent_files);
	auto settings = yyjson_mut_obj_add_obj(document.Get(), root, "settings");
	for (auto &setting : SessionSettings::Changed(run.context)) {
		auto name = yyjson_mut_strncpy(document.Get(), setting.first.c_str(), setting.first.size());
		auto value = yyjson_mut_strncpy(document.Get(), setting.second.c_str(), setting.second.size());
		yyjson_mut_obj_add(settings, name, value);
	}
	document.AddTexts(root, "extensions", SessionSettings::Extensions(run.context));
	AddDatabases(document, root, *run.stages);
	auto stages = yyjson_mut_obj_add_arr(document.Get(), root, "stages");
	for (auto &stage : run.stages->stages) {
		AddStage(document, stages, *stage, tasks);
	}
	return document.Text();
}

} // namespace merganser
