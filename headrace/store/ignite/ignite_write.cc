#include "headrace/store/ignite/ignite_write.h"

#include <algorithm>

#include "headrace/base/crc32c.h"
#include "headrace/base/text.h"
#include "headrace/store/ignite/ignite_chunks.h"

namespace headrace {
namespace {

using std::chrono::steady_clock;

constexpr std::uint32_t kRoomChunks = 64;
constexpr std::chrono::seconds kNoteAge{60};

bool is_object(const std::optional<StoredHead>& stored) { return stored && !stored->head.is_claim; }

}  // namespace

IgniteWrite::IgniteWrite(const IgniteClient& client, IgniteCaches caches, std::string key,
                         const WriteOptions& options)
    : client_(client),
      caches_(std::move(caches)),
      key_(std::move(key)),
      encoded_key_(ignite::encode_string(key_)),
      options_(options),
      pipeline_(caches_.chunks),
      note_{.upload = UploadId::make(), .key = key_},
      head_{.upload = note_.upload} {}

IgniteWrite::~IgniteWrite() {
  if (is_done_ || note_entry_.empty()) return;
  IgniteCaches caches = caches_;  // without the call's stop, which may have been requested
  caches.stop = {};
  const std::chrono::milliseconds time = std::min(client_.options().cleaning_time, caches.deadline);
  caches.heads = caches.heads.within(time);
  caches.chunks = caches.chunks.within(time);
  pipeline_.wait_at_most(time);
  caches_ = caches;
  // A chunk that arrives after its upload was removed would stay forever, so the note stays, too.
  if (!settle(0)) return;
  Status removed = remove_upload(caches, note_.upload);
  // Chunks that were sent after the upload was removed are still there.
  if (removed && was_removed_) removed = remove_chunks(caches, note_.upload, note_.chunks);
  if (removed && !claim_entry_.empty()) {
    const Result<bool> ignored = caches.heads.remove_if_equals(encoded_key_, claim_entry_, caches.stop);
    static_cast<void>(ignored);
  }
}

Status IgniteWrite::save_note() {
  note_.modified_ms = client_.now_ms();
  Bytes entry = encode_note(note_);
  HEADRACE_TRY(const bool is_saved, write_note(caches_, note_.upload, note_entry_, entry));
  was_removed_ = !is_saved;
  if (was_removed_)
    return Error{
        Code::kAborted,
        "its unfinished write was removed, perhaps by headrace gc while it was stalled; write it again"};
  note_entry_ = std::move(entry);
  note_saved_ = steady_clock::now();
  return {};
}

// REQUIRES: a chunk is about to be sent
Status IgniteWrite::make_room() {
  const std::uint64_t sent = head_.size_bytes / kIgniteChunkBytes;
  const bool is_full = sent == note_.chunks;
  if (!is_full && steady_clock::now() - note_saved_ < kNoteAge) return {};
  if (is_full) {
    if (sent > std::numeric_limits<std::uint32_t>::max() - kRoomChunks)
      return Error{Code::kOutOfRange, "the object has too many chunks"};
    note_.chunks += kRoomChunks;
    note_.chunk_bytes = kIgniteChunkBytes;
  }
  return save_note();
}

Status IgniteWrite::settle(std::size_t most_in_flight) {
  while (pipeline_.in_flight() > most_in_flight) HEADRACE_CHECK(pipeline_.receive(caches_.stop));
  return {};
}

Status IgniteWrite::put_chunk(BytesView content) {
  HEADRACE_CHECK(make_room());
  HEADRACE_CHECK(settle(kIgniteChunksAtOnce - 1));
  const auto index = static_cast<std::uint32_t>(head_.size_bytes / kIgniteChunkBytes);
  Bytes checksum;
  append_little_endian(checksum, crc32c(content));
  head_.crc32c = combined_crc32c(head_.crc32c, crc32c(content), content.size());
  head_.chunk_bytes = kIgniteChunkBytes;
  head_.size_bytes += content.size();
  return pipeline_.put(note_.upload.chunk_key(index), {chunk_prefix(content.size()), content, checksum},
                       caches_.stop);
}

Status IgniteWrite::check_conditions(const std::optional<StoredHead>& current) const {
  if (options_.only_if_absent && is_object(current)) return Error{Code::kAlreadyExists, "it already exists"};
  if (!options_.if_version) return {};
  const std::optional<UploadId> wanted = UploadId::parse(options_.if_version->token);
  if (!wanted || !current || !current->is_of(*wanted))
    return Error{Code::kFailedPrecondition, "it is no longer the requested version"};
  return {};
}

// Returns the bytes that the new head will replace, empty if there is no head; no value if the head has
// changed. If chunks are involved, it makes sure that gc can tell whether this commit may still succeed.
Result<std::optional<Bytes>> IgniteWrite::prepare(const std::optional<StoredHead>& current) {
  Bytes before = current ? current->entry : Bytes();
  const bool replaces_chunks = is_object(current) && current->head.chunk_bytes > 0;
  if (head_.chunk_bytes == 0 && !replaces_chunks) return std::optional(std::move(before));
  ++note_.attempts;
  if (!current) {
    claim_entry_ = encode_head({.is_claim = true, .fence = note_.attempts, .upload = note_.upload});
    const Result<bool> claimed = caches_.heads.put_if_absent(encoded_key_, claim_entry_, caches_.stop);
    if (!claimed && claimed.error().code != Code::kUnknown) return claimed.error();
    if (!claimed || !*claimed) return std::optional<Bytes>();
    before = claim_entry_;
  }
  note_.replaced = replaces_chunks ? current->head.upload : UploadId();
  note_.replaced_chunks = replaces_chunks ? current->head.chunks() : 0;
  HEADRACE_CHECK(save_note());
  return std::optional(std::move(before));
}

Result<IgniteWrite::Outcome> IgniteWrite::swap_head(BytesView before, BytesView entry) {
  const Result<bool> swapped =
      before.empty() ? caches_.heads.put_if_absent(encoded_key_, entry, caches_.stop)
                     : caches_.heads.replace_if_equals(encoded_key_, before, entry, caches_.stop);
  if (swapped) return *swapped ? Outcome::kDone : Outcome::kAgain;
  if (swapped.error().code == Code::kUnknown) return Outcome::kUnknown;
  return swapped.error();
}

Result<ObjectInfo> IgniteWrite::commit(BytesView content) {
  HEADRACE_CHECK(settle(0));
  if (head_.chunk_bytes == 0) {
    head_.size_bytes = content.size();
    head_.crc32c = crc32c(content);
    head_.content = content;
  }
  head_.modified_ms = client_.now_ms();
  const Bytes entry = encode_head(head_);
  const Time until = steady_clock::now() + caches_.deadline;
  std::optional<Bytes> unknown;  // the bytes that the head had before a request whose outcome is unknown
  while (true) {
    HEADRACE_TRY(const std::optional<StoredHead> current, read_head(caches_, key_));
    if (is_object(current) && current->head.upload == head_.upload) break;
    if (unknown && *unknown != (current ? current->entry : Bytes()))
      return Error{
          Code::kUnknown,
          "a connection was lost during the commit, and another writer has changed the object since: "
          "it is unknown whether the object was written"};
    HEADRACE_CHECK(check_conditions(current));
    HEADRACE_TRY(const std::optional<Bytes> before, prepare(current));
    if (before) {
      HEADRACE_TRY(const Outcome outcome, swap_head(*before, entry));
      if (outcome == Outcome::kDone) break;
      unknown.reset();
      if (outcome == Outcome::kUnknown) unknown = *before;
    }
    if (steady_clock::now() >= until)
      return Error{Code::kDeadlineExceeded, "other writers kept changing the object first; try again"};
  }
  is_done_ = true;
  remove_replaced_chunks();
  return head_.info(key_);
}

// Called when the object is written. If chunks cannot be removed now, gc removes them later with the help of
// the note.
void IgniteWrite::remove_replaced_chunks() {
  if (note_entry_.empty()) return;
  Status removed = remove_chunks(caches_, note_.replaced, note_.replaced_chunks);
  if (removed) removed = remove_note(caches_, note_.upload);
}

}  // namespace headrace
