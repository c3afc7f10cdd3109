#pragma once

/// \file Memory of Python on both sides of a store's calls: bytes that are filled, buffers that are lent.

#include <nanobind/nanobind.h>

#include <cstdint>
#include <utility>

#include "headrace/base/bytes.h"
#include "headrace/base/result.h"

namespace headrace::python {

/// Python's bytes that are filled before anybody sees them, without the GIL, and without a copy.
class NewBytes {
 public:
  NewBytes() = default;
  NewBytes(NewBytes&& other) noexcept : bytes_(std::exchange(other.bytes_, nullptr)) {}
  NewBytes(const NewBytes&) = delete;
  ~NewBytes() { Py_XDECREF(bytes_); }  // REQUIRES: the GIL

  /// Their memory, of which what was there stays, up to the shorter size. Takes the GIL meanwhile, and waits
  /// for ever at the interpreter's end.
  /// \error kResourceExhausted
  Result<MutableBytesView> resize(std::uint64_t size_bytes);

  /// REQUIRES: the GIL, and `resize` was called
  nanobind::bytes take() && { return nanobind::steal<nanobind::bytes>(std::exchange(bytes_, nullptr)); }

 private:
  PyObject* bytes_ = nullptr;
};

/// The memory of a Python object (bytes, bytearray, memoryview, array, …) for as long as this lives; the
/// object keeps its size so long. REQUIRES: the GIL, to make and to drop it
class LentBuffer {
 public:
  enum class Access { kRead, kWrite };
  /// \error TypeError, BufferError: it has no memory in one piece, or may not be written; raised
  LentBuffer(const nanobind::object& owner, Access access);
  ~LentBuffer() { PyBuffer_Release(&buffer_); }
  LentBuffer(const LentBuffer&) = delete;
  LentBuffer& operator=(const LentBuffer&) = delete;

  BytesView view() const { return writable(); }
  /// REQUIRES: Access::kWrite
  MutableBytesView writable() const {
    return {static_cast<std::byte*>(buffer_.buf), static_cast<std::size_t>(buffer_.len)};
  }

 private:
  Py_buffer buffer_{};
};

}  // namespace headrace::python
