#include "headrace/store/transfer/folder_pair.h"

#include <vector>

#include "headrace/base/text.h"

namespace headrace {
namespace {

constexpr std::size_t kEntriesAtOnce = 50'000;

// The objects below a folder, one after another.
class ObjectCursor {
 public:
  ObjectCursor(const Location& folder, const FolderPairOptions& options)
      : folder_(folder), prefix_(folder_prefix(folder.key)), options_(options) {}

  /// Null at the end.
  Result<const ObjectInfo*> current() {
    if (at_ == entries_.size() && !is_at_end_) HEADRACE_CHECK(list_more());
    return at_ == entries_.size() ? nullptr : &entries_[at_];
  }
  std::string_view name() const { return std::string_view(entries_[at_].key).substr(prefix_.size()); }
  ObjectInfo take() { return std::move(entries_[at_++]); }

 private:
  Status list_more() {
    if (options_.call.stop.stop_requested())
      return Error{Code::kCancelled, concat("listing ", folder_.describe(), " was stopped")};
    entries_.clear();
    at_ = 0;
    is_at_end_ = true;
    HEADRACE_CHECK(folder_.store->list(prefix_ + options_.name_prefix,
                                       {.after = last_, .call = options_.call},
                                       [&](const ObjectInfo& object) {
                                         entries_.push_back(object);
                                         is_at_end_ = entries_.size() < kEntriesAtOnce;
                                         return is_at_end_;
                                       }));
    if (!entries_.empty()) last_ = entries_.back().key;
    return {};
  }

  const Location& folder_;
  const std::string prefix_;
  const FolderPairOptions& options_;
  std::vector<ObjectInfo> entries_;
  std::size_t at_ = 0;
  std::string last_;  // the name listed last
  bool is_at_end_ = false;
};

}  // namespace

Status list_folder_pair(const Location& from, const Location& to, const FolderPairOptions& options,
                        const std::function<bool(ObjectPair&&)>& visit) {
  ObjectCursor at_from(from, options), at_to(to, options);
  while (true) {
    HEADRACE_TRY(const ObjectInfo* const source, at_from.current());
    const ObjectInfo* target = nullptr;
    if (options.lists_to) {
      HEADRACE_TRY(target, at_to.current());
    }
    if (source == nullptr && target == nullptr) return {};
    ObjectPair pair;
    const bool source_is_next = source != nullptr && (target == nullptr || at_from.name() <= at_to.name());
    const bool target_is_next = target != nullptr && (source == nullptr || at_to.name() <= at_from.name());
    pair.name = source_is_next ? at_from.name() : at_to.name();
    if (source_is_next) pair.at_from = at_from.take();
    if (target_is_next) pair.at_to = at_to.take();
    if (!visit(std::move(pair))) return {};
  }
}

Result<bool> is_folder(const Location& location, const CallOptions& call) {
  bool found = false;
  HEADRACE_CHECK(location.store->list(folder_prefix(location.key), {.call = call}, [&](const ObjectInfo&) {
    found = true;
    return false;
  }));
  return found;
}

}  // namespace headrace
