#pragma once

/// \file A batch as Python sees it: NumPy arrays that view the engine's memory and keep it.

#include <nanobind/nanobind.h>

#include <optional>
#include <string>
#include <vector>

#include "bindings/python/process.h"
#include "headrace/stream/batch.h"

namespace headrace::python {

/// A column as it is handed out.
struct ColumnView {
  nanobind::str name;  // interned: made once, not once a batch
  DataType type = DataType::kFloat32;
  std::optional<std::vector<std::size_t>> row_shape{};  // none: ragged
};

/// Makes dicts of name → array from batches. No value is copied; a batch's memory goes back to the engine
/// when the last array that views it dies. Numbers of a fixed shape are arrays; headrace.Ragged and
/// headrace.Strings hold the arrays of other columns. REQUIRES: the GIL, for all of it
class BatchConverter {
 public:
  explicit BatchConverter(std::vector<ColumnView> columns);

  /// The first `rows` rows. The rows' weights are there too, as `weights_name`, unless that is None.
  nanobind::dict convert(Batch batch, std::size_t rows, const nanobind::object& weights_name) const;

 private:
  nanobind::object column(const ColumnView& view, const ColumnData& data, std::size_t rows,
                          const nanobind::capsule& owner) const;

  const std::vector<ColumnView> columns_;
  const nanobind::object ragged_;
  const nanobind::object strings_;
};

}  // namespace headrace::python
