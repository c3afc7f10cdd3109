#pragma once

/// \file Recorded runs and their metrics, in Python.

#include <nanobind/nanobind.h>

namespace headrace::python {

void bind_history(nanobind::module_& module);

}  // namespace headrace::python
