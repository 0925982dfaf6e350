#include "declarations/declaration_change.hpp"

#include "declarations/declaration_store.hpp"

#include "duckdb/catalog/catalog.hpp"

namespace merganser {

void DeclarationChange::Apply(ClientContext &context) const {
	if (alter) {
		Catalog::GetCatalog(context, alter->GetQualifiedName().Catalog()).Alter(context, *alter);
	}
	if (drop) {
		Catalog::GetCatalog(context, drop->GetQualifiedName().Catalog()).DropEntry(context, *drop);
	}
	for (auto &entry : objects) {
		auto object = DeclarationStore::Find(context, entry.object);
		if (!object) {
			throw CatalogException("%s was dropped or renamed while the statement waited to run",
			                       entry.object.ToString());
		}
		DeclarationStore::Write(context, *object, entry.declarations);
	}
}

InsertionOrderPreservingMap<string> DeclarationChange::ToText() const {
	InsertionOrderPreservingMap<string> result;
	if (alter) {
		result["Alter"] = alter->ToString();
	}
	if (drop) {
		result["Drop"] = drop->GetQualifiedName().ToString();
	}
	for (auto &entry : objects) {
		// EXPLAIN ANALYZE titles every operator of an extension "Extension", so the parameters say which one it is
		result["Declare on " + entry.object.ToString()] =
		    StringUtil::Join(entry.declarations, entry.declarations.size(), "\n",
			                 [](const Declaration &declaration) { return declaration.ToString(); });
	}
	return result;
}

} // namespace merganser
