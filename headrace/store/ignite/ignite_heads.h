#pragma once

/// \file Reads heads and notes, and changes them without losing the changes of others.
/// docs/formats/ignite-store.md explains their purpose. Internal to the driver.

#include <functional>
#include <optional>

#include "headrace/store/ignite/ignite_caches.h"
#include "headrace/store/ignite/ignite_entries.h"

namespace headrace {

/// A head with its entry. A conditional change compares the bytes of the entry.
struct StoredHead {
  Bytes entry;
  IgniteHead head;  // views `entry`

  bool is_of(const UploadId& upload) const { return !head.is_claim && head.upload == upload; }
};

/// Reads the head or claim of a key. None if neither exists, or the cache does not.
Result<std::optional<StoredHead>> read_head(const IgniteCaches& caches, std::string_view key);

/// A note with its entry.
struct StoredNote {
  Bytes entry;
  IgniteNote note;
};
/// Reads the note of an upload. None if it does not exist, or the cache does not.
Result<std::optional<StoredNote>> read_note(const IgniteCaches& caches, const UploadId& upload);

/// Replaces the note `before` by `entry`; creates the note if `before` is empty. Returns false if the note is
/// no longer `before`, which means that the upload was removed. If a request's outcome is unknown, reads the
/// note to find it out. REQUIRES: no other writer makes an entry equal to `entry`.
Result<bool> write_note(const IgniteCaches& caches, const UploadId& upload, BytesView before,
                        BytesView entry);
Status remove_note(const IgniteCaches& caches, const UploadId& upload);

/// Removes an unfinished write, or the chunks and the note that a finished write has left. A missing upload
/// is not an error.
/// \error kUnavailable  its note keeps changing: the upload is probably still being written
Status remove_upload(const IgniteCaches& caches, const UploadId& upload);

/// Removes the objects with these keys. Missing objects are not errors.
Status remove_objects(const IgniteCaches& caches, std::span<const std::string> keys, std::int64_t now_ms);

/// Calls `visit` with every entry in the cache of heads, in no particular order, until `visit` returns false
/// or an error. Both views are valid only during the call. Visits nothing if the cache does not exist.
Status scan_heads(const IgniteCaches& caches,
                  const std::function<Result<bool>(BytesView key, BytesView value)>& visit);

}  // namespace headrace
