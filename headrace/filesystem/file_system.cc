#include "headrace/filesystem/file_system.h"

#include <algorithm>
#include <array>

#include "headrace/base/text.h"
#include "headrace/filesystem/temporary_name.h"
#include "headrace/os/parallel.h"
#include "headrace/store/glob.h"

namespace headrace {
namespace {

constexpr int kCopiesAtOnce = 16;

// Returns "s3://bucket" for "s3://bucket/a/b". A text that is not a URL has no root; opening it fails.
std::string_view root_of(std::string_view path) {
  const std::size_t colon = path.find("://");
  if (colon == path.npos) return {};
  return path.substr(0, path.find('/', colon + 3));
}

// Returns the part of a cleaned path that names the store. Some stores have a name after the host (UrlForm).
std::string_view store_root(std::string_view path, const Url& url) {
  const std::size_t slash = std::min(url.authority.find('/'), url.authority.size());
  return path.substr(0, root_of(path).size() + url.authority.size() - slash);
}

// Returns the prefix of all URLs below this one. The URL of a root without a host already ends in a slash.
std::string text_below(const Url& url) {
  const std::string text = url.text();
  return text.ends_with('/') ? text : concat(text, "/");
}

Error refused(Code code, const Location& at, std::string_view why) {
  return {code, concat(at.describe(), ": ", why)};
}

// Writes a file that becomes visible when it is closed.
class PlainFile final : public WritableFile {
 public:
  explicit PlainFile(std::shared_ptr<ObjectWriter> writer) : writer_(std::move(writer)) {}

  // Reads the present content. If more is appended, it is written again with the new data.
  Status begin_with(const ObjectInfo& object) {
    has_changed_ = false;
    return read_in_pieces(*writer_->location().store, object, {},
                          [&](BytesView piece) { return writer_->append(piece); });
  }
  ~PlainFile() override { static_cast<void>(PlainFile::close()); }
  Status append(BytesView data) override {
    if (closed_) return *closed_;
    has_changed_ = true;
    return writer_->append(data);
  }
  Status flush() override { return closed_ ? *closed_ : writer_->status(); }
  Status close() override {
    if (closed_) return *closed_;
    closed_ = has_changed_ ? writer_->commit() : Status{};
    size_bytes_ = writer_->size_bytes();
    writer_.reset();
    return *closed_;
  }
  std::uint64_t size_bytes() const override { return closed_ ? size_bytes_ : writer_->size_bytes(); }

 private:
  std::shared_ptr<ObjectWriter> writer_;  // until the file is closed
  std::uint64_t size_bytes_ = 0;          // after the file is closed
  bool has_changed_ = true;
  std::optional<Status> closed_;
};

// Writes a file that becomes visible when it is renamed.
class TemporaryFile final : public WritableFile {
 public:
  TemporaryFile(Location location, Location final_location, HeldFiles& held)
      : location_(std::move(location)),
        writer_(std::make_unique<ObjectWriter>(std::move(final_location))),
        held_(held) {}
  ~TemporaryFile() override { static_cast<void>(TemporaryFile::close()); }
  Status append(BytesView data) override { return writer_ ? writer_->append(data) : closed_; }
  Status flush() override { return writer_ ? writer_->status() : closed_; }
  Status close() override {
    if (!writer_) return closed_;
    size_bytes_ = writer_->size_bytes();
    closed_ = writer_->status();
    if (closed_) writer_ = held_.hold(location_.url.text(), std::move(writer_));
    if (writer_ && closed_) closed_ = write_through();
    writer_.reset();
    return closed_;
  }
  std::uint64_t size_bytes() const override { return writer_ ? writer_->size_bytes() : size_bytes_; }

 private:
  // Too many files are held: this file becomes an object under its own name, and its rename a copy.
  Status write_through() {
    const Bytes* const content = writer_->content();
    if (content == nullptr) {
      return refused(
          Code::kResourceExhausted, location_,
          "too many unfinished checkpoint files are open; write fewer checkpoints at the same time");
    }
    const auto written = location_.store->write(location_.key, *content, {});
    return written ? Status{} : Status(written.error());
  }

  const Location location_;
  std::unique_ptr<ObjectWriter> writer_;
  HeldFiles& held_;
  std::uint64_t size_bytes_ = 0;
  Status closed_;
};

// Writes a file that is visible while it grows.
class EventFile final : public WritableFile {
 public:
  explicit EventFile(std::shared_ptr<SegmentLog> log) : log_(std::move(log)) {}
  ~EventFile() override { static_cast<void>(EventFile::close()); }
  Status append(BytesView data) override {
    if (closed_) return *closed_;
    HEADRACE_CHECK(log_->append(data));
    return log_->make_room();
  }
  Status flush() override { return closed_ ? *closed_ : log_->flush(); }
  Status close() override {
    if (closed_) return *closed_;
    closed_ = log_->close();
    if (*closed_ && log_->size_bytes() == 0) closed_ = write_empty();
    return *closed_;
  }
  std::uint64_t size_bytes() const override { return log_->size_bytes(); }

 private:
  // A log without data has no segment, but an empty file must exist.
  Status write_empty() {
    const auto written = log_->location().store->write(log_->location().key, {}, {.only_if_absent = true});
    const bool is_there = written || written.error().code == Code::kAlreadyExists;
    return is_there ? Status{} : Status(written.error());
  }

  const std::shared_ptr<SegmentLog> log_;
  std::optional<Status> closed_;
};

bool is_event_file(std::string_view key) { return last_segment(key).find("tfevents") != key.npos; }

}  // namespace

std::string FileSystem::clean(std::string_view path) {
  const std::string_view root = root_of(path);
  std::string out(root);
  for (const std::string& segment : split(path.substr(root.size()), '/')) {
    if (segment.empty() || segment == ".") continue;
    out += '/';
    out += segment;
  }
  if (out.ends_with("://")) out += '/';  // the root of a store without a bucket or host
  return out;
}

Result<Location> FileSystem::locate(std::string_view path) const { return options_.open(clean(path)); }

// ---- Folders -------------------------------------------------------------------------------------

bool FileSystem::was_created(const Location& folder) {
  const std::scoped_lock lock(mutex_);
  return created_.contains(folder.url.text());
}

// As on a disk, a folder still exists after its last entry was removed.
void FileSystem::remember_parent(const Location& removed) {
  Url above = removed.url;
  above.path = parent_key(above.path);
  const std::scoped_lock lock(mutex_);
  if (!above.path.empty()) created_.insert(above.text());
}

void FileSystem::forget_created(const Location& folder, bool all_below) {
  const std::string path = folder.url.text();
  const std::scoped_lock lock(mutex_);
  created_.erase(path);
  if (!all_below) return;
  const std::string prefix = folder_prefix(path);
  std::erase_if(created_, [&](const std::string& other) { return other.starts_with(prefix); });
}

Result<bool> FileSystem::is_folder(const Location& at) {
  if (was_created(at)) return true;
  bool is_there = at.key.empty();
  HEADRACE_CHECK(at.store->list(folder_prefix(at.key), {.collapse_folders = true},
                                [&](const ObjectInfo&) { return is_there = true, false; }));
  return is_there;
}

// Returns an error if there is a folder at this place.
Status FileSystem::refuse_folder(const Location& at) {
  HEADRACE_TRY(const bool is_there, is_folder(at));
  return is_there ? Status(refused(Code::kFailedPrecondition, at, "is a folder")) : Status{};
}

Result<FileInfo> FileSystem::stat(std::string_view path) {
  HEADRACE_TRY(const Location at, locate(path));
  auto found = stat_at(at);
  if (found || found.error().code != Code::kNotFound) return found;
  if (const auto size = written_.size_bytes(at.url.text())) return FileInfo{.size_bytes = *size};
  return found;
}

Result<FileInfo> FileSystem::stat_at(const Location& at) {
  const std::string name = at.url.text();
  if (const auto size = held_.size_bytes(name)) return FileInfo{.size_bytes = *size};
  if (const auto size = logs_.size_bytes(name)) return FileInfo{.size_bytes = *size};
  if (!at.key.empty() && !was_created(at)) {
    const auto object = at.store->stat(at.key, {});
    if (object) return FileInfo{.size_bytes = object->size_bytes, .modified = object->modified};
    if (object.error().code != Code::kNotFound) return object.error();
  }
  HEADRACE_TRY(const bool is_there, is_folder(at));
  if (is_there) return FileInfo{.is_folder = true};
  return refused(Code::kNotFound, at, "there is no such file or folder");
}

Result<std::vector<std::string>> FileSystem::children(std::string_view folder) {
  HEADRACE_TRY(const Location at, locate(folder));
  HEADRACE_TRY(const FileInfo info, stat_at(at));
  if (!info.is_folder) return refused(Code::kFailedPrecondition, at, "is a file, not a folder");
  std::set<std::string> names;
  const std::string prefix = folder_prefix(at.key);
  HEADRACE_CHECK(at.store->list(prefix, {.collapse_folders = true}, [&](const ObjectInfo& entry) {
    std::string name = entry.key.substr(prefix.size());
    if (entry.is_folder()) name.pop_back();
    // The name is empty for "a//b", which other programs may have written.
    if (!name.empty()) names.insert(std::move(name));
    return true;
  }));
  const std::string path = text_below(at.url);
  const std::scoped_lock lock(mutex_);
  for (auto next = created_.lower_bound(path); next != created_.end() && next->starts_with(path); ++next)
    names.insert(next->substr(path.size(), next->find('/', path.size()) - path.size()));
  return std::vector<std::string>(names.begin(), names.end());
}

Result<std::vector<std::string>> FileSystem::matches(std::string_view pattern) {
  const std::string cleaned = clean(pattern);
  HEADRACE_TRY(const Location named, locate(cleaned));
  const std::string_view root = store_root(cleaned, named.url);
  HEADRACE_TRY(const Location at, locate(root));
  const std::string_view keys = std::string_view(cleaned).substr(std::min(root.size() + 1, cleaned.size()));
  std::set<std::string> found;
  const auto add = [&](std::string_view key) { found.insert(concat(root, "/", key)); };
  HEADRACE_CHECK(visit_matches(*at.store, keys, {.with_folders = true}, [&](const ObjectInfo& entry) {
    add(entry.is_folder() ? std::string_view(entry.key).substr(0, entry.key.size() - 1) : entry.key);
    return true;
  }));
  const std::string prefix = text_below(at.url);
  const std::scoped_lock lock(mutex_);
  for (const std::string& folder : created_) {
    if (!folder.starts_with(prefix)) continue;
    const std::string_view key = std::string_view(folder).substr(prefix.size());
    if (matches_pattern(keys, key)) add(key);
  }
  return std::vector<std::string>(found.begin(), found.end());
}

Status FileSystem::create_folder(std::string_view folder) {
  HEADRACE_TRY(const Location at, locate(folder));
  const auto there = stat_at(at);
  if (there) return refused(Code::kAlreadyExists, at, "already exists");
  if (there.error().code != Code::kNotFound || at.key.empty()) return there.error();
  return create_folders(folder);
}

Status FileSystem::create_folders(std::string_view folder) {
  HEADRACE_TRY(Location at, locate(folder));
  std::vector<std::string> missing;
  for (; !at.key.empty(); at.key = at.url.path = parent_key(at.key)) {
    const auto there = stat_at(at);
    if (there && !there->is_folder) return refused(Code::kFailedPrecondition, at, "is a file");
    if (there) break;
    if (there.error().code != Code::kNotFound) return there.error();
    missing.push_back(at.url.text());
  }
  const std::scoped_lock lock(mutex_);
  created_.insert(missing.begin(), missing.end());
  return {};
}

Status FileSystem::remove_folder(std::string_view folder) {
  HEADRACE_TRY(const std::vector<std::string> names, children(folder));
  HEADRACE_TRY(const Location at, locate(folder));
  if (!names.empty() || at.key.empty()) return refused(Code::kFailedPrecondition, at, "is not empty");
  forget_created(at, false);
  return {};
}

Result<std::vector<std::string>> FileSystem::keys_below(const Location& folder) {
  HEADRACE_TRY(const std::vector<ObjectInfo> objects, list_all(*folder.store, folder_prefix(folder.key)));
  std::vector<std::string> keys;
  keys.reserve(objects.size());
  for (const ObjectInfo& object : objects) keys.push_back(object.key);
  return keys;
}

Status FileSystem::remove_below(const Location& folder) {
  HEADRACE_TRY(const std::vector<std::string> keys, keys_below(folder));
  HEADRACE_CHECK(folder.store->remove_many(keys, {}));
  forget_created(folder, true);
  return {};
}

Status FileSystem::remove_all(std::string_view path) {
  HEADRACE_TRY(const Location at, locate(path));
  HEADRACE_TRY(const FileInfo info, stat_at(at));
  if (!info.is_folder) return remove_file(path);
  HEADRACE_CHECK(remove_below(at));
  remember_parent(at);
  return {};
}

// ---- Files ---------------------------------------------------------------------------------------

Result<std::unique_ptr<ReadableFile>> FileSystem::open_for_reading(std::string_view path) {
  HEADRACE_TRY(Location at, locate(path));
  HEADRACE_TRY(std::optional<Bytes> content, held_.content(at.url.text()));
  if (content) return ReadableFile::of_memory(std::move(at), *std::move(content), reads_);
  if (at.key.empty()) return refused(Code::kFailedPrecondition, at, "is a folder");
  return ReadableFile::open(std::move(at), reads_);
}

Result<std::unique_ptr<WritableFile>> FileSystem::open_log(Location at, bool goes_on) {
  const std::string name = at.url.text();
  SegmentLogOptions options;
  options.segment_header = options_.segment_header();
  options.record_size = options_.record_size;
  options.spool = options_.spool;
  options.replaces = true;
  HEADRACE_TRY(auto log, SegmentLog::open(std::move(at), goes_on, std::move(options), log_writers_));
  logs_.add(name, log);
  return std::unique_ptr<WritableFile>(std::make_unique<EventFile>(std::move(log)));
}

Result<std::unique_ptr<WritableFile>> FileSystem::open_for_writing(std::string_view path) {
  HEADRACE_TRY(Location at, locate(path));
  HEADRACE_CHECK(check_key(at.key));
  if (was_created(at)) return refused(Code::kFailedPrecondition, at, "is a folder");
  if (is_event_file(at.key)) return open_log(std::move(at), false);
  if (const auto final_key = final_name(at.key)) {
    Location final_location = at;
    final_location.key = final_location.url.path = *final_key;
    return std::unique_ptr<WritableFile>(
        std::make_unique<TemporaryFile>(std::move(at), std::move(final_location), held_));
  }
  return std::unique_ptr<WritableFile>(std::make_unique<PlainFile>(begin_writing(std::move(at))));
}

std::shared_ptr<ObjectWriter> FileSystem::begin_writing(Location at) {
  auto writer = std::make_shared<ObjectWriter>(std::move(at));
  written_.add(writer->location().url.text(), writer);
  return writer;
}

Result<std::unique_ptr<WritableFile>> FileSystem::open_for_appending(std::string_view path) {
  HEADRACE_TRY(Location at, locate(path));
  HEADRACE_CHECK(check_key(at.key));
  if (is_event_file(at.key)) return open_log(std::move(at), true);
  HEADRACE_TRY(const std::optional<Bytes> held, held_.content(at.url.text()));
  if (held) {
    HEADRACE_TRY(auto again, open_for_writing(path));
    HEADRACE_CHECK(again->append(*held));
    return again;
  }
  const auto object = at.store->stat(at.key, {});
  if (!object && object.error().code == Code::kNotFound) return open_for_writing(path);
  if (!object) return object.error();
  auto file = std::make_unique<PlainFile>(begin_writing(std::move(at)));
  HEADRACE_CHECK(file->begin_with(*object));
  return std::unique_ptr<WritableFile>(std::move(file));
}

Status FileSystem::remove_file(std::string_view path) {
  HEADRACE_TRY(const Location at, locate(path));
  if (held_.take(at.url.text())) return {};
  HEADRACE_TRY(const FileInfo info, stat_at(at));
  if (info.is_folder) return refused(Code::kFailedPrecondition, at, "is a folder");
  HEADRACE_CHECK(remove_object(*at.store, at.key));
  remember_parent(at);
  return {};
}

Status FileSystem::copy_object(const Location& from, const Location& to) {
  if (from.store == to.store) {
    const auto copied = to.store->copy(from.key, to.key, {});
    return copied ? Status{} : Status(copied.error());
  }
  HEADRACE_TRY(const ObjectInfo object, from.store->stat(from.key, {}));
  ObjectWriter writer(to);
  HEADRACE_CHECK(
      read_in_pieces(*from.store, object, {}, [&](BytesView piece) { return writer.append(piece); }));
  return writer.commit();
}

// If an event file is replaced, its other segments belong to the old content, so they are removed. Segments
// that are not replaced by name, as when a folder is renamed, stay: they are then files of their own.
Status FileSystem::replace_by_copy(const Location& from, const Location& to) {
  HEADRACE_CHECK(copy_object(from, to));
  if (!is_event_file(to.key) || from.url == to.url) return {};
  return remove_segments(to, std::array{to.key, from.key}, {});
}

Status FileSystem::copy(std::string_view from, std::string_view to) {
  HEADRACE_TRY(const Location source, locate(from));
  HEADRACE_TRY(const Location target, locate(to));
  HEADRACE_CHECK(check_key(target.key));
  if (was_created(target)) return refused(Code::kFailedPrecondition, target, "is a folder");
  HEADRACE_TRY(const std::optional<Bytes> content, held_.content(source.url.text()));
  if (!content) return replace_by_copy(source, target);
  const auto written = target.store->write(target.key, *content, {});
  return written ? Status{} : Status(written.error());
}

// After an error the file is held as before, so that it can be renamed again or removed.
Status FileSystem::rename_held(const Location& source, const Location& target,
                               std::unique_ptr<ObjectWriter> file) {
  const Location& final_location = file->location();
  if (final_location.store == target.store && final_name(target.key) == final_location.key) {
    held_.hold_anyway(target.url.text(), std::move(file));
    return {};
  }
  Status renamed;
  if (const Bytes* const content = file->content()) {
    const auto written = target.store->write(target.key, *content, {});
    if (!written) renamed = written.error();
  } else if (final_location.url == target.url) {
    renamed = file->commit();
  } else {
    renamed = refused(Code::kFailedPrecondition, source,
                      concat("this part of a checkpoint is being written as ", final_location.url.text(),
                             ", and cannot be renamed to ", target.url.text(),
                             "; give the file another name, without .part or .tempstate"));
  }
  if (!renamed) held_.hold_anyway(source.url.text(), std::move(file));
  return renamed;
}

Status FileSystem::rename(std::string_view from, std::string_view to) {
  HEADRACE_TRY(const Location source, locate(from));
  HEADRACE_TRY(const Location target, locate(to));
  HEADRACE_CHECK(check_key(target.key));
  if (source.url == target.url) return {};
  if (std::unique_ptr<ObjectWriter> file = held_.take(source.url.text()))
    return rename_held(source, target, std::move(file));
  HEADRACE_TRY(const FileInfo info, stat_at(source));
  if (info.is_folder) {
    HEADRACE_CHECK(rename_folder(source, target));
  } else {
    HEADRACE_CHECK(refuse_folder(target));
    HEADRACE_CHECK(replace_by_copy(source, target));
    HEADRACE_CHECK(remove_object(*source.store, source.key));
  }
  remember_parent(source);
  return {};
}

// Makes all copies before it removes anything: if the process is killed, each object exists under its old
// name, its new one, or both.
Status FileSystem::rename_folder(const Location& from, const Location& to) {
  if (folder_prefix(to.url.text()).starts_with(folder_prefix(from.url.text())))
    return refused(Code::kInvalidArgument, from, concat("cannot be moved into itself, to ", to.describe()));
  const auto below = children(to.url.text());
  if (below ? !below->empty() : below.error().code != Code::kNotFound)
    return below ? refused(Code::kFailedPrecondition, to, "is a folder that is not empty") : below.error();
  HEADRACE_TRY(const std::vector<std::string> keys, keys_below(from));
  const auto renamed = [&](const std::string& key) {
    Location at = to;
    const std::string_view rest = std::string_view(key).substr(folder_prefix(from.key).size());
    at.key = join_key(to.key, rest);
    at.url.path = join_key(to.url.path, rest);
    return at;
  };
  HEADRACE_CHECK(parallel_for(kCopiesAtOnce, keys.size(), [&](std::size_t i) {
    Location at = from;
    at.key = at.url.path = keys[i];
    return copy_object(at, renamed(keys[i]));
  }));
  HEADRACE_CHECK(from.store->remove_many(keys, {}));  // only those that were copied
  const std::string old_path = from.url.text(), old_prefix = folder_prefix(old_path);
  const std::scoped_lock lock(mutex_);
  std::set<std::string, std::less<>> moved;
  for (const std::string& folder : created_) {
    const bool is_below = folder == old_path || folder.starts_with(old_prefix);
    moved.insert(is_below ? concat(to.url.text(), folder.substr(old_path.size())) : folder);
  }
  created_ = std::move(moved);
  if (keys.empty()) created_.insert(to.url.text());
  return {};
}

}  // namespace headrace
