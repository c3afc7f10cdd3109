#pragma once

/// \file The bytes of an archive object, or of another file, with gzip removed.

#include <array>
#include <cstdint>
#include <optional>

#include "headrace/codec/deflate.h"
#include "headrace/store/store.h"

namespace headrace {

/// Recognises an object's compression by its first bytes.
using CompressionOfHead = Compression (*)(BytesView head);
/// Gzip or none; kNone for the compressions that libarchive removes itself.
Compression gzip_of_head(BytesView head);

/// Reads one version of an object front to back, and inflates gzip: libarchive would not compare the CRC-32
/// at the end of a gzip member, so an altered text would pass as good. Other compressions check themselves
/// and are left to libarchive. If the whole object is read and `object` has the store's checksum, the bytes
/// are compared with it, because a tar has no checksums for file contents. Memory: one buffer of 1 MiB, two
/// for gzip. One thread at a time.
class ArchiveInput {
 public:
  /// Borrows the store.
  ArchiveInput(Store& store, ObjectInfo object, CallOptions options);

  /// Reads the first bytes. Call once, before any other function.
  Status open(CompressionOfHead compression_of_head = gzip_of_head);

  /// The next piece, valid until the next call; empty at the end.
  /// \error kDataLoss  gzip data are damaged or cut: the message names the offset; or the object ends early
  Result<BytesView> next();

  /// Reads the rest, so that the checksums at the end are compared.
  /// \error kDataLoss  they differ
  Status drain();

  /// Whether the last 512 bytes, as `next` gives them, are zero: a tar ends so. Call after `drain`.
  Result<bool> ends_in_zeros();

  /// True also for another wrapping that `open` was told of.
  bool is_gzip() const { return inflater_.has_value(); }
  /// Whether parts may be left out, or read in another order: not if the bytes are compared as a whole.
  bool may_seek() const { return !is_gzip() && !is_compared_; }

  /// Where the next piece begins; with gzip, in the compressed object. May be moved if `may_seek`.
  std::uint64_t position() const { return position_; }
  void seek(std::uint64_t position) {
    position_ = position;
    head_ = {};
  }

  const ObjectInfo& object() const { return object_; }

 private:
  static constexpr std::size_t kTailBytes = 512;

  Result<BytesView> read();
  void remember_tail(BytesView piece);

  Store& store_;
  const ObjectInfo object_;
  const CallOptions options_;
  Bytes buffer_;
  BytesView head_;  // in `buffer_`, read but not given yet
  std::uint64_t position_ = 0;
  bool is_compared_ = false;
  std::uint32_t crc_ = 0;  // up to `position_`, if so
  std::optional<Inflater> inflater_;
  BytesView compressed_;  // in `buffer_`, not inflated yet
  Bytes inflated_;
  Bytes tail_;
};

}  // namespace headrace
