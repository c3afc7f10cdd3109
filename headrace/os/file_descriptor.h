#pragma once

/// \file Ownership of a descriptor of a file, a pipe or a socket. Windows: of a socket, no functions.

#include <cstddef>
#include <stop_token>
#include <utility>

#include "headrace/base/bytes.h"
#include "headrace/base/result.h"

namespace headrace {

/// An open descriptor, or none; closed on destruction. Not thread-safe.
class FileDescriptor {
 public:
  explicit FileDescriptor(int number = -1) : number_(number) {}
  ~FileDescriptor() { close(); }
  FileDescriptor(FileDescriptor&& other) noexcept : number_(other.release()) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }

  int get() const { return number_; }
  bool is_open() const { return number_ >= 0; }
  /// Releases the descriptor to the caller, who must close it.
  int release() { return std::exchange(number_, -1); }
  /// False, with errno, if the system reports a write that failed late. None to close is success.
  bool close();

 private:
  int number_;
};

/// Writes all of it, blocking, however many calls that takes. False, with errno, if one fails.
bool write_all(const FileDescriptor& to, BytesView data);

/// Waits until a pipe, terminal or file has bytes, and reads those that are there; 0 at its end.
/// \error kCancelled  stopped while waiting; kUnknown  the system's reason
Result<std::size_t> read_some(int descriptor, MutableBytesView into, const std::stop_token& stop);

}  // namespace headrace
