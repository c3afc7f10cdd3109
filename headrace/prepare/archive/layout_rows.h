#pragma once

/// \file Turns files of a layout into rows, in a folder or an archive.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "headrace/prepare/archive/layout.h"
#include "headrace/prepare/row/row_source.h"

namespace headrace {

/// Makes one row at a time, with the columns `text` or `image`, `label`, `split` (each missing if there is
/// none), and `id`. A row is valid until the next `classify`. Not thread-safe.
class LayoutRows {
 public:
  LayoutRows(Layout layout, std::uint64_t cell_limit_bytes);
  LayoutRows(const LayoutRows&) = delete;
  LayoutRows& operator=(const LayoutRows&) = delete;

  /// Classifies a file by its path. The id begins with `archive` and a colon, unless `archive` is empty. If
  /// the verdict is kRow, call `row`, `reject` or `reject_as_too_large` next.
  SourceRow classify(std::string path, std::string_view archive, RowPlace place);

  SourceRow row(const Cell& content);
  SourceRow reject(std::string reason, std::string detail = {}) const;
  /// Rejects the file because it is larger than a cell may be.
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
