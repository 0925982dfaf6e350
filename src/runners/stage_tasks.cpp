#include "runners/stage_tasks.hpp"

#include "exchange/exchange_scan.hpp"

#include <numeric>

using namespace duckdb_yyjson; // NOLINT

namespace merganser {

namespace {

//! A byte every task reads whole, often into a hash table, is worth so many bytes of its own.
const idx_t OWN_FOR_WHOLE = 4;

idx_t Sum(const vector<idx_t> &bytes) {
	return std::accumulate(bytes.begin(), bytes.end(), idx_t(0));
}

//! Neighbours together as long as they have at most `most` bytes. Empty shares come with the ones before them.
vector<Shares> Neighbours(const vector<idx_t> &bytes, idx_t most) {
	vector<Shares> result {{0, 0}};
	idx_t of_task = 0;
	for (idx_t share = 0; share < bytes.size(); share++) {
		if (of_task > 0 && bytes[share] > 0 && of_task + bytes[share] > most) {
			result.push_back({share, share});
			of_task = 0;
		}
		of_task += bytes[share];
		result.back().last = share + 1;
	}
	return result;
}

//! One share for each task, or several neighbours where there are fewer tasks.
vector<Shares> Evenly(idx_t shares, idx_t tasks) {
	vector<Shares> result;
	for (idx_t task = 0; task < tasks; task++) {
		result.push_back({task * shares / tasks, (task + 1) * shares / tasks});
	}
	return result;
}

void AddStatement(JsonDocument &document, yyjson_mut_val *list, const vector<SqlPart> &parts) {
	auto statement = yyjson_mut_arr_add_arr(document.Get(), list);
	for (auto &part : parts) {
		if (part.kind == SqlPart::Kind::TEXT) {
			yyjson_mut_arr_add_strncpy(document.Get(), statement, part.text.c_str(), part.text.size());
			continue;
		}
		auto object = yyjson_mut_arr_add_obj(document.Get(), statement);
		switch (part.kind) {
		case SqlPart::Kind::FILES:
			document.AddText(object, "files", part.text);
			break;
		case SqlPart::Kind::IDENTITIES:
			document.AddText(object, "identities", part.text);
			break;
		default:
			yyjson_mut_obj_add_bool(document.Get(), object, "target", true);
		}
	}
}

void AddFile(JsonDocument &document, yyjson_mut_val *list, const Value &file) {
	auto object = yyjson_mut_arr_add_obj(document.Get(), list);
	auto &names = StructType::GetChildTypes(file.type());
	auto &values = StructValue::GetChildren(file);
	for (idx_t i = 0; i < values.size(); i++) {
		auto name = names[i].first.GetIdentifierName();
		auto key = yyjson_mut_strncpy(document.Get(), name.c_str(), name.size());
		if (values[i].type().id() == LogicalTypeId::VARCHAR) {
			auto &text = StringValue::Get(values[i]);
			yyjson_mut_obj_add(object, key, yyjson_mut_strncpy(document.Get(), text.c_str(), text.size()));
		} else {
			yyjson_mut_obj_add(object, key, yyjson_mut_sint(document.Get(), BigIntValue::Get(values[i])));
		}
	}
}

//! {"merganser_scan_3_files": [{"filename": "...", ...}, ...]} of one task.
void AddLists(JsonDocument &document, yyjson_mut_val *tasks, const vector<FileList> &lists) {
	auto object = yyjson_mut_arr_add_obj(document.Get(), tasks);
	for (auto &list : lists) {
		auto name = yyjson_mut_strncpy(document.Get(), list.variable.c_str(), list.variable.size());
		auto files = yyjson_mut_arr(document.Get());
		for (auto &file : list.files) {
			AddFile(document, files, file);
		}
		yyjson_mut_obj_add(object, name, files);
	}
}

void AddInput(JsonDocument &document, yyjson_mut_val *list, const TaskRelation &relation) {
	auto object = yyjson_mut_arr_add_obj(document.Get(), list);
	document.AddText(object, "name", relation.name);
	if (relation.input.stage.IsValid()) {
		document.AddNumber(object, "stage", relation.input.stage.GetIndex());
	} else {
		document.AddNumber(object, "sent", relation.input.sent.GetIndex());
	}
	yyjson_mut_obj_add_bool(document.Get(), object, "all", relation.input.mode == ReadMode::ALL);
}

string PartitionList(const Shares &shares) {
	vector<string> numbers;
	for (auto share = shares.first; share < shares.last; share++) {
		numbers.push_back(to_string(share));
	}
	return "[" + StringUtil::Join(numbers, ", ") + "]";
}

//! What follows the list of files in a read of these of `of` shares.
string ReadOptions(const StageInput &input, const Shares &shares, idx_t of) {
	string result;
	if (input.mode == ReadMode::CONSECUTIVE && shares.Count() > 0 && shares.Count() < of) {
		result += StringUtil::Format(", consecutive := [%llu, %llu, %llu]", shares.first, shares.last, of);
	}
	if (input.mode == ReadMode::PARTITION && shares.Count() > 0 && shares.Count() < of) {
		result += ", partitions := " + PartitionList(shares);
	}
	result += input.ordered ? ", ordered := true)" : ")";
	return input.mode != ReadMode::ALL && shares.Count() == 0 ? result + " WHERE false" : result;
}

} // namespace

const StageInput &StageDecision::InputOf(const string &name) const {
	for (auto &relation : relations) {
		if (relation.IsInput() && relation.name == name) {
			return relation.input;
		}
	}
	throw InternalException("No input of the stage is named %s", name);
}

idx_t StageDecision::ScannedRows() const {
	idx_t result = 0;
	for (auto &relation : relations) {
		result += relation.scan ? relation.scan->Rows() : 0;
	}
	return result;
}

StageTasks::StageTasks(shared_ptr<const QueryStages> query_p, idx_t task_bytes)
    : query(std::move(query_p)), task_bytes(task_bytes) {
}

void StageTasks::StageEnds(idx_t stage, vector<idx_t> partition_bytes) {
	bytes_of_stages.emplace(stage, std::move(partition_bytes));
}

void StageTasks::RowsAreSent(idx_t sent, vector<idx_t> partition_bytes) {
	bytes_of_sent.emplace(sent, std::move(partition_bytes));
}

vector<idx_t> StageTasks::Awaited(idx_t stage) const {
	vector<idx_t> result;
	for (auto &input : query->Get(stage).inputs) {
		if (input.stage.IsValid()) {
			result.push_back(input.stage.GetIndex());
		}
	}
	for (auto &late : query->late_broadcasts) {
		if (late.other == stage) {
			result.push_back(late.small);
		}
	}
	return result;
}

const StageDecision &StageTasks::Decide(idx_t number) {
	auto known = decisions.find(number);
	if (known != decisions.end()) {
		return known->second;
	}
	auto &stage = query->Get(number);
	StageDecision decision;
	ComputeInside(stage, decision);
	if (!decision.inside.IsValid()) {
		AddRelations(stage, decision);
		Divide(stage, decision);
	}
	decision.repeatable = stage.IsRepeatable();
	for (auto &relation : decision.relations) {
		decision.repeatable = decision.repeatable && (!relation.stage || relation.stage->IsRepeatable());
	}
	return decisions.emplace(number, std::move(decision)).first->second;
}

bool StageTasks::IsSmall(const LateBroadcast &late) const {
	auto bytes = bytes_of_stages.find(late.small);
	return bytes != bytes_of_stages.end() && Sum(bytes->second) <= late.max_bytes;
}

void StageTasks::ComputeInside(const Stage &stage, StageDecision &decision) const {
	for (auto &late : query->late_broadcasts) {
		if (late.other == stage.number && IsSmall(late)) {
			decision.inside = late.reader;
			decision.reasons.push_back(StringUtil::Format(
			    "computed inside stage %llu, because stage %llu, the other side of its join, has only "
			    "%llu bytes",
			    late.reader, late.small, Sum(bytes_of_stages.at(late.small))));
		}
	}
}

void StageTasks::AddRelations(const Stage &stage, StageDecision &decision) const {
	for (auto &scan : stage.scans) {
		TaskRelation relation;
		relation.name = scan.name;
		relation.scan = scan;
		decision.relations.push_back(std::move(relation));
	}
	for (auto &input : stage.inputs) {
		AddRelation(stage, input, decision);
	}
}

void StageTasks::AddRelation(const Stage &stage, const StageInput &input, StageDecision &decision) const {
	TaskRelation relation;
	relation.name = input.Name();
	relation.input = input;
	for (auto &other : decision.relations) {
		if (other.name == relation.name) {
			other.input.ordered = other.input.ordered || input.ordered;
			return;
		}
	}
	for (auto &late : query->late_broadcasts) {
		if (late.reader != stage.number || !input.stage.IsValid() || !IsSmall(late)) {
			continue;
		}
		if (input.stage.GetIndex() == late.other) {
			relation.stage = query->Get(late.other);
			AddRelations(*relation.stage, decision);
		}
		if (input.stage.GetIndex() == late.small) {
			relation.input.mode = ReadMode::ALL;
			decision.reasons.push_back(
			    StringUtil::Format("stage %llu, only %llu bytes, goes to all tasks; stage %llu is computed here",
				                   late.small, Sum(bytes_of_stages.at(late.small)), late.other));
		}
	}
	decision.relations.push_back(std::move(relation));
}

const vector<idx_t> &StageTasks::Bytes(const StageInput &input) const {
	auto &known = input.stage.IsValid() ? bytes_of_stages : bytes_of_sent;
	auto bytes = known.find(input.stage.IsValid() ? input.stage.GetIndex() : input.sent.GetIndex());
	if (bytes == known.end()) {
		throw InvalidInputException("%s has not ended yet", input.Name());
	}
	return bytes->second;
}

void StageTasks::Divide(const Stage &stage, StageDecision &decision) const {
	if (stage.shares == 1 || task_bytes == 0) {
		decision.tasks = Evenly(stage.shares, stage.tasks);
		return;
	}
	vector<idx_t> bytes(stage.shares, 0);
	idx_t read_whole = 0;
	for (auto &relation : decision.relations) {
		if (relation.IsInput() && relation.input.mode == ReadMode::ALL) {
			read_whole += Sum(Bytes(relation.input));
			continue;
		}
		AddBytes(relation, stage.shares, bytes);
	}
	auto all = Sum(bytes);
	auto wanted = MaxValue<idx_t>(all / MaxValue(task_bytes, OWN_FOR_WHOLE * read_whole), 1);
	if (stage.shares > stage.tasks) {
		wanted = MinValue(wanted, stage.tasks);
	}
	// Shares differ a little in size: half of one more is no reason for another task.
	decision.tasks = Neighbours(bytes, all / wanted + all / (2 * stage.shares));
	if (decision.tasks.size() < stage.shares) {
		decision.reasons.push_back(
		    StringUtil::Format("%llu shares of %llu bytes in %llu tasks", stage.shares, all, decision.tasks.size()));
	}
}

//! What each of the shares of a stage reads of a relation that is divided among them.
void StageTasks::AddBytes(const TaskRelation &relation, idx_t shares, vector<idx_t> &bytes) const {
	if (!relation.scan && !relation.IsInput()) {
		return;
	}
	auto &placement = relation.scan ? relation.scan->placement : relation.input.placement;
	auto count = placement.Count(shares);
	vector<idx_t> own;
	if (relation.scan) {
		own = relation.scan->BytesOfShares(count);
	} else if (relation.input.mode == ReadMode::CONSECUTIVE) {
		own.assign(count, Sum(Bytes(relation.input)) / count);
	} else {
		own = Bytes(relation.input);
	}
	for (idx_t share = 0; share < count; share++) {
		bytes[placement.first + share] += own[share];
	}
}

vector<SqlPart> StageTasks::Sql(idx_t number, idx_t task) const {
	auto &stage = query->Get(number);
	auto &decision = decisions.at(number);
	auto &shares = decision.tasks[task];
	vector<SqlPart> result {{SqlPart::Kind::TEXT, "COPY ("}};
	auto add = [&](const string &text) {
		result.back().text += text;
	};
	auto add_unknown = [&](SqlPart::Kind kind, const string &name) {
		result.push_back({kind, name});
		result.push_back({SqlPart::Kind::TEXT, ""});
	};
	auto separator = "WITH ";
	for (auto &relation : decision.relations) {
		add(separator + relation.name + " AS NOT MATERIALIZED (");
		separator = ", ";
		if (relation.scan) {
			auto &placement = relation.scan->placement;
			add(relation.scan->SliceSql(placement.Of(shares, stage.shares), placement.Count(stage.shares)));
		} else if (relation.stage) {
			add(relation.stage->query->ToString());
		} else {
			add(StringUtil::Format("FROM system.main.%s(", ExchangeScan::NAME));
			add_unknown(SqlPart::Kind::FILES, relation.name);
			add(", identities := ");
			add_unknown(SqlPart::Kind::IDENTITIES, relation.name);
			auto &placement = relation.input.placement;
			add(ReadOptions(relation.input, placement.Of(shares, stage.shares), placement.Count(stage.shares)));
		}
		add(")");
	}
	add(" FROM (" + stage.query->ToString() + ")) TO ");
	add_unknown(SqlPart::Kind::TARGET, "");
	add(" (" + stage.WriteOptions() + ")");
	return result;
}

vector<FileList> StageTasks::Lists(idx_t number, idx_t task) const {
	auto &stage = query->Get(number);
	auto &decision = decisions.at(number);
	vector<FileList> result;
	for (auto &relation : decision.relations) {
		if (relation.scan) {
			auto &placement = relation.scan->placement;
			auto own = placement.Of(decision.tasks[task], stage.shares);
			for (auto &list : relation.scan->Lists(own, placement.Count(stage.shares))) {
				result.push_back(std::move(list));
			}
		}
	}
	return result;
}

void StageTasks::WriteJson(idx_t number, JsonDocument &document) {
	auto &decision = Decide(number);
	auto list = yyjson_mut_obj_add_arr(document.Get(), document.Root(), "tasks");
	for (idx_t task = 0; task < decision.tasks.size(); task++) {
		AddStatement(document, list, Sql(number, task));
	}
	auto lists = yyjson_mut_obj_add_arr(document.Get(), document.Root(), "lists");
	for (idx_t task = 0; task < decision.tasks.size(); task++) {
		AddLists(document, lists, Lists(number, task));
	}
	auto inputs = yyjson_mut_obj_add_arr(document.Get(), document.Root(), "inputs");
	for (auto &relation : decision.relations) {
		if (relation.IsInput()) {
			AddInput(document, inputs, relation);
		}
	}
	yyjson_mut_obj_add_bool(document.Get(), document.Root(), "repeatable", decision.repeatable);
	document.AddNumber(document.Root(), "scanned_rows", decision.ScannedRows());
	document.AddTexts(document.Root(), "decisions", decision.reasons);
}

string StageTasks::ToJson(idx_t stage) {
	try {
		JsonDocument document;
		WriteJson(stage, document);
		return document.Text();
	} catch (std::exception &exception) {
		JsonDocument document;
		document.AddText(document.Root(), "error", ErrorData(exception).RawMessage());
		return document.Text();
	}
}

vector<ExchangeFileName> StageTasks::RowsAreSent(FileSystem &file_system, const vector<string> &paths) {
	vector<ExchangeFileName> result;
	for (idx_t sent = 0; sent < paths.size(); sent++) {
		auto file = ExchangeFiles::Of(file_system, {paths[sent]});
		RowsAreSent(sent, file.PartitionBytes());
		result.push_back(file.names[0]);
	}
	return result;
}

} // namespace merganser
