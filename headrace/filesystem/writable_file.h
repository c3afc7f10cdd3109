#pragma once

/// \file A file that is being written.

#include "headrace/base/bytes.h"
#include "headrace/base/result.h"

namespace headrace {

/// Not thread-safe. The destructor closes the file, and drops the error.
class WritableFile {
 public:
  virtual ~WritableFile() = default;
  virtual Status append(BytesView data) = 0;
  /// For an event file: makes sure that the appended data will soon be in the store. For other files: returns
  /// whether all calls have succeeded so far.
  virtual Status flush() = 0;
  /// Makes the whole file visible. Further calls of any function return the same result, and append nothing.
  virtual Status close() = 0;
  virtual std::uint64_t size_bytes() const = 0;
};

}  // namespace headrace
