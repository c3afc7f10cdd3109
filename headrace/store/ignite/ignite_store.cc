#include "headrace/store/ignite/ignite_store.h"

#include <algorithm>
#include <map>

#include "headrace/base/text.h"
#include "headrace/store/ignite/ignite_chunks.h"
#include "headrace/store/ignite/ignite_listing.h"
#include "headrace/store/ignite/ignite_write.h"

namespace headrace {
namespace {

// How often a read begins again because the object was replaced meanwhile.
constexpr int kMostRestarts = 20;
// How many requests of a call get their heads together.
constexpr std::size_t kReadTogether = 256;

class IgniteUpload final : public Upload {
 public:
  IgniteUpload(IgniteClient& client, std::unique_ptr<IgniteWrite> write, std::string key)
      : client_(client), write_(std::move(write)), key_(std::move(key)) {}

  Status append(BytesView data) override {
    while (!data.empty()) {
      if (buffer_.size() == kIgniteChunkBytes || (buffer_.empty() && data.size() > kIgniteChunkBytes)) {
        const bool is_buffered = !buffer_.empty();
        const BytesView chunk = is_buffered ? BytesView(buffer_) : data.first(kIgniteChunkBytes);
        HEADRACE_CHECK(put(chunk));
        if (!is_buffered) data = data.subspan(kIgniteChunkBytes);
        buffer_.clear();
        continue;
      }
      const std::size_t count = std::min(kIgniteChunkBytes - buffer_.size(), data.size());
      headrace::append(buffer_, data.first(count));
      data = data.subspan(count);
    }
    return {};
  }

  Result<ObjectInfo> commit() override {
    const bool is_inline = !has_chunks_ && buffer_.size() <= kIgniteInlineBytes;
    if (!is_inline && !buffer_.empty()) HEADRACE_CHECK(put(buffer_));
    Result<ObjectInfo> written = write_->commit(is_inline ? BytesView(buffer_) : BytesView());
    if (!written) return failed(std::move(written).error());
    return written;
  }

 private:
  Status put(BytesView chunk) {
    has_chunks_ = true;
    Status sent = write_->put_chunk(chunk);
    return sent ? sent : failed(std::move(sent).error());
  }
  Error failed(Error error) {
    if (is_missing(error)) client_.forget_caches();
    return std::move(error).in(client_.describe(key_));
  }

  IgniteClient& client_;
  const std::unique_ptr<IgniteWrite> write_;
  const std::string key_;
  Bytes buffer_{};
  bool has_chunks_ = false;
};

class IgniteStore final : public Store {
 public:
  IgniteStore(std::string root, std::string name, IgniteOptions options)
      : client_(std::move(root), std::move(name), std::move(options)) {}

  Result<ReadResult> read_into(std::string_view key, MutableBytesView target,
                               const ReadOptions& options) override {
    HEADRACE_CHECK(check_key(key));
    return named(key, read(key, target, options));
  }
  Status read_many(std::span<const ReadRequest> requests, const CallOptions& options) override;
  Result<ObjectInfo> stat(std::string_view key, const CallOptions& options) override {
    HEADRACE_CHECK(check_key(key));
    const auto stat_it = [&]() -> Result<ObjectInfo> {
      HEADRACE_TRY(const IgniteCaches caches, client_.for_reading(options));
      HEADRACE_TRY(const StoredHead stored, find(caches, key));
      return stored.head.info(key);
    };
    return named(key, stat_it());
  }
  Result<ObjectInfo> write(std::string_view key, BytesView data, const WriteOptions& options) override;
  Result<std::unique_ptr<Upload>> start_upload(std::string_view key, const WriteOptions& options) override;
  Result<ObjectInfo> copy(std::string_view from, std::string_view to, const WriteOptions& options) override;
  Status remove_many(std::span<const std::string> keys, const CallOptions& options) override;
  Status list(std::string_view prefix, const ListOptions& options,
              const std::function<bool(const ObjectInfo&)>& visit) override {
    const auto list_it = [&]() -> Status {
      HEADRACE_TRY(const IgniteCaches caches, client_.for_reading(options.call));
      return list_heads(caches, prefix, options, client_.options().listing_bytes, visit);
    };
    return named(prefix, list_it());
  }
  Status list_unfinished(std::string_view prefix, const CallOptions& options,
                         const std::function<bool(const UnfinishedWrite&)>& visit) override {
    const auto list_it = [&]() -> Status {
      HEADRACE_TRY(const IgniteCaches caches, client_.for_reading(options));
      return list_notes(caches, prefix, visit);
    };
    return named(prefix, list_it());
  }
  Status remove_unfinished(const UnfinishedWrite& write, const CallOptions& options) override;

  Capabilities capabilities() const override {
    return {.atomic_if_absent = true, .atomic_if_version = true, .strong_list = true, .latest_only = true};
  }
  std::string describe(std::string_view key) const override { return client_.describe(key); }

 private:
  template <typename Outcome>
  Outcome named(std::string_view key, Outcome outcome) const {
    if (outcome) return outcome;
    return std::move(outcome).error().in(describe(key));
  }
  static Result<StoredHead> find(const IgniteCaches& caches, std::string_view key);
  static Status check_version(const IgniteHead& head, const std::optional<Version>& wanted);
  Result<ReadResult> read(std::string_view key, MutableBytesView target, const ReadOptions& options);
  Status read_group(const IgniteCaches& caches, std::span<const ReadRequest> requests,
                    std::vector<std::size_t>& alone);
  Result<ObjectInfo> copy_object(std::string_view from, std::string_view to, const WriteOptions& options);
  Result<std::optional<ObjectInfo>> copy_once(const IgniteCaches& caches, std::string_view from,
                                              std::string_view to, const WriteOptions& options);

  IgniteClient client_;
};

Result<StoredHead> IgniteStore::find(const IgniteCaches& caches, std::string_view key) {
  HEADRACE_TRY(std::optional<StoredHead> stored, read_head(caches, key));
  if (!stored || stored->head.is_claim) return Error{Code::kNotFound, "there is no such object"};
  return *std::move(stored);
}

Status IgniteStore::check_version(const IgniteHead& head, const std::optional<Version>& wanted) {
  if (!wanted || wanted->token == head.upload.text()) return {};
  return Error{Code::kFailedPrecondition, "it is no longer the requested version"};
}

Result<ReadResult> IgniteStore::read(std::string_view key, MutableBytesView target,
                                     const ReadOptions& options) {
  HEADRACE_TRY(const IgniteCaches caches, client_.for_reading(options.call));
  std::optional<UploadId> before;
  for (int restarts = 0; restarts < kMostRestarts; ++restarts) {
    HEADRACE_TRY(const StoredHead stored, find(caches, key));
    const IgniteHead& head = stored.head;
    HEADRACE_CHECK(check_version(head, options.if_version));
    if (before == head.upload)
      return Error{
          Code::kDataLoss,
          "a chunk of it is missing: nodes that held all copies left the cluster, or another program "
          "removed it"};
    if (options.offset_bytes > head.size_bytes)
      return Error{Code::kOutOfRange, concat("it has ", head.size_bytes,
                                             " bytes, but the read begins at byte ", options.offset_bytes)};
    ReadResult result{.object = head.info(key)};
    if (options.is_whole && head.size_bytes > target.size()) return result;
    const std::size_t count = std::min<std::uint64_t>(target.size(), head.size_bytes - options.offset_bytes);
    result.bytes_read = count;
    if (head.chunk_bytes == 0) {
      std::ranges::copy(head.content.subspan(options.offset_bytes, count), target.begin());
      return result;
    }
    std::vector<ChunkPiece> pieces;
    append_pieces(head, options.offset_bytes, target.first(count), pieces);
    HEADRACE_TRY(const std::optional<std::size_t> missing, fetch_pieces(caches, pieces));
    if (!missing) return result;
    before = head.upload;
  }
  return Error{Code::kUnavailable, "other writers kept replacing it while it was read"};
}

// Fills the targets whose objects do not change; appends the indexes of the other requests to `alone`.
Status IgniteStore::read_group(const IgniteCaches& caches, std::span<const ReadRequest> requests,
                               std::vector<std::size_t>& alone) {
  std::map<std::string_view, Bytes> keys;
  for (const ReadRequest& request : requests)
    keys.try_emplace(request.key, ignite::encode_string(request.key));
  std::vector<BytesView> encoded;
  for (const auto& [key, bytes] : keys) encoded.push_back(bytes);
  HEADRACE_TRY(const ignite::StoredEntries stored, caches.heads.get_all(encoded, caches.stop));
  std::map<std::string_view, IgniteHead> heads;
  for (const ignite::Entry& entry : stored.entries)
    if (const Result<IgniteHead> head = decode_head(entry.value); head && !head->is_claim)
      heads.emplace(object_key(entry.key).value_or(""), *head);
  std::vector<ChunkPiece> pieces;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const ReadRequest& request = requests[i];
    const auto found = heads.find(request.key);
    if (found == heads.end() || !check_version(found->second, request.if_version) ||
        request.offset_bytes > found->second.size_bytes ||
        request.target.size() > found->second.size_bytes - request.offset_bytes) {
      alone.push_back(i);
    } else if (found->second.chunk_bytes == 0) {
      std::ranges::copy(found->second.content.subspan(request.offset_bytes, request.target.size()),
                        request.target.begin());
    } else {
      append_pieces(found->second, request.offset_bytes, request.target, pieces);
    }
  }
  HEADRACE_TRY(const std::optional<std::size_t> missing, fetch_pieces(caches, pieces));
  if (missing) return Error{Code::kAborted, "an object was replaced meanwhile"};
  return {};
}

// If a group fails, its requests are repeated one by one, which shows the first one that fails, and why.
Status IgniteStore::read_many(std::span<const ReadRequest> requests, const CallOptions& options) {
  for (const ReadRequest& request : requests) HEADRACE_CHECK(check_key(request.key));
  Result<IgniteCaches> caches = client_.for_reading(options);
  if (!caches) return named("", Status(std::move(caches).error()));
  for (std::size_t first = 0; first < requests.size(); first += kReadTogether) {
    const auto group = requests.subspan(first, std::min(kReadTogether, requests.size() - first));
    std::vector<std::size_t> alone;
    if (!read_group(*caches, group, alone)) {
      HEADRACE_CHECK(Store::read_many(group, options));
      continue;
    }
    for (const std::size_t i : alone) HEADRACE_CHECK(Store::read_many(group.subspan(i, 1), options));
  }
  return {};
}

Result<ObjectInfo> IgniteStore::write(std::string_view key, BytesView data, const WriteOptions& options) {
  HEADRACE_TRY(const std::unique_ptr<Upload> upload, start_upload(key, options));
  HEADRACE_CHECK(upload->append(data));
  return upload->commit();
}

Result<std::unique_ptr<Upload>> IgniteStore::start_upload(std::string_view key, const WriteOptions& options) {
  HEADRACE_CHECK(check_key(key));
  Result<IgniteCaches> caches = named(key, client_.for_writing(options.call));
  if (!caches) return std::move(caches).error();
  auto write = std::make_unique<IgniteWrite>(client_, *std::move(caches), std::string(key), options);
  return std::unique_ptr<Upload>(std::make_unique<IgniteUpload>(client_, std::move(write), std::string(key)));
}

// Returns no value if the source was replaced meanwhile.
Result<std::optional<ObjectInfo>> IgniteStore::copy_once(const IgniteCaches& caches, std::string_view from,
                                                         std::string_view to, const WriteOptions& options) {
  HEADRACE_TRY(const StoredHead source, named(from, find(caches, from)));
  IgniteWrite write(client_, caches, std::string(to), options);
  Bytes buffer(std::min<std::uint64_t>(source.head.size_bytes, kIgniteChunksAtOnce * kIgniteChunkBytes));
  for (std::uint64_t offset = 0; source.head.chunk_bytes > 0 && offset < source.head.size_bytes;) {
    const auto part = MutableBytesView(buffer).first(
        std::min<std::uint64_t>(buffer.size(), source.head.size_bytes - offset));
    std::vector<ChunkPiece> pieces;
    append_pieces(source.head, offset, part, pieces);
    HEADRACE_TRY(const std::optional<std::size_t> missing, fetch_pieces(caches, pieces));
    if (missing) return std::optional<ObjectInfo>();
    for (std::size_t at = 0; at < part.size(); at += kIgniteChunkBytes)
      HEADRACE_CHECK(write.put_chunk(part.subspan(at, std::min(kIgniteChunkBytes, part.size() - at))));
    offset += part.size();
  }
  HEADRACE_TRY(ObjectInfo written, write.commit(source.head.content));
  return std::optional(std::move(written));
}

Result<ObjectInfo> IgniteStore::copy_object(std::string_view from, std::string_view to,
                                            const WriteOptions& options) {
  HEADRACE_TRY(const IgniteCaches caches, client_.for_writing(options.call));
  std::optional<UploadId> before;
  for (int restarts = 0; restarts < kMostRestarts; ++restarts) {
    HEADRACE_TRY(const StoredHead source, named(from, find(caches, from)));
    if (before == source.head.upload)
      return Error{Code::kDataLoss, concat("a chunk of ", describe(from), " is missing")};
    before = source.head.upload;
    HEADRACE_TRY(std::optional<ObjectInfo> written, copy_once(caches, from, to, options));
    if (written) return *std::move(written);
  }
  return Error{Code::kUnavailable,
               concat("other writers kept replacing ", describe(from), " while it was copied")};
}

Result<ObjectInfo> IgniteStore::copy(std::string_view from, std::string_view to,
                                     const WriteOptions& options) {
  HEADRACE_CHECK(check_key(from));
  HEADRACE_CHECK(check_key(to));
  return named(to, copy_object(from, to, options));
}

Status IgniteStore::remove_many(std::span<const std::string> keys, const CallOptions& options) {
  for (const std::string& key : keys) HEADRACE_CHECK(check_key(key));
  const auto remove_them = [&]() -> Status {
    HEADRACE_TRY(const IgniteCaches caches, client_.for_reading(options));
    return remove_objects(caches, keys, client_.now_ms());
  };
  return named(keys.size() == 1 ? keys.front() : std::string_view(), remove_them());
}

Status IgniteStore::remove_unfinished(const UnfinishedWrite& write, const CallOptions& options) {
  const std::optional<UploadId> upload = UploadId::parse(write.id);
  if (!upload) return {};
  const auto remove_it = [&]() -> Status {
    HEADRACE_TRY(const IgniteCaches caches, client_.for_reading(options));
    return remove_upload(caches, *upload);
  };
  return named(write.key, remove_it());
}

}  // namespace

std::unique_ptr<Store> open_ignite_store(std::string root, std::string name, IgniteOptions options) {
  return std::make_unique<IgniteStore>(std::move(root), std::move(name), std::move(options));
}

}  // namespace headrace
