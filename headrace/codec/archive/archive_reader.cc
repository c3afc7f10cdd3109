#include "headrace/codec/archive/archive_reader.h"

#include <archive.h>
#include <archive_entry.h>

#include <algorithm>
#include <cerrno>

#include "headrace/base/text.h"
#include "headrace/codec/archive/archive_input.h"

namespace headrace {
namespace {

class LibarchiveReader final : public ArchiveReader {
 public:
  LibarchiveReader(Store& store, ObjectInfo object, CallOptions options)
      : name_(store.describe(object.key)),
        input_(store, std::move(object), std::move(options)),
        archive_(archive_read_new()) {}
  ~LibarchiveReader() override { archive_read_free(archive_); }

  Status open() {
    if (input_.object().size_bytes == 0)
      return Error{Code::kInvalidArgument, concat(name_, " is empty, so it is not an archive")};
    HEADRACE_CHECK(input_.open());
    archive_read_support_filter_bzip2(archive_);
    archive_read_support_filter_xz(archive_);
    archive_read_support_filter_zstd(archive_);
    archive_read_support_format_tar(archive_);
    archive_read_support_format_zip(archive_);
    // Makes libarchive read past a tar's end mark to the end of the input, where compressions keep their
    // checksums.
    archive_read_set_format_option(archive_, "tar", "read_concatenated_archives", "1");
    archive_read_set_callback_data(archive_, this);
    archive_read_set_read_callback(archive_, &LibarchiveReader::read_callback);
    if (input_.may_seek()) {
      archive_read_set_seek_callback(archive_, &LibarchiveReader::seek_callback);
      archive_read_set_skip_callback(archive_, &LibarchiveReader::skip_callback);
    }
    if (archive_read_open1(archive_) != ARCHIVE_OK)
      return failure(Code::kInvalidArgument, "it is not a tar or zip archive, or its start is damaged");
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
                     at_start ? "it is not a tar or zip archive, or its start is damaged"
                              : "the archive is damaged or truncated");
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

  Result<bool> read_data(std::string& target, std::uint64_t limit_bytes) override {
    const std::size_t start = target.size();
    while (true) {
      const void* block = nullptr;
      std::size_t size = 0;
      la_int64_t offset = 0;
      const int code = archive_read_data_block(archive_, &block, &size, &offset);
      if (code == ARCHIVE_EOF) return true;
      if (code != ARCHIVE_OK && code != ARCHIVE_WARN)
        return failure(Code::kDataLoss, "the archive is damaged or truncated");
      // Blocks come in order. A gap between two blocks is a hole of a sparse file.
      const std::uint64_t end = static_cast<std::uint64_t>(offset) + size;
      if (end > limit_bytes) return false;
      target.resize(start + static_cast<std::size_t>(offset), '\0');
      target.append(static_cast<const char*>(block), size);
    }
  }

  std::uint64_t consumed_bytes() const override { return input_.position(); }

 private:
  static EntryKind kind_of(archive_entry* entry) {
    if (archive_entry_hardlink(entry) != nullptr || archive_entry_filetype(entry) == AE_IFLNK)
      return EntryKind::kLink;
    if (archive_entry_filetype(entry) == AE_IFDIR) return EntryKind::kFolder;
    return archive_entry_filetype(entry) == AE_IFREG ? EntryKind::kFile : EntryKind::kOther;
  }

  std::string after() const {
    return last_path_.empty() ? "" : concat(", after entry ", replace_invalid_utf8(last_path_).text);
  }

  Error failure(Code code, std::string_view what) {
    if (!input_failure_) return describe(input_failure_.error());
    const char* reason = archive_error_string(archive_);
    return {code, concat("reading ", name_, ": ", what, " (", reason == nullptr ? "no reason given" : reason,
                         ", at byte ", input_.position(), " of ", input_.object().size_bytes, after(),
                         "); fetch the archive again and compare its checksum")};
  }

  // Damage is described here. Any other failure comes from the store, whose message says what it was doing.
  Error describe(const Error& error) const {
    if (error.code != Code::kDataLoss) return error;
    return {error.code, concat("reading ", name_, ": the archive is damaged or truncated (", error.message,
                               after(), "); fetch the archive again and compare its checksum")};
  }

  // libarchive accepts the end of the input as the end of a tar. If the two closing blocks of zeros are
  // missing, the tar was truncated.
  Status check_end() {
    if (Status drained = input_.drain(); !drained) return describe(drained.error());
    const bool checks_itself = archive_filter_count(archive_) > 1 ||
                               (archive_format(archive_) & ARCHIVE_FORMAT_BASE_MASK) != ARCHIVE_FORMAT_TAR;
    if (checks_itself) return {};
    HEADRACE_TRY(const bool has_end_mark, input_.ends_in_zeros());
    if (has_end_mark) return {};
    return Error{Code::kDataLoss,
                 concat("reading ", name_, ": the archive has no end mark after entry ",
                        replace_invalid_utf8(last_path_).text, ": it was truncated; fetch it again")};
  }

  static la_ssize_t read_callback(archive* handle, void* self, const void** block) {
    auto& reader = *static_cast<LibarchiveReader*>(self);
    auto piece = reader.input_.next();
    if (!piece) {
      archive_set_error(handle, EIO, "the input failed");
      reader.input_failure_ = std::move(piece).error();
      return ARCHIVE_FATAL;
    }
    *block = piece->data();
    return static_cast<la_ssize_t>(piece->size());
  }

  static la_int64_t skip_callback(archive*, void* self, la_int64_t request) {
    ArchiveInput& input = static_cast<LibarchiveReader*>(self)->input_;
    const std::uint64_t left = input.object().size_bytes - input.position();
    const std::uint64_t step = std::min(left, static_cast<std::uint64_t>(std::max<la_int64_t>(request, 0)));
    input.seek(input.position() + step);
    return static_cast<la_int64_t>(step);
  }

  static la_int64_t seek_callback(archive*, void* self, la_int64_t offset, int whence) {
    ArchiveInput& input = static_cast<LibarchiveReader*>(self)->input_;
    const auto size = static_cast<la_int64_t>(input.object().size_bytes);
    const la_int64_t base = whence == SEEK_SET   ? 0
                            : whence == SEEK_CUR ? static_cast<la_int64_t>(input.position())
                                                 : size;
    if (offset < -base || offset > size - base) return ARCHIVE_FATAL;
    input.seek(static_cast<std::uint64_t>(base + offset));
    return static_cast<la_int64_t>(input.position());
  }

  const std::string name_;
  ArchiveInput input_;
  archive* archive_;
  archive_entry* current_ = nullptr;
  std::string last_path_;
  Status input_failure_;  // the error of a callback in which the input failed
};

}  // namespace

Result<std::unique_ptr<ArchiveReader>> open_archive(Store& store, std::string_view key,
                                                    const CallOptions& options) {
  HEADRACE_TRY(ObjectInfo object, store.stat(key, options));
  return open_archive(store, std::move(object), options);
}

Result<std::unique_ptr<ArchiveReader>> open_archive(Store& store, ObjectInfo object,
                                                    const CallOptions& options) {
  auto reader = std::make_unique<LibarchiveReader>(store, std::move(object), options);
  HEADRACE_CHECK(reader->open());
  return std::unique_ptr<ArchiveReader>(std::move(reader));
}

}  // namespace headrace
