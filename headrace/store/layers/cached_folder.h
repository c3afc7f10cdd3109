#pragma once

/// \file The folder of a cache: the names of the cache's objects, and the room they take. Part of cached.h,
/// which has the contract for users.

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "headrace/store/location.h"

namespace headrace {

/// Key of the kept object with that digest (64 hexadecimal digits).
std::string cached_key(const Location& folder, std::string_view digest);

/// This process's knowledge of the room in one cache folder, for all stores that are cached there.
/// Thread-safe. Only objects whose keys `cached_key` can have made, and unfinished writes of such objects,
/// are counted and removed.
class CacheRoom {
 public:
  /// Returns the same room to everyone in this process who names the same folder (as `Location::describe`
  /// does), as long as anyone holds it. A forked child has rooms of its own: its parent's may be locked for
  /// ever there.
  static std::shared_ptr<CacheRoom> of(const Location& folder);

  /// Whether an object of that many bytes may now be written; removes others to make room. If true,
  /// `end_write` must follow, whether the object was written or not.
  /// Cost: a count; after each twentieth of `max_bytes`, and when the limit is reached, a listing. A caller
  /// that arrives during another's listing waits for it, no longer than `call` allows.
  bool begin_write(const Location& folder, std::uint64_t bytes, std::uint64_t max_bytes,
                   const CallOptions& call);
  void end_write(std::uint64_t bytes);

 private:
  std::mutex mutex_;
  std::condition_variable_any has_looked_;
  bool is_looking_ = false;
  std::optional<std::uint64_t>
      known_bytes_;                  // in the folder, with what is being written; none: to be looked at
  std::uint64_t unseen_bytes_ = 0;   // of those, begun since the folder was looked at
  std::uint64_t writing_bytes_ = 0;  // of those, not ended
};

}  // namespace headrace
