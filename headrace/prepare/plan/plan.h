#pragma once

/// \file The plan: the values that determine every byte of a prepared dataset. docs/formats/plan.md.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "headrace/coordinate/configuration.h"
#include "headrace/prepare/plan/base_dataset.h"
#include "headrace/prepare/schema/schema.h"
#include "headrace/prepare/source/input_kind.h"

namespace headrace {

/// Eight hexadecimal digits that all names of a plan's objects contain. Objects of different plans, and of
/// one plan in different generations of an output, thus never have the same name.
std::string name_tag(std::string_view plan_digest, std::uint64_t generation);

/// The folder of all work objects below an output, and the work folder of one plan in one generation.
inline constexpr std::string_view kWorkFolder = "_headrace/work/";
Location work_folder(const Location& output, std::string_view tag);

/// The key in a plan's configuration that names the continued dataset.
inline constexpr const char* kContinuesKey = "continues";

enum class Duplicates : std::uint8_t { kKeep, kReport, kDrop };

struct PreparePlan {
  Input input;
  Schema schema;
  std::uint64_t seed = 44;
  /// The first of these two that is not 0 determines the size of a shard.
  std::uint64_t shard_records = 0;
  std::uint64_t shard_bytes = 128 << 20;  // before compression
  /// The size of the slices in `input`. Determines names of work objects, but no bytes of records.
  std::uint64_t slice_bytes = SliceLimits{}.size_bytes;
  std::string compression = "gzip";  // or "none"
  int compression_level = 6;
  Duplicates duplicates = Duplicates::kKeep;
  double sample = 1;
  bool splits_as_they_are = false;  // keep names of splits as spelled, and accept a dataset without "train"
  bool reports_all = false;         // also report rows that were simply written, with the sizes of images
  std::uint64_t cell_limit_bytes = kCellLimitBytes;
  char delimiter = 0;  // of tables' columns, as in Input
  /// A function that maps each row, "module:function", and the version of its content. Empty: no map.
  std::string map{};
  std::string map_version{};
  /// Name of the encoder in the schema → digest of its weights.
  std::map<std::string, std::string> encoder_digests;
  /// How the plan continues a published dataset. `base` is set if and only if the plan continues one.
  Continuation continuation = Continuation::kNone;
  std::shared_ptr<const BaseDataset> base{};
  /// The base's record of each slice. If empty although the plan continues, the work folder has the records.
  SlicePasts pasts{};
  /// For a plan that is made again: its earlier input; later additions to a folder are ignored. Null: nothing
  /// is ignored.
  std::shared_ptr<KnownInputs> only{};

  /// True if reading a slice depends on the base's record of it.
  bool needs_past(const Slice& slice) const {
    return retries() || (continuation == Continuation::kAppend && slice.is_range_of_folder());
  }
  bool retries() const { return continuation == Continuation::kRetryFailed; }
};

/// The plan as its output keeps it. A later run of the same command compares its own plan with it.
Configuration plan_configuration(const PreparePlan& plan);

/// Parses the plan that `output` keeps. Its input gets the given slices.
/// \error kDataLoss            the configuration is not a plan
/// \error kFailedPrecondition  made by another version of Headrace, or of a library that determines bytes
Result<PreparePlan> parse_plan(const Configuration& configuration, std::vector<Slice> slices,
                               const Location& output, InputKinds kinds = input_kinds());

/// A plan that continues the dataset at `output`. It has the options of the plan that made the dataset, the
/// latest manifest as its base, and no input yet. The versions of libraries are those of this program.
/// \error kFailedPrecondition  headrace prepare made nothing there
/// \error as read_base
Result<PreparePlan> continue_plan(const Location& output, Continuation continuation,
                                  InputKinds kinds = input_kinds());

/// The slices in the form that other processes read.
std::string slices_to_json(const Input& input);
/// Parses the result of slices_to_json. \error kDataLoss  it has another form
Result<std::vector<Slice>> parse_slices(std::string_view json);

}  // namespace headrace
