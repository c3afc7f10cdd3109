#pragma once

/// \file The published dataset that a plan continues: the inputs that were read for it, and the rows that
/// were rejected. docs/prepare.md, "Continuing".

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/prepare/plan/slice_past.h"
#include "headrace/prepare/source/input_kind.h"
#include "headrace/record/manifest.h"
#include "headrace/store/location.h"

namespace headrace {

/// The role of the manifest parts that list the inputs that were read.
inline constexpr std::string_view kInputsRole = "inputs";

/// The kind of the manifests that the stage publishes.
inline constexpr std::string_view kDatasetKind = "dataset";

enum class Continuation : std::uint8_t { kNone, kAppend, kRetryFailed };

/// "", "append", "retry-failed".
std::string_view continuation_name(Continuation continuation);

struct BaseDataset {
  std::uint64_t number = 0;  // of the manifest
  std::string digest;        // SHA-256 (hex) of the manifest
  Manifest manifest;
  DatasetAttributes attributes;
};

/// Reads the dataset that is published at `output`: manifest `number`, or the latest one. Reads only the
/// manifest. `continuation`: for messages.
/// \error kNotFound            nothing is published there
/// \error kFailedPrecondition  it was published without a record of the inputs that were read
Result<std::shared_ptr<const BaseDataset>> read_base(const Location& output, Continuation continuation,
                                                     std::optional<std::uint64_t> number = {});

/// A file or object that was read for a dataset.
struct ReadInput {
  std::string_view url;
  std::uint64_t size_bytes = 0;
  std::string_view version;
};
/// Calls `take` for every input that the manifest's parts record as read, in their order.
/// \error kDataLoss, kNotFound  a part is damaged or missing
Status read_inputs(const Location& output, const Manifest& manifest,
                   const std::function<void(const ReadInput&)>& take);

/// One for each slice of the input.
using SlicePasts = std::vector<std::shared_ptr<const SlicePast>>;

/// Keeps in `input` only the work that continues `base`, the dataset at `output`. Returns the base's record
/// of each slice that is left. In an input of files, an append keeps the files that were not read, and a
/// retry keeps the files with rejected rows. A folder whose objects are rows keeps all its slices; its rows
/// are chosen when they are read. Memory: 16 bytes for each file or object; for a retry, 64 for each rejected
/// row, and once more in each slice if the row's key is not UTF-8.
/// \error kFailedPrecondition  a file has changed since it was read, so its new rows cannot be recognised; or
///                             a retry finds rejected rows, but none in a file of the input
Result<SlicePasts> leave_what_continues(Input& input, const BaseDataset& base, const Location& output,
                                        Continuation continuation);

/// Compares the whole `input`, which lies at `place`, with the inputs that were read for `base`, the dataset
/// at `output`. Returns kChanged if a file or object has changed, so that an append is refused; otherwise
/// kNew if an append would read something, and kSame if not. Cost: for a folder whose objects are rows, a
/// listing.
/// \error as read_inputs, and of the listing
Result<KnownInputs::Match> compare_with_base(const Input& input, const InputPlace& place,
                                             const BaseDataset& base, const Location& output);

}  // namespace headrace
