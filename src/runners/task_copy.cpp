#include "runners/task_copy.hpp"

#include "runners/files_format.hpp"
#include "stages/plan_columns.hpp"

#include "duckdb/parser/expression/cast_expression.hpp"
#include "duckdb/parser/expression/columnref_expression.hpp"
#include "duckdb/parser/query_node/select_node.hpp"
#include "duckdb/parser/statement/select_statement.hpp"
#include "duckdb/parser/tableref/subqueryref.hpp"
#include "duckdb/planner/expression/bound_function_expression.hpp"

namespace merganser {

namespace {

bool IsFolder(const LogicalCopyToFile &copy) {
	return copy.per_thread_output || copy.rotate || !copy.partition_columns.empty();
}

//! DuckDB writes JSON as CSV of one column without quotes.
bool IsJson(const LogicalCopyToFile &copy) {
	auto quote = copy.copy_info->options.find(Identifier("quote"));
	return copy.function.name == "csv" && quote != copy.copy_info->options.end() && quote->second.size() == 1 &&
	       quote->second[0].ToString().empty();
}

child_list_t<LogicalType> Columns(const vector<Identifier> &names, const vector<LogicalType> &types) {
	child_list_t<LogicalType> result;
	for (idx_t i = 0; i < names.size(); i++) {
		result.emplace_back(names[i], types[i]);
	}
	return result;
}

//! The objects are what one function makes of a STRUCT of the query's columns.
child_list_t<LogicalType> ColumnsInObjects(const LogicalCopyToFile &copy) {
	auto result = Columns(copy.names, copy.expected_types);
	auto &rows = *copy.children[0];
	if (rows.type != LogicalOperatorType::LOGICAL_PROJECTION ||
	    rows.expressions[0]->GetExpressionClass() != ExpressionClass::BOUND_FUNCTION) {
		return result;
	}
	auto &arguments = rows.expressions[0]->Cast<BoundFunctionExpression>().GetChildren();
	if (arguments.empty() || arguments[0]->GetReturnType().id() != LogicalTypeId::STRUCT) {
		return result;
	}
	auto columns = StructType::GetChildTypes(arguments[0]->GetReturnType());
	columns.insert(columns.end(), result.begin() + 1, result.end());
	return columns;
}

//! One that no glob for data finds, while the files are staged. Text is compressed as its ending says.
string StagedExtension(const string &extension) {
	for (auto compressed : {".gz", ".zst"}) {
		if (StringUtil::EndsWith("." + extension, compressed)) {
			return string("merganser") + compressed;
		}
	}
	return "merganser";
}

bool HasDefaultNames(ClientContext &context, const FilenamePattern &pattern) {
	auto &file_system = FileSystem::GetFileSystem(context);
	return pattern.CreateFilename(file_system, "", "", 0) == FilenamePattern().CreateFilename(file_system, "", "", 0);
}

CopyInfo OptionsOfTasks(const LogicalCopyToFile &copy, CopyFunctionReturnType list_type) {
	CopyInfo result;
	result.format = copy.function.name.GetIdentifierName();
	result.is_format_auto_detected = false;
	result.options = copy.copy_info->options;
	auto set = [&](const char *name, Value value) {
		result.options[Identifier(name)] = {std::move(value)};
	};
	auto set_number = [&](const char *name, optional_idx number) {
		if (number.IsValid()) {
			set(name, Value::UBIGINT(number.GetIndex()));
		}
	};
	set("file_extension", Value(StagedExtension(copy.file_extension)));
	set_number("row_group_size", copy.batch_size);
	set_number("row_group_size_bytes", copy.batch_size_bytes);
	set_number("row_groups_per_file", copy.batches_per_file);
	set_number("file_size_bytes", copy.file_size_bytes);
	if (copy.partition_columns.empty()) {
		set("per_thread_output", Value::BOOLEAN(copy.per_thread_output));
	} else {
		vector<Value> columns;
		for (auto column : copy.partition_columns) {
			columns.emplace_back(copy.names[column].GetIdentifierName());
		}
		result.options[Identifier("partition_by")] = std::move(columns);
		set("write_partition_columns", Value::BOOLEAN(copy.write_partition_columns));
		set("hive_file_pattern", Value::BOOLEAN(copy.hive_file_pattern));
	}
	auto statistics = list_type == CopyFunctionReturnType::WRITTEN_FILE_STATISTICS;
	set(statistics ? "return_stats" : "return_files", Value::BOOLEAN(true));
	return result;
}

} // namespace

string TaskCopy::WhyNot(ClientContext &context, const LogicalCopyToFile &copy) {
	if (!IsFolder(copy)) {
		return "its target is one file; PER_THREAD_OUTPUT, FILE_SIZE_BYTES and PARTITION_BY make it a folder all tasks "
		       "write";
	}
	if (copy.function.name != "parquet" && copy.function.name != "csv") {
		return "tasks write Parquet, CSV and JSON, not FORMAT " + copy.function.name.GetIdentifierName();
	}
	if (!copy.order_columns.empty()) {
		return "ORDER_BY sorts all rows of a folder together";
	}
	if (copy.preserve_order == PreserveOrderType::PRESERVE_ORDER) {
		return "PRESERVE_ORDER writes all rows one after another";
	}
	if (copy.partition_path_expression) {
		return "PARTITION_PATH is an expression of the session";
	}
	if (CopyFunctionReturnsColumnTypes(copy.return_type)) {
		return "RETURN_COLUMN_TYPES is known to the session's own writer only";
	}
	if (copy.copy_info->options.count(Identifier("encryption_config")) > 0) {
		return "the keys of ENCRYPTION_CONFIG belong to the session";
	}
	if (FileSystem::IsRemoteFile(copy.file_path) || StringUtil::Contains(copy.file_path, "://") ||
	    StringUtil::StartsWith(copy.file_path, "file:")) {
		return "files at a URL cannot be renamed, so they would not appear together";
	}
	if (!Settings::RunsInThisProcess(context) && !Settings::ExchangeShared(context)) {
		return "workers share no storage (merganser_exchange_shared = false)";
	}
	return string();
}

TaskCopy::TaskCopy(ClientContext &context, const LogicalCopyToFile &copy)
    : target(OutputTarget::Choose(FileSystem::GetFileSystem(context).ExpandPath(copy.file_path), copy.overwrite_mode)),
      filename_pattern(copy.filename_pattern), has_default_names(HasDefaultNames(context, copy.filename_pattern)),
      file_extension(copy.file_extension), return_type(copy.return_type),
      list_type(copy.function.copy_to_get_written_statistics ? CopyFunctionReturnType::WRITTEN_FILE_STATISTICS
	                                                         : CopyFunctionReturnType::CHANGED_ROWS_AND_FILE_LIST),
      format(IsJson(copy) ? "json" : copy.function.name.GetIdentifierName()), names(copy.names),
      types(copy.expected_types),
      columns(IsJson(copy) ? ColumnsInObjects(copy) : Columns(copy.names, copy.expected_types)) {
	for (auto column : copy.partition_columns) {
		partition_by.push_back(copy.names[column].GetIdentifierName());
	}
	if (copy.rotate && copy.partition_columns.empty() && !copy.per_thread_output) {
		most_bytes_of_file = copy.file_size_bytes;
		if (copy.batches_per_file.IsValid()) {
			auto rows_of_group = copy.batch_size.IsValid() ? copy.batch_size.GetIndex() : DEFAULT_ROW_GROUP_SIZE;
			most_rows_of_file = copy.batches_per_file.GetIndex() * rows_of_group;
		}
	}
	auto options = OptionsOfTasks(copy, list_type).CopyOptionsToString();
	// " ( FORMAT 'parquet', ... )" without its parentheses
	write = options.substr(2, options.size() - 4);
}

//! Those it reads, where they are more than DuckDB expects to be left of them.
static idx_t MostRows(const QueryStages &query) {
	auto &last = *query.stages.back();
	idx_t read = 0;
	for (auto &scan : last.scans) {
		read += scan.Rows();
	}
	for (auto &input : last.inputs) {
		read += input.stage.IsValid() ? query.Get(input.stage.GetIndex()).estimated_rows : 0;
	}
	return MaxValue(read, last.estimated_rows);
}

void TaskCopy::LimitTasks(const QueryStages &query) const {
	auto &last = *query.stages.back();
	idx_t width = 0;
	for (auto &type : last.types) {
		width += PlanColumns::Width(type);
	}
	auto rows = MostRows(query);
	idx_t files = 0;
	if (most_rows_of_file.IsValid()) {
		files = rows / MaxValue<idx_t>(most_rows_of_file.GetIndex(), 1);
	}
	if (most_bytes_of_file.IsValid()) {
		auto rows_of_file = MaxValue<idx_t>(most_bytes_of_file.GetIndex() / MaxValue<idx_t>(width, 1), 1);
		files = MaxValue(files, rows / rows_of_file);
	}
	auto most = MaxValue<idx_t>(files, 1);
	if (most < last.tasks) {
		last.tasks = most;
		last.reasons.push_back(StringUtil::Format("about %llu files of the size it asks for", most));
	}
}

void TaskCopy::WriteRowsOf(QueryStages &query) const {
	if (most_bytes_of_file.IsValid() || most_rows_of_file.IsValid()) {
		LimitTasks(query);
	}
	auto &last = *query.stages.back();
	auto rows = make_uniq<SelectStatement>();
	rows->node = std::move(last.query);
	auto select = make_uniq<SelectNode>();
	select->from_table = make_uniq<SubqueryRef>(std::move(rows));
	for (idx_t i = 0; i < names.size(); i++) {
		unique_ptr<ParsedExpression> column = make_uniq<ColumnRefExpression>(Identifier("c" + to_string(i)));
		if (!last.sql_types[i].EqualsIncludingCollation(types[i])) {
			column = make_uniq<CastExpression>(types[i], std::move(column));
		}
		column->SetAlias(names[i]);
		select->select_list.push_back(std::move(column));
	}
	last.query = std::move(select);
	last.types = GetCopyFunctionReturnLogicalTypes(list_type);
	last.sql_types = last.types;
	last.columns = last.types.size();
	last.files = FilesFormat::Options(target.staging, write);
	last.files_are_partitioned = !partition_by.empty();
}

} // namespace merganser
