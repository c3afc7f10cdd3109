#pragma once

/// \file Turns a tf.Example into cells.

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "headrace/prepare/row/row_cells.h"
#include "headrace/prepare/table/row_parser.h"

namespace headrace {

/// Uses its memory again from record to record. Use it from one thread at a time.
class ExampleCells {
 public:
  explicit ExampleCells(std::uint64_t cell_limit_bytes) : cell_limit_bytes_(cell_limit_bytes) {}

  /// Makes a cell of each feature, ascending by name. Borrows `record` where it can. Memory: four or eight
  /// bytes for each number and four more for each byte string of a list, together at most the limit of a row.
  /// \return the problem with the record, if there is one; `cells` must not be used then
  std::optional<RowProblem> read(BytesView record);

  /// The cells of the record that was read last. Valid until any other function is called.
  std::span<const NamedCell> cells() { return cells_.cells(); }

 private:
  struct Feature {
    std::string_view name;
    BytesView message;
  };
  std::optional<RowProblem> find_features(BytesView record);
  std::optional<RowProblem> read_feature(const Feature& feature);

  const std::uint64_t cell_limit_bytes_;
  std::vector<Feature> features_;
  RowCells cells_;
};

}  // namespace headrace
