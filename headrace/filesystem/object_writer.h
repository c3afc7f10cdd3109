#pragma once

/// \file An object that is written from front to back. It is kept in memory while it is small, and sent while
/// it is written if it is larger.

#include <atomic>
#include <memory>

#include "headrace/store/location.h"

namespace headrace {

/// Not thread-safe, except for `size_bytes`. Without `commit`, the object in the store stays unchanged.
class ObjectWriter {
 public:
  /// Sends no request until there are more than kMemoryBytes, or `commit` is called.
  explicit ObjectWriter(Location location) : location_(std::move(location)) {}

  static constexpr std::size_t kMemoryBytes = 16 << 20;

  /// Appends `data`, which is copied or sent before the call returns. After an error, every further call
  /// returns that error.
  /// \error as for Store::start_upload and Upload::append
  Status append(BytesView data);
  Status status() const { return status_; }
  /// Makes the whole object visible. Call it once.
  /// \error as for Store::write and Upload::commit
  Status commit();

  const Location& location() const { return location_; }
  std::uint64_t size_bytes() const { return size_bytes_; }
  /// The whole content, valid until the next call of `append`. Null once it is being sent.
  const Bytes* content() const { return upload_ ? nullptr : &buffer_; }

 private:
  Status send(BytesView data);

  const Location location_;
  Bytes buffer_;  // bytes that were not sent yet
  std::unique_ptr<Upload> upload_;
  std::atomic<std::uint64_t> size_bytes_ = 0;
  Status status_;
};

}  // namespace headrace
