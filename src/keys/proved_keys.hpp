//===----------------------------------------------------------------------===//
//                         Merganser
//
// keys/proved_keys.hpp
//
// The proofs of keys that this database instance remembers, those that failed too, so that none is taken twice over
// the same data (seen_data.hpp). Shared by its connections; gone with the instance. The oldest make room for new ones.
//===----------------------------------------------------------------------===//

#pragma once

#include "keys/key_proof.hpp"
#include "keys/seen_data.hpp"

#include "duckdb/storage/object_cache.hpp"

#include <list>
#include <mutex>

namespace merganser {

//! A proof, of what, and when.
struct ProvedKey {
	//! "memory.main.customer" or "read_parquet('customer.parquet')".
	string relation;
	vector<string> columns;
	KeyProof proof;
	//! Null where that could not be recognised again: the proof is good for its own statement.
	shared_ptr<SeenData> seen;
	timestamp_t taken;

	//! "holds, 150000 rows read in 6.1 ms".
	string ToString() const;
};

class ProvedKeys : public ObjectCacheEntry {
public:
	static shared_ptr<ProvedKeys> Get(ClientContext &context);

	//! The proof over this data, if it is remembered.
	shared_ptr<const ProvedKey> Find(const SeenData &now);
	//! Of data that can be recognised again.
	void Add(shared_ptr<const ProvedKey> key);
	//! What was found while a statement ran speaks against it.
	void Forget(const ProvedKey &key);
	//! In the order they were taken; without those of tables that are gone.
	vector<shared_ptr<const ProvedKey>> All();

	static string ObjectType() {
		return "merganser_proved_keys";
	}
	string GetObjectType() override {
		return ObjectType();
	}
	//! Invalid: not to be thrown out for want of memory.
	optional_idx GetEstimatedCacheMemory() const override {
		return optional_idx();
	}

private:
	//! With the lock held.
	void ForgetWhatIsGone();

	std::mutex lock;
	std::list<shared_ptr<const ProvedKey>> keys;
};

} // namespace merganser
