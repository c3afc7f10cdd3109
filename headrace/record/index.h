#pragma once

/// \file The index of one shard: the offsets of its records and of its compressed members.
/// Format: docs/formats/index.md.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "headrace/base/bytes.h"
#include "headrace/base/result.h"

namespace headrace {

/// How a shard's records are stored. The numbers are those of the format. codec/ has its own enumeration of
/// compressions, because neither folder includes the other.
enum class ShardEncoding : std::uint8_t {
  kPlain = 0,  // TFRecord
  kGzip = 1,   // TFRecord
  kZlib = 2,   // TFRecord
  kTar = 3,    // a record is a WebDataset sample; its part of the tar takes the place of the framed record
};

/// True if the records must be decompressed to be read.
constexpr bool is_compressed(ShardEncoding encoding) {
  return encoding == ShardEncoding::kGzip || encoding == ShardEncoding::kZlib;
}

/// The largest index object that is read or written. In memory, an index takes up to 60 times its size.
inline constexpr std::uint64_t kIndexLimitBytes = 64 << 20;

/// A part of the shard that can be decompressed by itself. An uncompressed shard is one member.
struct ShardMember {
  std::uint64_t compressed_offset = 0;
  std::uint64_t compressed_bytes = 0;
  std::uint64_t uncompressed_offset = 0;
  std::uint64_t uncompressed_bytes = 0;
  /// The records that begin in the member: first_record … first_record + record_count − 1.
  std::uint64_t first_record = 0;
  std::uint64_t record_count = 0;
  /// False if a record lies across the member's beginning, which happens only in foreign files.
  bool begins_with_record = true;
};

/// A run of records that is read as a whole: docs/formats/order.md, "Inputs". The blocks of a shard follow
/// one another, in the stored bytes and in the uncompressed stream alike; the first block begins at 0.
struct ShardBlock {
  std::uint64_t record_count = 0;
  std::uint64_t stored_bytes = 0;  // as stored: compressed, or the same as stream_bytes
  std::uint64_t stream_bytes = 0;  // uncompressed, with framing
  bool operator==(const ShardBlock&) const = default;
};

/// The least uncompressed bytes of a block. Only the last block of a shard may have fewer.
inline constexpr std::uint64_t kBlockBytes = 8 << 20;

/// The index of one shard. Immutable, hence thread-safe. Memory: 8 bytes per record, 56 per member.
class ShardIndex {
 public:
  /// Reads an index object. Memory: at most 60 times `data`.
  /// \error kDataLoss       not an index, damaged, or inconsistent
  /// \error kUnimplemented  a newer version of the format
  static Result<ShardIndex> parse(BytesView data);
  /// The index object's bytes; equal indexes give equal bytes.
  Bytes serialize() const;

  ShardEncoding encoding() const { return encoding_; }
  /// Size and CRC32C of the shard as stored. Compare them with the shard before using the index.
  std::uint64_t shard_bytes() const { return shard_bytes_; }
  std::uint32_t shard_crc32c() const { return shard_crc32c_; }

  std::uint64_t record_count() const { return offsets_.size() - 1; }
  /// Size of the uncompressed stream.
  std::uint64_t stream_bytes() const { return offsets_.back(); }
  /// Where a framed record begins in the uncompressed stream; for `record_count()`, the stream's end.
  /// REQUIRES: record <= record_count()
  std::uint64_t record_offset(std::uint64_t record) const { return offsets_[record]; }
  /// The size of a framed record: 16 bytes more than its data. REQUIRES: record < record_count()
  std::uint64_t record_bytes(std::uint64_t record) const { return offsets_[record + 1] - offsets_[record]; }

  /// The members in stored order: at least one unless the shard is empty.
  const std::vector<ShardMember>& members() const { return members_; }

  /// The shard's blocks in stored order. Each has records.
  std::vector<ShardBlock> blocks() const;

 private:
  friend class ShardIndexBuilder;
  ShardIndex() = default;
  Status complete();

  ShardEncoding encoding_ = ShardEncoding::kPlain;
  std::uint64_t shard_bytes_ = 0;
  std::uint32_t shard_crc32c_ = 0;
  std::vector<std::uint64_t> offsets_ = {0};  // where each record begins, and where the last one ends
  std::vector<ShardMember> members_;
};

/// Builds an index while a shard is written, or in one pass over it. Not thread-safe.
class ShardIndexBuilder {
 public:
  explicit ShardIndexBuilder(ShardEncoding encoding) { index_.encoding_ = encoding; }

  /// Adds the next record of the stream. `data_bytes` is its size without framing.
  void add_record(std::uint64_t data_bytes);
  std::uint64_t record_count() const { return index_.record_count(); }

  /// Adds the next member of a compressed shard, before or after the records in it.
  void add_member(std::uint64_t compressed_bytes, std::uint64_t uncompressed_bytes);

  /// Returns the index. The arguments are the size and the checksum of the shard as stored. The builder
  /// cannot be used afterwards.
  /// \error kInvalidArgument  the members or the shard do not hold exactly the records, or the members are
  ///                          larger than the shard
  Result<ShardIndex> finish(std::uint64_t shard_bytes, std::uint32_t shard_crc32c) &&;

 private:
  ShardIndex index_;
};

}  // namespace headrace
