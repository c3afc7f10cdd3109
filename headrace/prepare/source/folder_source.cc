#include "headrace/prepare/source/folder_source.h"

#include <utility>
#include <vector>

#include "headrace/base/text.h"
#include "headrace/prepare/archive/layout_rows.h"
#include "headrace/prepare/source/folder_digest.h"

namespace headrace {
namespace {

// Limits how much of a listing is held. It is large because some stores list from the beginning each time.
constexpr std::size_t kPageObjects = 65'536;

class FolderSource final : public RowSource {
 public:
  FolderSource(const Location& folder, Layout layout, const Slice& slice, std::uint64_t cell_limit_bytes,
               const KnownInputs* known, const KnownInputs* only)
      : folder_(folder),
        known_(known),
        only_(only),
        prefix_(folder_prefix(folder.key)),
        base_url_(concat(folder.url.text(), '/')),
        last_(concat(prefix_, slice.last)),
        expected_digest_(slice.digest),
        cell_limit_bytes_(cell_limit_bytes),
        rows_(layout, cell_limit_bytes),
        listed_up_to_(slice.after.empty() ? "" : concat(prefix_, slice.after)) {}

  Result<std::optional<SourceRow>> next() override {
    while (true) {
      while (position_ == page_.size() && !has_ended_) HEADRACE_CHECK(load_page());
      if (position_ == page_.size()) return std::optional<SourceRow>();
      const ObjectInfo& object = page_[position_++];
      consumed_bytes_ += object.size_bytes;
      ++row_;
      HEADRACE_TRY(const bool is_new, must_read(object));
      if (is_new) return std::optional(row_of(object));
    }
  }

  std::uint64_t consumed_bytes() const override { return consumed_bytes_; }

 private:
  std::string url_of(const ObjectInfo& object) const {
    return concat(base_url_, std::string_view(object.key).substr(prefix_.size()));
  }

  // Whether an object is to be read. Makes its URL the current one.
  Result<bool> must_read(const ObjectInfo& object) {
    url_ = url_of(object);
    if (known_ == nullptr) return true;
    const KnownInputs::Match match = known_->look(url_, object.version.token);
    if (match == KnownInputs::Match::kChanged) return changed_since_read(url_);
    return match == KnownInputs::Match::kNew;
  }

  SourceRow row_of(const ObjectInfo& object) {
    const Reference reference{.url = url_, .version = object.version.token, .size_bytes = object.size_bytes};
    SourceRow row = rows_.classify(object.key.substr(prefix_.size()), {}, {.file = 0, .row = row_});
    if (row.verdict == RowVerdict::kRow) {
      row = object.size_bytes > cell_limit_bytes_
                ? rows_.reject_as_too_large(format_size(object.size_bytes))
                : rows_.row({.kind = CellKind::kReference, .reference = reference});
    }
    row.object = reference;
    return row;
  }

  // Lists the next page. At the end, checks whether the folder has changed since it was first listed.
  Status load_page() {
    page_.clear();
    position_ = 0;
    const std::string after = listed_up_to_;
    std::size_t listed_objects = 0;
    const Status listed = folder_.store->list(prefix_, {.after = after}, [&](const ObjectInfo& object) {
      if (object.key > last_) return false;
      listed_up_to_ = object.key;
      if (only_ == nullptr || only_->has(url_of(object))) {
        page_.push_back(object);
        digest_.add(object);
      }
      return ++listed_objects < kPageObjects;
    });
    if (!listed) return listed.error().in(concat("listing ", folder_.describe()));
    has_ended_ = listed_objects < kPageObjects;
    if (!has_ended_ || digest_.finish() == expected_digest_) return {};
    return Error{Code::kFailedPrecondition,
                 concat(folder_.describe(), " changed while it was being read: its objects up to ", last_,
                        " are not those listed at the beginning; run the command again while nothing ",
                        "writes there")};
  }

  const Location folder_;
  const KnownInputs* const known_;
  const KnownInputs* const only_;
  const std::string prefix_;
  const std::string base_url_;
  const std::string last_;
  const std::string expected_digest_;
  const std::uint64_t cell_limit_bytes_;
  LayoutRows rows_;
  FolderDigest digest_;
  std::string listed_up_to_;
  std::vector<ObjectInfo> page_;
  std::size_t position_ = 0;
  bool has_ended_ = false;
  std::uint64_t row_ = 0;
  std::uint64_t consumed_bytes_ = 0;
  std::string url_;  // URL of the current row
};

}  // namespace

std::unique_ptr<RowSource> open_folder_range(const Location& folder, Layout layout, const Slice& slice,
                                             std::uint64_t cell_limit_bytes, const KnownInputs* known,
                                             const KnownInputs* only) {
  return std::make_unique<FolderSource>(folder, layout, slice, cell_limit_bytes, known, only);
}

}  // namespace headrace
