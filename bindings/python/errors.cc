#include "bindings/python/errors.h"

#include <nanobind/nanobind.h>

namespace headrace::python {

namespace nb = nanobind;

void raise(const Error& error) {
  const std::string_view name = code_name(error.code);
  const nb::object exception = nb::module_::import_("headrace.errors")
                                   .attr("error_of")(nb::str(name.data(), name.size()),
                                                     nb::str(error.message.data(), error.message.size()));
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception.ptr())), exception.ptr());
  throw nb::python_error();
}

}  // namespace headrace::python
