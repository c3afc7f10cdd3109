#pragma once

/// \file Writes a shard: framed records, in gzip members if it is compressed, and their index.

#include <cstdint>
#include <optional>
#include <string>

#include "headrace/codec/deflate.h"
#include "headrace/record/index.h"
#include "headrace/track/created_once.h"

namespace headrace {

/// Not thread-safe. Memory: two members, and the buffers of the upload.
class ShardBody {
 public:
  /// \param compression  "gzip" or "none"
  static Result<ShardBody> create(const std::string& compression, int level, OnceUpload upload);

  Status add(BytesView example);

  /// Creates the shard and returns its index. Call once.
  /// \error kFailedPrecondition  the shard exists with other bytes: see create_once
  Result<ShardIndex> finish();

 private:
  ShardBody(ShardEncoding encoding, OnceUpload upload) : upload_(std::move(upload)), index_(encoding) {}
  Status end_member();

  OnceUpload upload_;
  std::optional<GzipCompressor> compressor_;
  ShardIndexBuilder index_;
  Bytes member_;
  Bytes compressed_;
};

}  // namespace headrace
