#pragma once

/// \file Writes a shard: framed records, in gzip members if it is compressed, and their index.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "headrace/codec/deflate.h"
#include "headrace/record/index.h"
#include "headrace/store/store.h"

namespace headrace {

/// Use it from one thread at a time. Memory: two members, and the buffers of the store's upload.
class ShardBody {
 public:
  /// \param compression  "gzip" or "none"
  static Result<ShardBody> create(const std::string& compression, int level, std::unique_ptr<Upload> upload);

  Status add(BytesView example);

  /// Publishes the shard and returns its index. Call once.
  Result<ShardIndex> finish();

 private:
  ShardBody(ShardEncoding encoding, std::unique_ptr<Upload> upload)
      : upload_(std::move(upload)), index_(encoding) {}
  Status end_member();

  std::unique_ptr<Upload> upload_;
  std::optional<GzipCompressor> compressor_;
  ShardIndexBuilder index_;
  Bytes member_;
  Bytes compressed_;
  std::uint32_t crc_ = 0;
};

}  // namespace headrace
