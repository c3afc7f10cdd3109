#pragma once

/// \file Reads parts of many spills at once, and compares each with its checksum. For this folder only.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "headrace/base/bytes.h"
#include "headrace/base/result.h"
#include "headrace/store/store.h"

namespace headrace {

/// A spill in a store or, without a store, in memory.
struct SpillObject {
  std::string name{};  // for messages
  std::shared_ptr<Store> store{};
  std::string key{};
  std::optional<Version> version{};
  BytesView memory{};
  std::uint64_t size_bytes = 0;
};

/// A part of a spill. The next bucket begins where this one ends.
struct Bucket {
  std::uint64_t offset_bytes = 0;
  std::uint32_t rows = 0;
  std::uint32_t crc32c = 0;
};

/// Successive buckets to read. REQUIRES: they ascend, and lie in the object
struct BucketRead {
  const SpillObject* object = nullptr;
  std::span<const Bucket> buckets{};
  std::uint64_t end_bytes = 0;  // of the last bucket
  /// Memory for bytes that come from a store; `read_buckets` overwrites it.
  Bytes room{};
  /// The bytes that were read. Borrows `room`, or the spill's memory.
  BytesView data{};

  std::uint64_t offset_bytes() const { return buckets.empty() ? end_bytes : buckets.front().offset_bytes; }
  std::uint64_t size_bytes() const { return end_bytes - offset_bytes(); }
};

/// Reads all buckets, with one `read_many` for each store. If a checksum differs, repeats the read once,
/// since the bytes may have been damaged on the way.
/// \error kDataLoss  a checksum differs twice, or differs in memory
/// \error as Store::read_many
Status read_buckets(std::span<BucketRead> reads, const CallOptions& options);

/// The error for an object that is not as it was written. The message says what to do.
Error damaged_spill(const SpillObject& object, std::uint64_t offset_bytes, std::string_view what);

}  // namespace headrace
