#include "headrace/prepare/text_source.h"

#include "headrace/base/text.h"
#include "headrace/io/digest.h"

namespace headrace {
namespace {

class ArchiveSource final : public TextSource {
 public:
  ArchiveSource(std::unique_ptr<ArchiveReader> reader, std::uint64_t size_bytes)
      : reader_(std::move(reader)), size_bytes_(size_bytes) {}

  Result<std::optional<SourceEntry>> next() override {
    HEADRACE_TRY(std::optional<ArchiveEntry> entry, reader_->next());
    if (!entry) return std::optional<SourceEntry>();
    return std::optional(SourceEntry{std::move(entry->path), entry->kind});
  }
  Result<bool> read_text(std::string& text, std::uint64_t limit_bytes) override {
    text.clear();
    return reader_->read_data(text, limit_bytes);
  }
  std::uint64_t consumed_bytes() const override { return reader_->consumed_bytes(); }
  std::uint64_t total_bytes() const override { return size_bytes_; }

 private:
  std::unique_ptr<ArchiveReader> reader_;
  const std::uint64_t size_bytes_;
};

class FolderSource final : public TextSource {
 public:
  FolderSource(Location folder, std::uint64_t size_bytes)
      : folder_(std::move(folder)), size_bytes_(size_bytes) {}

  Result<std::optional<SourceEntry>> next() override {
    if (position_ == page_.size()) HEADRACE_CHECK(load_page());
    if (page_.empty()) return std::optional<SourceEntry>();
    current_ = page_[position_++];
    consumed_bytes_ += current_.size_bytes;
    return std::optional(SourceEntry{current_.key.substr(prefix().size()), EntryKind::kFile});
  }
  Result<bool> read_text(std::string& text, std::uint64_t limit_bytes) override {
    if (current_.size_bytes > limit_bytes) return false;
    text.resize(current_.size_bytes);
    const MutableBytesView target(reinterpret_cast<std::byte*>(text.data()), text.size());
    HEADRACE_CHECK(read_exactly(*folder_.store, current_.key, target,
                                {.if_version = current_.version, .is_whole = true}));
    return true;
  }
  std::uint64_t consumed_bytes() const override { return consumed_bytes_; }
  std::uint64_t total_bytes() const override { return size_bytes_; }

 private:
  static constexpr std::size_t kPageObjects = 10'000;  // bounds what is held of a listing

  std::string prefix() const { return folder_prefix(folder_.key); }

  Status load_page() {
    const std::string after = current_.key;
    page_.clear();
    position_ = 0;
    return folder_.store->list(prefix(), {.after = after}, [&](const ObjectInfo& object) {
      page_.push_back(object);
      return page_.size() < kPageObjects;
    });
  }

  const Location folder_;
  const std::uint64_t size_bytes_;
  std::vector<ObjectInfo> page_;
  std::size_t position_ = 0;
  ObjectInfo current_;
  std::uint64_t consumed_bytes_ = 0;
};

}  // namespace

Result<SourceIdentity> identify_source(const Location& location) {
  SourceIdentity identity{.url = location.url.text()};
  if (!location.key.empty()) {
    auto object = location.store->stat(location.key, {});
    if (object) {
      identity.size_bytes = object->size_bytes;
      identity.version = object->version.token;
      return identity;
    }
    if (object.error().code != Code::kNotFound) return std::move(object).error().in("looking at the input");
  }
  identity.is_folder = true;
  Sha256 digest;
  std::uint64_t objects = 0;
  HEADRACE_CHECK(location.store->list(folder_prefix(location.key), {}, [&](const ObjectInfo& object) {
    digest.update(as_bytes(concat(object.key, '\0', object.size_bytes, '\0', object.version.token, '\0')));
    identity.size_bytes += object.size_bytes;
    ++objects;
    return true;
  }));
  if (objects == 0) {
    return Error{Code::kNotFound, concat("there is neither an archive nor a folder ", location.describe(),
                                         "; check the URL with headrace ls")};
  }
  identity.version = hex(digest.finish());
  return identity;
}

Result<std::unique_ptr<TextSource>> open_source(const Location& location, const SourceIdentity& identity) {
  if (identity.is_folder)
    return std::unique_ptr<TextSource>(std::make_unique<FolderSource>(location, identity.size_bytes));
  HEADRACE_TRY(std::unique_ptr<ArchiveReader> reader, open_archive(*location.store, location.key));
  return std::unique_ptr<TextSource>(std::make_unique<ArchiveSource>(std::move(reader), identity.size_bytes));
}

}  // namespace headrace
