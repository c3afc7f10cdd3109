#pragma once

/// \file Reads the bytes of a file from front to back.

#include <cstdint>
#include <functional>
#include <future>
#include <memory>

#include "headrace/codec/archive/archive_input.h"
#include "headrace/prepare/row/source_file.h"

namespace headrace {

/// Reads a file in pieces, decompressed. While the caller uses a piece, a thread reads the next one. Memory:
/// that of ArchiveInput, some 2 MiB. Not thread-safe.
class BytePieces {
 public:
  /// \error kFailedPrecondition  the file is missing, or its version is not the listed one
  /// \error of the store
  static Result<std::unique_ptr<BytePieces>> open(SourceFile file, CompressionOfHead compression_of_head);

  /// Passes the next piece to `use`, which must not keep it. Returns false at the end of the file.
  /// \error kFailedPrecondition  the file was written or removed since it was listed
  /// \error kDataLoss            the file is damaged: compressed data cut off or corrupt, or a wrong checksum
  /// \error of the store
  Result<bool> next(const std::function<void(BytesView)>& use);

  /// How many of the file's stored bytes have been read.
  std::uint64_t consumed_bytes() const { return consumed_bytes_; }

 private:
  BytePieces(SourceFile file, ObjectInfo object);
  Error describe(const Error& error) const;
  void read_ahead();

  const SourceFile file_;
  ArchiveInput input_;
  std::uint64_t consumed_bytes_ = 0;
  std::future<Result<BytesView>> ahead_;  // uses `input_`; its destructor waits
};

}  // namespace headrace
