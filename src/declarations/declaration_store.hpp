//===----------------------------------------------------------------------===//
//                         Merganser
//
// declarations/declaration_store.hpp
//
// Where rules ask what is known of a table or view, and where declarations are kept:
//   for (auto &key : DeclarationStore::Keys(context, *get.GetTable())) {
//       if (key.IdentifiesRows()) { ... key.columns ... key.ToString() ... }
//   }
// Declarations stand in the object's comment (declaration_comment.hpp) and follow it through transactions, renames and
// DROP; where its database cannot be written, they stand in the session (session_declarations.hpp). Lookups parse no
// SQL and read no data. A declaration whose columns are no longer there, or no longer of the type they had, is stale:
// listed, never used.
//===----------------------------------------------------------------------===//

#pragma once

#include "declarations/declaration.hpp"
#include "declarations/key.hpp"

#include "duckdb/catalog/catalog_entry/view_catalog_entry.hpp"

namespace merganser {

struct StoredDeclaration {
	Declaration declaration;
	//! Kept for this connection, because the object's database cannot be written.
	bool in_session = false;
	//! Why it is no longer used ("column \"a\" was INTEGER and is now BIGINT"); empty if it is valid.
	string stale;
};

class DeclarationStore {
public:
	//! The declarations a rule may use: keys, foreign keys and layout that still fit the object. Empty for objects
	//! other than tables and views.
	static vector<Declaration> Valid(ClientContext &context, CatalogEntry &table_or_view);
	//! Enforced and validly declared keys, PRIMARY KEY first, then in the order made. Nullable UNIQUE included:
	//! ask Key::IdentifiesRows().
	static vector<Key> Keys(ClientContext &context, CatalogEntry &table_or_view);
	//! Enforced and validly declared foreign keys.
	static vector<ForeignKey> ForeignKeys(ClientContext &context, CatalogEntry &table_or_view);
	//! All views of this database with declarations.
	static vector<reference<ViewCatalogEntry>> DeclaredViews(ClientContext &context, Catalog &catalog);

	//! All tables and views of this database with declarations.
	static vector<reference<CatalogEntry>> DeclaredObjects(ClientContext &context, Catalog &catalog);
	//! What is stored, stale or not, in the order made.
	static vector<Declaration> Stored(ClientContext &context, CatalogEntry &table_or_view);
	//! Why what the object's comment declares cannot be read; empty if it can, or if it declares nothing.
	static string Unreadable(CatalogEntry &table_or_view);
	//! The same, and what makes it stale. Binds a view again, so it is not for rules.
	static vector<StoredDeclaration> All(ClientContext &context, CatalogEntry &table_or_view);
	//! Replaces what is stored.
	static void Write(ClientContext &context, CatalogEntry &table_or_view, vector<Declaration> declarations);
	//! Whether declarations on objects of this database are kept in the session.
	static bool KeptInSession(CatalogEntry &table_or_view);
	//! [catalog, schema..., name].
	static QualifiedName NameOf(CatalogEntry &table_or_view);
	//! The table or view of that name, null if there is none.
	static optional_ptr<CatalogEntry> Find(ClientContext &context, const QualifiedName &name);
};

} // namespace merganser
