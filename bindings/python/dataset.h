#pragma once

/// \file headrace::Dataset in Python.

#include <nanobind/nanobind.h>

#include <memory>

#include "bindings/python/process.h"
#include "headrace/stream/dataset.h"

namespace headrace::python {

/// An opened data set and the process that opened it.
struct OpenedDataset {
  std::shared_ptr<const Dataset> dataset;
  ProcessMark process;
};

void bind_dataset(nanobind::module_& module);

}  // namespace headrace::python
