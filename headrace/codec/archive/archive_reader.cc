#include "headrace/codec/archive/archive_reader.h"

#include <archive.h>
#include <archive_entry.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "headrace/base/text.h"

namespace headrace {
namespace {

constexpr std::size_t kBufferBytes = 1 << 20;

class LibarchiveReader final : public ArchiveReader {
 public:
  LibarchiveReader(Store& store, ObjectInfo object, CallOptions options)
      : store_(store),
        object_(std::move(object)),
        options_(std::move(options)),
        buffer_(kBufferBytes),
        archive_(archive_read_new()) {}
  ~LibarchiveReader() override { archive_read_free(archive_); }

  Status open() {
    if (object_.size_bytes == 0)
      return Error{Code::kInvalidArgument, concat(name(), " is empty: no archive")};
    archive_read_support_filter_gzip(archive_);
    archive_read_support_filter_bzip2(archive_);
    archive_read_support_filter_xz(archive_);
    archive_read_support_filter_zstd(archive_);
    archive_read_support_format_tar(archive_);
    archive_read_support_format_zip(archive_);
    archive_read_set_callback_data(archive_, this);
    archive_read_set_read_callback(archive_, &LibarchiveReader::read_callback);
    archive_read_set_seek_callback(archive_, &LibarchiveReader::seek_callback);
    archive_read_set_skip_callback(archive_, &LibarchiveReader::skip_callback);
    if (archive_read_open1(archive_) != ARCHIVE_OK)
      return failure(Code::kInvalidArgument, "it is no tar or zip archive, or damaged at its start");
    return {};
  }

  Result<std::optional<ArchiveEntry>> next() override {
    const int code = archive_read_next_header(archive_, &current_);
    if (code == ARCHIVE_EOF) {
      HEADRACE_CHECK(check_end());
      return std::optional<ArchiveEntry>();
    }
    if (code == ARCHIVE_FATAL || code == ARCHIVE_RETRY) {
      const bool at_start = last_path_.empty();
      return failure(at_start ? Code::kInvalidArgument : Code::kDataLoss,
                     at_start ? "it is no tar or zip archive, or damaged at its start"
                              : "the archive is damaged or cut");
    }
    ArchiveEntry entry;
    const char* path = archive_entry_pathname(current_);
    entry.path = path == nullptr ? "" : path;
    while (entry.path.starts_with("./")) entry.path.erase(0, 2);
    entry.kind = kind_of(current_);
    entry.size_bytes = archive_entry_size_is_set(current_) != 0
                           ? static_cast<std::uint64_t>(archive_entry_size(current_))
                           : 0;
    last_path_ = entry.path;
    return std::optional(std::move(entry));
  }

  Status read_data(std::string& target, std::uint64_t limit_bytes) override {
    const std::size_t start = target.size();
    while (true) {
      const void* block = nullptr;
      std::size_t size = 0;
      la_int64_t offset = 0;
      const int code = archive_read_data_block(archive_, &block, &size, &offset);
      if (code == ARCHIVE_EOF) return {};
      if (code != ARCHIVE_OK && code != ARCHIVE_WARN)
        return failure(Code::kDataLoss, "the archive is damaged or cut");
      // Blocks come in order; a gap is a hole of a sparse file.
      const std::uint64_t end = static_cast<std::uint64_t>(offset) + size;
      if (end > limit_bytes) {
        return Error{Code::kResourceExhausted,
                     concat(last_path_, " in ", name(), " is larger than ", format_size(limit_bytes))};
      }
      target.resize(start + static_cast<std::size_t>(offset), '\0');
      target.append(static_cast<const char*>(block), size);
    }
  }

  std::uint64_t consumed_bytes() const override { return position_; }

 private:
  static EntryKind kind_of(archive_entry* entry) {
    if (archive_entry_hardlink(entry) != nullptr || archive_entry_filetype(entry) == AE_IFLNK)
      return EntryKind::kLink;
    if (archive_entry_filetype(entry) == AE_IFDIR) return EntryKind::kFolder;
    return archive_entry_filetype(entry) == AE_IFREG ? EntryKind::kFile : EntryKind::kOther;
  }

  std::string name() const { return store_.describe(object_.key); }

  Error failure(Code code, std::string_view what) {
    if (!store_failure_) return store_failure_.error();
    const char* reason = archive_error_string(archive_);
    std::string message =
        concat("reading ", name(), ": ", what, " (", reason == nullptr ? "no reason given" : reason,
               ", at byte ", position_, " of ", object_.size_bytes);
    if (!last_path_.empty()) message += concat(", after entry ", replace_invalid_utf8(last_path_).text);
    return {code, message + "); fetch the archive again and compare its checksum"};
  }

  // libarchive takes the end of input for the end of a plain tar; its two closing zero blocks tell a cut one.
  Status check_end() {
    const bool plain_tar = archive_filter_count(archive_) == 1 &&
                           (archive_format(archive_) & ARCHIVE_FORMAT_BASE_MASK) == ARCHIVE_FORMAT_TAR;
    if (!plain_tar) return {};
    std::array<std::byte, 512> tail{};
    if (object_.size_bytes >= tail.size()) {
      HEADRACE_CHECK(read_exactly(store_, object_.key, tail,
                                  {.offset_bytes = object_.size_bytes - tail.size(),
                                   .if_version = object_.version,
                                   .call = options_}));
      if (std::all_of(tail.begin(), tail.end(), [](std::byte b) { return b == std::byte{0}; })) return {};
    }
    return Error{Code::kDataLoss,
                 concat("reading ", name(), ": the archive has no end mark after entry ",
                        replace_invalid_utf8(last_path_).text, ": it was cut; fetch it again")};
  }

  static la_ssize_t read_callback(archive* handle, void* self, const void** block) {
    auto& reader = *static_cast<LibarchiveReader*>(self);
    auto read = reader.store_.read_into(
        reader.object_.key, reader.buffer_,
        {.offset_bytes = reader.position_, .if_version = reader.object_.version, .call = reader.options_});
    if (!read) {
      archive_set_error(handle, EIO, "the store failed");
      reader.store_failure_ = std::move(read).error();
      return ARCHIVE_FATAL;
    }
    reader.position_ += read->bytes_read;
    *block = reader.buffer_.data();
    return static_cast<la_ssize_t>(read->bytes_read);
  }

  static la_int64_t skip_callback(archive*, void* self, la_int64_t request) {
    auto& reader = *static_cast<LibarchiveReader*>(self);
    const std::uint64_t left = reader.object_.size_bytes - reader.position_;
    const std::uint64_t step = std::min(left, static_cast<std::uint64_t>(std::max<la_int64_t>(request, 0)));
    reader.position_ += step;
    return static_cast<la_int64_t>(step);
  }

  static la_int64_t seek_callback(archive*, void* self, la_int64_t offset, int whence) {
    auto& reader = *static_cast<LibarchiveReader*>(self);
    const auto size = static_cast<la_int64_t>(reader.object_.size_bytes);
    const la_int64_t base = whence == SEEK_SET   ? 0
                            : whence == SEEK_CUR ? static_cast<la_int64_t>(reader.position_)
                                                 : size;
    if (offset < -base || offset > size - base) return ARCHIVE_FATAL;
    reader.position_ = static_cast<std::uint64_t>(base + offset);
    return static_cast<la_int64_t>(reader.position_);
  }

  Store& store_;
  const ObjectInfo object_;
  const CallOptions options_;
  Bytes buffer_;
  archive* archive_;
  archive_entry* current_ = nullptr;
  std::string last_path_;
  std::uint64_t position_ = 0;
  Status store_failure_;  // an error once the store has failed in a callback
};

}  // namespace

Result<std::unique_ptr<ArchiveReader>> open_archive(Store& store, std::string_view key,
                                                    const CallOptions& options) {
  HEADRACE_TRY(ObjectInfo object, store.stat(key, options));
  auto reader = std::make_unique<LibarchiveReader>(store, std::move(object), options);
  HEADRACE_CHECK(reader->open());
  return std::unique_ptr<ArchiveReader>(std::move(reader));
}

}  // namespace headrace
