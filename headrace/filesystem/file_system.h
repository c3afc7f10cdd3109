#pragma once

/// \file Files and folders over stores, as TensorFlow expects them: docs/tensorflow-file-systems.md.

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/filesystem/held_files.h"
#include "headrace/filesystem/readable_file.h"
#include "headrace/filesystem/writable_file.h"
#include "headrace/log/segment_log.h"

namespace headrace {

struct FileInfo {
  std::uint64_t size_bytes = 0;
  std::optional<std::chrono::system_clock::time_point> modified{};
  bool is_folder = false;
};

struct FileSystemOptions {
  /// Opens the location of a URL.
  std::function<Result<Location>(std::string_view url)> open;
  /// The beginning of each segment of an event file except the first.
  std::function<Bytes()> segment_header;
  /// Size of a record of an event file: TensorFlow appends records in parts.
  RecordSize record_size = nullptr;
  /// Where event data wait on this machine that the store does not accept; nowhere, by default.
  SpoolOptions spool{};
};

/// All stores of a process. Thread-safe. Files that it opens must not outlive it.
///
/// Paths are URLs. Consecutive slashes count as one, segments "." are ignored.
/// \error kInvalidArgument  from every method: not a URL, or "..", or not a valid key; no store is asked
class FileSystem {
 public:
  explicit FileSystem(FileSystemOptions options) : options_(std::move(options)) {}

  /// The normalised path, as the other methods use it.
  static std::string clean(std::string_view path);

  /// \error kNotFound
  Result<std::unique_ptr<ReadableFile>> open_for_reading(std::string_view path);
  /// \error kFailedPrecondition  this process has created a folder there. (A folder that others have made is
  ///                             not looked for: that would cost one more request for each file.)
  /// An event file ("tfevents" in its name) is replaced when it is opened, any other file when it is closed.
  Result<std::unique_ptr<WritableFile>> open_for_writing(std::string_view path);
  Result<std::unique_ptr<WritableFile>> open_for_appending(std::string_view path);

  /// A file that is not there yet, but that this process is writing, has its size so far.
  /// \error kNotFound
  Result<FileInfo> stat(std::string_view path);
  /// Names, ascending; those of folders without a slash.
  /// \error kNotFound, kFailedPrecondition (it is a file)
  Result<std::vector<std::string>> children(std::string_view folder);
  /// Paths of files and folders, ascending; patterns as in store/glob.h.
  Result<std::vector<std::string>> matches(std::string_view pattern);

  /// Also creates all folders above it.
  /// \error kAlreadyExists; kFailedPrecondition (it lies below a file)
  Status create_folder(std::string_view folder);
  /// The same, but an existing folder is not an error.
  Status create_folders(std::string_view folder);
  /// \error kNotFound; kFailedPrecondition (it is a folder)
  Status remove_file(std::string_view path);
  /// \error kNotFound; kFailedPrecondition (it is a file, or not empty)
  Status remove_folder(std::string_view folder);
  /// Removes a folder with everything in it. \error kNotFound
  Status remove_all(std::string_view path);

  /// Replaces an existing file.
  /// \error kNotFound; kFailedPrecondition (a folder is there)
  Status rename(std::string_view from, std::string_view to);
  Status copy(std::string_view from, std::string_view to);

  /// Drops all blocks that were read.
  void forget_reads() { reads_.blocks.clear(); }

 private:
  Result<Location> locate(std::string_view path) const;
  std::shared_ptr<ObjectWriter> begin_writing(Location at);
  Result<std::unique_ptr<WritableFile>> open_log(Location at, bool goes_on);
  Result<FileInfo> stat_at(const Location& at);
  Result<bool> is_folder(const Location& at);
  Status refuse_folder(const Location& at);
  Status remove_below(const Location& folder);
  Status copy_object(const Location& from, const Location& to);
  Status replace_by_copy(const Location& from, const Location& to);
  Status rename_held(const Location& source, const Location& target, std::unique_ptr<ObjectWriter> file);
  Status rename_folder(const Location& from, const Location& to);
  Result<std::vector<std::string>> keys_below(const Location& folder);
  bool was_created(const Location& folder);
  void forget_created(const Location& folder, bool all_below);
  void remember_parent(const Location& removed);

  const FileSystemOptions options_;
  ReadResources reads_;
  Background log_writers_{2};  // of their own: reading ahead must not keep logs waiting
  HeldFiles held_;
  OpenFiles<SegmentLog> logs_;
  OpenFiles<ObjectWriter> written_;  // not visible yet
  std::mutex mutex_;
  std::set<std::string, std::less<>> created_;  // folders, as URLs
};

}  // namespace headrace
