#pragma once

/// \file Records of runs, and their metrics, in Python.

#include <nanobind/nanobind.h>

namespace headrace::python {

void bind_run(nanobind::module_& module);

}  // namespace headrace::python
