#pragma once

/// \file Heads and notes in their cache: reading them, and changing them without losing anybody's change.
/// docs/formats/ignite-store.md says what for. Internal to the driver.

#include <functional>
#include <optional>

#include "headrace/store/ignite/ignite_caches.h"
#include "headrace/store/ignite/ignite_entries.h"

namespace headrace {

/// A head with its entry, whose bytes a conditional change names.
struct StoredHead {
  Bytes entry;
  IgniteHead head;  // views `entry`

  bool is_of(const UploadId& upload) const { return !head.is_claim && head.upload == upload; }
};

/// The head or claim of a key; none: neither is there, or the cache is not.
Result<std::optional<StoredHead>> read_head(const IgniteCaches& caches, std::string_view key);

/// A note with its entry.
struct StoredNote {
  Bytes entry;
  IgniteNote note;
};
Result<std::optional<StoredNote>> read_note(const IgniteCaches& caches, const UploadId& upload);

/// Creates the note, or replaces `before` by it. False: it is not `before` any more, so that the
/// upload was removed. An unknown outcome is found out. REQUIRES: nobody else makes an entry equal to `entry`
Result<bool> write_note(const IgniteCaches& caches, const UploadId& upload, BytesView before,
                        BytesView entry);
Status remove_note(const IgniteCaches& caches, const UploadId& upload);

/// Removes an unfinished write, or what a finished one has left. A missing one is not an error.
/// \error kUnavailable  it is still being written
Status remove_upload(const IgniteCaches& caches, const UploadId& upload);

/// Removes the objects of these keys; missing ones are not errors.
Status remove_objects(const IgniteCaches& caches, std::span<const std::string> keys, std::int64_t now_ms);

/// Calls `visit` for every entry in the cache of heads, in no order, until it returns an error or false.
Status scan_heads(const IgniteCaches& caches,
                  const std::function<Result<bool>(BytesView key, BytesView value)>& visit);

}  // namespace headrace
