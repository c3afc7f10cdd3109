#include <algorithm>
#include <cstdlib>
#include <optional>

#include "headrace/codec/deflate.h"

namespace {

constexpr std::uint64_t kLimitBytes = 1 << 16;

headrace::Result<headrace::Bytes> inflate_stream(headrace::BytesView input,
                                                 headrace::Compression compression) {
  headrace::Inflater inflater(compression, kLimitBytes);
  headrace::Bytes out, piece(1 + input.size() % 5000);
  for (std::size_t available = std::min<std::size_t>(input.size(), 1 + input.size() % 7);;) {
    HEADRACE_TRY(const headrace::InflateStep step, inflater.step(input.first(available), piece));
    headrace::append(out, headrace::BytesView(piece).first(step.produced_bytes));
    input = input.subspan(step.consumed_bytes);
    available -= step.consumed_bytes;
    if (step.produced_bytes == piece.size()) continue;
    if (available != 0) std::abort();
    if (input.empty()) break;
    available = std::min<std::size_t>(input.size(), 100);
  }
  HEADRACE_CHECK(inflater.finish());
  return out;
}

// Inflates with both decompressors. If zlib accepts an input, libdeflate must accept it and give the same;
// the reverse does not hold: libdeflate takes some codes that RFC 1951 forbids, if the checksum is right.
// Returns the content, or nothing if zlib refused it.
std::optional<headrace::Bytes> inflate(headrace::BytesView input, headrace::Compression compression) {
  headrace::Bytes whole;
  const headrace::Status status = headrace::BufferInflater().all(input, compression, whole, kLimitBytes);
  if (whole.size() > kLimitBytes || (!status && !whole.empty())) std::abort();
  const headrace::Result<headrace::Bytes> streamed = inflate_stream(input, compression);
  if (!streamed) return std::nullopt;
  if (!status || *streamed != whole) std::abort();
  return whole;
}

// Gzip members that hold the text, cut and repeated as its own bytes say.
void write_members(headrace::BytesView text, headrace::Bytes& content, headrace::Bytes& compressed) {
  static headrace::GzipCompressor compressor = *headrace::GzipCompressor::create(6);
  while (!text.empty()) {
    const auto script = std::to_integer<std::size_t>(text[0]);
    const headrace::BytesView piece = text.first(std::min<std::size_t>(1 + script / 4, text.size()));
    headrace::Bytes member;
    for (std::size_t i = 0; i < std::size_t{1} << script % 4 * 2; ++i) headrace::append(member, piece);
    compressor.append_member(member, compressed);
    headrace::append(content, member);
    text = text.subspan(piece.size());
  }
}

}  // namespace

// The first byte says what the rest is: a file as it stands, or a text to compress first. Some of the
// compressed bytes are then altered, as the bytes after the first say: where (two), and to what.
extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace headrace;
  BytesView input = std::as_bytes(std::span(data, size));
  if (input.empty()) return 0;
  const unsigned mode = data[0] % 8;
  if (mode == 0) {
    input = input.subspan(1);
    const Compression compression = sniff_compression(input);
    if (compression != Compression::kNone) (void)inflate(input, compression);
    return 0;
  }
  const std::size_t damages = std::min<std::size_t>(mode / 2, (size - 1) / 3);
  Bytes content, compressed;
  write_members(input.subspan(1 + 3 * damages), content, compressed);
  if (compressed.empty() || content.size() > kLimitBytes) return 0;
  for (std::size_t i = 0; i < damages; ++i) {
    const unsigned char* const damage = data + 1 + 3 * i;
    compressed[(damage[0] | damage[1] << 8) % compressed.size()] = static_cast<std::byte>(damage[2]);
  }
  const std::optional<Bytes> inflated = inflate(compressed, Compression::kGzip);
  if (damages == 0 && (!inflated || *inflated != content)) std::abort();
  return 0;
}
