#pragma once

/// \file Rows that are the files of a layout in archives.

#include <cstdint>
#include <memory>
#include <vector>

#include "headrace/prepare/archive/layout.h"
#include "headrace/prepare/row/row_source.h"
#include "headrace/prepare/row/source_file.h"

namespace headrace {

struct ArchiveOptions {
  std::uint64_t cell_limit_bytes = 0;
  /// Ids begin with the archive's name and a colon: for inputs that have several, or may have.
  bool names_archives = false;
};

/// A row for each entry but folders, in the archives' order. Contents are bytes; of an uncompressed tar,
/// references into it. Links, devices, and files larger than the limit are rejected; of an uncompressed tar
/// also sparse files. Memory: the content of a file, and some megabytes.
std::unique_ptr<RowSource> open_archive_source(std::vector<SourceFile> archives, Layout layout,
                                               const ArchiveOptions& options);

}  // namespace headrace
