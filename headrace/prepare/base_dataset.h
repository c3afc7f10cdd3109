#pragma once

/// \file The published data set that a plan continues: what was read for it, and what was rejected.
/// docs/prepare.md, "Continuing".

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "headrace/prepare/source/input.h"
#include "headrace/prepare/source/known_inputs.h"
#include "headrace/record/manifest.h"
#include "headrace/store/registry.h"

namespace headrace {

/// The role of a manifest's parts that name what was read.
inline constexpr std::string_view kInputsRole = "inputs";

enum class Continuation : std::uint8_t { kNone, kAppend, kRetryFailed };

/// "", "append", "retry-failed".
std::string_view continuation_name(Continuation continuation);

/// A row as reports name it: by its place in a file; by its id if it is an object of a folder.
struct RejectedRow {
  std::string_view source;  // empty: an object of a folder
  std::uint64_t row = 0;
  std::string_view id;
};

/// The rows that are rejected, by what their last line in the reports says, and may be retried: not those of
/// an id that another row has.
class RejectedRows {
 public:
  void take(const RejectedRow& row, std::string_view status, std::string_view reason);

  /// Why a row was rejected; null if it was not.
  const std::string* find(const RejectedRow& row) const;
  bool has_source(std::string_view source) const { return sources_.contains(source); }
  bool is_empty() const { return reasons_of_rows_.empty(); }

 private:
  std::map<std::uint64_t, const std::string*> reasons_of_rows_;  // by a hash of the row
  std::set<std::string, std::less<>> reasons_;
  std::set<std::string, std::less<>> sources_;
};

struct BaseDataset {
  std::uint64_t number = 0;  // of the manifest
  std::string digest;        // SHA-256 (hex) of the manifest
  Manifest manifest;
  DatasetAttributes attributes;
  KnownInputs inputs;
  RejectedRows rejected;  // only to retry
};

/// What is published at `output`; `number`: not the latest manifest, but this one.
/// \error kNotFound            nothing is published there
/// \error kFailedPrecondition  published without a record of what was read
Result<std::shared_ptr<const BaseDataset>> read_base(const Location& output, Continuation continuation,
                                                     std::optional<std::uint64_t> number = {});

/// Of an input that consists of files, leaves those that there is something to read of: to append, those
/// that `base` does not know; to retry, those with rejected rows. Of a folder whose objects are rows
/// nothing: its rows are chosen when they are read.
/// \error kFailedPrecondition  a file has changed since it was read, so its rows cannot be told; or rows
///                             are to be retried, and no file has any
Status leave_what_continues(Input& input, const BaseDataset& base, Continuation continuation);

}  // namespace headrace
