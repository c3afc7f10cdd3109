#include "headrace/store/file/file_store.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "headrace/base/environment.h"
#include "headrace/base/text.h"
#include "headrace/os/file_descriptor.h"
#include "headrace/store/file/sequential_writer.h"
#include "headrace/store/url.h"

namespace headrace {
namespace {

// The beginning of the last segment of the temporary name under which an unfinished write lies.
constexpr std::string_view kUnfinishedPrefix = ".headrace-write-";
constexpr std::size_t kUnfinishedDigits = 16;
// A kernel without preemption runs no other thread before a call ends: single reads of 8 MiB have delayed
// other threads by milliseconds.
constexpr std::size_t kReadBytes = 256 << 10;

bool is_reserved(std::string_view name) { return name.starts_with(kUnfinishedPrefix); }

// Returns whether this driver may have made a file with that name.
bool is_unfinished(std::string_view name) {
  return is_reserved(name) && name.size() == kUnfinishedPrefix.size() + kUnfinishedDigits &&
         name.find_first_not_of("0123456789abcdef", kUnfinishedPrefix.size()) == name.npos;
}

Error system_error(int number, std::string_view doing) {
  const std::string reason = std::strerror(number);
  const auto with = [&](Code code, std::string_view advice) {
    return Error{code, concat(doing, ": ", reason, advice)};
  };
  switch (number) {
    case ENOENT:
      return with(Code::kNotFound, "");
    case EEXIST:
      return with(Code::kAlreadyExists, "");
    case EACCES:
    case EPERM:
      return with(Code::kPermissionDenied, "; check the permissions of the file and of the folders above it");
    case EROFS:
      return with(Code::kPermissionDenied, "; the file system is mounted read-only");
    case ENOSPC:
    case EDQUOT:
      return with(Code::kResourceExhausted, "; free some space, then run the same command again");
    case EFBIG:
      return with(Code::kResourceExhausted,
                  "; raise the limit of file sizes (ulimit -f), or use another file system");
    case EMFILE:
    case ENFILE:
      return with(Code::kResourceExhausted, "; raise the limit of open files (ulimit -n)");
    case ENOTDIR:
    case EISDIR:
    case ENOTEMPTY:
      return with(Code::kFailedPrecondition, "; a key cannot be a folder of another key");
    case EIO:
      return with(Code::kDataLoss, "; the disk reports an error");
    default:
      return with(Code::kUnknown, "");
  }
}

Version version_of(const struct stat& status) {
  return {concat(status.st_ino, "-", status.st_size, "-", status.st_mtim.tv_sec, ".", status.st_mtim.tv_nsec,
                 "-", status.st_ctim.tv_sec, ".", status.st_ctim.tv_nsec)};
}

ObjectInfo info_of(std::string_view key, const struct stat& status) {
  const auto modified = std::chrono::system_clock::from_time_t(status.st_mtim.tv_sec);
  return {.key = std::string(key),
          .size_bytes = static_cast<std::uint64_t>(status.st_size),
          .version = version_of(status),
          .modified = modified};
}

// "/a/b" → "/a", "/a" → "/". REQUIRES: an absolute path.
std::string folder_of(const std::string& path) {
  return path.substr(0, std::max<std::size_t>(path.rfind('/'), 1));
}

bool sync_folder(const std::string& folder) {
  const FileDescriptor descriptor(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return descriptor.is_open() && ::fsync(descriptor.get()) == 0;
}

// Makes the folder and the folders above it. If they must be durable, syncs each of them in the folder above
// it. Returns 0 or an errno.
int make_folders(const std::string& folder, bool is_durable) {
  if (::mkdir(folder.c_str(), 0777) != 0) {
    if (errno == EEXIST) return 0;
    if (errno != ENOENT || folder == "/") return errno;
    if (const int above = make_folders(folder_of(folder), is_durable); above != 0) return above;
    if (::mkdir(folder.c_str(), 0777) != 0) return errno == EEXIST ? 0 : errno;
  }
  return !is_durable || sync_folder(folder_of(folder)) ? 0 : errno;
}

enum class EntryKind { kObject, kFolder, kNeither };

// Returns whether nothing exists there, or only a link that leads nowhere or in a circle. Any other error
// leaves it unknown: an object that exists but cannot be read must not be taken for removed.
bool is_absence(int number) { return number == ENOENT || number == ENOTDIR || number == ELOOP; }

// A link to a file is an object. A link to a folder is ignored: to follow it would list objects outside of
// the named folder, let `rm -r` remove them, or never end.
Result<EntryKind> kind_of(const std::string& folder, const dirent& entry) {
  if (entry.d_type == DT_REG) return EntryKind::kObject;
  if (entry.d_type == DT_DIR) return EntryKind::kFolder;
  if (entry.d_type != DT_LNK && entry.d_type != DT_UNKNOWN) return EntryKind::kNeither;
  const std::string path = concat(folder, "/", entry.d_name);
  struct stat status {};
  const bool is_there = ::lstat(path.c_str(), &status) == 0;
  if (is_there && S_ISDIR(status.st_mode)) return EntryKind::kFolder;
  if (is_there && ::stat(path.c_str(), &status) == 0)
    return S_ISREG(status.st_mode) ? EntryKind::kObject : EntryKind::kNeither;
  if (is_absence(errno)) return EntryKind::kNeither;
  return system_error(errno, "listing " + path);
}

enum class Entries { kObjects, kUnfinished };

// Returns the names of folders and of the wanted entries. The name of a folder ends in "/", so that sorting
// gives the byte order of keys.
Result<std::vector<std::string>> sorted_entries(const std::string& folder, Entries wanted) {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir(folder.c_str()), ::closedir);
  if (directory == nullptr) {
    if (errno == ENOENT || errno == ENOTDIR) return names;
    return system_error(errno, "listing " + folder);
  }
  while (true) {
    errno = 0;
    const dirent* const entry = ::readdir(directory.get());
    if (entry == nullptr && errno != 0) return system_error(errno, "listing " + folder);
    if (entry == nullptr) break;
    std::string name = entry->d_name;
    if (name == "." || name == "..") continue;
    HEADRACE_TRY(const EntryKind kind, kind_of(folder, *entry));
    if (kind == EntryKind::kFolder && !is_reserved(name)) names.push_back(name + "/");
    const bool is_wanted = wanted == Entries::kObjects ? !is_reserved(name) : is_unfinished(name);
    if (kind == EntryKind::kObject && is_wanted) names.push_back(std::move(name));
  }
  std::sort(names.begin(), names.end());
  return names;
}

class FileStore final : public Store {
 public:
  explicit FileStore(std::string root) : root_(std::move(root)) {
    while (root_.ends_with('/')) root_.pop_back();
  }

  Result<ReadResult> read_into(std::string_view key, MutableBytesView target,
                               const ReadOptions& options) override {
    HEADRACE_TRY(const FileDescriptor file, open_for_read(key));
    struct stat status {};
    HEADRACE_CHECK(stat_open(file, key, status));
    if (options.if_version) HEADRACE_CHECK(check_version(status, key, *options.if_version));
    if (options.offset_bytes > static_cast<std::uint64_t>(status.st_size)) {
      return Error{Code::kOutOfRange, concat("offset ", options.offset_bytes, " lies past the end of ",
                                             describe(key), ", which has ", status.st_size, " bytes")};
    }
    std::size_t done = 0;
    while (done < target.size()) {
      if (options.call.stop.stop_requested())
        return Error{Code::kCancelled, concat("reading ", describe(key), " was stopped")};
      const std::size_t piece = std::min(target.size() - done, kReadBytes);
      const ssize_t count =
          ::pread(file.get(), target.data() + done, piece, static_cast<off_t>(options.offset_bytes + done));
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return system_error(errno, concat("reading ", describe(key)));
      if (count == 0) break;
      done += static_cast<std::size_t>(count);
    }
    // Other programs may write files in place, so the version is checked again.
    if (options.if_version) {
      HEADRACE_CHECK(stat_open(file, key, status));
      HEADRACE_CHECK(check_version(status, key, *options.if_version));
    }
    return ReadResult{done, info_of(key, status)};
  }

  Result<ObjectInfo> stat(std::string_view key, const CallOptions&) override {
    HEADRACE_CHECK(check_key(key));
    struct stat status {};
    if (::stat(path_of(key).c_str(), &status) != 0) return not_found_or(errno, key);
    if (!S_ISREG(status.st_mode))
      return Error{Code::kNotFound,
                   concat("there is no object ", describe(key), " (a folder has that name)")};
    return info_of(key, status);
  }

  Result<ObjectInfo> write(std::string_view key, BytesView data, const WriteOptions& options) override {
    HEADRACE_TRY(const std::unique_ptr<Upload> upload, start_upload(key, options));
    HEADRACE_CHECK(upload->append(data));
    return upload->commit();
  }

  Result<std::unique_ptr<Upload>> start_upload(std::string_view key, const WriteOptions& options) override;

  Result<ObjectInfo> copy(std::string_view from, std::string_view to, const WriteOptions& options) override {
    HEADRACE_TRY(const FileDescriptor source, open_for_read(from));
    struct stat status {};
    HEADRACE_CHECK(stat_open(source, from, status));
    HEADRACE_TRY(const std::unique_ptr<Upload> upload, start_upload(to, options));
    Bytes buffer(std::min<std::uint64_t>(static_cast<std::uint64_t>(status.st_size) + 1, 4 << 20));
    while (true) {
      if (options.call.stop.stop_requested())
        return Error{Code::kCancelled, concat("copying ", describe(from), " was stopped")};
      const ssize_t count = ::read(source.get(), buffer.data(), buffer.size());
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return system_error(errno, concat("reading ", describe(from)));
      if (count == 0) break;
      HEADRACE_CHECK(upload->append(BytesView(buffer).first(static_cast<std::size_t>(count))));
    }
    return upload->commit();
  }

  Status remove_many(std::span<const std::string> keys, const CallOptions&) override {
    for (const std::string& key : keys) {
      HEADRACE_CHECK(check_key(key));
      if (::unlink(path_of(key).c_str()) == 0 || errno == ENOENT || errno == ENOTDIR || errno == EISDIR)
        continue;
      return system_error(errno, concat("removing ", describe(key)));
    }
    return {};
  }

  Status list(std::string_view prefix, const ListOptions& options,
              const std::function<bool(const ObjectInfo&)>& visit) override {
    const Listing listing{prefix, options, visit};
    HEADRACE_TRY([[maybe_unused]] const bool completed, list_folder(parent_key(prefix), listing));
    return {};
  }

  Status list_unfinished(std::string_view prefix, const CallOptions& options,
                         const std::function<bool(const UnfinishedWrite&)>& visit) override {
    const ListOptions all{.call = options};
    const auto visit_file = [&](const ObjectInfo& file) {
      return visit({.key = file.key, .modified = file.modified, .size_bytes = file.size_bytes});
    };
    const Listing listing{prefix, all, visit_file, Entries::kUnfinished};
    HEADRACE_TRY([[maybe_unused]] const bool completed, list_folder(parent_key(prefix), listing));
    return {};
  }

  Status remove_unfinished(const UnfinishedWrite& write, const CallOptions& options) override {
    if (!is_unfinished(last_segment(write.key)))
      return Error{Code::kInvalidArgument, concat(describe(write.key), " is not an unfinished write")};
    return remove_many({&write.key, 1}, options);
  }

  Capabilities capabilities() const override {
    return {.atomic_if_absent = true, .strong_list = true, .latest_only = true};
  }

  std::string describe(std::string_view key) const override { return concat("file://", root_, "/", key); }

  std::string path_of(std::string_view key) const { return concat(root_, "/", key); }

 private:
  struct Listing {
    std::string_view prefix;
    const ListOptions& options;
    const std::function<bool(const ObjectInfo&)>& visit;
    Entries wanted = Entries::kObjects;
  };

  // False once `visit` has asked to stop.
  Result<bool> list_folder(const std::string& folder, const Listing& listing) {
    if (listing.options.call.stop.stop_requested())
      return Error{Code::kCancelled, concat("listing ", describe(folder), " was stopped")};
    HEADRACE_TRY(const std::vector<std::string> names,
                 sorted_entries(folder.empty() ? root_ + "/" : path_of(folder), listing.wanted));
    for (const std::string& name : names) {
      const std::string key = concat(folder_prefix(folder), name);
      const bool below_prefix = key.starts_with(listing.prefix);
      if (!below_prefix && !(name.ends_with('/') && listing.prefix.starts_with(key))) continue;
      HEADRACE_TRY(const bool more, name.ends_with('/') ? list_subfolder(key, below_prefix, listing)
                                                        : list_file(key, listing));
      if (!more) return false;
    }
    return true;
  }

  Result<bool> list_subfolder(const std::string& key, bool below_prefix, const Listing& listing) {
    const std::string& after = listing.options.after;
    // Everything in such a folder comes before `after`.
    if (!after.empty() && !after.starts_with(key) && key < after) return true;
    const bool collapse =
        listing.options.collapse_folders && below_prefix && key.size() > listing.prefix.size();
    if (!collapse) return list_folder(key.substr(0, key.size() - 1), listing);
    if (key <= after) return true;
    HEADRACE_TRY(const bool holds_objects, holds_an_object(key.substr(0, key.size() - 1)));
    return !holds_objects || listing.visit({.key = key});
  }

  Result<bool> list_file(const std::string& key, const Listing& listing) {
    if (key <= listing.options.after) return true;
    struct stat status {};
    if (::stat(path_of(key).c_str(), &status) == 0) return listing.visit(info_of(key, status));
    if (is_absence(errno)) return true;  // removed meanwhile
    return system_error(errno, concat("listing ", describe(key)));
  }

  Result<bool> holds_an_object(const std::string& folder) {
    HEADRACE_TRY(const std::vector<std::string> names, sorted_entries(path_of(folder), Entries::kObjects));
    for (const std::string& name : names) {
      if (!name.ends_with('/')) return true;
      HEADRACE_TRY(const bool found, holds_an_object(concat(folder, "/", name.substr(0, name.size() - 1))));
      if (found) return true;
    }
    return false;
  }

  Result<FileDescriptor> open_for_read(std::string_view key) const {
    HEADRACE_CHECK(check_key(key));
    FileDescriptor file(::open(path_of(key).c_str(), O_RDONLY | O_CLOEXEC));
    if (!file.is_open()) return not_found_or(errno, key);
    return file;
  }

  Status stat_open(const FileDescriptor& file, std::string_view key, struct stat& status) const {
    if (::fstat(file.get(), &status) != 0) return system_error(errno, concat("reading ", describe(key)));
    if (!S_ISREG(status.st_mode))
      return Error{Code::kNotFound,
                   concat("there is no object ", describe(key), " (a folder has that name)")};
    return {};
  }

  Status check_version(const struct stat& status, std::string_view key, const Version& version) const {
    if (version_of(status) == version) return {};
    return Error{Code::kFailedPrecondition,
                 concat(describe(key), " was changed since it was last looked at")};
  }

  Error not_found_or(int number, std::string_view key) const {
    if (number == ENOENT || number == ENOTDIR)
      return {Code::kNotFound, concat("there is no object ", describe(key))};
    return system_error(number, concat("reading ", describe(key)));
  }

  std::string root_;
};

class FileUpload final : public Upload {
 public:
  FileUpload(const FileStore& store, std::string key, WriteOptions options)
      : store_(store),
        key_(std::move(key)),
        options_(std::move(options)),
        target_(store.path_of(key_)),
        folder_(folder_of(target_)) {}

  ~FileUpload() override {
    if (!name_.empty()) ::unlink(name_.c_str());
  }

  Status open() {
    for (int attempt = 0; attempt < 3; ++attempt) {
      if (const int number = make_folders(folder_, options_.is_durable); number != 0)
        return system_error(number, doing());
      if (open_unnamed() || open_named()) return {};
      // ENOENT: the folder was removed meanwhile. EEXIST: the name is taken.
      if (errno != ENOENT && errno != EEXIST) break;
    }
    return system_error(errno, doing());
  }

  Status append(BytesView data) override {
    if (options_.call.stop.stop_requested()) return Error{Code::kCancelled, concat(doing(), " was stopped")};
    return writer_.append(data) ? Status{} : system_error(errno, doing());
  }

  Result<ObjectInfo> commit() override {
    struct stat status {};
    if (!writer_.finish()) return system_error(errno, doing());
    if (options_.is_durable && ::fsync(file_.get()) != 0) return system_error(errno, doing());
    HEADRACE_CHECK(options_.only_if_absent ? publish_if_absent() : publish());
    if (!name_.empty()) ::unlink(std::exchange(name_, {}).c_str());
    if (options_.is_durable && !sync_folder(folder_)) return system_error(errno, doing());
    if (::fstat(file_.get(), &status) != 0 || !file_.close()) return system_error(errno, doing());
    return info_of(key_, status);
  }

 private:
  std::string doing() const { return concat("writing ", store_.describe(key_)); }

  // Opens a file without a name, which disappears with its process however the process ends.
  bool open_unnamed() {
    file_ = FileDescriptor(::open(folder_.c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666));
    // Without /proc the file could not be linked.
    return file_.is_open() && ::access(unnamed_path().c_str(), F_OK) == 0;
  }

  // For file systems that support only files with names.
  bool open_named() {
    const std::string name = new_name();
    file_ = FileDescriptor(::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (file_.is_open()) name_ = name;
    return file_.is_open();
  }

  std::string unnamed_path() const { return concat("/proc/self/fd/", file_.get()); }
  std::string new_name() const { return concat(folder_, "/", kUnfinishedPrefix, hex64(random_name_bits())); }

  bool link_to(const std::string& path) const {
    const int linked =
        name_.empty() ? ::linkat(AT_FDCWD, unnamed_path().c_str(), AT_FDCWD, path.c_str(), AT_SYMLINK_FOLLOW)
                      : ::link(name_.c_str(), path.c_str());
    return linked == 0 || is_taken_by_this_file(path);
  }

  // Called after EEXIST, and leaves it in errno. Over NFS the answer to a link may be lost; the repeated
  // request then fails because this very file has taken the name.
  bool is_taken_by_this_file(const std::string& path) const {
    if (errno != EEXIST) return false;
    struct stat own {
    }, there{};
    const bool is_it = ::fstat(file_.get(), &own) == 0 && ::lstat(path.c_str(), &there) == 0 &&
                       own.st_dev == there.st_dev && own.st_ino == there.st_ino;
    errno = EEXIST;
    return is_it;
  }

  bool rename_to_target(unsigned flags = 0) {
    if (::renameat2(AT_FDCWD, name_.c_str(), AT_FDCWD, target_.c_str(), flags) != 0) return false;
    name_.clear();
    return true;
  }

  // Fails on a file system that supports neither a rename without replacement (NFS does not) nor a second
  // name for a file (exFAT does not).
  bool name_if_absent() {
    if (!name_.empty() && (rename_to_target(RENAME_NOREPLACE) || is_taken_by_this_file(target_))) return true;
    return (name_.empty() || errno != EEXIST) && link_to(target_);
  }

  Status publish() {
    if (name_.empty()) {  // only a file with a name can replace another file
      const std::string name = new_name();
      if (!link_to(name)) return system_error(errno, doing());
      name_ = name;
    }
    if (rename_to_target()) return {};
    const bool was_folder = errno == EISDIR || errno == ENOTEMPTY || errno == EEXIST;
    if (was_folder && ::rmdir(target_.c_str()) == 0 && rename_to_target()) return {};
    return system_error(was_folder ? EISDIR : errno, doing());
  }

  Status publish_if_absent() {
    if (name_if_absent()) return {};
    struct stat status {};
    const bool is_folder =
        errno == EEXIST && ::stat(target_.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
    if (!is_folder)
      return errno == EEXIST ? Error{Code::kAlreadyExists, concat(store_.describe(key_), " already exists")}
                             : system_error(errno, doing());
    if (::rmdir(target_.c_str()) != 0 || !name_if_absent()) return system_error(EISDIR, doing());
    return {};
  }

  const FileStore& store_;
  const std::string key_;
  const WriteOptions options_;
  const std::string target_;
  const std::string folder_;
  std::string name_;  // hidden, to be removed; empty while the file has none
  FileDescriptor file_;
  SequentialWriter writer_{file_, options_.past_caches};
};

Result<std::unique_ptr<Upload>> FileStore::start_upload(std::string_view key, const WriteOptions& options) {
  HEADRACE_CHECK(check_key(key));
  if (concat("/", key).find(concat("/", kUnfinishedPrefix)) != std::string::npos) {
    return Error{Code::kInvalidArgument,
                 concat("writing ", describe(key), ": names that begin with ", kUnfinishedPrefix,
                        " are reserved for unfinished writes; choose another name")};
  }
  if (options.if_version) {
    return Error{Code::kUnimplemented, concat("writing ", describe(key),
                                              ": a file store cannot replace only one version (if_version)")};
  }
  auto upload = std::make_unique<FileUpload>(*this, std::string(key), options);
  HEADRACE_CHECK(upload->open());
  return std::unique_ptr<Upload>(std::move(upload));
}

}  // namespace

std::unique_ptr<Store> make_file_store(std::string root) {
  return std::make_unique<FileStore>(std::move(root));
}

}  // namespace headrace
