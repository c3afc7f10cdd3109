#pragma once

/// \file Reads the files of a layout in archives as rows.

#include <cstdint>
#include <memory>
#include <vector>

#include "headrace/prepare/archive/layout.h"
#include "headrace/prepare/row/row_source.h"
#include "headrace/prepare/row/source_file.h"

namespace headrace {

struct ArchiveOptions {
  std::uint64_t cell_limit_bytes = 0;
  /// Ids begin with the archive's name and a colon, for an input that has or may have several archives.
  bool names_archives = false;
};

/// Returns one row for each entry that is not a folder, in the archives' order. Contents are bytes, or
/// references into the archive if it is an uncompressed tar. Links, devices and files larger than the limit
/// are rejected, and so are sparse files in an uncompressed tar. Memory: the content of a file, and some
/// megabytes.
/// \error of `next`: as ArchivedFiles
std::unique_ptr<RowSource> open_archive_source(std::vector<SourceFile> archives, Layout layout,
                                               const ArchiveOptions& options);

}  // namespace headrace
