#include "runners/copy_manifest.hpp"

#include "runners/json_document.hpp"

#include "duckdb/common/types/uuid.hpp"

#include <fstream>

using namespace duckdb_yyjson; // NOLINT

namespace merganser {

namespace {

string Name(CopyOverwriteMode mode) {
	auto random = mode == CopyOverwriteMode::COPY_APPEND ? "_" + UUID::ToString(UUID::GenerateRandomUUID()) : "";
	return "_manifest" + random + ".merganser";
}

string Text(const TaskCopy &copy, const vector<WrittenFile> &files, idx_t rows) {
	JsonDocument document;
	auto root = document.Root();
	document.AddText(root, "format", copy.format);
	auto columns = yyjson_mut_obj_add_arr(document.Get(), root, "columns");
	for (auto &column : copy.columns) {
		auto entry = yyjson_mut_arr_add_obj(document.Get(), columns);
		document.AddText(entry, "name", column.first.GetIdentifierName());
		document.AddText(entry, "type", column.second.ToString());
	}
	document.AddTexts(root, "partition_by", copy.partition_by);
	idx_t bytes = 0;
	for (auto &file : files) {
		bytes += file.bytes;
	}
	document.AddNumber(root, "rows", rows);
	document.AddNumber(root, "bytes", bytes);
	auto list = yyjson_mut_obj_add_arr(document.Get(), root, "files");
	for (auto &file : files) {
		auto entry = yyjson_mut_arr_add_obj(document.Get(), list);
		document.AddText(entry, "path", file.relative);
		if (file.rows.IsValid()) {
			document.AddNumber(entry, "rows", file.rows.GetIndex());
		} else {
			yyjson_mut_obj_add_null(document.Get(), entry, "rows");
		}
		document.AddNumber(entry, "bytes", file.bytes);
	}
	return document.Text();
}

} // namespace

StagedFile CopyManifest::Write(const TaskCopy &copy, const vector<WrittenFile> &files, idx_t rows) {
	auto name = Name(copy.target.mode);
	auto path = std::filesystem::path(copy.target.staging) / name;
	std::ofstream stream(path);
	if (!(stream << Text(copy, files, rows) << std::flush)) {
		throw IOException("Cannot write \"%s\"", path.string());
	}
	return {path.string(), std::move(name)};
}

} // namespace merganser
