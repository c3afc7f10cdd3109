#pragma once

/// \file Deflate (RFC 1951) in gzip (RFC 1952) and zlib (RFC 1950) wrapping, the compressions of TFRecord
/// files. libdeflate handles whole buffers; zlib handles streams of unknown size.
///
/// A gzip file is a sequence of **members**, each complete in itself. Every reader, TensorFlow's included,
/// concatenates their contents. Headrace starts a new member every few MiB, so that a shard can be read from
/// the middle. Nothing here trusts a length that the input states: the caller bounds every output.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/base/bytes.h"
#include "headrace/base/result.h"

namespace headrace {

enum class Compression : std::uint8_t { kNone, kGzip, kZlib };

/// "none", "gzip", "zlib": the names that manifests and options use.
std::string_view compression_name(Compression compression);

/// Recognises the wrapping of a TFRecord file by its first bytes (12 are enough). A correct checksum of the
/// first record's length shows that the file is plain and not zlib. A file that is neither gzip nor zlib
/// counts as plain.
Compression sniff_compression(BytesView head);

/// Levels as libdeflate numbers them: 1 (fast) to 12 (small); 6 is its default.
inline constexpr int kMinDeflateLevel = 1;
inline constexpr int kMaxDeflateLevel = 12;

/// Compresses gzip members. The same data, level and library version give the same bytes: no time or name is
/// included. Data that would shrink by less than an eighth, for example vectors of floats, are stored
/// uncompressed (in stored blocks of deflate), which makes them three times as fast to read. One compressor
/// serves many members. Memory: about 0.5 MB (levels 1–9). Not thread-safe.
class GzipCompressor {
 public:
  /// \error kInvalidArgument    the level is out of range
  /// \error kResourceExhausted  no memory
  static Result<GzipCompressor> create(int level);
  GzipCompressor(GzipCompressor&&) noexcept;
  GzipCompressor& operator=(GzipCompressor&&) noexcept;
  ~GzipCompressor();

  /// Appends one member that holds `data`; returns the member's size in bytes.
  std::uint64_t append_member(BytesView data, Bytes& out);

 private:
  struct State;
  explicit GzipCompressor(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// Returns one member that holds `data`.
/// \error kInvalidArgument    the level is out of range
/// \error kResourceExhausted  no memory
Result<Bytes> gzip_compress(BytesView data, int level);

/// Names everything, besides the data and the level, on which the bytes of a compressed shard depend:
/// "libdeflate 1.14, stored from 7/8". Part of a plan.
std::string deflate_fingerprint();

/// The sizes of one member, or of one zlib stream.
struct InflatedMember {
  std::uint64_t compressed_bytes = 0;
  std::uint64_t uncompressed_bytes = 0;
};

/// Decompresses from memory to memory, two to four times as fast as `Inflater`. Memory: about 11 kB. Not
/// thread-safe.
class BufferInflater {
 public:
  BufferInflater();
  BufferInflater(BufferInflater&&) noexcept;
  BufferInflater& operator=(BufferInflater&&) noexcept;
  ~BufferInflater();

  /// Decompresses the first member of `compressed` into the front of `out`. Checks its CRC-32 or Adler-32.
  /// \error kDataLoss           not a stream of that compression, corrupt, or cut short
  /// \error kResourceExhausted  the content is larger than `out`
  /// \error kInvalidArgument    `compression` is kNone
  /// \error kInternal           no memory
  Result<InflatedMember> member(BytesView compressed, Compression compression, MutableBytesView out);

  /// Appends the content of all members to `out`. Zero bytes after a member are padding. On errors `out` is
  /// unchanged.
  /// Memory: at most twice the content, never more than `limit_bytes` beyond what `out` held.
  /// \error kResourceExhausted  the content is larger than `limit_bytes`
  /// \error                     as for `member`; the message names the member's offset
  Status all(BytesView compressed, Compression compression, Bytes& out, std::uint64_t limit_bytes);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Where a member of a stream begins, in bytes.
struct MemberStart {
  std::uint64_t compressed_offset = 0;
  std::uint64_t uncompressed_offset = 0;
};

/// The result of one call of `Inflater::step`.
struct InflateStep {
  std::size_t consumed_bytes = 0;
  std::size_t produced_bytes = 0;
};

/// Decompresses a stream that arrives in pieces into pieces of the caller's choice. The stream may have any
/// size and any number of members. Memory: about 40 kB. Not thread-safe.
///
///   while (!done) {
///     HEADRACE_TRY(const InflateStep step, inflater.step(input, output));
///     input = input.subspan(step.consumed_bytes);        // refill when empty
///     use(output.first(step.produced_bytes));
///   }
///   HEADRACE_CHECK(inflater.finish());
class Inflater {
 public:
  /// `limit_bytes` bounds the total output. With kNone, the stream is copied.
  explicit Inflater(Compression compression, std::uint64_t limit_bytes = ~std::uint64_t{0});
  Inflater(Inflater&&) noexcept;
  Inflater& operator=(Inflater&&) noexcept;
  ~Inflater();

  /// Decompresses as much as possible: until all input is consumed or the output is full.
  /// \error kDataLoss           corrupt; the message names the offset in the compressed stream
  /// \error kResourceExhausted  the output exceeds `limit_bytes`, or no memory
  Result<InflateStep> step(BytesView input, MutableBytesView output);

  /// Call at the end of the input, when `step` produces no more.
  /// \error kDataLoss  the stream was cut short
  Status finish() const;

  /// The number of members that have ended so far.
  std::uint64_t members() const;

  /// The least content, in bytes, between two of the `member_starts`.
  static constexpr std::uint64_t kLeastMemberBytes = 4096;
  /// The starts of the members that have begun so far. A member is left out if fewer than `kLeastMemberBytes`
  /// bytes of content lie between the last start and its own: it then counts as part of the member before. So
  /// the list takes less memory than the content for any input. Valid until the next `step`.
  const std::vector<MemberStart>& member_starts() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace headrace
