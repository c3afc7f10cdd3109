#pragma once

/// \file Reads parts of an object, one after another.

#include <cstdint>

#include "headrace/store/store.h"

namespace headrace {

/// For small parts that are mostly read in ascending order. It reads ahead, so that not every part costs a
/// request, and skips large gaps between parts. Not thread-safe. Memory: 4 MiB, or the largest part.
class ObjectWindow {
 public:
  /// Borrows the store. Reads only the version that `object` describes.
  ObjectWindow(Store& store, ObjectInfo object, CallOptions call);

  /// Returns `size` bytes from `offset` on. The view is valid until the next call.
  /// REQUIRES: the object has these bytes.
  /// \error  as for `read_exactly`
  Result<BytesView> read(std::uint64_t offset, std::size_t size);

  const ObjectInfo& object() const { return object_; }

 private:
  Store& store_;
  const ObjectInfo object_;
  const CallOptions call_;
  Bytes bytes_;
  std::uint64_t begin_ = 0;
};

}  // namespace headrace
