//===----------------------------------------------------------------------===//
//                         Merganser
//
// precompiled.hpp
//
// DuckDB's most included headers, compiled once. Sources still include what they use.
//===----------------------------------------------------------------------===//

#pragma once

#include "duckdb.hpp"
#include "duckdb/main/extension/extension_loader.hpp"
#include "duckdb/planner/expression/list.hpp"
#include "duckdb/planner/expression_iterator.hpp"
#include "duckdb/planner/operator/list.hpp"
#include "duckdb/optimizer/optimizer.hpp"
#include "duckdb/optimizer/column_binding_replacer.hpp"
#include "duckdb/parser/grammar_extension.hpp"
#include "duckdb/execution/physical_plan_generator.hpp"
