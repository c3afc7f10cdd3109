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

/// "predictions-00003-of-00007.jsonl.gz". `suffix` distinguishes owners: see owner_suffix.
std::string prediction_shard_name(std::size_t number, std::size_t count, std::string_view suffix,
                                  std::string_view ending);

/// Writes one object. Not thread-safe. Nothing is visible before `finish`, which fails if an object of that
/// name exists by then.
class PredictionShard {
 public:
  virtual ~PredictionShard() = default;

  /// Appends `bytes`, which hold that many answers.
  virtual Status add(BytesView bytes, std::uint64_t answers) = 0;
  /// Makes the object visible, and returns its part for the manifest. Call once.
  virtual Result<ManifestPart> finish() = 0;
};

/// Starts an object that is compressed with gzip. The same answers give the same object. Memory: a member of
/// 1 MiB, and the upload's buffer.
Result<std::unique_ptr<PredictionShard>> start_gzip_shard(const Location& folder, std::string name);

/// Converts a CSV file with a header into a Parquet file. Both arguments are paths.
using ToParquet = std::function<Status(const std::string& csv, const std::string& parquet)>;

/// Starts an object of Parquet. Keeps the answers as CSV in a file below `temporary_folder`; `finish` uploads
/// the Parquet file that `convert` makes of it. Memory: a piece of that file.
/// \error kResourceExhausted  the CSV file cannot be written, as on a full disk; from `add` or `finish`
Result<std::unique_ptr<PredictionShard>> start_parquet_shard(const Location& folder, std::string name,
                                                             const std::string& temporary_folder,
                                                             ToParquet convert);

}  // namespace headrace
