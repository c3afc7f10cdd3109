#pragma once

/// \file Files with temporary names that are written but not visible until they are renamed; and files that
/// are being written.

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "headrace/filesystem/object_writer.h"

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

/// Files that this process writes, by path; those that nobody has open are forgotten. Thread-safe.
/// \tparam File  its `size_bytes` may be called by any thread
template <typename File>
class OpenFiles {
 public:
  void add(const std::string& path, const std::shared_ptr<File>& file);
  std::optional<std::uint64_t> size_bytes(const std::string& path);

 private:
  std::mutex mutex_;
  std::map<std::string, std::weak_ptr<File>> files_;
};

// ---- implementation --------------------------------------------------------------------------------

template <typename File>
void OpenFiles<File>::add(const std::string& path, const std::shared_ptr<File>& file) {
  const std::scoped_lock lock(mutex_);
  std::erase_if(files_, [](const auto& entry) { return entry.second.expired(); });
  files_[path] = file;
}

template <typename File>
std::optional<std::uint64_t> OpenFiles<File>::size_bytes(const std::string& path) {
  std::shared_ptr<File> file;
  {
    const std::scoped_lock lock(mutex_);
    const auto found = files_.find(path);
    if (found != files_.end()) file = found->second.lock();
  }
  return file ? std::optional(file->size_bytes()) : std::nullopt;
}

}  // namespace headrace
