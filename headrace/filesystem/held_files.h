#pragma once

/// \file Files with temporary names that are written but not visible until they are renamed; and logs that
/// are being written.

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "headrace/filesystem/object_writer.h"
#include "headrace/log/segment_log.h"

namespace headrace {

/// Keyed by path. Thread-safe.
class HeldFiles {
 public:
  /// A save has a handful at a time. Each may take ObjectWriter::kMemoryBytes, or an unfinished upload.
  static constexpr std::size_t kMost = 64;

  /// Holds a file, replacing one with the same path. If too many are held, returns the file.
  std::unique_ptr<ObjectWriter> hold(const std::string& path, std::unique_ptr<ObjectWriter> file);
  /// Holds again a file that was held before, under this or another path.
  void hold_anyway(const std::string& path, std::unique_ptr<ObjectWriter> file);
  std::optional<std::uint64_t> size_bytes(const std::string& path) const;
  /// The content of a held file that is in memory; none if it is not held.
  /// \error kFailedPrecondition  it is being sent already
  Result<std::optional<Bytes>> content(const std::string& path) const;
  /// Takes a file out; null if it is not held.
  std::unique_ptr<ObjectWriter> take(const std::string& path);

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::unique_ptr<ObjectWriter>> files_;
};

/// By path; those that nobody has open are forgotten. Thread-safe.
class OpenLogs {
 public:
  void add(const std::string& path, const std::shared_ptr<SegmentLog>& log);
  std::optional<std::uint64_t> size_bytes(const std::string& path);

 private:
  std::mutex mutex_;
  std::map<std::string, std::weak_ptr<SegmentLog>> logs_;
};

}  // namespace headrace
