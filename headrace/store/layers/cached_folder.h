#pragma once

/// \file The folder of a cache: what the cache's objects are called there, and how much room they take. A
/// part of cached.h, which says what holds for users.

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

/// What this process knows of the room in one cache folder, whichever stores are cached there. Thread-safe.
/// Only objects whose keys `cached_key` can have made are counted and removed, and unfinished writes of such.
class CacheRoom {
 public:
  /// The same for each in this process who names the same folder (as `Location::describe` does), as long as
  /// any of them holds it. A fork's child has rooms of its own: its parent's may be locked for ever there.
  static std::shared_ptr<CacheRoom> of(const Location& folder);

  /// Whether an object of so many bytes may now be written; removes others for it. If so, `end_write` must
  /// follow, written or not.
  /// Cost: a count; after each twentieth of `max_bytes`, and when that is reached, a listing. Who comes
  /// during another's listing waits for it, no longer than `call` allows.
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
