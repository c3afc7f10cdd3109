#pragma once

/// \file Columns of Python's rows as framed tf.Examples.

#include <nanobind/nanobind.h>

namespace headrace::python {

void bind_staging(nanobind::module_& module);

}  // namespace headrace::python
