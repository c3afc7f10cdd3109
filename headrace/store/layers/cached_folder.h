#pragma once

/// \file The folder of a cache: the names of the cache's objects, and the space that they take. Part of
/// cached.h, which has the contract for users.

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "headrace/store/location.h"

namespace headrace {

/// Key of the cached object with that digest (64 hexadecimal digits).
std::string cached_key(const Location& folder, std::string_view digest);

/// This process's account of the space in one cache folder, for all stores that are cached there. Counts and
/// removes only objects whose keys `cached_key` can have made, and unfinished writes of such objects.
/// Thread-safe.
class CacheRoom {
 public:
  /// Returns the account of `folder`. Within a process, all callers that name the same folder (as
  /// `Location::describe` does) share one account, which lives as long as any of them holds it. A forked
  /// child has accounts of its own, because its parent's may stay locked there for ever.
  static std::shared_ptr<CacheRoom> of(const Location& folder);

  /// Whether an object of that many bytes may now be written. Removes other objects to make room. If the
  /// result is true, `end_write` must follow, whether the object was written or not.
  /// Cost: usually an addition. After each twentieth of `max_bytes`, and when the limit is reached, a
  /// listing. If another thread is listing, waits for it, at most as long as `call` allows.
  bool begin_write(const Location& folder, std::uint64_t bytes, std::uint64_t max_bytes,
                   const CallOptions& call);
  void end_write(std::uint64_t bytes);

 private:
  std::mutex mutex_;
  std::condition_variable_any has_looked_;
  bool is_looking_ = false;
  std::optional<std::uint64_t>
      known_bytes_;                  // in the folder or being written there; none: list the folder first
  std::uint64_t unseen_bytes_ = 0;   // the part of known_bytes_ begun since the last listing
  std::uint64_t writing_bytes_ = 0;  // the part of known_bytes_ that is still being written
};

}  // namespace headrace
