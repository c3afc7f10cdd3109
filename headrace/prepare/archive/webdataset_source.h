#pragma once

/// \file Reads the samples of WebDataset tars as rows. docs/formats/webdataset.md defines a sample.

#include <cstdint>
#include <memory>
#include <vector>

#include "headrace/prepare/archive/archive_source.h"
#include "headrace/prepare/row/row_source.h"
#include "headrace/prepare/row/source_file.h"

namespace headrace {

/// The most bytes that the files of a sample and their names may have.
inline constexpr std::uint64_t kSampleLimitBytes = 256 << 20;

/// Returns one row for each sample. Its id is the sample's key. It has a column `__key__`, and a column for
/// each field, in lower case. A field that webdataset decodes as a number (codec/sample_path.h) is int64 if
/// it holds a number; every other field is bytes, including JSON. Files of more than 4 KiB in an uncompressed
/// tar are references into it. Files that webdataset skips, links and devices are ignored. A sample is
/// rejected if it has a field twice, a field named `__key__`, a sparse file, a path that is not UTF-8, or
/// more than the limits allow. Memory: the bytes of a sample, and some megabytes.
/// \error of `next`: as ArchivedFiles
std::unique_ptr<RowSource> open_webdataset(std::vector<SourceFile> archives, const ArchiveOptions& options);

}  // namespace headrace
