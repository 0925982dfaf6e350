//===----------------------------------------------------------------------===//
//                         Merganser
//
// exchange/exchange_file.hpp
//
// Problem: rows that travel between stages must come back bit for bit. Parquet turns HUGEINT into DOUBLE, Arrow turns
// it into a decimal and forgets aggregate states. An exchange file therefore keeps DuckDB's own vectors.
//
//   header   magic (8 bytes), format version (8 bytes)
//   blocks   up to STANDARD_VECTOR_SIZE rows of one partition each, compressed or not, in the order they were written
//   index    names, types, number of partitions, origin; per block its partition, place, rows, checksum and the bytes
//            before compression
//   footer   length of the index (8), checksum of the index (8), magic (8)
//
// A file appears under its name only when it is complete: it is written to a temporary name and renamed.
//
// Which attempt at a task is in a file is not left to its name: the index keeps the name it was written under, the
// origin "<query>/s<stage>/t<task>-a<attempt>", and the checksum of every block. So the checksum of the index is the
// identity of the file: another attempt has another one, and so has the same attempt with other rows. Who is told the
// identity of a file along with its path reads that file or fails.
// Errors: IOException naming the file when it is truncated, altered or of another format.
// Limit: the format is for one version of the extension and one byte order; it is not an archive.
//===----------------------------------------------------------------------===//

#pragma once

#include "settings.hpp"

#include "duckdb/common/file_system.hpp"

#include <mutex>

namespace merganser {

struct ExchangeBlock {
	idx_t partition;
	//! Place in the file, bytes.
	idx_t offset;
	idx_t length;
	//! Bytes before compression; `length` where it is not compressed.
	idx_t raw_length;
	idx_t rows;
	uint64_t checksum;
};

//! What one partition of an exchange takes, before compression.
struct PartitionSize {
	idx_t rows = 0;
	idx_t bytes = 0;
};

struct ExchangeIndex {
	vector<Identifier> names;
	vector<LogicalType> types;
	idx_t partitions = 1;
	//! The end of the path it was written to: the file and the two folders above it.
	string origin;
	vector<ExchangeBlock> blocks;

	idx_t Rows() const;
	//! One for each partition.
	vector<PartitionSize> Sizes() const;
	void Serialize(Serializer &serializer) const;
	static ExchangeIndex Deserialize(Deserializer &deserializer);
};

//! Where a file is, and which one it must be.
struct ExchangeFileName {
	string path;
	uint64_t identity;
};

//! The files of one stage.
struct ExchangeFiles {
	vector<ExchangeFileName> names;
	//! Of each partition over all files.
	vector<PartitionSize> partitions;

	//! These files as they are now, each opened once. Throws BinderException where they have different numbers of
	//! partitions.
	static ExchangeFiles Of(FileSystem &file_system, const vector<string> &paths);
	vector<idx_t> PartitionBytes() const;
};

//! Writes one exchange file. AppendBlock may be called from several threads.
class ExchangeFileWriter {
public:
	ExchangeFileWriter(FileSystem &file_system, string path, vector<Identifier> names, vector<LogicalType> types,
	                   idx_t partitions, bool compress);
	//! Removes the temporary file unless Finish has renamed it.
	~ExchangeFileWriter();

	void AppendBlock(DataChunk &rows, idx_t partition);
	//! Gives the blocks written so far to the partitions in order, about equally many rows each.
	void SpreadBlocks();
	//! Writes the index and makes the file appear under its name. Returns the bytes written.
	idx_t Finish();
	idx_t Rows() const;
	//! Written so far.
	idx_t Bytes();

private:
	FileSystem &file_system;
	const string path;
	const string temporary_path;
	const bool compress;
	std::mutex lock;
	unique_ptr<FileHandle> handle;
	ExchangeIndex index;
	idx_t position = 0;
	bool finished = false;

	void Write(const_data_ptr_t data, idx_t length);
};

//! Reads one exchange file; one reader belongs to one thread.
class ExchangeFileReader {
public:
	ExchangeFileReader(FileSystem &file_system, string path);

	const ExchangeIndex &Index() const {
		return index;
	}
	uint64_t Identity() const {
		return identity;
	}
	//! Throws IOException where this is another file than the one of that identity.
	void Verify(uint64_t expected) const;
	//! Reads a block into `result`, which is initialized with the file's types.
	void ReadBlock(const ExchangeBlock &block, DataChunk &result);

private:
	const string path;
	unique_ptr<FileHandle> handle;
	ExchangeIndex index;
	uint64_t identity = 0;
	unsafe_vector<data_t> buffer;
	unsafe_vector<data_t> decompressed;

	void ReadIndex();
	void Read(data_ptr_t target, idx_t length, idx_t offset);
	[[noreturn]] void ThrowDamaged(const string &what) const;
};

} // namespace merganser
