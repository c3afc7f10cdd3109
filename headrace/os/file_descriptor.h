#pragma once

/// \file Owns a descriptor of a file, a pipe or a socket. On Windows: only of a socket, and without the
/// functions below the class.

#include <cstddef>
#include <stop_token>
#include <utility>

#include "headrace/base/bytes.h"
#include "headrace/base/result.h"

namespace headrace {

/// An open descriptor, or none. The destructor closes it. Not thread-safe.
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
  /// Returns false, with errno set, if the system reports a write that failed late. Returns true if there is
  /// no descriptor to close.
  bool close();

 private:
  int number_;
};

/// Writes all of `data`, in as many system calls as that takes. Blocks. Returns false, with errno set, if a
/// call fails.
bool write_all(const FileDescriptor& to, BytesView data);

/// Waits until a pipe, terminal or file has bytes, and reads those that are available. Returns their number,
/// 0 at the end.
/// \error kCancelled  a stop was requested on `stop` during the wait
/// \error kUnknown    the read failed; the message is the system's reason
Result<std::size_t> read_some(int descriptor, MutableBytesView into, const std::stop_token& stop);

}  // namespace headrace
