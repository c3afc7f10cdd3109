#pragma once

/// \file Rows that are the samples of WebDataset tars. docs/formats/webdataset.md says what a sample is.

#include <cstdint>
#include <memory>
#include <vector>

#include "headrace/prepare/archive/archive_source.h"
#include "headrace/prepare/row/row_source.h"
#include "headrace/prepare/row/source_file.h"

namespace headrace {

/// The most that a sample may have, in bytes of its files and their names.
inline constexpr std::uint64_t kSampleLimitBytes = 256 << 20;

/// A row for each sample, whose id is its key: `__key__`, and a column for each field, in lower case. Fields
/// that webdataset decodes as numbers (codec/sample_path.h) are int64 if they are; all else is bytes, also
/// JSON. Of an uncompressed tar, files of more than 4 KiB are references into it. What webdataset passes
/// over, links and devices are ignored; a sample is rejected that has a field twice, or one named `__key__`,
/// a sparse file, a path that is not UTF-8, or more than the limits allow. Memory: the bytes of a sample, and
/// some megabytes.
std::unique_ptr<RowSource> open_webdataset(std::vector<SourceFile> archives, const ArchiveOptions& options);

}  // namespace headrace
