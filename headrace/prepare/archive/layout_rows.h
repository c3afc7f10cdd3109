#pragma once

/// \file Files of a layout as rows, wherever their content lies.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "headrace/prepare/archive/layout.h"
#include "headrace/prepare/row/row_source.h"

namespace headrace {

/// Makes one row at a time: columns `text` or `image`, `label`, `split` (missing if there is none), and `id`.
/// What it gives is valid until the next `classify`.
class LayoutRows {
 public:
  LayoutRows(Layout layout, std::uint64_t cell_limit_bytes);
  LayoutRows(const LayoutRows&) = delete;
  LayoutRows& operator=(const LayoutRows&) = delete;

  /// What a file's path says. `archive`, if not empty, comes before it in the id. If it is a row, its content
  /// is to be told next, by one of the three below.
  SourceRow classify(std::string path, std::string_view archive, RowPlace place);

  SourceRow row(const Cell& content);
  SourceRow reject(std::string reason, std::string detail = {}) const;
  /// That the file is larger than a cell may be.
  SourceRow reject_as_too_large(std::string detail = {}) const;

 private:
  enum Column : std::uint8_t { kContent, kLabel, kSplit, kId, kColumns };

  const Layout layout_;
  const std::uint64_t cell_limit_bytes_;
  RowPlace place_{};
  ClassifiedPath path_;
  std::string id_;
  std::array<NamedCell, kColumns> cells_;
};

}  // namespace headrace
