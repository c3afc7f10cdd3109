#pragma once

/// \file Writes one object of predictions. Formats: docs/formats/predictions.md.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "headrace/base/bytes.h"
#include "headrace/record/manifest.h"
#include "headrace/store/location.h"

namespace headrace {

/// "predictions-00003-of-00007.jsonl.gz". `suffix` tells owners apart: see owner_suffix.
std::string prediction_shard_name(std::size_t number, std::size_t count, std::string_view suffix,
                                  std::string_view ending);

/// Not thread-safe. Nothing is visible before `finish`, which fails if an object of that name is there then.
class PredictionShard {
 public:
  virtual ~PredictionShard() = default;

  /// Appends the bytes of so many answers.
  virtual Status add(BytesView bytes, std::uint64_t answers) = 0;
  /// Makes the object visible; returns its part for the manifest. Call once.
  virtual Result<ManifestPart> finish() = 0;
};

/// Compresses with gzip. Equal bytes give equal bytes. Memory: a member of 1 MiB, and what the upload holds.
Result<std::unique_ptr<PredictionShard>> start_gzip_shard(const Location& folder, std::string name);

/// Converts a file of CSV with a header into a file of Parquet: paths of both.
using ToParquet = std::function<Status(const std::string& csv, const std::string& parquet)>;

/// Keeps the answers, which are CSV, in a file below `temporary_folder`, and uploads the Parquet file that
/// `convert` makes of it. Memory: a piece of that file.
/// \error kResourceExhausted  the disk is full
Result<std::unique_ptr<PredictionShard>> start_parquet_shard(const Location& folder, std::string name,
                                                             const std::string& temporary_folder,
                                                             ToParquet convert);

}  // namespace headrace
