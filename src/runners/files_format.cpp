#include "runners/files_format.hpp"

#include "exchange/exchange_copy.hpp"

#include "duckdb/common/types/uuid.hpp"
#include "duckdb/function/copy_function.hpp"
#include "duckdb/main/extension/extension_loader.hpp"
#include "duckdb/parser/expression/star_expression.hpp"
#include "duckdb/parser/parser.hpp"
#include "duckdb/parser/query_node/copy_query_node.hpp"
#include "duckdb/parser/query_node/select_node.hpp"
#include "duckdb/parser/statement/copy_statement.hpp"
#include "duckdb/parser/tableref/basetableref.hpp"
#include "duckdb/planner/binder.hpp"

namespace merganser {

namespace {

const char *const WRITTEN = "merganser_written";

string TextOption(const CopyInfo &info, const char *name) {
	auto option = info.options.find(Identifier(name));
	if (option == info.options.end() || option->second.size() != 1 || info.options.size() != 2) {
		throw BinderException("FORMAT %s needs the options FOLDER and WRITE, a text each, and no other",
		                      FilesFormat::NAME);
	}
	return option->second[0].ToString();
}

//! The COPY that writes the files of one attempt.
unique_ptr<CopyInfo> WriteFiles(ClientContext &context, CopyInfo &info) {
	Parser parser(context);
	parser.ParseQuery("COPY (SELECT 1) TO '' (" + TextOption(info, "write") + ")");
	auto result = std::move(parser.statements[0]->Cast<CopyStatement>().info);
	result->select_statement = std::move(info.select_statement);
	auto attempt = UUID::ToString(UUID::GenerateRandomUUID());
	result->file_path = FileSystem::GetFileSystem(context).JoinPath(TextOption(info, "folder"), attempt);
	return result;
}

//! WITH merganser_written AS (COPY ...) FROM merganser_written
unique_ptr<QueryNode> ListOf(unique_ptr<CopyInfo> files) {
	auto written = make_uniq<CommonTableExpressionInfo>();
	written->query_node = make_uniq<CopyQueryNode>(std::move(files));
	auto table = make_uniq<BaseTableRef>();
	table->SetTable(Identifier(WRITTEN));
	auto result = make_uniq<SelectNode>();
	result->cte_map.map.insert(Identifier(WRITTEN), std::move(written));
	result->select_list.push_back(make_uniq<StarExpression>());
	result->from_table = std::move(table);
	return std::move(result);
}

BoundStatement Plan(Binder &binder, CopyStatement &statement) {
	CopyStatement list;
	list.info->is_from = false;
	list.info->format = ExchangeCopy::NAME;
	list.info->is_format_auto_detected = false;
	list.info->file_path = statement.info->file_path;
	list.info->select_statement = ListOf(WriteFiles(binder.context, *statement.info));
	return binder.Bind(static_cast<SQLStatement &>(list));
}

} // namespace

string FilesFormat::Options(const string &folder, const string &write) {
	return StringUtil::Format("FORMAT %s, FOLDER %s, WRITE %s", NAME, Value(folder).ToSQLString(),
	                          Value(write).ToSQLString());
}

void FilesFormat::Register(ExtensionLoader &loader) {
	CopyFunction function {Identifier(NAME)};
	function.plan = Plan;
	function.extension = "exchange";
	loader.RegisterFunction(std::move(function));
}

} // namespace merganser
