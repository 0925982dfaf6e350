#include "declarations/shown_scans.hpp"

#include "declarations/declaration_store.hpp"
#include "declarations/query_names.hpp"
#include "declarations/same_plan.hpp"
#include "declarations/session_declarations.hpp"

#include "duckdb/catalog/catalog.hpp"
#include "duckdb/catalog/catalog_entry/schema_catalog_entry.hpp"
#include "duckdb/common/multi_file/multi_file_states.hpp"
#include "duckdb/main/client_context_state.hpp"
#include "duckdb/main/extension/extension_loader.hpp"
#include "duckdb/parser/statement/select_statement.hpp"
#include "duckdb/parser/tableref/basetableref.hpp"
#include "duckdb/planner/binder.hpp"
#include "duckdb/planner/expression/bound_columnref_expression.hpp"
#include "duckdb/planner/operator/logical_projection.hpp"
#include "duckdb/planner/planner_extension.hpp"
#include "duckdb/transaction/meta_transaction.hpp"

namespace merganser {

namespace {

//! What a view is made of, through the views it names.
struct ViewSource {
	unordered_set<string> texts;
	bool hides_files = false;
	//! Made of nothing outside its database, and without functions.
	bool fixed_by_catalog = true;
	//! The views it names itself.
	vector<reference<ViewCatalogEntry>> views;
};

//! The scan a view shows under projections only.
struct ViewScan {
	ScanIdentity identity;
	case_insensitive_map_t<string> scan_column;
};

struct IndexedView {
	reference<ViewCatalogEntry> view;
	bool fixed_by_catalog;
	//! Whether it was bound since; if so, the scan it shows, if that is all it does.
	bool bound = false;
	unique_ptr<ViewScan> scan;
};

//! The declared views of one database, of one version of its catalog.
struct DeclaredViews {
	idx_t version = DConstants::INVALID_INDEX;
	idx_t session_version = 0;
	vector<IndexedView> views;
	unordered_map<string, vector<idx_t>> by_text;
	vector<idx_t> of_hidden_files;
	unordered_map<const CatalogEntry *, idx_t> by_entry;
};

struct NamedView {
	reference<ViewCatalogEntry> view;
	ViewSource source;
};

class State : public ClientContextState {
public:
	static State &Get(ClientContext &context) {
		return *context.registered_state->GetOrCreate<State>("merganser_shown_scans");
	}

	void QueryBegin(ClientContext &context) override {
		Forget();
	}
	void QueryEnd() override {
		Forget();
	}
	void Add(SQLStatement &statement) {
		names.Add(statement);
		named_views.reset();
	}

	//! The views that the statements planned in the running query name.
	const vector<NamedView> &NamedViews(ClientContext &context);
	//! Those of the databases this transaction has looked into.
	vector<reference<DeclaredViews>> Indexes(ClientContext &context);

	idx_t views_bound = 0;

private:
	void Forget() {
		names = QueryNames();
		named_views.reset();
	}

	QueryNames names;
	unique_ptr<vector<NamedView>> named_views;
	unordered_map<idx_t, DeclaredViews> indexes;
};

//! The table or view a view's query means by a name; `from_elsewhere` if that depends on more than its database.
optional_ptr<CatalogEntry> FindFrom(ClientContext &context, ViewCatalogEntry &view, const QualifiedName &name,
                                    bool &from_elsewhere) {
	if (name.Path().size() == 1) {
		auto beside = DeclarationStore::Find(context, view.ParentSchema().GetQualifiedName(name.Name()));
		if (beside) {
			return beside;
		}
	}
	auto result = DeclarationStore::Find(context, name);
	from_elsewhere = from_elsewhere || result;
	return result;
}

void AddSource(ClientContext &context, ViewCatalogEntry &view, unordered_set<const CatalogEntry *> &seen,
               ViewSource &result) {
	auto query = view.GetQuery().Copy();
	QueryNames names;
	names.Add(*query);
	result.texts.insert(names.texts.begin(), names.texts.end());
	result.hides_files = result.hides_files || names.hides_files;
	bool from_elsewhere = false;
	bool outermost = seen.empty();
	seen.insert(&view);
	for (auto &name : names.relations) {
		auto entry = FindFrom(context, view, name, from_elsewhere);
		if (!entry || entry->type != CatalogType::VIEW_ENTRY) {
			continue;
		}
		auto &child = entry->Cast<ViewCatalogEntry>();
		if (outermost) {
			result.views.push_back(child);
		}
		if (!seen.count(entry.get())) {
			AddSource(context, child, seen, result);
		}
	}
	result.fixed_by_catalog = result.fixed_by_catalog && !names.calls_functions && !from_elsewhere;
}

ViewSource SourceOf(ClientContext &context, ViewCatalogEntry &view) {
	ViewSource result;
	unordered_set<const CatalogEntry *> seen;
	AddSource(context, view, seen, result);
	return result;
}

const vector<NamedView> &State::NamedViews(ClientContext &context) {
	if (named_views) {
		return *named_views;
	}
	auto result = make_uniq<vector<NamedView>>();
	unordered_set<const CatalogEntry *> seen;
	vector<reference<ViewCatalogEntry>> waiting;
	for (auto &name : names.relations) {
		auto entry = DeclarationStore::Find(context, name);
		if (entry && entry->type == CatalogType::VIEW_ENTRY) {
			waiting.push_back(entry->Cast<ViewCatalogEntry>());
		}
	}
	while (!waiting.empty()) {
		auto view = waiting.back();
		waiting.pop_back();
		if (!seen.insert(&view.get()).second) {
			continue;
		}
		result->push_back({view, SourceOf(context, view)});
		auto &within = result->back().source.views;
		waiting.insert(waiting.end(), within.begin(), within.end());
	}
	named_views = std::move(result);
	return *named_views;
}

DeclaredViews Index(ClientContext &context, Catalog &catalog) {
	DeclaredViews result;
	for (auto &view : DeclarationStore::DeclaredViews(context, catalog)) {
		auto source = SourceOf(context, view);
		auto position = result.views.size();
		result.views.push_back({view, source.fixed_by_catalog, false, nullptr});
		result.by_entry[&view.get()] = position;
		for (auto &text : source.texts) {
			result.by_text[text].push_back(position);
		}
		if (source.hides_files) {
			result.of_hidden_files.push_back(position);
		}
	}
	return result;
}

vector<reference<DeclaredViews>> State::Indexes(ClientContext &context) {
	vector<reference<DeclaredViews>> result;
	auto session_version = SessionDeclarations::Get(context).Version();
	auto databases = MetaTransaction::Get(context).OpenedTransactions();
	for (auto &database : databases) {
		auto &catalog = database.get().GetCatalog();
		if (!catalog.IsDuckCatalog() || catalog.IsSystemCatalog()) {
			continue;
		}
		auto version = catalog.GetCatalogVersion(context).GetIndex();
		auto &index = indexes[catalog.GetOid()];
		if (index.version != version || index.session_version != session_version) {
			index = Index(context, catalog);
			index.version = version;
			index.session_version = session_version;
		}
		result.push_back(index);
	}
	return result;
}

//! The first file or pattern a scan was asked for.
string FirstPath(const LogicalGet &get) {
	if (get.parameters.empty() || get.parameters[0].IsNull()) {
		return string();
	}
	auto &parameter = get.parameters[0];
	if (parameter.type().id() != LogicalTypeId::LIST) {
		return parameter.ToString();
	}
	auto &list = ListValue::GetChildren(parameter);
	return list.empty() ? string() : list[0].ToString();
}

//! Null if it cannot be bound now (its files are gone, say): then it is not in the query, which has been bound.
unique_ptr<BoundView> TryBind(ClientContext &context, ViewCatalogEntry &view) {
	State::Get(context).views_bound++;
	BaseTableRef reference_to_view;
	reference_to_view.SetQualifiedName(DeclarationStore::NameOf(view));
	BoundStatement bound;
	try {
		bound = Binder::CreateBinder(context)->Bind(static_cast<TableRef &>(reference_to_view));
	} catch (const Exception &) {
		return nullptr;
	}
	auto result = make_uniq<BoundView>(BoundView {view, std::move(bound.plan), {}});
	for (auto &name : bound.names) {
		result->column_names.push_back(name.GetIdentifierName());
	}
	return result;
}

//! The scan the view shows under projections only; null if it does more.
unique_ptr<ViewScan> ScanOf(const BoundView &view) {
	reference<LogicalOperator> current = *view.plan;
	auto columns = view.plan->GetColumnBindings();
	vector<bool> plain(columns.size(), true);
	while (current.get().type == LogicalOperatorType::LOGICAL_PROJECTION) {
		auto &projection = current.get().Cast<LogicalProjection>();
		for (idx_t i = 0; i < columns.size(); i++) {
			if (!plain[i]) {
				continue;
			}
			auto &expression = projection.GetExpression(columns[i]);
			plain[i] = expression.GetExpressionClass() == ExpressionClass::BOUND_COLUMN_REF;
			if (plain[i]) {
				columns[i] = expression.Cast<BoundColumnRefExpression>().Binding();
			}
		}
		current = *projection.children[0];
	}
	if (current.get().type != LogicalOperatorType::LOGICAL_GET) {
		return nullptr;
	}
	auto &get = current.get().Cast<LogicalGet>();
	auto result = make_uniq<ViewScan>(ViewScan {ScanIdentity(get), {}});
	for (idx_t i = 0; i < columns.size(); i++) {
		if (plain[i]) {
			result->scan_column[view.column_names[i]] =
			    get.GetColumnName(get.GetColumnIndex(columns[i])).GetIdentifierName();
		}
	}
	return result;
}

//! Binds the view, and keeps which scan it shows.
unique_ptr<BoundView> BindIndexed(ClientContext &context, IndexedView &indexed) {
	auto bound = TryBind(context, indexed.view);
	indexed.bound = bound != nullptr;
	indexed.scan = bound ? ScanOf(*bound) : nullptr;
	return bound;
}

bool Shows(ClientContext &context, IndexedView &indexed, const ScanIdentity &wanted) {
	bool kept = indexed.bound && indexed.fixed_by_catalog;
	if (kept && (!indexed.scan || !indexed.scan->identity.IsSameCall(wanted))) {
		return false;
	}
	if (!kept || !(indexed.scan->identity == wanted)) {
		BindIndexed(context, indexed);
	}
	return indexed.scan && indexed.scan->identity == wanted;
}

class Candidates {
public:
	Candidates(ClientContext &context, const LogicalGet &get)
	    : state(State::Get(context)), indexes(state.Indexes(context)), path(FirstPath(get)) {
	}

	void AddGoverning(ClientContext &context) {
		if (!AddNamed(context)) {
			AddAll();
		}
	}

	void AddAll() {
		for (auto &index : indexes) {
			auto found = index.get().by_text.find(path);
			if (found != index.get().by_text.end()) {
				AddPositions(index, found->second);
			}
			AddPositions(index, index.get().of_hidden_files);
		}
	}

	vector<ShownScan> ThatShow(ClientContext &context, const LogicalGet &get) const {
		vector<ShownScan> result;
		if (views.empty()) {
			return result;
		}
		ScanIdentity wanted(get);
		for (auto &indexed : views) {
			if (Shows(context, indexed, wanted)) {
				result.push_back({indexed.get().view, indexed.get().scan->scan_column});
			}
		}
		return result;
	}

	vector<reference<IndexedView>> views;

private:
	//! Whether a view that is named shows these files.
	bool AddNamed(ClientContext &context) {
		bool result = false;
		for (auto &named : state.NamedViews(context)) {
			bool shows = named.source.texts.count(path) > 0;
			result = result || shows;
			if (shows || named.source.hides_files) {
				AddEntry(named.view);
			}
		}
		return result;
	}

	void AddEntry(ViewCatalogEntry &view) {
		for (auto &index : indexes) {
			auto found = index.get().by_entry.find(&view);
			if (found != index.get().by_entry.end()) {
				AddPositions(index, {found->second});
			}
		}
	}

	void AddPositions(DeclaredViews &index, const vector<idx_t> &positions) {
		for (auto position : positions) {
			auto &view = index.views[position];
			if (seen.insert(&view.view.get()).second) {
				views.push_back(view);
			}
		}
	}

	State &state;
	vector<reference<DeclaredViews>> indexes;
	string path;
	unordered_set<const CatalogEntry *> seen;
};

void CollectNames(PlannerExtensionInput &input, SQLStatement &statement) {
	State::Get(input.context).Add(statement);
}

} // namespace

vector<string> ShownScan::ScanColumns(const vector<string> &columns) const {
	vector<string> result;
	for (auto &column : columns) {
		auto found = scan_column.find(column);
		result.push_back(found == scan_column.end() ? string() : found->second);
	}
	return result;
}

bool ShownScans::ReadsFiles(const LogicalGet &get) {
	return get.children.empty() && get.source_ordinality == OrdinalityType::WITHOUT_ORDINALITY && get.bind_data &&
	       dynamic_cast<const MultiFileBindData *>(get.bind_data.get());
}

vector<ShownScan> ShownScans::Of(ClientContext &context, const LogicalGet &get) {
	Candidates candidates(context, get);
	candidates.AddAll();
	return candidates.ThatShow(context, get);
}

vector<ShownScan> ShownScans::Governing(ClientContext &context, const LogicalGet &get) {
	Candidates candidates(context, get);
	candidates.AddGoverning(context);
	return candidates.ThatShow(context, get);
}

vector<ShownScan> ShownScans::Named(ClientContext &context, const LogicalGet &get) {
	vector<ShownScan> result;
	ScanIdentity wanted(get);
	auto path = FirstPath(get);
	for (auto &named : State::Get(context).NamedViews(context)) {
		if (!named.source.texts.count(path) && !named.source.hides_files) {
			continue;
		}
		auto bound = TryBind(context, named.view);
		auto scan = bound ? ScanOf(*bound) : nullptr;
		if (scan && scan->identity == wanted) {
			result.push_back({named.view, std::move(scan->scan_column)});
		}
	}
	return result;
}

vector<BoundView> ShownScans::MoreThan(ClientContext &context, const LogicalGet &get) {
	vector<BoundView> result;
	Candidates candidates(context, get);
	candidates.AddAll();
	for (auto &candidate : candidates.views) {
		auto &indexed = candidate.get();
		if (indexed.bound && indexed.fixed_by_catalog && indexed.scan) {
			continue;
		}
		auto bound = BindIndexed(context, indexed);
		if (bound && !indexed.scan) {
			result.push_back(std::move(*bound));
		}
	}
	return result;
}

idx_t ShownScans::ViewsBound(ClientContext &context) {
	return State::Get(context).views_bound;
}

void ShownScans::Register(ExtensionLoader &loader) {
	PlannerExtension extension;
	extension.pre_bind_function = CollectNames;
	PlannerExtension::Register(DBConfig::GetConfig(loader.GetDatabaseInstance()), std::move(extension));
}

} // namespace merganser
