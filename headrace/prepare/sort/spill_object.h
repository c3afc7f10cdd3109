#pragma once

/// \file Reads parts of spills, many at once, and compares each with its checksum. For this folder's own use.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "headrace/base/bytes.h"
#include "headrace/base/result.h"
#include "headrace/store/store.h"

namespace headrace {

/// Where a spill lies: in a store, or, if there is none, in memory.
struct SpillObject {
  std::string name{};  // for messages
  std::shared_ptr<Store> store{};
  std::string key{};
  std::optional<Version> version{};
  BytesView memory{};
  std::uint64_t size_bytes = 0;
};

/// A part of a spill; it ends where the next one begins.
struct Bucket {
  std::uint64_t offset_bytes = 0;
  std::uint32_t rows = 0;
  std::uint32_t crc32c = 0;
};

/// Successive parts to be read. REQUIRES: they ascend, and lie in the object.
struct BucketRead {
  const SpillObject* object = nullptr;
  std::span<const Bucket> buckets{};
  std::uint64_t end_bytes = 0;  // of the last
  /// Room for what comes from a store; what it held is lost.
  Bytes room{};
  /// What was read: views `room`, or the spill's memory.
  BytesView data{};

  std::uint64_t offset_bytes() const { return buckets.empty() ? end_bytes : buckets.front().offset_bytes; }
  std::uint64_t size_bytes() const { return end_bytes - offset_bytes(); }
};

/// Reads them all, with one `read_many` for each store. Those in which a checksum differs are read once more,
/// since they may have been damaged on the way.
/// \error kDataLoss  a checksum differs twice; or of memory
/// \error those of `Store::read_many`
Status read_buckets(std::span<BucketRead> reads, const CallOptions& options);

/// That `object` is not what was written; what to do about it is in the message.
Error damaged_spill(const SpillObject& object, std::uint64_t offset_bytes, std::string_view what);

}  // namespace headrace
