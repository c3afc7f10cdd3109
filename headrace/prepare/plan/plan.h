#pragma once

/// \file The plan: what decides every byte of a prepared data set. docs/formats/plan.md.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "headrace/prepare/plan/base_dataset.h"
#include "headrace/prepare/schema/schema.h"
#include "headrace/prepare/source/input.h"
#include "headrace/track/configuration.h"

namespace headrace {

/// Where work objects lie below an output, of any plan; and those of one.
inline constexpr std::string_view kWorkFolder = "_headrace/work/";
Location work_folder(const Location& output, std::string_view plan_digest);

/// In a plan's configuration: what it continues.
inline constexpr const char* kContinuesKey = "continues";

enum class Duplicates : std::uint8_t { kKeep, kReport, kDrop };

struct PreparePlan {
  Input input;
  Schema schema;
  std::uint64_t seed = 44;
  /// A shard's size follows from the first of these that is not 0.
  std::uint64_t shard_records = 0;
  std::uint64_t shard_bytes = 128 << 20;  // before compression
  /// What `input` was cut by. Not that it decides bytes of records, but names of work objects.
  std::uint64_t slice_bytes = SliceLimits{}.size_bytes;
  std::string compression = "gzip";  // or "none"
  int compression_level = 6;
  Duplicates duplicates = Duplicates::kKeep;
  double sample = 1;
  bool splits_as_they_are = false;  // names are not brought into one spelling, and there need be no "train"
  bool reports_all = false;         // also rows that are simply written, with the sizes of images
  std::uint64_t cell_limit_bytes = kCellLimitBytes;
  /// A function that makes each row anew, "module:function", and what stands for its content; empty: none.
  std::string map{};
  std::string map_version{};
  /// Name as in the schema → weights' digest.
  std::map<std::string, std::string> encoder_digests;
  /// What it continues; a base if and only if it continues one.
  Continuation continuation = Continuation::kNone;
  std::shared_ptr<const BaseDataset> base{};
  /// What the base has of the input's slices; empty, and the plan continues: it lies in the work folder.
  SlicePasts pasts{};

  /// Whether what is read of a slice depends on what the base has of it.
  bool needs_past(const Slice& slice) const {
    return retries() || (continuation == Continuation::kAppend && slice.is_range_of_folder());
  }
  bool retries() const { return continuation == Continuation::kRetryFailed; }
};

/// What is kept in the output, and compared when the same command is run again.
Configuration plan_configuration(const PreparePlan& plan);

/// The plan that is kept so at `output`; its input has the slices given.
/// \error kDataLoss            it is none
/// \error kFailedPrecondition  made by another version of Headrace, or of a library that decides bytes
Result<PreparePlan> parse_plan(const Configuration& configuration, std::vector<Slice> slices,
                               const Location& output);

/// The plan that continues what is published at `output`: all that was said there, the manifest that is the
/// latest now, and no input yet. Versions of libraries are today's.
/// \error kFailedPrecondition  nothing was prepared there; and those of read_base
Result<PreparePlan> continue_plan(const Location& output, Continuation continuation);

/// The slices as an object that other processes read.
std::string slices_to_json(const Input& input);
/// \error kDataLoss
Result<std::vector<Slice>> parse_slices(std::string_view json);

}  // namespace headrace
