#pragma once

/// \file The bytes of a file, front to back.

#include <cstdint>
#include <functional>
#include <future>
#include <memory>

#include "headrace/codec/archive/archive_input.h"
#include "headrace/prepare/row/source_file.h"

namespace headrace {

/// Takes compression off; while a piece is used, a thread reads the next. Memory: that of ArchiveInput, some
/// 2 MiB. One thread at a time.
class BytePieces {
 public:
  /// \error kFailedPrecondition  the file is not there, or not in the version that was listed
  static Result<std::unique_ptr<BytePieces>> open(SourceFile file, CompressionOfHead compression_of_head);

  /// Gives the next piece to `use`, which may not keep it; false at the end of the file.
  /// \error kFailedPrecondition  the file was written or removed since it was listed
  /// \error kDataLoss            it is damaged: compressed data that are cut or corrupt, a wrong checksum
  Result<bool> next(const std::function<void(BytesView)>& use);

  /// Of the file's size, so far.
  std::uint64_t consumed_bytes() const { return consumed_bytes_; }

 private:
  BytePieces(SourceFile file, ObjectInfo object);
  Error describe(const Error& error) const;
  void read_ahead();

  const SourceFile file_;
  ArchiveInput input_;
  std::uint64_t consumed_bytes_ = 0;
  std::future<Result<BytesView>> ahead_;  // uses `input_`, and is waited for before that goes
};

}  // namespace headrace
