#pragma once

/// \file Files with temporary names, which are written but not visible until they are renamed; and files that
/// are being written.

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "headrace/filesystem/object_writer.h"

namespace headrace {

/// Files that are held back until they are renamed, by path. Thread-safe.
class HeldFiles {
 public:
  /// Limit for the number of held files. A save has a few at a time. Each may take
  /// ObjectWriter::kMemoryBytes, or has an unfinished upload.
  static constexpr std::size_t kMost = 64;

  /// Holds a file, and replaces a held file with the same path. Returns null; or returns the file if kMost
  /// files are already held.
  std::unique_ptr<ObjectWriter> hold(const std::string& path, std::unique_ptr<ObjectWriter> file);
  /// Holds a file that was held before, under this or another path, again. kMost does not apply.
  void hold_anyway(const std::string& path, std::unique_ptr<ObjectWriter> file);
  std::optional<std::uint64_t> size_bytes(const std::string& path) const;
  /// The content of a held file that is in memory. None if the file is not held.
  /// \error kFailedPrecondition  the file is too large: it is already being sent
  Result<std::optional<Bytes>> content(const std::string& path) const;
  /// Takes a file out. Null if it is not held.
  std::unique_ptr<ObjectWriter> take(const std::string& path);

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::unique_ptr<ObjectWriter>> files_;
};

/// Files that this process is writing, by path. Files that are no longer open are forgotten. Thread-safe.
/// \tparam File  its `size_bytes` may be called from any thread
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
