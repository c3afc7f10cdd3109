#include "headrace/prepare/archive/archived_files.h"

#include <algorithm>
#include <utility>

#include "headrace/base/text.h"
#include "headrace/codec/tar.h"
#include "headrace/store/object_window.h"

namespace headrace {

/// Reads one archive.
class ArchivedFiles::Reader {
 public:
  virtual ~Reader() = default;
  virtual Result<std::optional<ArchivedFile>> next() = 0;
  virtual Result<std::optional<ArchivedContent>> content(std::uint64_t limit_bytes,
                                                         std::uint64_t inline_bytes) = 0;
  virtual std::uint64_t consumed_bytes() const = 0;
};

namespace {

class StreamReader final : public ArchivedFiles::Reader {
 public:
  explicit StreamReader(std::unique_ptr<ArchiveReader> archive) : archive_(std::move(archive)) {}

  Result<std::optional<ArchivedFile>> next() override {
    HEADRACE_TRY(std::optional<ArchiveEntry> entry, archive_->next());
    if (!entry) return std::optional<ArchivedFile>();
    return std::optional(ArchivedFile{.path = std::move(entry->path), .kind = entry->kind});
  }

  Result<std::optional<ArchivedContent>> content(std::uint64_t limit_bytes, std::uint64_t) override {
    ArchivedContent content;
    HEADRACE_TRY(const bool fits, archive_->read_data(content.data, limit_bytes));
    if (!fits) return std::optional<ArchivedContent>();
    content.size_bytes = content.data.size();
    return std::optional(std::move(content));
  }

  std::uint64_t consumed_bytes() const override { return archive_->consumed_bytes(); }

 private:
  std::unique_ptr<ArchiveReader> archive_;
};

class PlainTarReader final : public ArchivedFiles::Reader {
 public:
  PlainTarReader(Location location, ObjectInfo object)
      : location_(std::move(location)),
        window_(*location_.store, object, {}),
        walker_(object.size_bytes,
                [this](std::uint64_t offset, std::size_t size) { return window_.read(offset, size); }) {}

  Result<std::optional<ArchivedFile>> next() override {
    auto entry = walker_.next();
    if (!entry) return failure(entry.error());
    if (!*entry) {
      HEADRACE_TRY(const bool is_whole, walker_.ends_in_zeros());
      if (!is_whole) return failure({Code::kDataLoss, "the tar has no end mark: it was truncated"});
      return std::optional<ArchivedFile>();
    }
    current_ = *std::move(*entry);
    ArchivedFile file{.path = current_.path, .is_sparse = current_.kind == TarEntryKind::kSparseFile};
    while (file.path.starts_with("./")) file.path.erase(0, 2);
    if (current_.kind == TarEntryKind::kFolder) file.kind = EntryKind::kFolder;
    if (current_.kind == TarEntryKind::kOther) file.kind = EntryKind::kOther;
    return std::optional(std::move(file));
  }

  Result<std::optional<ArchivedContent>> content(std::uint64_t limit_bytes,
                                                 std::uint64_t inline_bytes) override {
    const std::uint64_t size = current_.data_bytes;
    if (size > limit_bytes) return std::optional<ArchivedContent>();
    ArchivedContent content{
        .is_reference = true, .offset_bytes = current_.data_offset_bytes, .size_bytes = size};
    if (size <= inline_bytes) {
      HEADRACE_TRY(const BytesView data, window_.read(content.offset_bytes, size));
      content.is_reference = false;
      content.data = as_text(data);
    }
    return std::optional(std::move(content));
  }

  std::uint64_t consumed_bytes() const override { return current_.data_offset_bytes + current_.data_bytes; }

 private:
  // Errors of the store already say what was being read.
  Error failure(const Error& error) const {
    if (error.code != Code::kDataLoss) return error;
    const std::string after =
        current_.path.empty() ? "" : concat(", after entry ", replace_invalid_utf8(current_.path).text);
    return {error.code, concat("reading ", location_.describe(), ": the archive is damaged or truncated (",
                               error.message, after, "); fetch the archive again and compare its checksum")};
  }

  const Location location_;
  ObjectWindow window_;
  TarWalker walker_;
  TarEntry current_;
};

// Opens a file. Fails if its version is not the one that was listed.
Result<std::unique_ptr<ArchivedFiles::Reader>> open_reader(const SourceFile& file) {
  Store& store = *file.location.store;
  HEADRACE_TRY(const ObjectInfo object, store.stat(file.location.key, {}));
  if (object.version != file.version || object.size_bytes != file.size_bytes) {
    return Error{
        Code::kFailedPrecondition,
        concat(file.location.describe(), " changed since the input was listed; run the command again")};
  }
  Bytes head(std::min<std::uint64_t>(kTarBlockBytes, object.size_bytes));
  HEADRACE_CHECK(read_exactly(store, object.key, head, {.if_version = object.version}));
  if (looks_like_tar(head))
    return std::unique_ptr<ArchivedFiles::Reader>(std::make_unique<PlainTarReader>(file.location, object));
  HEADRACE_TRY(std::unique_ptr<ArchiveReader> archive, open_archive(store, object));
  return std::unique_ptr<ArchivedFiles::Reader>(std::make_unique<StreamReader>(std::move(archive)));
}

}  // namespace

ArchivedFiles::ArchivedFiles(std::vector<SourceFile> archives) : archives_(std::move(archives)) {
  for (const SourceFile& archive : archives_) urls_.push_back(archive.location.url.text());
}
ArchivedFiles::~ArchivedFiles() = default;

Result<std::optional<ArchivedFile>> ArchivedFiles::next() {
  while (position_ < archives_.size()) {
    if (!reader_) {
      HEADRACE_TRY(reader_, open_reader(archives_[position_]));
    }
    HEADRACE_TRY(std::optional<ArchivedFile> file, reader_->next());
    if (file) {
      file->archive = position_;
      return file;
    }
    reader_.reset();
    behind_bytes_ += archives_[position_++].size_bytes;
  }
  return std::optional<ArchivedFile>();
}

Result<std::optional<ArchivedContent>> ArchivedFiles::content(std::uint64_t limit_bytes,
                                                              std::uint64_t inline_bytes) {
  return reader_->content(limit_bytes, inline_bytes);
}

Cell ArchivedFiles::cell(const ArchivedContent& content, std::uint32_t archive) const {
  if (!content.is_reference) return {.kind = CellKind::kBytes, .data = as_bytes(content.data)};
  return {.kind = CellKind::kReference,
          .reference = {.url = urls_[archive],
                        .version = archives_[archive].version.token,
                        .offset_bytes = content.offset_bytes,
                        .size_bytes = content.size_bytes}};
}

std::uint64_t ArchivedFiles::consumed_bytes() const {
  return behind_bytes_ + (reader_ ? reader_->consumed_bytes() : 0);
}

}  // namespace headrace
