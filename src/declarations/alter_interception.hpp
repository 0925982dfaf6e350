//===----------------------------------------------------------------------===//
//                         Merganser
//
// declarations/alter_interception.hpp
//
// Problem: declarations name objects and columns, and stand in comments; DuckDB's own ALTER and COMMENT ON know nothing
// of that.
//   ALTER TABLE customer RENAME COLUMN c_custkey TO id;      -- the declared key and foreign keys to it become (id)
//   ALTER TABLE customer RENAME TO client;                   -- foreign keys follow
//   ALTER TABLE customer DROP COLUMN region;                 -- declarations that name it go with it
//   ALTER TABLE customer ALTER id TYPE SMALLINT;             -- declarations that name it become stale
//   COMMENT ON TABLE customer IS 'clients';                  -- keeps the declarations
//   DROP TABLE customer;                                     -- foreign keys to it become stale, and stay so if
//                                                               another customer is made
// After a statement is bound, an ALTER or DROP that concerns declarations, including our own, is replaced by one that
// carries out both in one transaction (declare_operator.hpp); every other statement is left alone. Limits: foreign keys
// that other databases declare to a renamed object become stale (a transaction writes one database), and those to one
// that is dropped there, or by CREATE OR REPLACE or with its schema, until it is there again with such a key. Errors:
// those of declaration_binding.hpp.
//===----------------------------------------------------------------------===//

#pragma once

#include "settings.hpp"

namespace merganser {

struct AlterInterception {
	static void Register(ExtensionLoader &loader);
};

} // namespace merganser
