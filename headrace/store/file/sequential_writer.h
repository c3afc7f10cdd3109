#pragma once

/// \file Writes a file from its beginning to its end. Large files can bypass the page cache.

#include <cstdint>
#include <cstdlib>
#include <memory>

#include "headrace/base/bytes.h"
#include "headrace/os/file_descriptor.h"

namespace headrace {

/// With `past_cache`, everything after the first MiB goes directly to the disk (O_DIRECT), from an aligned
/// buffer of 4 MiB. This fills no pages of the cache, which would cost more than the write itself. It evicts
/// no pages of other files, and fsync has nothing left to wait for. But a program that then reads the file
/// waits for the disk. If the file system does not support O_DIRECT, everything goes through the cache. Not
/// thread-safe.
class SequentialWriter {
 public:
  /// `file` must be empty, and must outlive the writer.
  SequentialWriter(const FileDescriptor& file, bool past_cache) : file_(file), may_be_direct_(past_cache) {}

  /// Returns false, with errno set, on failure. All later calls then fail, too.
  bool append(BytesView data);
  /// Writes the rest of the buffer. Returns false, with errno set, on failure.
  bool finish();

 private:
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };

  bool fail();
  bool take(BytesView data);
  bool write_through_cache(BytesView data);
  bool hold(BytesView data);
  bool write_directly(BytesView data);
  void go_direct();
  bool stop_direct();

  const FileDescriptor& file_;
  bool may_be_direct_;
  bool is_direct_ = false;
  int failed_ = 0;  // the first errno
  std::uint64_t cached_bytes_ = 0;
  std::unique_ptr<std::byte, Free> buffer_;
  std::size_t held_bytes_ = 0;
};

}  // namespace headrace
