#pragma once

#include <nanobind/nanobind.h>

namespace headrace::python {

/// Rows of Apache Ignite: scans of caches, and SQL.
void bind_ignite(nanobind::module_& module);

}  // namespace headrace::python
