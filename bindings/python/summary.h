#pragma once

/// \file Event files that Python writes: the native side of headrace.summary.

#include <nanobind/nanobind.h>

namespace headrace::python {

void bind_summary(nanobind::module_& module);

}  // namespace headrace::python
