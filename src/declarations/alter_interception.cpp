#include "declarations/alter_interception.hpp"

#include "declarations/alter_declaration_info.hpp"
#include "declarations/declaration_binding.hpp"
#include "declarations/declaration_comment.hpp"
#include "declarations/declaration_store.hpp"
#include "declarations/declare_operator.hpp"
#include "declarations/object_columns.hpp"

#include "duckdb/catalog/catalog.hpp"
#include "duckdb/catalog/catalog_entry/schema_catalog_entry.hpp"
#include "duckdb/main/extension/extension_loader.hpp"
#include "duckdb/parser/parsed_data/alter_table_info.hpp"
#include "duckdb/planner/binder.hpp"
#include "duckdb/planner/operator/logical_alter.hpp"
#include "duckdb/planner/operator/logical_drop.hpp"
#include "duckdb/planner/planner_extension.hpp"

namespace merganser {

namespace {

void RenameColumn(vector<string> &columns, const Identifier &from, const Identifier &to) {
	for (auto &column : columns) {
		if (from == column) {
			column = to.GetIdentifierName();
		}
	}
}

//! Columns behind one that is removed move up.
void MoveUp(vector<idx_t> &positions, optional_idx removed) {
	for (auto &position : positions) {
		if (removed.IsValid() && position > removed.GetIndex()) {
			position--;
		}
	}
}

//! Works out what an ALTER of DuckDB's own means for the declarations of its database.
class AlterEffect {
public:
	AlterEffect(ClientContext &context, CatalogEntry &altered)
	    : context(context), altered(altered), altered_name(DeclarationStore::NameOf(altered)) {
	}

	//! Another object that is made under the name is not the one that foreign keys were declared to.
	vector<ObjectDeclarations> OfDrop() {
		return Edit(
		    [&](Declaration &declaration, bool is_dropped) {
			    if (!is_dropped && declaration.kind == DeclarationKind::FOREIGN_KEY &&
				    declaration.referenced == altered_name) {
				    declaration.voided = altered_name.ToString() + ", which it references, was dropped";
			    }
			    return true;
		    },
		    altered_name);
	}

	vector<ObjectDeclarations> Of(AlterInfo &info) {
		if (info.type == AlterType::ALTER_VIEW) {
			return Rename(info.Cast<RenameViewInfo>().new_view_name);
		}
		auto &alter = info.Cast<AlterTableInfo>();
		switch (alter.alter_table_type) {
		case AlterTableType::RENAME_TABLE:
			return Rename(alter.Cast<RenameTableInfo>().new_table_name);
		case AlterTableType::RENAME_COLUMN:
			return RenameColumnOfAltered(alter.Cast<RenameColumnInfo>());
		case AlterTableType::REMOVE_COLUMN:
			return RemoveColumn(alter.Cast<RemoveColumnInfo>().removed_column);
		case AlterTableType::ALTER_COLUMN_TYPE: {
			auto &change = alter.Cast<ChangeColumnTypeInfo>();
			return Void(change.column_path[0], "the type of column \"%s\" was altered");
		}
		case AlterTableType::ADD_FIELD:
			return Void(alter.Cast<AddFieldInfo>().column_path[0], "a field of column \"%s\" was added");
		case AlterTableType::REMOVE_FIELD:
			return Void(alter.Cast<RemoveFieldInfo>().column_path[0], "a field of column \"%s\" was dropped");
		case AlterTableType::RENAME_FIELD:
			return Void(alter.Cast<RenameFieldInfo>().column_path[0], "a field of column \"%s\" was renamed");
		default:
			return {};
		}
	}

private:
	//! Edits every declaration of the database; `edit` returns false for those to remove.
	template <class EDIT>
	vector<ObjectDeclarations> Edit(EDIT edit, const QualifiedName &name_afterwards) {
		vector<ObjectDeclarations> result;
		for (auto &object : DeclarationStore::DeclaredObjects(context, altered.ParentCatalog())) {
			auto name = DeclarationStore::NameOf(object);
			bool is_altered = name == altered_name;
			ObjectDeclarations edited;
			edited.object = is_altered ? name_afterwards : name;
			bool changed = false;
			for (auto &stored : DeclarationStore::Stored(context, object)) {
				auto declaration = stored;
				bool kept = edit(declaration, is_altered);
				changed = changed || !kept || !(declaration == stored);
				if (kept) {
					edited.declarations.push_back(std::move(declaration));
				}
			}
			if (changed) {
				result.push_back(std::move(edited));
			}
		}
		return result;
	}

	vector<ObjectDeclarations> Rename(const Identifier &new_name) {
		auto renamed = altered_name.WithName(new_name);
		return Edit(
		    [&](Declaration &declaration, bool) {
			    if (declaration.kind == DeclarationKind::FOREIGN_KEY && declaration.referenced == altered_name) {
				    declaration.referenced = renamed;
			    }
			    return true;
		    },
		    renamed);
	}

	vector<ObjectDeclarations> RenameColumnOfAltered(const RenameColumnInfo &rename) {
		return Edit(
		    [&](Declaration &declaration, bool is_altered) {
			    if (is_altered) {
				    RenameColumn(declaration.columns, rename.old_name, rename.new_name);
			    }
			    if (declaration.kind == DeclarationKind::FOREIGN_KEY && declaration.referenced == altered_name) {
				    RenameColumn(declaration.referenced_columns, rename.old_name, rename.new_name);
			    }
			    return true;
		    },
		    altered_name);
	}

	vector<ObjectDeclarations> RemoveColumn(const Identifier &column) {
		auto removed = ObjectColumns::Of(context, altered, ViewColumns::KNOWN).Find(column.GetIdentifierName());
		return Edit(
		    [&](Declaration &declaration, bool is_altered) {
			    if (is_altered) {
				    MoveUp(declaration.positions, removed);
			    }
			    if (declaration.kind == DeclarationKind::FOREIGN_KEY && declaration.referenced == altered_name) {
				    MoveUp(declaration.referenced_positions, removed);
			    }
			    return !is_altered || !declaration.Names(column.GetIdentifierName());
		    },
		    altered_name);
	}

	vector<ObjectDeclarations> Void(const Identifier &column, const char *reason) {
		return Edit(
		    [&](Declaration &declaration, bool is_altered) {
			    if (is_altered && declaration.Names(column.GetIdentifierName())) {
				    declaration.voided = StringUtil::Format(reason, column.GetIdentifierName());
			    }
			    return true;
		    },
		    altered_name);
	}

	ClientContext &context;
	CatalogEntry &altered;
	QualifiedName altered_name;
};

class Interceptor {
public:
	explicit Interceptor(PlannerExtensionInput &input) : context(input.context), binder(input.binder) {
	}

	void Visit(unique_ptr<LogicalOperator> &plan) {
		for (auto &child : plan->children) {
			Visit(child);
		}
		if (plan->type == LogicalOperatorType::LOGICAL_ALTER) {
			Intercept(plan);
		} else if (plan->type == LogicalOperatorType::LOGICAL_DROP) {
			InterceptDrop(plan);
		}
	}

private:
	void Intercept(unique_ptr<LogicalOperator> &plan) {
		auto &info = plan->Cast<LogicalAlter>().info;
		auto stated = dynamic_cast<AlterDeclarationInfo *>(info.get());
		if (stated) {
			plan = Declare(*stated);
			return;
		}
		if (!ConcernsTableOrView(*info)) {
			return;
		}
		auto object = DeclarationStore::Find(context, info->GetQualifiedName());
		if (!object || !object->ParentCatalog().IsDuckCatalog()) {
			return;
		}
		if (info->type == AlterType::SET_COMMENT) {
			KeepThroughComment(*object, info->Cast<SetCommentInfo>());
			return;
		}
		auto layout = LayoutOf(*info);
		if (layout) {
			plan = Declare(*layout);
			return;
		}
		DeclarationChange change;
		change.objects = AlterEffect(context, *object).Of(*info);
		if (!change.objects.empty()) {
			change.alter = std::move(info);
			plan = make_uniq<LogicalDeclare>(std::move(change));
		}
	}

	void InterceptDrop(unique_ptr<LogicalOperator> &plan) {
		auto &info = plan->Cast<LogicalDrop>().info;
		if (info->type != CatalogType::TABLE_ENTRY && info->type != CatalogType::VIEW_ENTRY) {
			return;
		}
		auto object = DeclarationStore::Find(context, info->GetQualifiedName());
		if (!object || object->type != info->type || !object->ParentCatalog().IsDuckCatalog()) {
			return;
		}
		DeclarationChange change;
		change.objects = AlterEffect(context, *object).OfDrop();
		if (!change.objects.empty()) {
			change.drop = std::move(info);
			plan = make_uniq<LogicalDeclare>(std::move(change));
		}
	}

	static bool ConcernsTableOrView(const AlterInfo &info) {
		switch (info.type) {
		case AlterType::ALTER_TABLE:
		case AlterType::ALTER_VIEW:
			return true;
		case AlterType::SET_COMMENT:
			return info.GetCatalogType() == CatalogType::TABLE_ENTRY ||
			       info.GetCatalogType() == CatalogType::VIEW_ENTRY;
		default:
			return false;
		}
	}

	//! SET PARTITIONED BY and SET SORTED BY of a table are in DuckDB's grammar, for catalogs other than its own.
	unique_ptr<AlterDeclarationInfo> LayoutOf(AlterInfo &info) {
		if (info.type != AlterType::ALTER_TABLE) {
			return nullptr;
		}
		unique_ptr<AlterDeclarationInfo> result;
		auto &alter = info.Cast<AlterTableInfo>();
		if (alter.alter_table_type == AlterTableType::SET_PARTITIONED_BY) {
			auto &keys = alter.Cast<SetPartitionedByInfo>().partition_keys;
			result = AlterDeclarationInfo::PartitionedBy(keys, QueryLocation());
		} else if (alter.alter_table_type == AlterTableType::SET_SORTED_BY) {
			result = AlterDeclarationInfo::SortedBy(alter.Cast<SetSortedByInfo>().orders, QueryLocation());
		} else {
			return nullptr;
		}
		result->SetQualifiedName(info.GetQualifiedName());
		return result;
	}

	unique_ptr<LogicalOperator> Declare(AlterDeclarationInfo &stated) {
		DeclarationChange change;
		auto object = DeclarationStore::Find(context, stated.GetQualifiedName());
		if (object) {
			if (stated.alter_view && object->type != CatalogType::VIEW_ENTRY) {
				throw BinderException(stated.location, "%s is a table; write ALTER TABLE",
				                      stated.GetQualifiedName().ToString());
			}
			if (DeclarationStore::KeptInSession(*object)) {
				// nothing is written to the database
				binder.GetStatementProperties().modified_databases.erase(object->ParentCatalog().GetName());
			}
			DeclarationBinding binding(context, *object, stated.location);
			change.objects.push_back(
			    {DeclarationStore::NameOf(*object), binding.Apply(stated.action, stated.declaration)});
		}
		return make_uniq<LogicalDeclare>(std::move(change));
	}

	void KeepThroughComment(CatalogEntry &object, SetCommentInfo &info) {
		auto &catalog = object.ParentCatalog();
		auto comment = DeclarationComment::Parse(object.comment, catalog.GetName());
		// a comment that brings declarations, as IMPORT DATABASE does, replaces them
		if (comment.declarations.empty() || DeclarationComment::HasDeclarations(info.comment_value)) {
			return;
		}
		comment.text = info.comment_value;
		info.comment_value = comment.ToValue(catalog.GetName());
	}

	ClientContext &context;
	Binder &binder;
};

void PostBind(PlannerExtensionInput &input, BoundStatement &statement) {
	if (statement.plan) {
		Interceptor(input).Visit(statement.plan);
	}
}

} // namespace

void AlterInterception::Register(ExtensionLoader &loader) {
	PlannerExtension extension;
	extension.post_bind_function = PostBind;
	PlannerExtension::Register(DBConfig::GetConfig(loader.GetDatabaseInstance()), std::move(extension));
}

} // namespace merganser
