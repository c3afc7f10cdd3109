#include "headrace/store/ignite/ignite_listing.h"

#include <map>

#include "headrace/base/text.h"
#include "headrace/store/ignite/ignite_heads.h"

namespace headrace {
namespace {

// Memory for a kept name besides its characters.
constexpr std::size_t kNameBytes = 200;

// Keeps the smallest names, as many as fit into the memory.
class SmallestNames {
 public:
  explicit SmallestNames(std::size_t memory_bytes) : memory_bytes_(memory_bytes) {}

  void add(ObjectInfo info) {
    if (!is_complete_ && info.key > names_.rbegin()->first) return;
    const std::size_t size = kNameBytes + info.key.size();
    std::string name = info.key;
    if (!names_.try_emplace(std::move(name), std::move(info)).second) return;
    used_bytes_ += size;
    while (used_bytes_ > memory_bytes_ && names_.size() > 1) {
      used_bytes_ -= kNameBytes + names_.rbegin()->first.size();
      names_.erase(std::prev(names_.end()));
      is_complete_ = false;
    }
  }

  const std::map<std::string, ObjectInfo>& names() const { return names_; }
  /// False: larger names were dropped.
  bool is_complete() const { return is_complete_; }

 private:
  const std::size_t memory_bytes_;
  std::map<std::string, ObjectInfo> names_{};
  std::size_t used_bytes_ = 0;
  bool is_complete_ = true;
};

Result<SmallestNames> scan_names(const IgniteCaches& caches, std::string_view prefix, std::string_view after,
                                 bool collapses, std::size_t memory_bytes) {
  SmallestNames names(memory_bytes);
  const auto take = [&](BytesView encoded_key, BytesView value) -> Result<bool> {
    const std::optional<std::string_view> key = object_key(encoded_key);
    if (!key || !key->starts_with(prefix)) return true;
    const std::size_t slash = collapses ? key->find('/', prefix.size()) : key->npos;
    const std::string_view name = slash == key->npos ? *key : key->substr(0, slash + 1);
    if (name <= after) return true;
    const Result<IgniteHead> head = decode_head(value);
    if (!head) return head.error().in(*key);
    if (head->is_claim) return true;
    ObjectInfo info = slash == key->npos ? head->info(name) : ObjectInfo{.key = std::string(name)};
    info.crc32c.reset();
    names.add(std::move(info));
    return true;
  };
  HEADRACE_CHECK(scan_heads(caches, take));
  return names;
}

}  // namespace

Status list_heads(const IgniteCaches& caches, std::string_view prefix, const ListOptions& options,
                  std::size_t memory_bytes, const std::function<bool(const ObjectInfo&)>& visit) {
  std::string after = options.after;
  while (true) {
    HEADRACE_TRY(const SmallestNames found,
                 scan_names(caches, prefix, after, options.collapse_folders, memory_bytes));
    for (const auto& [name, info] : found.names())
      if (!visit(info)) return {};
    if (found.is_complete()) return {};
    after = found.names().rbegin()->first;
  }
}

Status list_notes(const IgniteCaches& caches, std::string_view prefix,
                  const std::function<bool(const UnfinishedWrite&)>& visit) {
  return scan_heads(caches, [&](BytesView key, BytesView value) -> Result<bool> {
    if (object_key(key)) return true;
    HEADRACE_TRY(const IgniteNote note, decode_note(value));
    if (!note.key.starts_with(prefix)) return true;
    const std::chrono::system_clock::time_point modified{std::chrono::milliseconds(note.modified_ms)};
    return visit({.key = note.key, .id = note.upload.text(), .modified = modified});
  });
}

}  // namespace headrace
