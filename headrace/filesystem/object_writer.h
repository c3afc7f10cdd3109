#pragma once

/// \file An object that is written from front to back: kept in memory while it is small, otherwise sent
/// meanwhile.

#include <atomic>
#include <memory>

#include "headrace/store/location.h"

namespace headrace {

/// Not thread-safe, except `size_bytes`. Without `commit`, the object stays as it was.
class ObjectWriter {
 public:
  /// Sends no request before there is more than kMemoryBytes, or `commit`.
  explicit ObjectWriter(Location location) : location_(std::move(location)) {}

  static constexpr std::size_t kMemoryBytes = 16 << 20;

  /// After an error, every further call returns that error.
  Status append(BytesView data);
  Status status() const { return status_; }
  /// Makes the object visible, whole. Call once.
  Status commit();

  const Location& location() const { return location_; }
  std::uint64_t size_bytes() const { return size_bytes_; }
  /// The whole content, while it is in memory.
  const Bytes* content() const { return upload_ ? nullptr : &buffer_; }

 private:
  Status send(BytesView data);

  const Location location_;
  Bytes buffer_;  // what was not sent
  std::unique_ptr<Upload> upload_;
  std::atomic<std::uint64_t> size_bytes_ = 0;
  Status status_;
};

}  // namespace headrace
