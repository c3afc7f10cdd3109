#include "headrace/store/ignite/ignite_heads.h"

#include "headrace/base/text.h"
#include "headrace/net/ignite/scan.h"
#include "headrace/store/ignite/ignite_chunks.h"

namespace headrace {
namespace {

constexpr std::int32_t kScannedRows = 1'000;
constexpr int kMostAttempts = 8;

Result<std::optional<Bytes>> read_entry(const IgniteCaches& caches, BytesView key) {
  const Result<std::optional<ignite::StoredObject>> stored = caches.heads.get(key, caches.stop);
  if (!stored && is_missing(stored.error())) return std::optional<Bytes>();
  if (!stored) return stored.error();
  if (!*stored) return std::optional<Bytes>();
  return std::optional(Bytes((*stored)->bytes.begin(), (*stored)->bytes.end()));
}

// Makes sure that a commit of the upload that has already read the head cannot succeed. Returns false if the
// head has changed.
Result<bool> fence(const IgniteCaches& caches, const IgniteNote& note,
                   const std::optional<StoredHead>& stored) {
  if (!stored || stored->is_of(note.upload)) return true;
  const Bytes key = ignite::encode_string(note.key);
  if (stored->head.is_claim && stored->head.upload == note.upload)
    return caches.heads.remove_if_equals(key, stored->entry, caches.stop);
  if (note.attempts == 0) return true;
  IgniteHead fenced = stored->head;
  ++fenced.fence;
  return caches.heads.replace_if_equals(key, stored->entry, encode_head(fenced), caches.stop);
}

// Returns true if the upload can no longer be committed (it may already be). Returns false if the writer or
// another process was faster.
Result<bool> condemn(const IgniteCaches& caches, StoredNote& stored) {
  HEADRACE_TRY(const std::optional<StoredHead> head, read_head(caches, stored.note.key));
  HEADRACE_TRY(const bool is_fenced, fence(caches, stored.note, head));
  if (!is_fenced) return false;
  stored.note.is_condemned = true;
  return write_note(caches, stored.note.upload, stored.entry, encode_note(stored.note));
}

// Removes the chunks of the note's two uploads, except those of an upload that the head names.
Status remove_chunks_of(const IgniteCaches& caches, const IgniteNote& note) {
  HEADRACE_TRY(const std::optional<StoredHead> head, read_head(caches, note.key));
  if (!head || !head->is_of(note.upload)) HEADRACE_CHECK(remove_chunks(caches, note.upload, note.chunks));
  if (!note.replaced.is_none() && (!head || !head->is_of(note.replaced)))
    HEADRACE_CHECK(remove_chunks(caches, note.replaced, note.replaced_chunks));
  return {};
}

}  // namespace

Result<std::optional<StoredHead>> read_head(const IgniteCaches& caches, std::string_view key) {
  HEADRACE_TRY(std::optional<Bytes> entry, read_entry(caches, ignite::encode_string(key)));
  if (!entry) return std::optional<StoredHead>();
  StoredHead stored{.entry = *std::move(entry)};
  HEADRACE_TRY(stored.head, decode_head(stored.entry));
  return std::optional(std::move(stored));
}

Result<std::optional<StoredNote>> read_note(const IgniteCaches& caches, const UploadId& upload) {
  HEADRACE_TRY(std::optional<Bytes> entry, read_entry(caches, upload.chunk_key(0)));
  if (!entry) return std::optional<StoredNote>();
  StoredNote stored{.entry = *std::move(entry)};
  HEADRACE_TRY(stored.note, decode_note(stored.entry));
  return std::optional(std::move(stored));
}

Result<bool> write_note(const IgniteCaches& caches, const UploadId& upload, BytesView before,
                        BytesView entry) {
  const Bytes key = upload.chunk_key(0);
  for (int attempt = 0;; ++attempt) {
    const Result<bool> written = before.empty()
                                     ? caches.heads.put_if_absent(key, entry, caches.stop)
                                     : caches.heads.replace_if_equals(key, before, entry, caches.stop);
    if (written && *written) return true;
    if (!written && (written.error().code != Code::kUnknown || attempt == kMostAttempts)) return written;
    HEADRACE_TRY(const std::optional<Bytes> now, read_entry(caches, key));
    if (now && std::ranges::equal(*now, entry)) return true;
    const bool is_unchanged = now ? std::ranges::equal(*now, before) : before.empty();
    if (written || !is_unchanged) return false;
  }
}

Status remove_note(const IgniteCaches& caches, const UploadId& upload) {
  const Bytes key = upload.chunk_key(0);
  return caches.heads.remove_keys({key}, caches.stop);
}

Status remove_upload(const IgniteCaches& caches, const UploadId& upload) {
  for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
    HEADRACE_TRY(std::optional<StoredNote> stored, read_note(caches, upload));
    if (!stored) return {};
    if (!stored->note.is_condemned) {
      const Result<bool> condemned = condemn(caches, *stored);
      if (!condemned && condemned.error().code != Code::kUnknown) return condemned.error();
      if (!condemned || !*condemned) continue;
    }
    HEADRACE_CHECK(remove_chunks_of(caches, stored->note));
    return remove_note(caches, upload);
  }
  return Error{Code::kUnavailable,
               "an unfinished write keeps changing; is it still being written? Try again when it "
               "is not"};
}

Status scan_heads(const IgniteCaches& caches,
                  const std::function<Result<bool>(BytesView key, BytesView value)>& visit) {
  Result<std::unique_ptr<ignite::Scan>> scan =
      ignite::Scan::open(caches.heads, {.page_rows = kScannedRows}, caches.stop);
  if (!scan && is_missing(scan.error())) return {};
  if (!scan) return std::move(scan).error();
  while (true) {
    HEADRACE_TRY(const std::optional<ignite::Page> page, (*scan)->next_page(caches.stop));
    if (!page) return {};
    for (const ignite::Entry& row : page->rows) {
      HEADRACE_TRY(const bool goes_on, visit(row.key, row.value));
      if (!goes_on) return {};
    }
  }
}

}  // namespace headrace
