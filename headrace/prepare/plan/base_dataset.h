#pragma once

/// \file The published data set that a plan continues: what was read for it, and what was rejected.
/// docs/prepare.md, "Continuing".

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/prepare/plan/slice_past.h"
#include "headrace/prepare/source/input.h"
#include "headrace/record/manifest.h"
#include "headrace/store/location.h"

namespace headrace {

/// The role of a manifest's parts that name what was read.
inline constexpr std::string_view kInputsRole = "inputs";

enum class Continuation : std::uint8_t { kNone, kAppend, kRetryFailed };

/// "", "append", "retry-failed".
std::string_view continuation_name(Continuation continuation);

struct BaseDataset {
  std::uint64_t number = 0;  // of the manifest
  std::string digest;        // SHA-256 (hex) of the manifest
  Manifest manifest;
  DatasetAttributes attributes;
};

/// What is published at `output`; `number`: not the latest manifest, but this one. Reads only the manifest.
/// \error kNotFound            nothing is published there
/// \error kFailedPrecondition  published without a record of what was read
Result<std::shared_ptr<const BaseDataset>> read_base(const Location& output, Continuation continuation,
                                                     std::optional<std::uint64_t> number = {});

/// Of each slice.
using SlicePasts = std::vector<std::shared_ptr<const SlicePast>>;

/// Reads all that `base`, which lies at `output`, says of what was read and rejected, and gives what it says
/// of each slice. Of an input that consists of files, leaves those that there is something to read of: to
/// append, those that were not read; to retry, those with rejected rows. Of a folder whose objects are rows
/// leaves all: its rows are chosen when they are read. Memory: 16 bytes for each file or object; to retry, 64
/// for each rejected row, and once more in each slice where its key is not UTF-8.
/// \error kFailedPrecondition  a file has changed since it was read, so its rows cannot be told; or rows
///                             are to be retried, and no file has any
Result<SlicePasts> leave_what_continues(Input& input, const BaseDataset& base, const Location& output,
                                        Continuation continuation);

}  // namespace headrace
