#include "runners/written_files.hpp"

#include <filesystem>

namespace merganser {

namespace {

//! What one task wrote, as RETURN_FILES says it.
vector<WrittenFile> FilesOfTask(idx_t rows, const Value &paths) {
	vector<WrittenFile> result;
	auto &list = ListValue::GetChildren(paths);
	for (auto &path : list) {
		WrittenFile file;
		file.staged = path.ToString();
		file.has_rows = rows > 0;
		if (list.size() == 1) {
			file.rows = rows;
		}
		result.push_back(std::move(file));
	}
	return result;
}

//! One file, as RETURN_STATS says it.
WrittenFile FileWithStatistics(vector<Value> row) {
	WrittenFile file;
	file.staged = row[0].ToString();
	auto rows = row[1].GetValue<idx_t>();
	file.rows = rows;
	file.has_rows = rows > 0;
	file.statistics = std::move(row);
	return file;
}

idx_t SizeOf(const string &staged) {
	std::error_code error;
	auto size = std::filesystem::file_size(staged, error);
	if (error) {
		throw IOException("A task wrote \"%s\", which this process does not see", staged);
	}
	return size;
}

} // namespace

WrittenFiles::WrittenFiles(const TaskCopy &copy) : copy(copy) {
}

void WrittenFiles::Add(const DataChunk &list) {
	for (idx_t row = 0; row < list.size(); row++) {
		vector<Value> values;
		for (idx_t column = 0; column < list.ColumnCount(); column++) {
			values.push_back(list.GetValue(column, row));
		}
		if (copy.list_type == CopyFunctionReturnType::WRITTEN_FILE_STATISTICS) {
			files.push_back(FileWithStatistics(std::move(values)));
			rows += files.back().rows.GetIndex();
			continue;
		}
		auto rows_of_task = NumericCast<idx_t>(values[0].GetValue<int64_t>());
		rows += rows_of_task;
		for (auto &file : FilesOfTask(rows_of_task, values[1])) {
			files.push_back(std::move(file));
		}
	}
}

void WrittenFiles::Name(FileSystem &file_system, const string &suffix) {
	LeaveOutEmptyFiles();
	unordered_map<string, idx_t> numbers;
	unordered_set<string> names;
	for (auto &file : files) {
		NameFile(file_system, suffix, file, numbers);
		if (!names.insert(file.relative).second) {
			throw InvalidInputException(
			    "FILENAME_PATTERN gives two files the name \"%s\"; write {i} or {uuid} in it, without a folder",
			    file.relative);
		}
	}
}

void WrittenFiles::LeaveOutEmptyFiles() {
	auto has_rows = [](const WrittenFile &file) {
		return file.has_rows;
	};
	auto end = std::stable_partition(files.begin(), files.end(), has_rows);
	auto kept = NumericCast<idx_t>(end - files.begin());
	files.resize(kept == 0 && !files.empty() ? 1 : kept);
}

void WrittenFiles::NameFile(FileSystem &file_system, const string &suffix, WrittenFile &file,
                            unordered_map<string, idx_t> &numbers) const {
	file.bytes = SizeOf(file.staged);
	// <staging>/<attempt>/<hive folders>/<file>
	auto below = std::filesystem::path(file.staged).lexically_relative(copy.target.staging);
	auto hive = below.parent_path().lexically_relative(*below.begin());
	auto folder = hive == "." ? copy.target.folder : file_system.JoinPath(copy.target.folder, hive.string());
	file.path = copy.filename_pattern.CreateFilename(file_system, folder, copy.file_extension, numbers[folder]++);
	if (copy.has_default_names) {
		file.path.insert(file.path.size() - copy.file_extension.size() - 1, suffix);
	}
	file.relative = std::filesystem::path(file.path).lexically_relative(copy.target.folder).string();
	if (std::filesystem::path(file.path).parent_path() != (std::filesystem::path(folder) / "file").parent_path()) {
		throw InvalidInputException("FILENAME_PATTERN must name a file, not one in another folder: \"%s\"",
		                            file.relative);
	}
	if (!file.statistics.empty()) {
		file.statistics[0] = Value(file.path);
	}
}

vector<vector<Value>> WrittenFiles::ReturnedRows() const {
	if (copy.return_type == CopyFunctionReturnType::WRITTEN_FILE_STATISTICS) {
		vector<vector<Value>> result;
		for (auto &file : files) {
			result.push_back(file.statistics);
		}
		return result;
	}
	vector<Value> row = {Value::BIGINT(NumericCast<int64_t>(rows))};
	if (copy.return_type == CopyFunctionReturnType::CHANGED_ROWS_AND_FILE_LIST) {
		vector<Value> paths;
		for (auto &file : files) {
			paths.emplace_back(file.path);
		}
		row.push_back(Value::LIST(LogicalType::VARCHAR, std::move(paths)));
	}
	return {std::move(row)};
}

} // namespace merganser
