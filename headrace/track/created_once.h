#pragma once

/// \file Objects whose bytes are decided before they are written, by a plan or by what they are a copy of:
/// created once, never replaced, and never larger than their readers accept. Several processes may create
/// one such object at once, early or late; a reader that holds its version is not disturbed.

#include <cstdint>
#include <memory>
#include <string_view>

#include "headrace/store/location.h"

namespace headrace {

/// The largest size of objects of one kind. Writers and readers of the kind use the same value, so that all
/// that is written can be read.
struct SizeLimit {
  std::uint64_t bytes = 0;
  std::string_view what_to_do{};  // when something larger would have to be written
};

/// Call it before an object is written.
/// \error kInvalidArgument  it would be larger than the limit: says what to do
Status check_size(const Location& object, std::uint64_t size_bytes, const SizeLimit& limit);

/// Creates an object. If it is there already and has the same size and CRC32C, nothing is written, and that
/// is success too. Cost: a conditional write; if the object is there, also a stat, and a read of it where the
/// store keeps no checksum.
/// \error kFailedPrecondition  it is there with other bytes: says what to do; nothing is written
Status create_once(const Location& object, BytesView data);
/// The same, by a copy within the store of `to`, of an object with this size and checksum.
Status copy_once(const Location& from, const Location& to, std::uint64_t size_bytes, std::uint32_t crc32c);

/// Writes an object of unfinished work. If it is there already with the same bytes, nothing is written, so a
/// late duplicate disturbs no reader. Other bytes are replaced: an attempt that ended early left them.
Status write_unless_same(const Location& object, BytesView data);

/// Creates an object that does not fit in memory, as `create_once` does. Not thread-safe. Destruction without
/// `finish` creates nothing.
class OnceUpload {
 public:
  /// `options.only_if_absent` is set in any case.
  static Result<OnceUpload> start(const Location& object, WriteOptions options = {});

  Status append(BytesView data);
  /// Call it once.
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
