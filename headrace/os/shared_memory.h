#pragma once

/// \file Memory that two processes share. It has no name, and neither process can shrink it.

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "headrace/base/bytes.h"
#include "headrace/base/result.h"
#include "headrace/os/file_descriptor.h"

namespace headrace {

/// A mapped piece of memory, aligned to pages. Movable. The memory lives as long as any process has it mapped
/// or has a descriptor of it.
class SharedMemory {
 public:
  SharedMemory() = default;  // has no bytes
  /// Makes new memory, filled with zeros. Its size never changes.
  /// \error kResourceExhausted  the system has no memory or no descriptor left
  static Result<SharedMemory> create(std::uint64_t size_bytes);
  /// Maps memory that another process has made, for reading, or for reading and writing.
  /// \error kInvalidArgument    the descriptor is not from `create`, or the memory is smaller than
  ///                            `size_bytes`; reading it could then end this process
  /// \error kResourceExhausted  as for `create`
  static Result<SharedMemory> map(FileDescriptor descriptor, std::uint64_t size_bytes, bool is_writable);
  ~SharedMemory();
  SharedMemory(SharedMemory&& other) noexcept
      : descriptor_(std::move(other.descriptor_)), bytes_(std::exchange(other.bytes_, {})) {}
  SharedMemory& operator=(SharedMemory&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }

  /// The memory. Another process may change it at any time, so copy the bytes before you check them.
  /// REQUIRES, to write: it was mapped as writable.
  std::span<std::byte> bytes() const { return bytes_; }
  /// The descriptor to pass to another process.
  const FileDescriptor& descriptor() const { return descriptor_; }

 private:
  SharedMemory(FileDescriptor descriptor, std::span<std::byte> bytes)
      : descriptor_(std::move(descriptor)), bytes_(bytes) {}

  FileDescriptor descriptor_;
  std::span<std::byte> bytes_;
};

}  // namespace headrace
