#pragma once

/// \file Index of one shard: offsets of its records and of the members it is compressed in.
/// Format: docs/formats/index.md.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "headrace/base/bytes.h"
#include "headrace/base/result.h"

namespace headrace {

/// How a shard's records are stored. Numbered as in the format. (codec/ has the compressions in its own
/// terms; the two do not include each other.)
enum class ShardEncoding : std::uint8_t {
  kPlain = 0,  // TFRecord
  kGzip = 1,
  kZlib = 2,
  kTar = 3,  // a record is a WebDataset sample: what is said of framed records goes for its part of the tar
};

/// Whether records can be had only by inflating what they lie in.
constexpr bool is_compressed(ShardEncoding encoding) {
  return encoding == ShardEncoding::kGzip || encoding == ShardEncoding::kZlib;
}

/// Larger index objects are neither read nor written: in memory they take up to 60 times their size.
inline constexpr std::uint64_t kIndexLimitBytes = 64 << 20;

/// A part of the shard that can be decompressed by itself. An uncompressed shard is one member.
struct ShardMember {
  std::uint64_t compressed_offset = 0;
  std::uint64_t compressed_bytes = 0;
  std::uint64_t uncompressed_offset = 0;
  std::uint64_t uncompressed_bytes = 0;
  /// Records that begin in the member: first_record … first_record + record_count − 1.
  std::uint64_t first_record = 0;
  std::uint64_t record_count = 0;
  /// False only in foreign files: a record lies across the member's beginning.
  bool begins_with_record = true;
};

/// A run of records that is read as a whole: docs/formats/order.md, "Inputs". Blocks of a shard follow one
/// another in both streams; the first begins at 0.
struct ShardBlock {
  std::uint64_t record_count = 0;
  std::uint64_t stored_bytes = 0;  // compressed, or the same as stream_bytes
  std::uint64_t stream_bytes = 0;  // uncompressed, framed
  bool operator==(const ShardBlock&) const = default;
};

/// Blocks hold at least so many uncompressed bytes, but the last of a shard.
inline constexpr std::uint64_t kBlockBytes = 8 << 20;

/// Immutable once made, hence thread-safe. Memory: 8 bytes a record, 56 a member.
class ShardIndex {
 public:
  /// Reads an index object. Memory: at most 60 times `data`.
  /// \error kDataLoss       not an index, damaged, or contradicting itself
  /// \error kUnimplemented  a newer version
  static Result<ShardIndex> parse(BytesView data);
  Bytes serialize() const;

  ShardEncoding encoding() const { return encoding_; }
  /// Size and CRC32C of the shard as stored, to be compared before the index is believed.
  std::uint64_t shard_bytes() const { return shard_bytes_; }
  std::uint32_t shard_crc32c() const { return shard_crc32c_; }

  std::uint64_t record_count() const { return offsets_.size() - 1; }
  /// Size of the uncompressed stream.
  std::uint64_t stream_bytes() const { return offsets_.back(); }
  /// Where the framed record begins in the uncompressed stream; `record_count()` gives the stream's end.
  /// REQUIRES: record <= record_count()
  std::uint64_t record_offset(std::uint64_t record) const { return offsets_[record]; }
  /// Framed, so 16 more than the data. REQUIRES: record < record_count()
  std::uint64_t record_bytes(std::uint64_t record) const { return offsets_[record + 1] - offsets_[record]; }

  /// In order, at least one unless the shard is empty.
  const std::vector<ShardMember>& members() const { return members_; }

  /// The shard's blocks, none of them without records.
  std::vector<ShardBlock> blocks() const;

 private:
  friend class ShardIndexBuilder;
  ShardIndex() = default;
  Status complete();

  ShardEncoding encoding_ = ShardEncoding::kPlain;
  std::uint64_t shard_bytes_ = 0;
  std::uint32_t shard_crc32c_ = 0;
  std::vector<std::uint64_t> offsets_ = {0};  // of each record, and the end
  std::vector<ShardMember> members_;
};

/// Makes an index while a shard is written, or from one pass over it.
class ShardIndexBuilder {
 public:
  explicit ShardIndexBuilder(ShardEncoding encoding) { index_.encoding_ = encoding; }

  /// The next record of the stream, of so many bytes without framing.
  void add_record(std::uint64_t data_bytes);
  std::uint64_t record_count() const { return index_.record_count(); }

  /// The next member of a compressed shard. May come before or after the records that are in it.
  void add_member(std::uint64_t compressed_bytes, std::uint64_t uncompressed_bytes);

  /// Size and checksum of the shard as stored. The builder is spent.
  /// \error kInvalidArgument  members that do not hold exactly the records, or more than the shard
  Result<ShardIndex> finish(std::uint64_t shard_bytes, std::uint32_t shard_crc32c) &&;

 private:
  ShardIndex index_;
};

}  // namespace headrace
