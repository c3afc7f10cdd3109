#pragma once

/// \file Objects whose bytes are determined before they are written, by a plan or because they are a copy.
/// They are created once, never replaced, and never larger than readers accept. Several processes may create
/// the same object at once, early or late; a reader that has opened a version of it is not disturbed.

#include <cstdint>
#include <memory>
#include <string_view>

#include "headrace/store/location.h"

namespace headrace {

/// The largest size of objects of one kind. Writers and readers of that kind use the same value, so
/// everything that is written can be read.
struct SizeLimit {
  std::uint64_t bytes = 0;
  std::string_view what_to_do{};  // advice in the message if an object would be larger
};

/// Checks the size of an object. Call it before the object is written.
/// \error kInvalidArgument  it would be larger than the limit: the message says what to do
Status check_size(const Location& object, std::uint64_t size_bytes, const SizeLimit& limit);

/// Creates an object. If the object is there already with the same size and CRC32C, writes nothing and
/// succeeds. Cost: a conditional write. If the object is there: also a stat, and a read where the store keeps
/// no checksum.
/// \error kFailedPrecondition  it is there with other bytes: the message says what to do; nothing is written
Status create_once(const Location& object, BytesView data);
/// As create_once, by copying the object `from`, which has this size and checksum. REQUIRES: both are in one
/// store
Status copy_once(const Location& from, const Location& to, std::uint64_t size_bytes, std::uint32_t crc32c);

/// Writes an object of unfinished work. If the object is there already with the same bytes, writes nothing,
/// so a late duplicate disturbs no reader. Other bytes are replaced, because an attempt that ended early left
/// them.
Status write_unless_same(const Location& object, BytesView data);

/// Creates an object that does not fit in memory, as `create_once` does. Not thread-safe. If it is destroyed
/// before `finish`, creates nothing.
class OnceUpload {
 public:
  /// Begins an upload. `options.only_if_absent` is set in any case.
  static Result<OnceUpload> start(const Location& object, WriteOptions options = {});

  Status append(BytesView data);
  /// Creates the object. Call it once.
  /// \error kFailedPrecondition  as for `create_once`
  Status finish();

  std::uint64_t size_bytes() const { return size_bytes_; }
  std::uint32_t crc32c() const { return crc32c_; }

 private:
  OnceUpload(Location object, std::unique_ptr<Upload> upload)
      : object_(std::move(object)), upload_(std::move(upload)) {}

  Location object_;
  std::unique_ptr<Upload> upload_;
  std::uint64_t size_bytes_ = 0;
  std::uint32_t crc32c_ = 0;
};

}  // namespace headrace
