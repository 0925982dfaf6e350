#include "grouping/write_regions.hpp"

#include "grouping/physical_write_regions.hpp"
#include "grouping/recorded_layout.hpp"

#include "duckdb/catalog/catalog.hpp"
#include "duckdb/catalog/catalog_entry/copy_function_catalog_entry.hpp"
#include "duckdb/common/type_visitor.hpp"
#include "duckdb/common/types/uuid.hpp"
#include "duckdb/execution/physical_plan_generator.hpp"
#include "duckdb/function/copy_function.hpp"
#include "duckdb/main/extension/extension_loader.hpp"
#include "duckdb/parallel/task_scheduler.hpp"
#include "duckdb/parser/expression/cast_expression.hpp"
#include "duckdb/parser/expression/columnref_expression.hpp"
#include "duckdb/parser/expression/constant_expression.hpp"
#include "duckdb/parser/expression/function_expression.hpp"
#include "duckdb/parser/expression/star_expression.hpp"
#include "duckdb/parser/query_node/select_node.hpp"
#include "duckdb/parser/statement/copy_statement.hpp"
#include "duckdb/parser/statement/select_statement.hpp"
#include "duckdb/parser/tableref/subqueryref.hpp"
#include "duckdb/planner/binder.hpp"
#include "duckdb/planner/expression/bound_columnref_expression.hpp"
#include "duckdb/planner/operator/logical_extension_operator.hpp"

namespace merganser {

namespace {

const char *const FORMAT = "merganser_regions";
const char *const KV_METADATA = "kv_metadata";
const char *const REGION_COLUMN = "merganser_region";

class LogicalWriteRegions : public LogicalExtensionOperator {
public:
	LogicalWriteRegions(TableIndex table_index, RegionWriter writer, unique_ptr<LogicalOperator> input)
	    : table_index(table_index), writer(std::move(writer)) {
		input->ResolveOperatorTypes();
		auto bindings = input->GetColumnBindings();
		for (idx_t i = 0; i < bindings.size(); i++) {
			expressions.push_back(make_uniq<BoundColumnRefExpression>(input->types[i], bindings[i]));
		}
		children.push_back(std::move(input));
	}

	vector<ColumnBinding> GetColumnBindings() override {
		return GenerateColumnBindings(table_index, 1);
	}
	vector<TableIndex> GetTableIndex() const override {
		return {table_index};
	}
	string GetName() const override {
		return "WRITE_REGIONS";
	}
	string GetExtensionName() const override {
		return "merganser";
	}
	bool SupportSerialization() const override {
		return false;
	}
	PhysicalOperator &CreatePlan(ClientContext &context, PhysicalPlanGenerator &planner) override {
		auto &child = planner.CreatePlan(*children[0]);
		return PhysicalWriteRegions::Plan(planner, child, std::move(writer), estimated_cardinality);
	}

	const TableIndex table_index;
	RegionWriter writer;

protected:
	void ResolveTypes() override {
		types = {LogicalType::BIGINT};
	}
};

//! Takes the options of ours out of a COPY's options.
class Options {
public:
	explicit Options(identifier_map_t<vector<Value>> &options) : options(options) {
	}

	vector<string> Columns(const char *name) {
		vector<string> result;
		for (auto &value : Take(name)) {
			if (value.type().id() == LogicalTypeId::LIST) {
				for (auto &item : ListValue::GetChildren(value)) {
					result.push_back(Unquoted(item.ToString()));
				}
			} else {
				result.push_back(Unquoted(value.ToString()));
			}
		}
		return result;
	}

	bool Flag(const char *name) {
		if (!Has(name)) {
			return false;
		}
		auto values = Take(name);
		if (values.empty()) {
			return true;
		}
		auto flag = values[0].DefaultTryCastAs(LogicalType::BOOLEAN);
		if (!flag || flag->IsNull()) {
			throw BinderException("%s: %s should be true or false, not %s", FORMAT, StringUtil::Upper(name),
			                      values[0].ToString());
		}
		return BooleanValue::Get(*flag);
	}

	idx_t Count(const char *name, idx_t otherwise) {
		auto values = Take(name);
		if (values.empty()) {
			return otherwise;
		}
		auto text = values[0].IsNull() ? string() : values[0].ToString();
		auto number = text.find_first_not_of("0123456789") == string::npos
		                  ? Value(text).DefaultTryCastAs(LogicalType::BIGINT)
		                  : optional<Value>();
		if (!number || BigIntValue::Get(*number) <= 0) {
			throw BinderException("%s: %s should be a positive number, not %s", FORMAT, StringUtil::Upper(name),
			                      values[0].ToString());
		}
		return static_cast<idx_t>(BigIntValue::Get(*number));
	}

	//! Entries of the user's own, for the files' metadata.
	child_list_t<Value> Metadata() {
		child_list_t<Value> result;
		auto values = Take(KV_METADATA);
		if (values.empty()) {
			return result;
		}
		if (values.size() != 1 || values[0].type().id() != LogicalTypeId::STRUCT) {
			throw BinderException("%s: KV_METADATA should be a struct {key: value, ...}", FORMAT);
		}
		auto &entries = StructValue::GetChildren(values[0]);
		for (idx_t i = 0; i < entries.size(); i++) {
			auto &name = StructType::GetChildName(values[0].type(), i);
			if (StringUtil::StartsWith(StringUtil::Lower(name.GetIdentifierName()), "merganser_")) {
				throw BinderException("%s: KV_METADATA cannot set %s: names that begin with merganser_ say how the "
				                      "regions lie",
				                      FORMAT, name.GetIdentifierName());
			}
			result.emplace_back(name, entries[i]);
		}
		return result;
	}

	//! What is left must be options of Parquet's own writer.
	void RefuseOthers(const CopyFunction &parquet, ClientContext &context) const {
		identifier_map_t<CopyOption> known;
		CopyOptionsInput input(known);
		parquet.copy_options(context, input);
		known.erase(Identifier("row_groups_per_file")); // a region is one file
		for (auto &option : options) {
			auto found = known.find(option.first);
			if (found == known.end() || found->second.mode == CopyOptionMode::READ_ONLY) {
				throw BinderException("%s has no option %s. Its own are PARTITION_BY, ORDER_BY, REGIONS, OVERWRITE and "
				                      "OVERWRITE_OR_IGNORE; it takes those of Parquet's writer too, such as "
				                      "COMPRESSION and ROW_GROUP_SIZE",
				                      FORMAT, StringUtil::Upper(option.first.GetIdentifierName()));
			}
		}
	}

private:
	//! DuckDB passes a column name as the text of an expression.
	static string Unquoted(const string &text) {
		if (text.size() < 2 || text.front() != '"' || text.back() != '"') {
			return text;
		}
		return StringUtil::Replace(text.substr(1, text.size() - 2), "\"\"", "\"");
	}

	bool Has(const char *name) const {
		return options.find(Identifier(name)) != options.end();
	}

	vector<Value> Take(const char *name) {
		auto entry = options.find(Identifier(name));
		if (entry == options.end()) {
			return {};
		}
		auto result = entry->second;
		options.erase(Identifier(name));
		return result;
	}

	identifier_map_t<vector<Value>> &options;
};

//! The types in which a Parquet file gives the columns back: what it cannot hold is written as text, as DuckDB's own
//! COPY does, ENUM comes back as text, and HUGEINT as DOUBLE.
vector<LogicalType> StoredTypes(ClientContext &context, const CopyFunction &parquet, const BoundStatement &query) {
	identifier_map_t<vector<Value>> options;
	CopyToSelectInput input {context, options, {}, CopyToType::COPY_TO_FILE};
	for (idx_t i = 0; i < query.types.size(); i++) {
		ColumnBinding binding(TableIndex(0), ProjectionIndex(i));
		input.select_list.push_back(make_uniq<BoundColumnRefExpression>(query.names[i], query.types[i], binding));
	}
	auto types = query.types;
	auto written = parquet.copy_to_select(input);
	for (idx_t i = 0; i < written.size(); i++) {
		types[i] = written[i]->GetReturnType();
	}
	for (auto &type : types) {
		type = TypeVisitor::VisitReplace(type, [](const LogicalType &part) -> LogicalType {
			if (part.id() == LogicalTypeId::HUGEINT || part.id() == LogicalTypeId::UHUGEINT) {
				return LogicalType::DOUBLE;
			}
			return part.id() == LogicalTypeId::ENUM ? LogicalType(LogicalType::VARCHAR) : part;
		});
	}
	return types;
}

//! SELECT *, with those columns cast that Parquet gives back as another type. Regions have to be sorted as readers will
//! compare them.
unique_ptr<ParsedExpression> StoredColumns(Binder &binder, const CopyFunction &parquet, const QueryNode &query) {
	SelectStatement select;
	select.node = query.Copy();
	auto bound = Binder::CreateBinder(binder.context, &binder)->Bind(static_cast<SQLStatement &>(select));
	auto types = StoredTypes(binder.context, parquet, bound);
	auto star = make_uniq<StarExpression>();
	for (idx_t i = 0; i < types.size(); i++) {
		if (types[i] != bound.types[i]) {
			auto column = make_uniq<ColumnRefExpression>(bound.names[i]);
			star->ReplaceListMutable()[bound.names[i]] = make_uniq<CastExpression>(types[i], std::move(column));
		}
	}
	return std::move(star);
}

unique_ptr<SubqueryRef> FromSubquery(unique_ptr<QueryNode> query) {
	auto select = make_uniq<SelectStatement>();
	select->node = std::move(query);
	return make_uniq<SubqueryRef>(std::move(select));
}

//! SELECT *, hash(keys) % regions AS merganser_region FROM (SELECT <stored columns> FROM (query))
BoundStatement BindNumbered(Binder &binder, const CopyFunction &parquet, const QueryNode &query,
                            const vector<string> &keys, idx_t regions) {
	auto stored = make_uniq<SelectNode>();
	stored->select_list.push_back(StoredColumns(binder, parquet, query));
	stored->from_table = FromSubquery(query.Copy());
	auto node = make_uniq<SelectNode>();
	node->from_table = FromSubquery(std::move(stored));
	node->select_list.push_back(make_uniq<StarExpression>());
	vector<unique_ptr<ParsedExpression>> columns;
	for (auto &key : keys) {
		columns.push_back(make_uniq<ColumnRefExpression>(Identifier(key)));
	}
	vector<unique_ptr<ParsedExpression>> operands;
	operands.push_back(make_uniq<FunctionExpression>(Identifier("hash"), std::move(columns)));
	operands.push_back(ConstantExpression::Integer(static_cast<int64_t>(regions)));
	auto region = make_uniq<FunctionExpression>(Identifier("%"), std::move(operands));
	region->SetAlias(Identifier(REGION_COLUMN));
	node->select_list.push_back(std::move(region));
	SelectStatement numbered;
	numbered.node = std::move(node);
	return binder.Bind(static_cast<SQLStatement &>(numbered));
}

bool HasDirection(const string &column) {
	auto text = StringUtil::Upper(column);
	return StringUtil::EndsWith(text, " DESC") || StringUtil::EndsWith(text, " ASC") ||
	       StringUtil::EndsWith(text, " NULLS FIRST") || StringUtil::EndsWith(text, " NULLS LAST");
}

vector<idx_t> Positions(const vector<Identifier> &names, const vector<string> &columns, const char *option) {
	vector<idx_t> result;
	for (auto &column : columns) {
		auto found = std::find(names.begin(), names.end(), Identifier(column));
		if (found == names.end() && HasDirection(column)) {
			throw BinderException(
			    "%s: %s takes columns without directions, not %s: regions are sorted ascending, NULLs "
			    "last",
			    FORMAT, option, column);
		}
		if (found == names.end()) {
			throw BinderException("%s: %s names column %s, which the query does not return", FORMAT, option, column);
		}
		result.push_back(static_cast<idx_t>(found - names.begin()));
	}
	return result;
}

CopyOverwriteMode OverwriteMode(Options &options) {
	auto overwrite = options.Flag("overwrite");
	auto ignore_existing = options.Flag("overwrite_or_ignore");
	if (options.Flag("append")) {
		throw BinderException(
		    "%s: APPEND is not supported, since files of two COPYs do not hold whole partitions together", FORMAT);
	}
	if (overwrite && ignore_existing) {
		throw BinderException("%s: give one of OVERWRITE and OVERWRITE_OR_IGNORE", FORMAT);
	}
	if (overwrite) {
		return CopyOverwriteMode::COPY_OVERWRITE;
	}
	return ignore_existing ? CopyOverwriteMode::COPY_OVERWRITE_OR_IGNORE : CopyOverwriteMode::COPY_ERROR_ON_CONFLICT;
}

string Folder(ClientContext &context, const string &path) {
	auto result = FileSystem::GetFileSystem(context).ExpandPath(path);
	if (result.empty()) {
		throw BinderException("%s: name the folder: COPY ... TO 'folder'", FORMAT);
	}
	if (FileSystem::IsRemoteFile(result) || StringUtil::Contains(result, "://")) {
		throw BinderException("%s writes a folder of this machine, and '%s' is a URL: what lies there cannot appear "
		                      "all at once",
		                      FORMAT, path);
	}
	return result;
}

BoundStatement PlanCopy(Binder &binder, CopyStatement &statement) {
	auto &context = binder.context;
	auto &info = *statement.info;
	Options options(info.options);
	RegionWriter writer;
	auto partition_by = options.Columns("partition_by");
	auto order_by = options.Columns("order_by");
	auto regions = options.Count("regions", 4 * TaskScheduler::GetScheduler(context).NumberOfThreads());
	writer.mode = OverwriteMode(options);
	writer.folder = Folder(context, info.file_path);
	auto metadata = options.Metadata();
	if (partition_by.empty()) {
		throw BinderException("%s: PARTITION_BY (column, ...) is required: each region holds whole groups of it",
		                      FORMAT);
	}
	auto &catalog = Catalog::GetSystemCatalog(context);
	auto &parquet = catalog.GetEntry<CopyFunctionCatalogEntry>(
	    context, QualifiedName(catalog.GetName(), Identifier::DefaultSchema(), Identifier("parquet")));
	writer.parquet = parquet.function;
	options.RefuseOthers(parquet.function, context);
	auto bound = BindNumbered(binder, parquet.function, *info.select_statement, partition_by, regions);
	bound.names.pop_back();
	bound.types.pop_back();
	writer.sort_columns = Positions(bound.names, partition_by, "PARTITION_BY");
	auto order_columns = Positions(bound.names, order_by, "ORDER_BY");
	writer.sort_columns.insert(writer.sort_columns.end(), order_columns.begin(), order_columns.end());

	writer.id = UUID::ToString(UUID::GenerateRandomUUID());
	for (auto &entry : RecordedLayout::Entries(writer.id, partition_by, order_by)) {
		metadata.emplace_back(entry.first, Value(entry.second));
	}
	info.options[Identifier(KV_METADATA)] = {Value::STRUCT(std::move(metadata))};
	CopyFunctionBindInput bind_input(info, writer.parquet->function_info);
	bind_input.file_extension = writer.parquet->extension;
	writer.bind_data = writer.parquet->copy_to_bind(context, bind_input, bound.names, bound.types);

	BoundStatement result;
	result.names = {"Count"};
	result.types = {LogicalType::BIGINT};
	result.plan = make_uniq<LogicalWriteRegions>(binder.GenerateTableIndex(), std::move(writer), std::move(bound.plan));
	auto &properties = binder.GetStatementProperties();
	properties.return_type = StatementReturnType::CHANGED_ROWS;
	return result;
}

} // namespace

void WriteRegions::Register(ExtensionLoader &loader) {
	CopyFunction function {Identifier(FORMAT)};
	function.plan = PlanCopy;
	function.extension = "parquet";
	loader.RegisterFunction(std::move(function));
}

} // namespace merganser
