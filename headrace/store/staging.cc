#include "headrace/store/staging.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "headrace/base/crc32c.h"
#include "headrace/base/text.h"
#include "headrace/os/lock_file.h"
#include "headrace/os/parallel.h"
#include "headrace/store/url.h"

namespace headrace {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFolderPrefix = "headrace-staged-";
constexpr std::string_view kLockSuffix = ".lock";
constexpr std::size_t kPieceBytes = 4 << 20;

Error file_error(std::string_view doing, const fs::path& path, int number) {
  const Code code = number == ENOSPC || number == EDQUOT || number == EMFILE ? Code::kResourceExhausted
                    : number == ENOENT                                       ? Code::kNotFound
                                                                             : Code::kPermissionDenied;
  return Error{code, concat(doing, " ", path.string(), ": ", std::strerror(number))};
}

FileDescriptor open_file(const fs::path& path, int flags) {
  return FileDescriptor(open(path.c_str(), flags | O_CLOEXEC | O_NOFOLLOW, 0600));
}

/// Removes the folders under `root` whose lock no process holds. A folder that cannot be removed stays until
/// the next call.
void remove_abandoned(const fs::path& root) {
  std::error_code ignored;
  for (fs::directory_iterator entry(root, ignored), end; !ignored && entry != end; entry.increment(ignored)) {
    const std::string name = entry->path().filename().string();
    if (!name.starts_with(kFolderPrefix) || !name.ends_with(kLockSuffix)) continue;
    const FileDescriptor lock = open_locked(entry->path().string(), O_RDWR);
    if (!lock.is_open()) continue;
    std::error_code failure;
    fs::remove_all(root / name.substr(0, name.size() - kLockSuffix.size()), failure);
    if (!failure) fs::remove(entry->path(), failure);
  }
}

/// Makes the folder if it does not exist. Fails if it exists, unless it is a folder of this user that no
/// other user can write to.
Status make_private_folder(const fs::path& folder) {
  const fs::path named = folder.has_filename() ? folder : folder.parent_path();
  std::error_code failure;
  if (named.has_parent_path()) fs::create_directories(named.parent_path(), failure);
  if (failure) return file_error("making the folder", named.parent_path(), failure.value());
  struct stat status {};
  if ((mkdir(named.c_str(), 0700) != 0 && errno != EEXIST) || lstat(named.c_str(), &status) != 0)
    return file_error("making the folder", named, errno);
  if (S_ISDIR(status.st_mode) && status.st_uid == geteuid() && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0)
    return {};
  return Error{Code::kPermissionDenied,
               concat(named.string(),
                      " is not a folder that only this user can write to: remove it, remove the write "
                      "permission of others (chmod go-w), or name another folder in TMPDIR")};
}

Result<StagedFile> download_object(Store& store, const ObjectInfo& object, const fs::path& path,
                                   const CallOptions& call) {
  std::error_code failure;
  fs::create_directories(path.parent_path(), failure);
  if (failure) return file_error("making the folder", path.parent_path(), failure.value());
  const FileDescriptor file = open_file(path, O_WRONLY | O_CREAT | O_TRUNC);
  if (!file.is_open()) return file_error("creating", path, errno);
  StagedFile staged{object.key, object.size_bytes, 0};
  Bytes piece(std::min<std::uint64_t>(kPieceBytes, object.size_bytes));
  for (std::uint64_t offset = 0; offset < object.size_bytes; offset += piece.size()) {
    const MutableBytesView wanted(piece.data(),
                                  std::min<std::uint64_t>(piece.size(), object.size_bytes - offset));
    HEADRACE_CHECK(read_exactly(store, object.key, wanted,
                                {.offset_bytes = offset, .if_version = object.version, .call = call}));
    staged.crc32c = crc32c(wanted, staged.crc32c);
    if (!write_all(file, wanted)) return file_error("writing", path, errno);
  }
  return staged;
}

/// Reads from the file until `piece` is full or the file ends. Returns the number of bytes.
Result<std::size_t> read_piece(int file, MutableBytesView piece, const fs::path& path) {
  std::size_t filled = 0;
  while (filled < piece.size()) {
    const ssize_t count = ::read(file, piece.data() + filled, piece.size() - filled);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return file_error("reading", path, errno);
    if (count == 0) break;
    filled += static_cast<std::size_t>(count);
  }
  return filled;
}

Result<StagedFile> upload_file(const fs::path& path, Store& store, const std::string& key,
                               const WriteOptions& options) {
  HEADRACE_CHECK(check_key(key));
  const FileDescriptor file = open_file(path, O_RDONLY);
  if (!file.is_open()) return file_error("opening", path, errno);
  StagedFile staged{key, 0, 0};
  Bytes piece(kPieceBytes);
  std::unique_ptr<Upload> upload;
  for (bool at_end = false; !at_end;) {
    HEADRACE_TRY(const std::size_t count, read_piece(file.get(), piece, path));
    const BytesView data(piece.data(), count);
    at_end = count < piece.size();
    staged.size_bytes += count;
    staged.crc32c = crc32c(data, staged.crc32c);
    if (at_end && !upload) {
      HEADRACE_CHECK(store.write(key, data, options));
      return staged;
    }
    if (!upload) {
      HEADRACE_TRY(upload, store.start_upload(key, options));
    }
    HEADRACE_CHECK(upload->append(data));
  }
  HEADRACE_CHECK(upload->commit());
  return staged;
}

}  // namespace

Result<std::vector<std::string>> files_below(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code failure;
  fs::recursive_directory_iterator entry(folder, failure);
  for (; !failure && entry != fs::recursive_directory_iterator(); entry.increment(failure)) {
    const fs::file_type type = entry->symlink_status().type();
    if (type == fs::file_type::directory) continue;
    if (type != fs::file_type::regular) {
      return Error{Code::kInvalidArgument, concat(entry->path().string(), " is not a regular file")};
    }
    names.push_back(entry->path().lexically_relative(folder).generic_string());
  }
  if (failure) return file_error("listing", folder, failure.value());
  std::ranges::sort(names);
  return names;
}

std::string temporary_folder(const Environment& environment) {
  return concat(environment.get("TMPDIR").value_or("/tmp"), "/headrace-", geteuid());
}

Result<StagedFolder> StagedFolder::create(const std::string& root) {
  constexpr int kAttempts = 16;
  HEADRACE_CHECK(make_private_folder(root));
  remove_abandoned(root);
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const std::string path = (fs::path(root) / concat(kFolderPrefix, hex64(random_name_bits()))).string();
    const std::string lock_path = path + std::string(kLockSuffix);
    FileDescriptor lock = open_locked(lock_path, O_RDWR | O_CREAT | O_EXCL);
    // Another process may have taken the lock file for an abandoned one before this process locked it.
    if (!lock.is_open() && (errno == EEXIST || errno == EWOULDBLOCK)) continue;
    if (!lock.is_open()) return file_error("creating", lock_path, errno);
    if (mkdir(path.c_str(), 0700) != 0) return file_error("making the folder", path, errno);
    return StagedFolder(path, lock.release());
  }
  return Error{Code::kUnavailable, concat("making a temporary folder in ", root, ": no free name")};
}

StagedFolder::StagedFolder(std::string path, int lock) : path_(std::move(path)), lock_(lock) {}

StagedFolder::StagedFolder(StagedFolder&& other) noexcept
    : path_(std::move(other.path_)), lock_(std::exchange(other.lock_, -1)) {}

StagedFolder& StagedFolder::operator=(StagedFolder&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(lock_, other.lock_);
  return *this;
}

StagedFolder::~StagedFolder() {
  if (lock_ < 0) return;
  std::error_code failure;
  fs::remove_all(path_, failure);
  if (!failure) fs::remove(path_ + std::string(kLockSuffix), failure);
  close(lock_);
}

Result<std::vector<StagedFile>> download_folder(Store& store, std::string_view folder_key,
                                                const std::string& folder, const DownloadOptions& options) {
  const std::string prefix = folder_prefix(folder_key);
  HEADRACE_TRY(auto objects, list_all(store, prefix, {.call = options.call}));
  std::erase_if(objects, [&](const ObjectInfo& object) {
    return options.wanted && !options.wanted(std::string_view(object.key).substr(prefix.size()));
  });
  if (objects.empty())
    return Error{Code::kNotFound, concat("there is nothing below ", store.describe(folder_key))};
  std::uint64_t total_bytes = 0;
  for (const ObjectInfo& object : objects) {
    HEADRACE_CHECK(check_key(object.key));
    total_bytes += object.size_bytes;
  }
  if (total_bytes > options.limit_bytes) {
    return Error{Code::kResourceExhausted,
                 concat(store.describe(folder_key), " holds ", format_size(total_bytes), "; the limit is ",
                        format_size(options.limit_bytes))};
  }
  std::vector<StagedFile> staged(objects.size());
  HEADRACE_CHECK(parallel_for(options.threads, objects.size(), [&](std::size_t i) -> Status {
    const fs::path path = fs::path(folder) / objects[i].key.substr(prefix.size());
    HEADRACE_TRY(staged[i], download_object(store, objects[i], path, options.call));
    return {};
  }));
  return staged;
}

Result<std::vector<StagedFile>> upload_folder(const std::string& folder, Store& store,
                                              std::string_view folder_key, std::string_view last,
                                              const WriteOptions& options) {
  HEADRACE_TRY(std::vector<std::string> names, files_below(folder));
  if (!last.empty()) {
    const auto found = std::ranges::find(names, last);
    if (found == names.end()) return Error{Code::kNotFound, concat("there is no ", last, " in ", folder)};
    std::rotate(found, found + 1, names.end());
  }
  std::vector<StagedFile> staged;
  for (const std::string& name : names) {
    HEADRACE_TRY(staged.emplace_back(),
                 upload_file(fs::path(folder) / name, store, join_key(folder_key, name), options));
  }
  return staged;
}

}  // namespace headrace
