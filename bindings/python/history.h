#pragma once

/// \file Recorded runs and their metrics, in Python.

#include <nanobind/nanobind.h>

#include <string>

#include "headrace/metrics/run_metrics.h"

namespace headrace::python {

/// The metrics of a run that is recorded below `url`.
/// \param run  its id; empty: of the run which began last, and becomes its id
/// \error of the store, raised; kNotFound  there is none
RunMetrics recorded_metrics(const std::string& url, std::string& run);

void bind_history(nanobind::module_& module);

}  // namespace headrace::python
