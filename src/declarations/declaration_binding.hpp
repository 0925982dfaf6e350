//===----------------------------------------------------------------------===//
//                         Merganser
//
// declarations/declaration_binding.hpp
//
// Checks a declaration as stated against the object it is about, and says what the object's declarations become.
// Errors (BinderException at the clause): no such column, a column twice, a key or foreign key that is already there, a
// foreign key to something that does not exist, has other types or no such key, nothing to drop.
//===----------------------------------------------------------------------===//

#pragma once

#include "declarations/alter_declaration_info.hpp"

namespace merganser {

class DeclarationBinding {
public:
	DeclarationBinding(ClientContext &context, CatalogEntry &table_or_view, QueryLocation location);

	//! All declarations of the object once `stated` is added, set, dropped or reset.
	vector<Declaration> Apply(DeclarationAction action, Declaration stated);

private:
	Declaration Bind(Declaration stated);
	void BindColumns(Declaration &declaration);
	void BindOrders(Declaration &declaration);
	void BindReference(Declaration &declaration);
	optional_ptr<CatalogEntry> FindReferenced(const QualifiedName &name);
	vector<string> PrimaryKeyOf(CatalogEntry &referenced);
	void RefuseSecond(const Declaration &declaration);
	vector<Declaration> Add(Declaration declaration, bool replace);
	vector<Declaration> Drop(const Declaration &declaration, bool must_exist);
	void FailToDrop(const Declaration &declaration);
	BinderException Error(const string &message) const;

	ClientContext &context;
	CatalogEntry &object;
	QueryLocation location;
	string name;
};

} // namespace merganser
