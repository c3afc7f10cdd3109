#pragma once

/// \file Between a store and libraries that know only local files, such as TensorFlow: a temporary folder
/// that does not outlive its process for long, and copying a folder in and out.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/base/environment.h"
#include "headrace/base/result.h"
#include "headrace/store/store.h"

namespace headrace {

/// The root for temporary folders: below TMPDIR or /tmp, and this user's own.
std::string temporary_folder(const Environment& environment);

/// A temporary folder of one process, removed with everything in it on destruction. Movable.
///
/// The folder of a killed process is removed by the next `create` under the same root, on the same machine:
/// each folder has a lock file beside it, held for as long as its process lives. Locks are only tried, never
/// waited for.
class StagedFolder {
 public:
  /// Makes `root` too, if it is not there, for this user alone. Many processes of one user may share a root.
  /// \error kPermissionDenied   the folder cannot be made; or `root`, whose name others can guess, is a link,
  ///                            another user's, or can be written by others
  /// \error kResourceExhausted  the folder cannot be made
  static Result<StagedFolder> create(const std::string& root);

  StagedFolder(StagedFolder&&) noexcept;
  StagedFolder& operator=(StagedFolder&&) noexcept;
  ~StagedFolder();

  /// Absolute, or relative as `root` was; without a trailing slash. Only this user can read it.
  const std::string& path() const { return path_; }

 private:
  StagedFolder(std::string path, int lock);
  std::string path_;
  int lock_ = -1;  // descriptor of <path>.lock
};

/// One object of a folder that was copied.
struct StagedFile {
  std::string key;  // in the store
  std::uint64_t size_bytes = 0;
  std::uint32_t crc32c = 0;
  bool operator==(const StagedFile&) const = default;
};

/// Names of the files below `folder`, relative to it, sorted.
/// \error kInvalidArgument  one is neither a regular file nor a folder
Result<std::vector<std::string>> files_below(const std::string& folder);

struct DownloadOptions {
  /// Limit for all objects together; checked before anything is copied.
  std::uint64_t limit_bytes = std::uint64_t{64} << 30;
  /// Objects copied at once. Each takes a buffer of 4 MiB.
  int threads = 4;
  /// Whether to copy the object of this name, relative to the folder; none: all are.
  std::function<bool(std::string_view name)> wanted{};
  CallOptions call{};
};

/// Copies every wanted object below `folder_key` ("" for all) into `folder`, which must exist, each from one
/// version. Returns them in the order of their keys.
/// \error kNotFound           there are none
/// \error kResourceExhausted  they are larger than the limit, or the disk is full
Result<std::vector<StagedFile>> download_folder(Store& store, std::string_view folder_key,
                                                const std::string& folder,
                                                const DownloadOptions& options = {});

/// Writes every file below `folder` to `folder_key`, in the order of their names. The one named `last`
/// (relative to `folder`, "" for none) comes after all others, so that a reader that waits for it finds a
/// whole folder. Returns them in the order written. Symbolic links and special files are refused.
/// \error kNotFound         `folder` or `last` does not exist
/// \error kInvalidArgument  a file's name is not a valid key
Result<std::vector<StagedFile>> upload_folder(const std::string& folder, Store& store,
                                              std::string_view folder_key, std::string_view last = {},
                                              const WriteOptions& options = {});

}  // namespace headrace
