#pragma once

/// \file The module as TensorFlow's file-system plug-in: docs/tensorflow-file-systems.md.

#include <nanobind/nanobind.h>

namespace headrace::python {

/// Binds the functions by which the package registers the plug-in.
void bind_tensorflow(nanobind::module_& module);

}  // namespace headrace::python
