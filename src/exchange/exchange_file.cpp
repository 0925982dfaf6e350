#include "exchange/exchange_file.hpp"

#include "exchange/exchange_compression.hpp"
#include "open_file_limit.hpp"

#include "duckdb/common/checksum.hpp"
#include "duckdb/common/serializer/binary_deserializer.hpp"
#include "duckdb/common/serializer/binary_serializer.hpp"
#include "duckdb/common/serializer/memory_stream.hpp"
#include "duckdb/common/types/uuid.hpp"
#include "duckdb/storage/storage_info.hpp"

namespace merganser {

namespace {

const uint64_t MAGIC = 0x3148435845524D47ULL; // "GMREXCH1", read as a little-endian number
const uint64_t FORMAT_VERSION = 3;
const idx_t HEADER_SIZE = 2 * sizeof(uint64_t);
const idx_t FOOTER_SIZE = 3 * sizeof(uint64_t);

SerializationOptions Lossless() {
	SerializationOptions options;
	options.storage_compatibility = StorageCompatibility::Latest();
	return options;
}

string TemporaryName(const string &path) {
	return path + ".tmp_" + UUID::ToString(UUID::GenerateRandomUUID());
}

//! Unlike the folder above, these are the same wherever nodes keep their files.
string Origin(const string &path) {
	auto parts = StringUtil::Split(path, '/');
	auto first = parts.begin() + NumericCast<int64_t>(parts.size() - MinValue<idx_t>(parts.size(), 3));
	return StringUtil::Join(vector<string>(first, parts.end()), "/");
}

unique_ptr<FileHandle> Open(FileSystem &file_system, const string &path, const FileOpenFlags &flags) {
	try {
		return file_system.OpenFile(path, flags);
	} catch (const IOException &exception) {
		OpenFileLimit::Explain(ErrorData(exception)).Throw();
	}
}

} // namespace

idx_t ExchangeIndex::Rows() const {
	idx_t result = 0;
	for (auto &block : blocks) {
		result += block.rows;
	}
	return result;
}

vector<PartitionSize> ExchangeIndex::Sizes() const {
	vector<PartitionSize> result(partitions);
	for (auto &block : blocks) {
		result[block.partition].rows += block.rows;
		result[block.partition].bytes += block.raw_length;
	}
	return result;
}

void ExchangeIndex::Serialize(Serializer &serializer) const {
	serializer.WriteList(100, "names", names.size(),
	                     [&](Serializer::List &list, idx_t i) { list.WriteElement(names[i].GetIdentifierName()); });
	serializer.WriteList(101, "types", types.size(),
	                     [&](Serializer::List &list, idx_t i) { list.WriteElement(types[i]); });
	serializer.WriteProperty<idx_t>(102, "partitions", partitions);
	serializer.WriteList(103, "blocks", blocks.size(), [&](Serializer::List &list, idx_t i) {
		list.WriteObject([&](Serializer &object) {
			object.WriteProperty<idx_t>(100, "partition", blocks[i].partition);
			object.WriteProperty<idx_t>(101, "offset", blocks[i].offset);
			object.WriteProperty<idx_t>(102, "length", blocks[i].length);
			object.WriteProperty<idx_t>(103, "rows", blocks[i].rows);
			object.WriteProperty<uint64_t>(104, "checksum", blocks[i].checksum);
			object.WriteProperty<idx_t>(105, "raw_length", blocks[i].raw_length);
		});
	});
	serializer.WriteProperty<string>(104, "origin", origin);
}

ExchangeIndex ExchangeIndex::Deserialize(Deserializer &deserializer) {
	ExchangeIndex result;
	deserializer.ReadList(
	    100, "names", [&](Deserializer::List &list, idx_t) { result.names.emplace_back(list.ReadElement<string>()); });
	deserializer.ReadList(101, "types", [&](Deserializer::List &list, idx_t) {
		result.types.push_back(list.ReadElement<LogicalType>());
	});
	result.partitions = deserializer.ReadProperty<idx_t>(102, "partitions");
	deserializer.ReadList(103, "blocks", [&](Deserializer::List &list, idx_t) {
		list.ReadObject([&](Deserializer &object) {
			ExchangeBlock block;
			block.partition = object.ReadProperty<idx_t>(100, "partition");
			block.offset = object.ReadProperty<idx_t>(101, "offset");
			block.length = object.ReadProperty<idx_t>(102, "length");
			block.rows = object.ReadProperty<idx_t>(103, "rows");
			block.checksum = object.ReadProperty<uint64_t>(104, "checksum");
			block.raw_length = object.ReadProperty<idx_t>(105, "raw_length");
			result.blocks.push_back(block);
		});
	});
	result.origin = deserializer.ReadProperty<string>(104, "origin");
	return result;
}

ExchangeFileWriter::ExchangeFileWriter(FileSystem &file_system, string path_p, vector<Identifier> names,
                                       vector<LogicalType> types, idx_t partitions, bool compress)
    : file_system(file_system), path(std::move(path_p)), temporary_path(TemporaryName(path)), compress(compress) {
	index.names = std::move(names);
	index.types = std::move(types);
	index.partitions = partitions;
	index.origin = Origin(path);
	handle = Open(file_system, temporary_path, FileFlags::FILE_FLAGS_WRITE | FileFlags::FILE_FLAGS_FILE_CREATE_NEW);
	uint64_t header[] = {MAGIC, FORMAT_VERSION};
	Write(const_data_ptr_cast(header), HEADER_SIZE);
}

ExchangeFileWriter::~ExchangeFileWriter() {
	if (finished) {
		return;
	}
	handle.reset();
	file_system.TryRemoveFile(temporary_path);
}

void ExchangeFileWriter::Write(const_data_ptr_t data, idx_t length) {
	auto bytes = const_cast<data_ptr_t>(data); // NOLINT: DuckDB's interface takes void *
	handle->Write(QueryContext(), bytes, length, position);
	position += length;
}

void ExchangeFileWriter::AppendBlock(DataChunk &rows, idx_t partition) {
	MemoryStream stream;
	BinarySerializer serializer(stream, Lossless());
	serializer.Begin();
	serializer.WriteList(100, "columns", rows.ColumnCount(), [&](Serializer::List &list, idx_t i) {
		list.WriteObject([&](Serializer &object) {
			Vector column(rows.data[i].GetType());
			column.Reference(rows.data[i]);
			column.Serialize(object, false);
		});
	});
	serializer.End();
	ExchangeBlock block;
	block.partition = partition;
	block.raw_length = stream.GetPosition();
	block.rows = rows.size();
	unsafe_vector<data_t> compressed;
	auto smaller = compress && ExchangeCompression::TryCompress(stream.GetData(), block.raw_length, compressed);
	block.length = smaller ? compressed.size() : block.raw_length;
	auto data = smaller ? compressed.data() : stream.GetData();
	block.checksum = Checksum(data, block.length);

	std::lock_guard<std::mutex> guard(lock);
	block.offset = position;
	Write(data, block.length);
	index.blocks.push_back(block);
}

void ExchangeFileWriter::SpreadBlocks() {
	auto rows = MaxValue<idx_t>(index.Rows(), 1);
	idx_t before = 0;
	for (auto &block : index.blocks) {
		block.partition = MinValue<idx_t>(before * index.partitions / rows, index.partitions - 1);
		before += block.rows;
	}
}

idx_t ExchangeFileWriter::Finish() {
	MemoryStream stream;
	BinarySerializer::Serialize(index, stream, Lossless());
	uint64_t footer[] = {stream.GetPosition(), Checksum(stream.GetData(), stream.GetPosition()), MAGIC};
	Write(stream.GetData(), stream.GetPosition());
	Write(const_data_ptr_cast(footer), FOOTER_SIZE);
	handle->Close();
	handle.reset();
	file_system.MoveFile(temporary_path, path);
	finished = true;
	return position;
}

idx_t ExchangeFileWriter::Bytes() {
	std::lock_guard<std::mutex> guard(lock);
	return position;
}

idx_t ExchangeFileWriter::Rows() const {
	return index.Rows();
}

ExchangeFileReader::ExchangeFileReader(FileSystem &file_system, string path_p) : path(std::move(path_p)) {
	handle = Open(file_system, path, FileFlags::FILE_FLAGS_READ | FileFlags::FILE_FLAGS_NULL_IF_NOT_EXISTS);
	if (!handle) {
		ThrowDamaged("is gone");
	}
	ReadIndex();
}

void ExchangeFileReader::ThrowDamaged(const string &what) const {
	throw IOException("Exchange file \"%s\" %s; run the stage that wrote it again", path, what);
}

void ExchangeFileReader::Read(data_ptr_t target, idx_t length, idx_t offset) {
	if (offset + length > handle->GetFileSize()) {
		ThrowDamaged("is truncated");
	}
	handle->Read(target, length, offset);
}

void ExchangeFileReader::ReadIndex() {
	auto size = handle->GetFileSize();
	if (size < HEADER_SIZE + FOOTER_SIZE) {
		ThrowDamaged("is truncated");
	}
	uint64_t header[2];
	Read(data_ptr_cast(header), HEADER_SIZE, 0);
	if (header[0] != MAGIC) {
		ThrowDamaged("is not an exchange file");
	}
	if (header[1] != FORMAT_VERSION) {
		ThrowDamaged(
		    StringUtil::Format("has format version %llu, this extension reads %llu", header[1], FORMAT_VERSION));
	}
	uint64_t footer[3];
	Read(data_ptr_cast(footer), FOOTER_SIZE, size - FOOTER_SIZE);
	auto length = footer[0];
	if (footer[2] != MAGIC || length > size - HEADER_SIZE - FOOTER_SIZE) {
		ThrowDamaged("is truncated");
	}
	buffer.resize(length);
	Read(buffer.data(), length, size - FOOTER_SIZE - length);
	if (Checksum(buffer.data(), length) != footer[1]) {
		ThrowDamaged("was altered: the checksum of its index is wrong");
	}
	identity = footer[1];
	MemoryStream stream(buffer.data(), length);
	BinaryDeserializer deserializer(stream);
	deserializer.Begin();
	index = ExchangeIndex::Deserialize(deserializer);
	deserializer.End();
}

void ExchangeFileReader::Verify(uint64_t expected) const {
	if (identity != expected) {
		ThrowDamaged(StringUtil::Format(
		    "is not the one that was to be read: it was written as \"%s\", with other rows or by another attempt",
		    index.origin));
	}
}

void ExchangeFileReader::ReadBlock(const ExchangeBlock &block, DataChunk &result) {
	if (buffer.size() < block.length) {
		buffer.resize(block.length);
	}
	Read(buffer.data(), block.length, block.offset);
	if (Checksum(buffer.data(), block.length) != block.checksum) {
		ThrowDamaged("was altered: the checksum of a block is wrong");
	}
	auto data = buffer.data();
	if (block.raw_length != block.length) {
		decompressed.resize(block.raw_length);
		data = decompressed.data();
		if (!ExchangeCompression::TryDecompress(buffer.data(), block.length, data, block.raw_length)) {
			ThrowDamaged("was altered: a block cannot be decompressed");
		}
	}
	MemoryStream stream(data, block.raw_length);
	BinaryDeserializer deserializer(stream);
	deserializer.Begin();
	result.Reset();
	deserializer.ReadList(100, "columns", [&](Deserializer::List &list, idx_t i) {
		list.ReadObject([&](Deserializer &object) { result.data[i].Deserialize(object, block.rows); });
	});
	deserializer.End();
	result.SetChildCardinality(block.rows);
}

static void AddSizes(vector<PartitionSize> &sizes, const vector<PartitionSize> &of_file, const string &path) {
	if (sizes.empty()) {
		sizes.resize(of_file.size());
	}
	if (sizes.size() != of_file.size()) {
		throw BinderException("Exchange file \"%s\" has %llu partitions, those before it in the list have %llu; give "
		                      "only files of one stage",
		                      path, of_file.size(), sizes.size());
	}
	for (idx_t i = 0; i < sizes.size(); i++) {
		sizes[i].rows += of_file[i].rows;
		sizes[i].bytes += of_file[i].bytes;
	}
}

ExchangeFiles ExchangeFiles::Of(FileSystem &file_system, const vector<string> &paths) {
	ExchangeFiles result;
	for (auto &path : paths) {
		ExchangeFileReader file(file_system, path);
		result.names.push_back({path, file.Identity()});
		AddSizes(result.partitions, file.Index().Sizes(), path);
	}
	return result;
}

vector<idx_t> ExchangeFiles::PartitionBytes() const {
	vector<idx_t> result;
	for (auto &size : partitions) {
		result.push_back(size.bytes);
	}
	return result;
}

} // namespace merganser
