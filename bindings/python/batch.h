#pragma once

/// \file A batch as Python sees it: NumPy arrays that view the engine's buffer and keep it.

#include <nanobind/nanobind.h>

#include <string>
#include <vector>

#include "bindings/python/process.h"
#include "headrace/stream/batch.h"

namespace headrace::python {

/// A column as it is handed out: the engine's type, and the shape of one row.
struct ColumnView {
  nanobind::str name;  // interned: made once, not once a batch
  FeatureType type = FeatureType::kFloat32;
  std::vector<std::size_t> row_shape;
};

/// A dict of name → array. The first `rows` rows are shown. No value is copied; the buffer returns to its pool
/// when the last array that views it dies.
nanobind::dict batch_to_dict(Batch batch, const std::vector<ColumnView>& columns, std::size_t rows,
                             const nanobind::object& weights_name);

}  // namespace headrace::python
