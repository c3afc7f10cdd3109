#pragma once

/// \file headrace::Store in Python.

#include <nanobind/nanobind.h>

namespace headrace::python {

void bind_store(nanobind::module_& module);

}  // namespace headrace::python
