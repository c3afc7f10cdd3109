#pragma once

/// \file A tf.Example to cells.

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "headrace/prepare/row/row_cells.h"
#include "headrace/prepare/table/row_parser.h"

namespace headrace {

/// Memory that is used again from record to record. One thread at a time.
class ExampleCells {
 public:
  explicit ExampleCells(std::uint64_t cell_limit_bytes) : cell_limit_bytes_(cell_limit_bytes) {}

  /// Makes a cell of each feature, ascending by name. Borrows `record` where it can. Memory: numbers have
  /// four or eight bytes each, byte strings of a list four more, together at most the limit of a row.
  /// \return what is wrong with it, if something is; `cells` are of no use then
  std::optional<RowProblem> read(BytesView record);

  /// Of the record that was read last. Valid until the next call of anything else.
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
