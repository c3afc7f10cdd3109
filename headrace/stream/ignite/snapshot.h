#pragma once

/// \file A snapshot of a cache lists the rows that a loader reads. Format: docs/formats/ignite-snapshot.md.

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
  std::int32_t partition = 0;  // -1: the whole cache
  std::uint32_t row_count = 0;
  std::uint64_t offset_bytes = 0;  // in the object
  std::uint64_t size_bytes = 0;
  std::uint64_t room_bytes = 0;  // upper bound of the rows' framed tf.Examples, and of the encoded rows
  std::array<std::byte, 32> digest{};
};

struct SnapshotDescription {
  std::string cache;
  std::vector<std::int32_t> partitions{};  // the requested ones; empty: all
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

/// Reads everything except the sections. Memory: 64 bytes for each section, and the description.
/// \error kNotFound       there is no such object
/// \error kDataLoss       the object is not a snapshot, or is damaged
/// \error kUnimplemented  it has a newer version of the format
Result<Snapshot> read_snapshot(const Location& location, const CallOptions& call);

struct SnapshotRow {
  BytesView key;                  // encoded
  std::uint64_t fingerprint = 0;  // of the value
};
/// The rows of a section; they view `bytes`.
/// \error kDataLoss  a wrong checksum, or not `row_count` rows
Result<std::vector<SnapshotRow>> parse_section(BytesView bytes, std::uint64_t row_count);

/// The fingerprint of an encoded value: its CRC32C and its size. A changed value has another fingerprint;
/// among changed values of the same size, one in 2^32 has the same.
std::uint64_t fingerprint_of(BytesView value);

/// The rows of one partition while they are gathered, in any order. Not thread-safe.
class GatheredRows {
 public:
  /// Adds a row, and copies its key. `room_bytes` is the row's share of SnapshotSection::room_bytes.
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

/// Writes a snapshot, partition by partition. Nothing is visible before `commit`. An existing object is never
/// replaced. Not thread-safe.
class SnapshotWriter {
 public:
  /// Starts an upload; the store must outlive the writer.
  /// \error  as for `Store::start_upload`
  static Result<SnapshotWriter> create(const Location& target, const CallOptions& call);

  /// Writes the rows of a partition. Call it once for each partition that has rows, in any order.
  Status add_partition(std::int32_t partition, GatheredRows rows);
  /// The size of the snapshot so far, including its table.
  std::uint64_t size_bytes() const { return written_bytes_ + sections_.size() * sizeof(SnapshotSection); }
  std::uint64_t row_count() const { return row_count_; }
  /// Writes the table and makes the snapshot visible. Call it once, at the end.
  /// \error kAlreadyExists  another process has written a snapshot in the meantime
  Status commit(const SnapshotDescription& description);

 private:
  explicit SnapshotWriter(std::unique_ptr<Upload> upload) : upload_(std::move(upload)) {}
  Status write(BytesView bytes);
  Status flush();

  std::unique_ptr<Upload> upload_;
  Bytes buffer_{};
  std::uint64_t written_bytes_ = 0;  // including buffer_
  std::uint64_t row_count_ = 0;
  std::vector<SnapshotSection> sections_{};
};

}  // namespace headrace::ignite
