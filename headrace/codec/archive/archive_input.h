#pragma once

/// \file The bytes of an archive object, or of another file, with gzip decompressed.

#include <array>
#include <cstdint>
#include <optional>

#include "headrace/codec/deflate.h"
#include "headrace/store/store.h"

namespace headrace {

/// Recognises an object's compression by its first bytes.
using CompressionOfHead = Compression (*)(BytesView head);
/// Recognises gzip only: returns kNone for the compressions that libarchive handles itself.
Compression gzip_of_head(BytesView head);

/// Reads one version of an object front to back, and decompresses gzip. libarchive would not check the CRC-32
/// at the end of a gzip member, so altered text would pass as good. It handles the other compressions, which
/// have checks of their own. If an object that is not decompressed here and is not a zip is read whole, its
/// bytes are compared with the store's checksum if `object` has it, because a tar has no checksums for file
/// contents. Memory: one buffer of 1 MiB, two for gzip. Not thread-safe.
class ArchiveInput {
 public:
  /// Borrows the store.
  ArchiveInput(Store& store, ObjectInfo object, CallOptions options);

  /// Reads the first bytes and finds the compression. Call it once, before any other function.
  /// \error  as for `Store::read_into`
  Status open(CompressionOfHead compression_of_head = gzip_of_head);

  /// The next piece of the decompressed bytes; empty at the end. Views the reader's memory until the next
  /// call.
  /// \error kDataLoss  gzip data are damaged or cut (the message names the offset), or the object ends early
  /// \error            as for `Store::read_into`
  Result<BytesView> next();

  /// Reads the rest, so that the checksums at the end are compared.
  /// \error kDataLoss  the checksums differ
  /// \error            as for `next`
  Status drain();

  /// True if the last 512 of the bytes that `next` returns are zero, as at the end of a tar. Call after
  /// `drain`.
  Result<bool> ends_in_zeros();

  /// True if the object is decompressed here: for gzip, and for zlib if the function given to `open` found
  /// it.
  bool is_gzip() const { return inflater_.has_value(); }
  /// True if parts may be left out or read in another order. False if the bytes are decompressed or compared
  /// as a whole.
  bool may_seek() const { return !is_gzip() && !is_compared_; }

  /// Where the next piece begins in the object. With gzip, this is how much of the compressed object was
  /// read.
  std::uint64_t position() const { return position_; }
  /// Moves to `position`. REQUIRES: may_seek()
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
  BytesView head_;  // in `buffer_`: read, but not returned yet
  std::uint64_t position_ = 0;
  bool is_compared_ = false;
  std::uint32_t crc_ = 0;  // of the bytes up to `position_`, if `is_compared_`
  std::optional<Inflater> inflater_;
  BytesView compressed_;  // in `buffer_`: not decompressed yet
  Bytes inflated_;
  Bytes tail_;
};

}  // namespace headrace
