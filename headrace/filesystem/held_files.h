#pragma once

/// \file Files of temporary names that are written but not visible yet, until they are renamed; and logs that
/// are being written.

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "headrace/filesystem/log_file.h"
#include "headrace/filesystem/object_writer.h"

namespace headrace {

/// By path. Thread-safe.
class HeldFiles {
 public:
  /// A save has a handful at a time. What saves that failed have left is dropped beyond so many, the oldest
  /// first.
  static constexpr std::size_t kMost = 256;

  /// Replaces one of that path.
  void hold(const std::string& path, std::unique_ptr<ObjectWriter> file);
  std::optional<std::uint64_t> size_bytes(const std::string& path) const;
  /// Its content, of one that is in memory; none if it is not held.
  /// \error kFailedPrecondition  it is being sent already
  Result<std::optional<Bytes>> content(const std::string& path) const;
  /// Takes it out; nothing if it is not held.
  std::unique_ptr<ObjectWriter> take(const std::string& path);

 private:
  struct Held {
    std::unique_ptr<ObjectWriter> writer;
    std::uint64_t number = 0;  // ascends
  };

  mutable std::mutex mutex_;
  std::map<std::string, Held> files_;
  std::uint64_t next_number_ = 0;
};

/// By path; those that nobody has open are forgotten. Thread-safe.
class OpenLogs {
 public:
  void add(const std::string& path, const std::shared_ptr<LogFile>& log);
  std::optional<std::uint64_t> size_bytes(const std::string& path);

 private:
  std::mutex mutex_;
  std::map<std::string, std::weak_ptr<LogFile>> logs_;
};

}  // namespace headrace
