#pragma once

/// \file headrace::BatchLoader in Python.

#include <nanobind/nanobind.h>

namespace headrace::python {

void bind_loader(nanobind::module_& module);

}  // namespace headrace::python
