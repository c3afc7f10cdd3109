#pragma once

/// \file Files of this machine that hold what a log cannot write yet.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "headrace/base/bytes.h"
#include "headrace/store/staging.h"

namespace headrace {

struct SpoolOptions {
  /// Folder for temporary folders, as `temporary_folder` names one; empty: nothing is spooled.
  std::string root{};
  std::uint64_t most_bytes = std::uint64_t{1} << 30;
};

/// Not thread-safe. Its files go with it; the next spool below the same root removes those of a killed
/// process.
class Spool {
 public:
  struct File {
    std::uint64_t number = 0;
    std::uint64_t size_bytes = 0;
  };

  explicit Spool(SpoolOptions options) : options_(std::move(options)) {}

  /// Writes a file.
  /// \error kResourceExhausted  there is no spool, or it would hold more than `most_bytes`; of the disk
  Result<File> add(BytesView data);
  Result<Bytes> read(const File& file) const;
  void remove(const File& file);

 private:
  const SpoolOptions options_;
  std::optional<StagedFolder> folder_{};  // once something is spooled
  std::shared_ptr<Store> files_{};
  std::uint64_t next_number_ = 0;
  std::uint64_t held_bytes_ = 0;
};

}  // namespace headrace
