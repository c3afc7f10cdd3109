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
  /// Of an event file: what was appended is in the store, soon. Else: whether all went well so far.
  virtual Status flush() = 0;
  /// It is visible, whole. Further calls give the same answer, and append nothing.
  virtual Status close() = 0;
  virtual std::uint64_t size_bytes() const = 0;
};

}  // namespace headrace
