#pragma once

/// \file The findings of `inspect` about published and foreign data, and how they are shown.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "headrace/base/json.h"
#include "headrace/cli/command.h"
#include "headrace/cli/published.h"
#include "headrace/record/example.h"
#include "headrace/record/manifest.h"

namespace headrace {

struct Inspection {
  std::string url;
  std::string kind;  // a manifest's kind; "TFRecord files" or "WebDataset tars" of a foreign dataset
  /// Set only if it was published.
  std::uint64_t manifest = 0;
  std::string digest;
  std::string created_by;
  std::string attributes_json;  // of kinds other than "dataset"

  std::map<std::string, SplitCounts> splits;
  std::map<std::string, std::string> features;  // name → "float32[512]"
  std::vector<std::string> labels;
  std::map<std::string, std::string> encoders;  // feature → name
  std::map<std::string, std::uint64_t> counts;
  std::map<std::string, std::uint64_t> reasons;

  std::map<std::string, std::uint64_t> objects;  // role or compression → how many
  std::uint64_t size_bytes = 0;
  /// Parts or records with wrong checksums; none: checksums were not compared.
  std::optional<std::vector<BadPart>> bad;
  std::vector<std::string> warnings;
  std::vector<std::string> first_records;  // each with its split; see `describe_record`
};

struct InspectOptions {
  std::uint64_t first_records = 3;  // of each split
  std::uint64_t record_limit_bytes = 0;
  bool compares_checksums = true;
  int jobs = 4;
};

/// Inspects a published folder by its manifest. Reads the first records and, unless `options` say otherwise,
/// all parts to compare their checksums.
Result<Inspection> inspect_published(CommandContext& context, const PublishedFolder& published,
                                     const InspectOptions& options);

/// Inspects TFRecord objects and tars without a manifest, at `location` or directly below it. Reads every
/// record. Reports a damaged object in `bad` and continues with the others.
/// \error kInvalidArgument  none of the objects is a TFRecord file or a tar
Result<Inspection> inspect_foreign(CommandContext& context, const Location& location,
                                   const InspectOptions& options);

/// Describes a record in a line like {"id": "train/pos/0_9.txt", "label": [1, 0], "sentence": [0.12, -0.5, …
/// 512 values]}, which is not JSON. A logged request is described by its inputs.
std::string describe_record(BytesView record);

std::string inspection_to_text(const Inspection& inspection);
Json inspection_to_json(const Inspection& inspection);

}  // namespace headrace
