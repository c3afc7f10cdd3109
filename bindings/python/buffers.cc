#include "bindings/python/buffers.h"

#include "bindings/python/process.h"
#include "headrace/base/text.h"

namespace headrace::python {

namespace nb = nanobind;

Result<MutableBytesView> NewBytes::resize(std::uint64_t size_bytes) {
  const WhileInterpreterLives lives;
  const nb::gil_scoped_acquire acquired;
  const auto size = static_cast<Py_ssize_t>(size_bytes);
  if (bytes_ == nullptr) {
    bytes_ = PyBytes_FromStringAndSize(nullptr, size);
  } else if (size < PyBytes_Size(bytes_) / 2) {
    // Shrunk in place, the bytes would keep a memory mapping of their own, and a process may have only
    // 65,530.
    PyObject* larger = std::exchange(bytes_, PyBytes_FromStringAndSize(PyBytes_AsString(bytes_), size));
    Py_DECREF(larger);
  } else {
    _PyBytes_Resize(&bytes_, size);
  }
  if (bytes_ == nullptr) {
    PyErr_Clear();
    return Error{Code::kResourceExhausted, concat("there is not enough memory for ", size_bytes, " bytes")};
  }
  return MutableBytesView(reinterpret_cast<std::byte*>(PyBytes_AsString(bytes_)), size_bytes);
}

LentBuffer::LentBuffer(const nb::object& owner, Access access) {
  const int flags = access == Access::kWrite ? PyBUF_WRITABLE : PyBUF_SIMPLE;
  if (PyObject_GetBuffer(owner.ptr(), &buffer_, flags) != 0) throw nb::python_error();
}

}  // namespace headrace::python
