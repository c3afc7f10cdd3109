#pragma once

/// \file Files and folders on top of stores, as TensorFlow expects them: docs/tensorflow-file-systems.md.

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
  /// Makes the beginning of each segment of an event file, except the first.
  std::function<Bytes()> segment_header;
  /// Finds the size of a record of an event file, because TensorFlow appends records in parts.
  RecordSize record_size = nullptr;
  /// A place on this machine for event data that the store does not accept now. By default there is none.
  SpoolOptions spool{};
};

/// All stores of a process. Thread-safe. Files that it opens must not outlive it. All methods may also return
/// the errors of the store.
///
/// Paths are URLs. Consecutive slashes count as one, and segments "." are ignored.
/// \error kInvalidArgument  from every method: the path is not a URL, contains "..", or is not a valid key;
///                          no request is sent
class FileSystem {
 public:
  explicit FileSystem(FileSystemOptions options) : options_(std::move(options)) {}

  /// The normalised path. The other methods normalise their paths in the same way.
  static std::string clean(std::string_view path);

  /// \error kNotFound            there is no such file
  /// \error kFailedPrecondition  a temporary file of more than ObjectWriter::kMemoryBytes cannot be read
  ///                             before it is renamed
  Result<std::unique_ptr<ReadableFile>> open_for_reading(std::string_view path);
  /// Opens a new file. An existing event file ("tfevents" in its name) is replaced when the new one is
  /// opened, any other file when the new one is closed.
  /// \error kFailedPrecondition  this process has created a folder there. (Folders made by others are not
  ///                             detected, because that would cost one more request for each file.)
  Result<std::unique_ptr<WritableFile>> open_for_writing(std::string_view path);
  /// Opens a file that continues the existing content, if there is any. Cost: the content of any file except
  /// an event file is read, and written again if more is appended.
  Result<std::unique_ptr<WritableFile>> open_for_appending(std::string_view path);

  /// Describes a file or folder. A file that this process is writing and that does not exist yet has its size
  /// so far.
  /// \error kNotFound  there is neither a file nor a folder
  Result<FileInfo> stat(std::string_view path);
  /// The names of the files and folders in a folder, ascending. Names of folders have no slash at the end.
  /// \error kNotFound            the folder does not exist
  /// \error kFailedPrecondition  `folder` is a file
  Result<std::vector<std::string>> children(std::string_view folder);
  /// The paths of files and folders that match, ascending. store/glob.h defines patterns.
  Result<std::vector<std::string>> matches(std::string_view pattern);

  /// Creates a folder, and all folders above it, in the memory of this process only: stores have no empty
  /// folders.
  /// \error kAlreadyExists       there is a file or a folder
  /// \error kFailedPrecondition  the path lies below a file
  Status create_folder(std::string_view folder);
  /// As create_folder, but an existing folder is not an error, and an existing file is kFailedPrecondition.
  Status create_folders(std::string_view folder);
  /// \error kNotFound            the file does not exist
  /// \error kFailedPrecondition  `path` is a folder
  Status remove_file(std::string_view path);
  /// \error kNotFound            the folder does not exist
  /// \error kFailedPrecondition  `folder` is a file, is not empty, or is the root of a store
  Status remove_folder(std::string_view folder);
  /// Removes a file, or a folder with everything in it.
  /// \error kNotFound  there is neither
  Status remove_all(std::string_view path);

  /// Renames a file or a folder, by copying and removing its objects. An existing file is replaced. Not
  /// atomic: after a kill, each object has its old name, its new name, or both.
  /// \error kNotFound            `from` does not exist
  /// \error kFailedPrecondition  a file was to replace a folder, or a folder one that is not empty; or `from`
  ///                             is a large temporary file, and `to` is not its final name
  /// \error kInvalidArgument     a folder was to be moved into itself
  Status rename(std::string_view from, std::string_view to);
  /// Copies a file. An existing file is replaced.
  /// \error kNotFound            `from` does not exist
  /// \error kFailedPrecondition  this process has created a folder at `to`, or `from` is a large temporary
  ///                             file
  Status copy(std::string_view from, std::string_view to);

  /// Drops all cached blocks.
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
  Background log_writers_{2};  // separate threads, so that reading ahead does not delay logs
  HeldFiles held_;
  OpenFiles<SegmentLog> logs_;
  OpenFiles<ObjectWriter> written_;  // not visible yet
  std::mutex mutex_;
  std::set<std::string, std::less<>> created_;  // folders, as URLs
};

}  // namespace headrace
