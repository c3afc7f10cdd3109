#pragma once

/// \file headrace::Dataset in Python.

#include <nanobind/nanobind.h>

#include <memory>

#include "bindings/python/process.h"
#include "headrace/stream/dataset.h"

namespace headrace::python {

struct OpenedDataset {
  OfProcess<std::shared_ptr<const Dataset>> dataset;
};

void bind_dataset(nanobind::module_& module);

}  // namespace headrace::python
