#pragma once

/// \file Reads parts of an object, one after another.

#include <cstdint>

#include "headrace/store/store.h"

namespace headrace {

/// For small parts that mostly ascend: reads ahead, so that not every part costs a request, but skips large
/// gaps between parts. One thread at a time. Memory: 4 MiB, or the largest part.
class ObjectWindow {
 public:
  /// Borrows the store. Reads only the version that `object` describes.
  ObjectWindow(Store& store, ObjectInfo object, CallOptions call);

  /// Valid until the next call. REQUIRES: the object has these bytes.
  /// \error  as `read_exactly`
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
