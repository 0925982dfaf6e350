#include "keys/proved_keys.hpp"

namespace merganser {

namespace {

const idx_t MOST_PROOFS = 256;

} // namespace

string ProvedKey::ToString() const {
	return StringUtil::Format("%s, %llu rows read in %.1f ms", proof.ToString(), proof.rows, proof.milliseconds);
}

shared_ptr<ProvedKeys> ProvedKeys::Get(ClientContext &context) {
	return ObjectCache::GetObjectCache(context).GetOrCreate<ProvedKeys>(ObjectType());
}

shared_ptr<const ProvedKey> ProvedKeys::Find(const SeenData &now) {
	std::lock_guard<std::mutex> guard(lock);
	for (auto &key : keys) {
		if (key->seen->Covers(now, key->proof.Holds())) {
			return key;
		}
	}
	return nullptr;
}

void ProvedKeys::Add(shared_ptr<const ProvedKey> key) {
	std::lock_guard<std::mutex> guard(lock);
	ForgetWhatIsGone();
	keys.push_back(std::move(key));
	if (keys.size() > MOST_PROOFS) {
		keys.pop_front();
	}
}

void ProvedKeys::Forget(const ProvedKey &key) {
	std::lock_guard<std::mutex> guard(lock);
	keys.remove_if([&](const shared_ptr<const ProvedKey> &known) { return known.get() == &key; });
}

vector<shared_ptr<const ProvedKey>> ProvedKeys::All() {
	std::lock_guard<std::mutex> guard(lock);
	ForgetWhatIsGone();
	return vector<shared_ptr<const ProvedKey>>(keys.begin(), keys.end());
}

void ProvedKeys::ForgetWhatIsGone() {
	keys.remove_if([](const shared_ptr<const ProvedKey> &old) { return !old->seen->MayComeAgain(); });
}

} // namespace merganser
