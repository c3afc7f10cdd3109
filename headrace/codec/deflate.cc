#include "headrace/codec/deflate.h"

#include <libdeflate.h>

#include <algorithm>

#include "headrace/base/crc32c.h"
#include "headrace/base/text.h"

namespace headrace {
namespace {

struct FreeCompressor {
  void operator()(libdeflate_compressor* compressor) const { libdeflate_free_compressor(compressor); }
};
struct FreeDecompressor {
  void operator()(libdeflate_decompressor* decompressor) const { libdeflate_free_decompressor(decompressor); }
};

// Deflate cannot expand further than this (258 bytes from two bits), so a guess is never larger.
constexpr std::uint64_t kMaxRatio = 1032;
constexpr std::uint64_t kSmallestGuess = 64 << 10;

// Guesses how large the content of `compressed` is. The trailer of gzip states the size of the last member.
// If that size is too small for all the compressed bytes, even with the overhead of stored blocks, there are
// other members before it.
std::uint64_t guess_content_bytes(BytesView compressed, Compression compression) {
  std::uint64_t guess = compressed.size() * 2;
  if (compression == Compression::kGzip && compressed.size() >= 18) {
    const std::uint64_t stated = load_little_endian<std::uint32_t>(compressed.data() + compressed.size() - 4);
    const bool is_of_all = stated + stated / 1024 + 64 >= compressed.size();
    if (is_of_all && stated / kMaxRatio <= compressed.size()) guess = stated;
  }
  return std::max(guess, kSmallestGuess);
}

std::size_t count_leading_zeros(BytesView bytes) {
  const auto end =
      std::find_if(bytes.begin(), bytes.end(), [](std::byte byte) { return byte != std::byte{0}; });
  return static_cast<std::size_t>(end - bytes.begin());
}

}  // namespace

std::string_view compression_name(Compression compression) {
  switch (compression) {
    case Compression::kNone:
      return "none";
    case Compression::kGzip:
      return "gzip";
    case Compression::kZlib:
      return "zlib";
  }
  return "none";
}

Compression sniff_compression(BytesView head) {
  if (head.size() >= 12) {
    const auto stored = load_little_endian<std::uint32_t>(head.data() + 8);
    if (masked_crc32c(crc32c(head.first(8))) == stored) return Compression::kNone;
  }
  const auto at = [&](std::size_t i) { return i < head.size() ? std::to_integer<unsigned>(head[i]) : 0U; };
  if (at(0) == 0x1f && at(1) == 0x8b && at(2) == 8) return Compression::kGzip;
  // RFC 1950: method 8, window of at most 32 KiB, a header divisible by 31, no preset dictionary.
  const bool zlib = head.size() >= 2 && (at(0) & 15) == 8 && at(0) >> 4 <= 7 &&
                    (at(0) << 8 | at(1)) % 31 == 0 && (at(1) & 32) == 0;
  return zlib ? Compression::kZlib : Compression::kNone;
}

struct GzipCompressor::State {
  std::unique_ptr<libdeflate_compressor, FreeCompressor> compressor;
  std::unique_ptr<libdeflate_compressor, FreeCompressor> storer;  // level 0: stored blocks
};

GzipCompressor::GzipCompressor(std::unique_ptr<State> state) : state_(std::move(state)) {}
GzipCompressor::GzipCompressor(GzipCompressor&&) noexcept = default;
GzipCompressor& GzipCompressor::operator=(GzipCompressor&&) noexcept = default;
GzipCompressor::~GzipCompressor() = default;

Result<GzipCompressor> GzipCompressor::create(int level) {
  if (level < kMinDeflateLevel || level > kMaxDeflateLevel) {
    return Error{Code::kInvalidArgument, concat("compression level ", level, " is not between ",
                                                kMinDeflateLevel, " and ", kMaxDeflateLevel)};
  }
  auto state = std::make_unique<State>();
  state->compressor.reset(libdeflate_alloc_compressor(level));
  state->storer.reset(libdeflate_alloc_compressor(0));
  if (!state->compressor || !state->storer)
    return Error{Code::kResourceExhausted, "no memory for a compressor"};
  return GzipCompressor(std::move(state));
}

std::uint64_t GzipCompressor::append_member(BytesView data, Bytes& out) {
  const std::size_t before = out.size();
  const auto compress = [&](libdeflate_compressor* compressor) {
    out.resize(before + libdeflate_gzip_compress_bound(compressor, data.size()));
    return libdeflate_gzip_compress(compressor, data.data(), data.size(), out.data() + before,
                                    out.size() - before);
  };
  std::size_t size = compress(state_->compressor.get());
  if (size * 8 >= data.size() * 7) size = compress(state_->storer.get());  // see `deflate_fingerprint`
  out.resize(before + size);
  return size;
}

Result<Bytes> gzip_compress(BytesView data, int level) {
  HEADRACE_TRY(GzipCompressor compressor, GzipCompressor::create(level));
  Bytes out;
  compressor.append_member(data, out);
  return out;
}

std::string deflate_fingerprint() { return "libdeflate " LIBDEFLATE_VERSION_STRING ", stored from 7/8"; }

struct BufferInflater::State {
  std::unique_ptr<libdeflate_decompressor, FreeDecompressor> decompressor{libdeflate_alloc_decompressor()};
};

BufferInflater::BufferInflater() : state_(std::make_unique<State>()) {}
BufferInflater::BufferInflater(BufferInflater&&) noexcept = default;
BufferInflater& BufferInflater::operator=(BufferInflater&&) noexcept = default;
BufferInflater::~BufferInflater() = default;

Result<InflatedMember> BufferInflater::member(BytesView compressed, Compression compression,
                                              MutableBytesView out) {
  if (compression == Compression::kNone) return Error{Code::kInvalidArgument, "not a compressed stream"};
  if (!state_->decompressor) return Error{Code::kInternal, "no memory for a decompressor"};
  const auto inflate =
      compression == Compression::kGzip ? libdeflate_gzip_decompress_ex : libdeflate_zlib_decompress_ex;
  std::size_t consumed = 0, produced = 0;
  switch (inflate(state_->decompressor.get(), compressed.data(), compressed.size(), out.data(), out.size(),
                  &consumed, &produced)) {
    case LIBDEFLATE_SUCCESS:
      return InflatedMember{consumed, produced};
    case LIBDEFLATE_INSUFFICIENT_SPACE:
      return Error{Code::kResourceExhausted,
                   concat(compression_name(compression), " content is larger than ", out.size(), " bytes")};
    default:
      return Error{Code::kDataLoss, concat(compression_name(compression), " data are corrupt or truncated")};
  }
}

Status BufferInflater::all(BytesView compressed, Compression compression, Bytes& out,
                           std::uint64_t limit_bytes) {
  const std::size_t start = out.size();
  std::size_t filled = start;
  std::size_t position = 0;
  std::uint64_t largest_member = 0;
  do {
    const BytesView rest = compressed.subspan(position);
    const std::uint64_t allowed = limit_bytes - (filled - start);
    std::uint64_t room = std::max(largest_member, guess_content_bytes(rest, compression));
    Result<InflatedMember> ended = InflatedMember{};
    for (bool larger = true; larger; room *= 2) {
      room = std::min(room, allowed);
      if (out.size() - filled < room) out.resize(filled + room);
      ended = member(rest, compression, MutableBytesView(out).subspan(filled, room));
      larger = !ended && ended.error().code == Code::kResourceExhausted && room < allowed;
    }
    if (!ended) {
      out.resize(start);
      return std::move(ended).error().in(
          concat("at offset ", position, ", limited to ", limit_bytes, " bytes"));
    }
    // Members that end between records are of about the same size.
    largest_member = std::max(largest_member, ended->uncompressed_bytes + ended->uncompressed_bytes / 8);
    filled += ended->uncompressed_bytes;
    position += ended->compressed_bytes;
    position += count_leading_zeros(compressed.subspan(position));
  } while (position < compressed.size());
  out.resize(filled);
  return {};
}

}  // namespace headrace
