#pragma once

/// \file Publishing a local folder in a store, and getting the latest one back: headrace/track in Python.

#include <nanobind/nanobind.h>

namespace headrace::python {

void bind_published(nanobind::module_& module);

}  // namespace headrace::python
