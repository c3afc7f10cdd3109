#pragma once

/// \file Writes one object of predictions, gzip. Format: docs/formats/predictions.md.

#include <memory>
#include <string>
#include <string_view>

#include "headrace/codec/deflate.h"
#include "headrace/record/manifest.h"
#include "headrace/store/location.h"

namespace headrace {

/// "predictions-00003-of-00007.jsonl.gz". `suffix` tells owners apart: see owner_suffix.
std::string prediction_shard_name(std::size_t number, std::size_t count, std::string_view suffix,
                                  std::string_view ending);

/// Equal bytes give equal bytes. Memory: a member of 1 MiB, and what the upload holds. Not thread-safe.
class PredictionShard {
 public:
  /// Nothing is visible before `finish`, which fails if an object of that name is there then.
  static Result<PredictionShard> start(const Location& folder, std::string name);

  /// Appends the bytes of so many answers.
  Status add(BytesView bytes, std::uint64_t answers);
  /// Makes the object visible; returns its part for the manifest. Call once.
  Result<ManifestPart> finish();

 private:
  PredictionShard(std::string name, std::unique_ptr<Upload> upload, GzipCompressor compressor)
      : upload_(std::move(upload)), compressor_(std::move(compressor)) {
    part_.key = std::move(name);
  }
  Status end_member();

  std::unique_ptr<Upload> upload_;
  GzipCompressor compressor_;
  Bytes member_;
  ManifestPart part_{.role = "predictions", .records = 0};
};

}  // namespace headrace
