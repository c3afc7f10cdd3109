#include "headrace/codec/archive/archive_input.h"

#include <algorithm>
#include <utility>

#include "headrace/base/crc32c.h"
#include "headrace/base/text.h"

namespace headrace {
namespace {

constexpr std::size_t kBufferBytes = 1 << 20;

// A zip has a directory at its end, and a checksum of each file.
bool begins_zip(BytesView head) { return as_text(head).starts_with("PK"); }

}  // namespace

Compression gzip_of_head(BytesView head) {
  const bool is_gzip = head.size() >= 2 && head[0] == std::byte{0x1f} && head[1] == std::byte{0x8b};
  return is_gzip ? Compression::kGzip : Compression::kNone;
}

ArchiveInput::ArchiveInput(Store& store, ObjectInfo object, CallOptions options)
    : store_(store), object_(std::move(object)), options_(std::move(options)), buffer_(kBufferBytes) {}

Status ArchiveInput::open(CompressionOfHead compression_of_head) {
  HEADRACE_TRY(head_, read());
  const Compression compression = compression_of_head(head_);
  if (compression != Compression::kNone) {
    inflater_.emplace(compression);
    inflated_.resize(kBufferBytes);
    compressed_ = std::exchange(head_, {});
  } else {
    is_compared_ = object_.crc32c && !begins_zip(head_);
    position_ = 0;
  }
  return {};
}

Result<BytesView> ArchiveInput::read() {
  BytesView piece = std::exchange(head_, {});
  if (piece.empty() && position_ < object_.size_bytes) {
    HEADRACE_TRY(
        const ReadResult read,
        store_.read_into(object_.key, buffer_,
                         {.offset_bytes = position_, .if_version = object_.version, .call = options_}));
    piece = BytesView(buffer_).first(read.bytes_read);
    if (piece.empty()) {
      return Error{Code::kDataLoss, concat("the object ends at byte ", position_, " of ", object_.size_bytes,
                                           "; was it overwritten during the read?")};
    }
  }
  position_ += piece.size();
  if (is_compared_) crc_ = crc32c(piece, crc_);
  return piece;
}

Result<BytesView> ArchiveInput::next() {
  if (!inflater_) return read();
  while (true) {
    if (compressed_.empty() && position_ < object_.size_bytes) {
      HEADRACE_TRY(compressed_, read());
    }
    HEADRACE_TRY(const InflateStep step, inflater_->step(compressed_, inflated_));
    compressed_ = compressed_.subspan(step.consumed_bytes);
    const BytesView piece = BytesView(inflated_).first(step.produced_bytes);
    remember_tail(piece);
    if (!piece.empty()) return piece;
    if (compressed_.empty() && position_ >= object_.size_bytes) {
      HEADRACE_CHECK(inflater_->finish());
      return piece;
    }
  }
}

void ArchiveInput::remember_tail(BytesView piece) {
  append(tail_, piece.last(std::min(piece.size(), kTailBytes)));
  if (tail_.size() > kTailBytes)
    tail_.erase(tail_.begin(), tail_.end() - static_cast<std::ptrdiff_t>(kTailBytes));
}

Status ArchiveInput::drain() {
  while (is_gzip() || is_compared_) {
    HEADRACE_TRY(const BytesView piece, next());
    if (piece.empty()) break;
  }
  return is_compared_ ? check_crc32c(store_, object_, crc_) : Status();
}

Result<bool> ArchiveInput::ends_in_zeros() {
  if (!is_gzip() && object_.size_bytes >= kTailBytes) {
    tail_.resize(kTailBytes);
    HEADRACE_CHECK(read_exactly(
        store_, object_.key, tail_,
        {.offset_bytes = object_.size_bytes - kTailBytes, .if_version = object_.version, .call = options_}));
  }
  return tail_.size() == kTailBytes &&
         std::ranges::all_of(tail_, [](std::byte b) { return b == std::byte{0}; });
}

}  // namespace headrace
