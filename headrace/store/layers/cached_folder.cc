#include "headrace/store/layers/cached_folder.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <vector>

#include "headrace/base/environment.h"
#include "headrace/base/hash.h"
#include "headrace/base/text.h"

namespace headrace {
namespace {

// The user's folder may contain other files, even some with digests as names.
constexpr std::string_view kSubfolder = "headrace-cache";
constexpr std::size_t kDigestSize = 64;
constexpr std::size_t kFanOutSize = 2;  // number of digits of the digest that name a folder
// The folder is checked each time this share of its limit has been written. A full folder is reduced to
// kKeptTenths of the limit.
constexpr std::uint64_t kLookShare = 20;
constexpr std::uint64_t kKeptTenths = 9;

bool is_hexadecimal(std::string_view text) { return text.find_first_not_of("0123456789abcdef") == text.npos; }

// Returns whether a key below the subfolder lies where the cache's objects do.
bool is_in_fan_out(std::string_view name) {
  return name.size() > kFanOutSize && is_hexadecimal(name.substr(0, kFanOutSize)) &&
         name.find('/') == kFanOutSize && name.rfind('/') == kFanOutSize;
}

bool is_cached_name(std::string_view name) {
  return is_in_fan_out(name) && name.size() == kDigestSize + 1 &&
         is_hexadecimal(name.substr(kFanOutSize + 1));
}

// An item that takes room: a kept object, or the rest of a killed write. A write that is still running may be
// taken for such a rest; then its range is not kept.
struct CachedItem {
  UnfinishedWrite item;
  std::uint64_t bytes;
  bool is_unfinished;
};

Result<std::vector<CachedItem>> list_cached(const Location& folder, const CallOptions& call) {
  const std::string prefix = folder_prefix(folder.at(kSubfolder).key);
  const auto name_of = [&](std::string_view key) { return key.substr(prefix.size()); };
  std::vector<CachedItem> items;
  HEADRACE_CHECK(folder.store->list(prefix, {.call = call}, [&](const ObjectInfo& object) {
    if (is_cached_name(name_of(object.key))) items.push_back({{object.key}, object.size_bytes, false});
    return true;
  }));
  HEADRACE_CHECK(folder.store->list_unfinished(prefix, call, [&](const UnfinishedWrite& write) {
    if (is_in_fan_out(name_of(write.key))) items.push_back({write, write.size_bytes.value_or(0), true});
    return true;
  }));
  return items;
}

Status remove(const Location& folder, std::span<const CachedItem> items, const CallOptions& call) {
  std::vector<std::string> objects;
  for (const CachedItem& item : items) {
    if (item.is_unfinished) HEADRACE_CHECK(folder.store->remove_unfinished(item.item, call));
    if (!item.is_unfinished) objects.push_back(item.item.key);
  }
  return folder.store->remove_many(objects, call);
}

// If there is no room for `coming_bytes`, removes objects at random. Returns the size of the remaining
// objects.
Result<std::uint64_t> make_room(const Location& folder, std::uint64_t coming_bytes, std::uint64_t max_bytes,
                                const CallOptions& call) {
  HEADRACE_TRY(std::vector<CachedItem> items, list_cached(folder, call));
  std::uint64_t bytes = 0;
  for (const CachedItem& item : items) bytes += item.bytes;
  const std::uint64_t target_bytes = max_bytes / 10 * kKeptTenths;
  if (bytes + coming_bytes <= max_bytes || coming_bytes > target_bytes) return bytes;
  const HashKey key{random_name_bits(), 0};
  std::ranges::sort(items, {}, [&](const CachedItem& item) { return siphash(key, as_bytes(item.item.key)); });
  std::size_t leaving = 0;
  for (; leaving < items.size() && bytes + coming_bytes > target_bytes; ++leaving)
    bytes -= items[leaving].bytes;
  HEADRACE_CHECK(remove(folder, std::span(items).first(leaving), call));
  return bytes;
}

struct Rooms {
  const pid_t process = getpid();
  std::mutex mutex;
  std::map<std::string, std::weak_ptr<CacheRoom>> by_folder;
};

// Returns the rooms of this process. A fork's child does not touch its parent's rooms and never destroys
// them: threads that do not exist in the child may hold their locks, count their bytes, or seem to be
// checking a folder.
Rooms& rooms_of_process() {
  static std::atomic<Rooms*> latest = nullptr;
  Rooms* rooms = latest.load();
  while (rooms == nullptr || rooms->process != getpid()) {
    auto made = std::make_unique<Rooms>();
    if (latest.compare_exchange_strong(rooms, made.get())) rooms = made.release();
  }
  return *rooms;
}

}  // namespace

std::string cached_key(const Location& folder, std::string_view digest) {
  return folder.at(concat(kSubfolder, "/", digest.substr(0, kFanOutSize), "/", digest.substr(kFanOutSize)))
      .key;
}

std::shared_ptr<CacheRoom> CacheRoom::of(const Location& folder) {
  Rooms& rooms = rooms_of_process();
  const std::lock_guard lock(rooms.mutex);
  std::erase_if(rooms.by_folder, [](const auto& room) { return room.second.expired(); });
  std::weak_ptr<CacheRoom>& known = rooms.by_folder[folder.describe()];
  std::shared_ptr<CacheRoom> room = known.lock();
  if (!room) known = room = std::make_shared<CacheRoom>();
  return room;
}

bool CacheRoom::begin_write(const Location& folder, std::uint64_t bytes, std::uint64_t max_bytes,
                            const CallOptions& call) {
  std::unique_lock lock(mutex_);
  if (!has_looked_.wait_for(lock, call.stop, call.deadline, [this] { return !is_looking_; })) return false;
  const bool is_time = unseen_bytes_ + bytes > max_bytes / kLookShare;
  if (is_time || !known_bytes_ || *known_bytes_ + bytes > max_bytes) {
    is_looking_ = true;
    // The check may already see some of these bytes; they then count twice.
    const std::uint64_t writing_bytes = writing_bytes_;
    lock.unlock();
    const auto end_look = [&] {
      lock.lock();
      is_looking_ = false;
      has_looked_.notify_all();
    };
    std::optional<std::uint64_t> left_bytes;
    try {
      if (const auto left = make_room(folder, writing_bytes + bytes, max_bytes, call)) left_bytes = *left;
    } catch (const std::exception&) {
      end_look();
      throw;
    }
    end_look();
    unseen_bytes_ = 0;
    known_bytes_.reset();
    if (!left_bytes) return false;
    known_bytes_ = *left_bytes + writing_bytes;
    if (*known_bytes_ + bytes > max_bytes) return false;
  }
  *known_bytes_ += bytes;
  unseen_bytes_ += bytes;
  writing_bytes_ += bytes;
  return true;
}

void CacheRoom::end_write(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  writing_bytes_ -= bytes;
}

}  // namespace headrace
