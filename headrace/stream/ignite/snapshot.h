#pragma once

/// \file A snapshot of a cache, as docs/formats/ignite-snapshot.md describes it: which rows a loader reads.

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "headrace/base/bytes.h"
#include "headrace/base/result.h"
#include "headrace/record/manifest.h"
#include "headrace/store/location.h"

namespace headrace::ignite {

/// A run of rows of one partition.
struct SnapshotSection {
  std::int32_t partition = 0;  // -1: the cache as a whole
  std::uint32_t row_count = 0;
  std::uint64_t offset_bytes = 0;  // in the object
  std::uint64_t size_bytes = 0;
  std::uint64_t room_bytes = 0;  // upper bound of the rows' framed tf.Examples, and of the rows as encoded
  std::array<std::byte, 32> digest{};
};

struct SnapshotDescription {
  std::string cache;
  std::vector<std::int32_t> partitions{};  // that were asked for; empty: all
  DatasetAttributes dataset{};
  std::vector<std::string> remarks{};
};

struct Snapshot {
  ObjectInfo object{};  // the version that was read
  SnapshotDescription description{};
  std::vector<SnapshotSection> sections{};  // ascending by partition

  /// SHA-256 (hex) of what the sections hold.
  std::string digest() const;
};

/// Reads all but the sections. Memory: 64 bytes for each section, and the description.
/// \error kNotFound       there is no such object
/// \error kDataLoss       it is no snapshot, or damaged
/// \error kUnimplemented  it is of a newer version
Result<Snapshot> read_snapshot(const Location& location, const CallOptions& call);

struct SnapshotRow {
  BytesView key;
  std::uint64_t fingerprint = 0;  // of the value
};
/// The rows of a section, which view `bytes`.
/// \error kDataLoss  a wrong checksum, or other than `row_count` rows
Result<std::vector<SnapshotRow>> parse_section(BytesView bytes, std::uint64_t row_count);

/// Stands for an encoded value: its CRC32C and its size. A changed value has another one, but for one in 2^32
/// of those that keep their size.
std::uint64_t fingerprint_of(BytesView value);

/// The rows of one partition while they are gathered, in any order.
class GatheredRows {
 public:
  /// `room_bytes` as in SnapshotSection.
  void add(const SnapshotRow& row, std::uint64_t room_bytes);
  std::uint64_t memory_bytes() const { return keys_.capacity() + rows_.capacity() * sizeof(Row); }

 private:
  friend class SnapshotWriter;
  struct Row {
    std::uint64_t hash = 0;  // of the key
    std::uint64_t fingerprint = 0;
    std::uint64_t room_bytes = 0;
    std::uint64_t key_offset = 0;  // in keys_
    std::uint32_t key_bytes = 0;
  };
  BytesView key(const Row& row) const { return BytesView(keys_).subspan(row.key_offset, row.key_bytes); }

  Bytes keys_{};
  std::vector<Row> rows_{};
};

/// Writes a snapshot, partition by partition. Not thread-safe. Nothing is visible before `commit`; an object
/// that is there is never replaced.
class SnapshotWriter {
 public:
  static Result<SnapshotWriter> create(const Location& target, const CallOptions& call);

  /// Call once for each partition that has rows, in any order.
  Status add_partition(std::int32_t partition, GatheredRows rows);
  /// Bytes so far, those of the table included.
  std::uint64_t size_bytes() const { return written_bytes_ + sections_.size() * sizeof(SnapshotSection); }
  std::uint64_t row_count() const { return row_count_; }
  /// \error kAlreadyExists  another process has written one meanwhile
  Status commit(const SnapshotDescription& description);

 private:
  explicit SnapshotWriter(std::unique_ptr<Upload> upload) : upload_(std::move(upload)) {}
  Status write(BytesView bytes);
  Status flush();

  std::unique_ptr<Upload> upload_;
  Bytes buffer_{};
  std::uint64_t written_bytes_ = 0;  // buffer_ included
  std::uint64_t row_count_ = 0;
  std::vector<SnapshotSection> sections_{};
};

}  // namespace headrace::ignite
