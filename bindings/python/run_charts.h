#pragma once

/// \file Charts of recorded runs, in Python.

#include <nanobind/nanobind.h>

namespace headrace::python {

void bind_run_charts(nanobind::module_& module);

}  // namespace headrace::python
