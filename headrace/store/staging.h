#pragma once

/// \file Connects a store with libraries that know only local files, such as TensorFlow: a temporary folder
/// that does not outlive its process for long, and functions that copy a folder in and out.

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

/// The root for this user's temporary folders, below TMPDIR or /tmp.
std::string temporary_folder(const Environment& environment);

/// A temporary folder of one process. The destructor removes it with everything in it. Movable.
///
/// If a process is killed, the next `create` under the same root on the same machine removes its folder. For
/// this, each folder has a lock file beside it, which its process holds locked for as long as it lives.
/// `create` never waits for a lock.
class StagedFolder {
 public:
  /// Makes a folder, and `root` if it is missing, both for this user alone. Many processes of one user may
  /// share a root.
  /// \error kPermissionDenied   the folder cannot be made. Or `root`, whose name others can guess, is a link,
  ///                            belongs to another user, or is writable by others.
  /// \error kResourceExhausted  the disk is full, or this process has too many open files
  /// \error kUnavailable        16 random names were all taken
  static Result<StagedFolder> create(const std::string& root);

  StagedFolder(StagedFolder&&) noexcept;
  StagedFolder& operator=(StagedFolder&&) noexcept;
  ~StagedFolder();

  /// Absolute or relative, as `root` was, and without a trailing slash. Only this user can read the folder.
  const std::string& path() const { return path_; }

 private:
  StagedFolder(std::string path, int lock);
  std::string path_;
  int lock_ = -1;  // descriptor of <path>.lock
};

/// One object that download_folder or upload_folder copied.
struct StagedFile {
  std::string key;  // in the store
  std::uint64_t size_bytes = 0;
  std::uint32_t crc32c = 0;
  bool operator==(const StagedFile&) const = default;
};

/// Names of the files at any depth below `folder`, relative to `folder`, sorted.
/// \error kInvalidArgument  an entry is neither a regular file nor a folder
Result<std::vector<std::string>> files_below(const std::string& folder);

struct DownloadOptions {
  /// Limit for the sum of all wanted objects, checked before anything is copied.
  std::uint64_t limit_bytes = std::uint64_t{64} << 30;
  /// Objects copied at once. Each takes a buffer of 4 MiB.
  int threads = 4;
  /// Whether to copy the object of this name, which is relative to the folder. Not set: copy all objects.
  std::function<bool(std::string_view name)> wanted{};
  CallOptions call{};
};

/// Copies every wanted object below `folder_key` ("" for the whole store) into `folder`. Each object is
/// copied from one version. Returns the objects in the order of their keys.
/// \error kNotFound            there is no wanted object
/// \error kInvalidArgument     a key breaks the grammar of base/key.h
/// \error kResourceExhausted   the objects are larger than the limit, or the disk is full
/// \error kFailedPrecondition  an object was replaced while it was being copied
Result<std::vector<StagedFile>> download_folder(Store& store, std::string_view folder_key,
                                                const std::string& folder,
                                                const DownloadOptions& options = {});

/// Writes every file below `folder` to `folder_key`, in the order of their names. The file named `last`
/// (relative to `folder`; "" for none) is written after all others, so that a reader that waits for it finds
/// a complete folder. Returns the objects in the order in which they were written.
/// \error kNotFound         `folder` or `last` does not exist
/// \error kInvalidArgument  a file's name is not a valid key, or `folder` holds a symbolic link or a special
///                          file
Result<std::vector<StagedFile>> upload_folder(const std::string& folder, Store& store,
                                              std::string_view folder_key, std::string_view last = {},
                                              const WriteOptions& options = {});

}  // namespace headrace
