#pragma once

/// \file MLflow's model registry (headrace/mlflow/registered_models.h) in Python: calls of its API without
/// HTTP.

#include <nanobind/nanobind.h>

namespace headrace::python {

void bind_model_registry(nanobind::module_& module);

}  // namespace headrace::python
