#pragma once

/// \file Parts of an object, read one after another.

#include <cstdint>

#include "headrace/store/store.h"

namespace headrace {

/// For parts that are small, and mostly ascend: reads more than is asked for, so that they cost no request
/// each, but little of what lies between if that is much. One thread at a time. Memory: 4 MiB, or the largest
/// part.
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
