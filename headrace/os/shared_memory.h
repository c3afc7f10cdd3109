#pragma once

/// \file Memory that two processes see. It has no name, and neither can shrink it under the other.

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "headrace/base/bytes.h"
#include "headrace/base/result.h"
#include "headrace/os/file_descriptor.h"

namespace headrace {

/// A mapped piece of memory, aligned to pages. Movable. The memory lives as long as one process has it
/// mapped, or a descriptor of it.
class SharedMemory {
 public:
  SharedMemory() = default;  // of no bytes
  /// New memory, of zeros, whose size never changes.
  /// \error kResourceExhausted  the system has no memory or no descriptor left
  static Result<SharedMemory> create(std::uint64_t size_bytes);
  /// Maps memory that another process made, for reading, or for reading and writing.
  /// \error kInvalidArgument    it is not memory of `create`, or is smaller: to read it could be fatal
  /// \error kResourceExhausted  as `create`
  static Result<SharedMemory> map(FileDescriptor descriptor, std::uint64_t size_bytes, bool is_writable);
  ~SharedMemory();
  SharedMemory(SharedMemory&& other) noexcept
      : descriptor_(std::move(other.descriptor_)), bytes_(std::exchange(other.bytes_, {})) {}
  SharedMemory& operator=(SharedMemory&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }

  /// Another process may change it at any time: copy before you check. REQUIRES, to write: it is writable
  std::span<std::byte> bytes() const { return bytes_; }
  /// To hand it to another process.
  const FileDescriptor& descriptor() const { return descriptor_; }

 private:
  SharedMemory(FileDescriptor descriptor, std::span<std::byte> bytes)
      : descriptor_(std::move(descriptor)), bytes_(bytes) {}

  FileDescriptor descriptor_;
  std::span<std::byte> bytes_;
};

}  // namespace headrace
