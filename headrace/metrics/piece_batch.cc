#include "headrace/metrics/piece_batch.h"

#include <algorithm>
#include <span>

#include "headrace/base/text.h"
#include "headrace/os/parallel.h"

namespace headrace {

namespace {

constexpr std::uint64_t kMostGapBytes = 16 << 10;  // reading a gap of this size costs less than a request
constexpr std::uint64_t kMostRangeBytes = 8 << 20;

Status read_shared(Store& store, std::span<const ReadRequest> requests, const CallOptions& call,
                   int threads) {
  const std::size_t shares =
      std::clamp<std::size_t>(static_cast<std::size_t>(std::max(threads, 1)), 1, requests.size());
  return parallel_for(threads, shares, [&](std::size_t i) {
    const std::size_t begin = requests.size() * i / shares, end = requests.size() * (i + 1) / shares;
    return store.read_many(requests.subspan(begin, end - begin), call);
  });
}

}  // namespace

void PieceBatch::add(Store& store, const std::string& key, const SegmentPiece& piece,
                     std::uint64_t most_bytes) {
  stores_.try_emplace(&store, &store);
  if (wanted_[{&store, key}].try_emplace(piece.offset, Wanted{piece, most_bytes}).second)
    size_bytes_ += piece.size;
}

void PieceBatch::add_range(Store& store, const std::string& key, const SegmentPiece& piece) {
  if (!ranges_.empty()) {
    Range& range = ranges_.back();
    const std::uint64_t end = range.offset + range.size;
    const bool is_near = piece.offset >= end && piece.offset - end <= kMostGapBytes;
    if (range.store == &store && range.key == key && is_near &&
        piece.offset + piece.size - range.offset <= kMostRangeBytes) {
      range.size = piece.offset + piece.size - range.offset;
      return;
    }
  }
  ranges_.push_back({&store, key, piece.offset, piece.size});
}

Status PieceBatch::read(const CallOptions& call, int threads) {
  for (auto& [object, pieces] : wanted_) {
    Store& store = *stores_.at(object.first);
    for (auto& [offset, wanted] : pieces) {
      const SegmentPiece& piece = wanted.piece;
      if (piece.size > wanted.most_bytes)
        return Error{Code::kDataLoss,
                     concat(store.describe(object.second), ": a piece of ", piece.size,
                            " bytes, more than the ", wanted.most_bytes, " that are possible")};
      add_range(store, object.second, piece);
      wanted.range = ranges_.size() - 1;
    }
  }
  std::map<Store*, std::vector<ReadRequest>> requests;
  for (Range& range : ranges_) {
    range.bytes = std::make_unique_for_overwrite<std::byte[]>(range.size);
    read_bytes_ += range.size;
    requests[range.store].push_back({range.key, range.offset, {range.bytes.get(), range.size}});
  }
  for (const auto& [store, some] : requests) HEADRACE_CHECK(read_shared(*store, some, call, threads));
  return {};
}

Result<BytesView> PieceBatch::piece(const Store& store, const std::string& key, const SegmentPiece& piece,
                                    Bytes& decompressed) const {
  const Wanted& wanted = wanted_.at({&store, key}).at(piece.offset);
  const Range& range = ranges_.at(wanted.range);
  if (wanted.piece.size != piece.size)
    return Error{Code::kDataLoss, concat(store.describe(key), ": two pieces begin at offset ", piece.offset)};
  const BytesView stored(range.bytes.get() + (piece.offset - range.offset), piece.size);
  auto bytes = open_piece(stored, piece, wanted.most_bytes, decompressed);
  if (!bytes) return std::move(bytes).error().in(store.describe(key));
  return bytes;
}

}  // namespace headrace
