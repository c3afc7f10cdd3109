#pragma once

/// \file A file that is being written.

#include "headrace/base/bytes.h"
#include "headrace/base/result.h"

namespace headrace {

/// Not thread-safe. Destruction closes it, and drops the error.
class WritableFile {
 public:
  virtual ~WritableFile() = default;
  virtual Status append(BytesView data) = 0;
  /// For an event file: the appended data are in the store soon. For others: whether everything has succeeded
  /// so far.
  virtual Status flush() = 0;
  /// Makes the file visible, whole. Further calls return the same result, and append nothing.
  virtual Status close() = 0;
  virtual std::uint64_t size_bytes() const = 0;
};

}  // namespace headrace
