#pragma once

/// \file Reads pieces of many segments together: one round of requests to each store.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "headrace/metrics/pieces.h"
#include "headrace/store/location.h"

namespace headrace {

/// A set of pieces to read. Not thread-safe, except for `piece`.
class PieceBatch {
 public:
  /// Adds a piece of the object `key`. A piece that is added twice is read once. The store must outlive this.
  /// \param most_bytes  largest size that the piece may have before compression
  void add(Store& store, const std::string& key, const SegmentPiece& piece, std::uint64_t most_bytes);

  /// Reads all pieces that were added. Pieces that lie beside each other, or have a small gap between them,
  /// share one request. REQUIRES: it is called once
  /// \param threads  share the requests, because a store may read one after the other
  /// \error of the store; kDataLoss  a piece is larger than it can be
  Status read(const CallOptions& call, int threads = 1);

  /// After `read`: the piece as it was before compression. The view refers to memory of this batch or, if the
  /// piece is compressed, to `decompressed`. Thread-safe.
  /// \error kDataLoss  it is damaged
  /// REQUIRES: it was added
  Result<BytesView> piece(const Store& store, const std::string& key, const SegmentPiece& piece,
                          Bytes& decompressed) const;

  /// Size of the pieces that were added, as stored.
  std::uint64_t size_bytes() const { return size_bytes_; }
  /// Bytes and requests that `read` took.
  std::uint64_t read_bytes() const { return read_bytes_; }
  std::uint64_t requests() const { return ranges_.size(); }

 private:
  struct Wanted {
    SegmentPiece piece;
    std::uint64_t most_bytes = 0;
    std::size_t range = 0;
  };
  struct Range {
    Store* store = nullptr;
    std::string key;
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
    std::unique_ptr<std::byte[]> bytes{};
  };
  using Object = std::pair<const Store*, std::string>;

  void add_range(Store& store, const std::string& key, const SegmentPiece& piece);

  std::map<Object, std::map<std::uint64_t, Wanted>> wanted_;  // by object, and offset in it
  std::map<const Store*, Store*> stores_;
  std::vector<Range> ranges_;
  std::uint64_t size_bytes_ = 0;
  std::uint64_t read_bytes_ = 0;
};

}  // namespace headrace
