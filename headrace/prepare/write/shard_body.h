#pragma once

/// \file A shard as it is written: framed records, in members of gzip if it is compressed, and their index.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "headrace/codec/deflate.h"
#include "headrace/record/index.h"
#include "headrace/store/store.h"

namespace headrace {

/// Not thread-safe. Memory: two members, and what the store's upload holds.
class ShardBody {
 public:
  /// \param compression  "gzip" or "none"
  static Result<ShardBody> create(const std::string& compression, int level, std::unique_ptr<Upload> upload);

  Status add(BytesView example);

  /// Publishes the shard; gives its index. Call once.
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
