#include "grouping/input_verification.hpp"

namespace merganser {

InputVerification::InputVerification(ClientContext &context, const InputPromise &promise,
                                     optional_ptr<const PhysicalRegionScan> scan,
                                     shared_ptr<const RegionPosition> position, InputVerificationState &shared)
    : promise(promise), scan(scan), position(std::move(position)), shared(shared),
      order(context, promise.ordering, promise.input_types), plain(promise.ordering.size()) {
}

//! Rows that lie in no region count as one.
idx_t InputVerification::Region() const {
	return position ? position->region.GetIndex() : 0;
}

void InputVerification::Observe(DataChunk &input, const PartitionBoundaries &boundaries) {
	auto &starts = boundaries.Starts();
	if (promise.one_stream) {
		CheckOneStream();
	}
	if (promise.whole_partitions) {
		auto continues = starts.empty() || starts[0] != 0;
		if (continues && region.IsValid() && region != Region()) {
			ThrowMetAgain(input, 0, region.GetIndex());
		}
		region = Region();
		CheckWholeness(input, starts);
	}
	if (!promise.ordering.empty()) {
		CheckOrder(input, starts);
	}
}

void InputVerification::CheckOneStream() {
	if (!counted && shared.streams++ > 0) {
		throw InvalidInputException("%s: the rows of its one partition come in several streams. %s. %s",
		                            promise.function, promise.source, promise.remedy);
	}
	counted = true;
}

void InputVerification::CheckWholeness(DataChunk &input, const vector<idx_t> &starts) {
	if (starts.empty()) {
		return;
	}
	hashes.Compute(input, promise.partition_columns, starts);
	lock_guard<mutex> guard(shared.lock);
	for (idx_t i = 0; i < starts.size(); i++) {
		auto before = shared.partitions.Add(hashes.Partition(i, Region() + 1));
		if (before) {
			ThrowMetAgain(input, starts[i], before->region - 1);
		}
	}
}

void InputVerification::CheckOrder(DataChunk &input, const vector<idx_t> &starts) {
	for (idx_t i = 0; i < plain.size(); i++) {
		plain[i].TryWriteOut(input.data[promise.ordering[i].column]);
	}
	auto row = order.FindViolation(input, promise.sorts_partitions ? vector<idx_t>() : starts);
	if (row.IsValid()) {
		throw InvalidInputException(
		    "%s: in partition (%s), %s. Its order is %s. %s", WhereOutOfOrder(), Partition(input, row.GetIndex()),
		    order.Describe(input, row.GetIndex(), promise.column_names), promise.source, promise.remedy);
	}
	order.Remember(input);
}

string InputVerification::WhereOutOfOrder() const {
	if (scan) {
		return "Region " + scan->RegionName(Region()) + " is out of order";
	}
	return promise.function + ": rows arrive out of order";
}

string InputVerification::Partition(DataChunk &input, idx_t row) const {
	vector<string> result;
	for (auto column : promise.partition_columns) {
		result.push_back(promise.column_names[column] + " = " + input.GetValue(column, row).ToString());
	}
	return StringUtil::Join(result, ", ");
}

void InputVerification::ThrowMetAgain(DataChunk &input, idx_t row, idx_t before) const {
	auto partition = "artition (" + Partition(input, row) + ")";
	string problem;
	if (!scan) {
		problem = promise.function + ": p" + partition + " comes again after others";
	} else if (before == Region()) {
		problem =
		    "Region " + scan->RegionName(Region()) + " is not sorted: p" + partition + " comes again after others";
	} else {
		problem = "P" + partition + " lies in two regions, " + scan->RegionName(before) + " and " +
		          scan->RegionName(Region());
	}
	auto assumed = scan ? "That every region holds whole partitions, sorted, is " : "That partitions come whole is ";
	throw InvalidInputException("%s. %s%s. %s", problem, assumed, promise.source, promise.remedy);
}

} // namespace merganser
