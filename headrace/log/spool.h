#pragma once

/// \file Files on this machine for records that a log cannot write to the store yet.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "headrace/base/bytes.h"
#include "headrace/store/staging.h"

namespace headrace {

struct SpoolOptions {
  /// Folder for temporary folders, such as that of `temporary_folder`. Empty: nothing is spooled.
  std::string root{};
  /// Limit for the size of all files.
  std::uint64_t most_bytes = std::uint64_t{1} << 30;
};

/// Not thread-safe. The destructor removes the files. The files of a killed process are removed by the next
/// spool below the same root.
class Spool {
 public:
  struct File {
    std::uint64_t number = 0;
    std::uint64_t size_bytes = 0;
  };

  explicit Spool(SpoolOptions options) : options_(std::move(options)) {}

  /// Writes a file.
  /// \error kResourceExhausted  there is no `root`, the files would exceed `most_bytes`, or the disk is full
  /// \error                     as for StagedFolder::create and Store::write
  Result<File> add(BytesView data);
  /// \error kDataLoss  the file was altered
  /// \error            as for read_object
  Result<Bytes> read(const File& file) const;
  void remove(const File& file);

 private:
  const SpoolOptions options_;
  std::optional<StagedFolder> folder_{};  // set once anything is spooled
  std::shared_ptr<Store> files_{};
  std::uint64_t next_number_ = 0;
  std::uint64_t held_bytes_ = 0;
};

}  // namespace headrace
