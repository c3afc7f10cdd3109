#include "headrace/store/s3/s3_store.h"

#include <algorithm>
#include <limits>

#include "headrace/base/crc32c.h"
#include "headrace/base/text.h"
#include "headrace/store/s3/checksum.h"
#include "headrace/store/s3/s3_client.h"
#include "headrace/store/s3/s3_errors.h"
#include "headrace/store/s3/s3_read.h"
#include "headrace/store/s3/s3_unfinished.h"
#include "headrace/store/s3/s3_upload.h"
#include "headrace/store/s3/s3_xml.h"

namespace headrace {
namespace {

constexpr std::size_t kKeysPerDelete = 1'000;
constexpr std::size_t kMaxSinglePutBytes = 64 << 20;

constexpr int kMostRestarts = 3;
constexpr int kMostPagesWithoutNews = 1'000;  // limit for a server that scans far between objects

class S3Store final : public Store {
 public:
  S3Store(std::string bucket, const S3Options& options) : client_(std::move(bucket), options) {}

  Result<ReadResult> read_into(std::string_view key, MutableBytesView target,
                               const ReadOptions& options) override;
  Status read_many(std::span<const ReadRequest> requests, const CallOptions& options) override;
  Result<ObjectInfo> stat(std::string_view key, const CallOptions& options) override;
  Result<ObjectInfo> write(std::string_view key, BytesView data, const WriteOptions& options) override;
  Result<std::unique_ptr<Upload>> start_upload(std::string_view key, const WriteOptions& options) override;
  Result<ObjectInfo> copy(std::string_view from, std::string_view to, const WriteOptions& options) override;
  Status remove_many(std::span<const std::string> keys, const CallOptions& options) override;
  Status list(std::string_view prefix, const ListOptions& options,
              const std::function<bool(const ObjectInfo&)>& visit) override;
  Status list_unfinished(std::string_view prefix, const CallOptions& options,
                         const std::function<bool(const UnfinishedWrite&)>& visit) override {
    return list_pending_uploads(client_, prefix, options, visit);
  }
  Status remove_unfinished(const UnfinishedWrite& write, const CallOptions& options) override {
    return abort_upload(client_, write.key, write.id, options);
  }
  Capabilities capabilities() const override {
    return {.atomic_if_absent = true,
            .atomic_if_version = true,
            .strong_list = true,
            .latest_only = true,
            .server_side_copy = true};
  }
  std::vector<StoreCounter> counters() const override { return client_.counters(); }
  std::string describe(std::string_view key) const override { return client_.describe(key); }

 private:
  Result<ObjectInfo> head(std::string_view key, const std::optional<Version>& version,
                          const CallOptions& call);
  Result<ReadResult> read_at_end(std::string_view key, const ReadOptions& options);
  Result<ReadResult> read_in_ranges(std::string_view key, MutableBytesView target, const ReadOptions& options,
                                    const ObjectInfo* object);
  Result<ReadResult> read_large(std::string_view key, MutableBytesView target, const ReadOptions& options);
  Result<ReadResult> read_whole(std::string_view key, MutableBytesView target, const ReadOptions& options);
  Status remove_one(const std::string& key, const CallOptions& options);
  Status remove_batch(const std::vector<std::string>& keys, const CallOptions& options);

  S3Client client_;
};

Result<ObjectInfo> S3Store::head(std::string_view key, const std::optional<Version>& version,
                                 const CallOptions& call) {
  S3Request request{.method = "HEAD", .key = std::string(key), .headers = if_match(version), .call = call};
  const std::size_t needed_headers = request.headers.size();
  if (client_.options().send_checksums) request.headers.push_back({"x-amz-checksum-mode", "ENABLED"});
  HEADRACE_TRY(S3Answer answer, client_.perform(request));
  // To read the checksum of an object encrypted by KMS, the caller needs the right to decrypt it. The other
  // facts need no such right.
  if (answer.http.status == 403 && request.headers.size() > needed_headers) {
    request.headers.resize(needed_headers);
    HEADRACE_TRY(answer, client_.perform(request));
  }
  if (answer.ok()) {
    const auto size = parse_number<std::uint64_t>(answer.http.header("Content-Length").value_or(""));
    if (!size)
      return Error{Code::kDataLoss, concat(describe(key), ": the server does not say how long it is")};
    return object_info_of(key, *size, answer.http);
  }
  if (answer.http.status == 412 || (answer.http.status == 404 && client_.bucket_was_seen())) {
    return read_error(client_, request, answer);
  }
  // The answer to HEAD has no body. So it does not show whether the object or the bucket is missing, why
  // access is denied, or whether the refusal was a mistake. The answer to GET shows it.
  std::byte first_byte{};
  S3Range range{.key = request.key, .target = {&first_byte, 1}, .if_version = version};
  read_ranges(client_, {&range, 1}, call);
  HEADRACE_TRY(std::optional<ReadResult> read, check_range(client_, range));
  if (read) return std::move(read->object);
  return client_.explain(request, answer);
}

Result<ObjectInfo> S3Store::stat(std::string_view key, const CallOptions& options) {
  HEADRACE_CHECK(check_key(key));
  return head(key, std::nullopt, options);
}

// For ranges that begin at or after the end. S3 refuses them without saying where the end is.
Result<ReadResult> S3Store::read_at_end(std::string_view key, const ReadOptions& options) {
  HEADRACE_TRY(ObjectInfo object, head(key, options.if_version, options.call));
  if (options.offset_bytes > object.size_bytes) {
    return Error{Code::kOutOfRange, concat(describe(key), " has ", object.size_bytes,
                                           " bytes, but the read begins at byte ", options.offset_bytes)};
  }
  return ReadResult{0, std::move(object)};
}

// Reads a whole object with one request. The answer contains the checksum of the object.
Result<ReadResult> S3Store::read_whole(std::string_view key, MutableBytesView target,
                                       const ReadOptions& options) {
  S3Range range{
      .key = std::string(key), .target = target, .if_version = options.if_version, .is_whole = true};
  read_ranges(client_, {&range, 1}, options.call);
  HEADRACE_TRY(std::optional<ReadResult> read, check_range(client_, range));
  if (!read) return read_at_end(key, options);
  return *std::move(read);
}

// Reads all ranges from one version: the requested version, or else the current one.
Result<ReadResult> S3Store::read_in_ranges(std::string_view key, MutableBytesView target,
                                           const ReadOptions& options, const ObjectInfo* object) {
  const std::optional<Version> version = object ? object->version : options.if_version;
  std::vector<S3Range> ranges =
      split_into_ranges(key, target, options.offset_bytes, version, client_.options().range_bytes);
  const bool is_all = object && options.offset_bytes == 0 && target.size() == object->size_bytes;
  const bool is_checked = is_all && object->crc32c;
  read_ranges(client_, ranges, options.call, is_checked);
  ReadResult result;
  std::uint32_t crc = 0;
  for (const S3Range& range : ranges) {
    HEADRACE_TRY(std::optional<ReadResult> read, check_range(client_, range));
    if (!read && range.offset_bytes == options.offset_bytes) return read_at_end(key, options);
    if (!read) return result;
    crc = combined_crc32c(crc, (*range.answer)->http.body_crc32c, read->bytes_read);
    result.bytes_read += read->bytes_read;
    result.object = std::move(read->object);
    if (read->bytes_read < range.target.size()) return result;
  }
  if (is_checked) HEADRACE_CHECK(check_crc32c(*this, *object, crc));
  return result;
}

Result<ReadResult> S3Store::read_large(std::string_view key, MutableBytesView target,
                                       const ReadOptions& options) {
  for (int restarts = 0;; ++restarts) {
    HEADRACE_TRY(const ObjectInfo object, head(key, options.if_version, options.call));
    if (options.offset_bytes >= object.size_bytes) return read_at_end(key, options);
    const std::uint64_t left = object.size_bytes - options.offset_bytes;
    Result<ReadResult> result =
        read_in_ranges(key, target.first(std::min<std::uint64_t>(target.size(), left)), options, &object);
    const bool has_changed = !result && result.error().code == Code::kFailedPrecondition;
    if (!has_changed || options.if_version || restarts == kMostRestarts) return result;
  }
}

Result<ReadResult> S3Store::read_into(std::string_view key, MutableBytesView target,
                                      const ReadOptions& options) {
  HEADRACE_CHECK(check_key(key));
  constexpr std::uint64_t kLastByte = std::numeric_limits<std::int64_t>::max();
  const std::uint64_t room = kLastByte - std::min<std::uint64_t>(options.offset_bytes, kLastByte);
  if (target.empty() || room == 0) return read_at_end(key, options);
  target = target.first(std::min<std::uint64_t>(target.size(), room));
  const bool is_large = target.size() > most_in_one_range(client_.options().range_bytes);
  const bool is_whole = options.is_whole && options.offset_bytes == 0;
  if (is_large && (is_whole || !options.if_version)) return read_large(key, target, options);
  if (is_whole) return read_whole(key, target, options);
  return read_in_ranges(key, target, options, nullptr);
}

Status S3Store::read_many(std::span<const ReadRequest> requests, const CallOptions& options) {
  const std::size_t range_bytes = client_.options().range_bytes;
  std::vector<S3Range> ranges;
  std::vector<std::size_t> ends;  // end of each request's ranges; a request that is read alone has none
  for (const ReadRequest& request : requests) {
    HEADRACE_CHECK(check_key(request.key));
    std::vector<S3Range> of_request =
        split_into_ranges(request.key, request.target, request.offset_bytes, request.if_version, range_bytes);
    // A large request without a version needs one first, so it is read alone.
    if (of_request.size() > 1 && !request.if_version) of_request.clear();
    std::ranges::move(of_request, std::back_inserter(ranges));
    ends.push_back(ranges.size());
  }
  read_ranges(client_, ranges, options);
  std::size_t at = 0;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const ReadRequest& request = requests[i];
    if (at == ends[i]) {
      HEADRACE_CHECK(read_exactly(
          *this, request.key, request.target,
          {.offset_bytes = request.offset_bytes, .if_version = request.if_version, .call = options}));
    }
    for (; at < ends[i]; ++at) {  // all ranges before the first failed one have an answer
      HEADRACE_TRY(const std::optional<ReadResult> read, check_range(client_, ranges[at]));
      if (!read || read->bytes_read != ranges[at].target.size()) {
        return Error{Code::kDataLoss, concat(describe(request.key), ": it ends before byte ",
                                             request.offset_bytes + request.target.size())};
      }
    }
  }
  return {};
}

Result<ObjectInfo> S3Store::write(std::string_view key, BytesView data, const WriteOptions& options) {
  HEADRACE_CHECK(check_key(key));
  if (data.size() <= kMaxSinglePutBytes) return put_object(client_, key, data, options);
  return put_object_in_parts(client_, key, data, options);
}

Result<std::unique_ptr<Upload>> S3Store::start_upload(std::string_view key, const WriteOptions& options) {
  HEADRACE_CHECK(check_key(key));
  return make_s3_upload(client_, key, options);
}

Result<ObjectInfo> S3Store::copy(std::string_view from, std::string_view to, const WriteOptions& options) {
  HEADRACE_CHECK(check_key(from));
  HEADRACE_CHECK(check_key(to));
  HEADRACE_TRY(ObjectInfo source, head(from, std::nullopt, options.call));
  // S3 refuses to copy an object to itself; the result would be the object as it is.
  const bool conditional = options.only_if_absent || options.if_version;
  if (from == to && !conditional) return source;
  return copy_object(client_, source, to, options);
}

Status S3Store::remove_one(const std::string& key, const CallOptions& options) {
  const S3Request request{.method = "DELETE", .key = key, .call = options};
  HEADRACE_TRY(const S3Answer answer, client_.perform(request));
  if (answer.ok() || answer.error_code == "NoSuchKey" || answer.error_code == "NotFound") return {};
  return client_.explain(request, answer);
}

Status S3Store::remove_batch(const std::vector<std::string>& keys, const CallOptions& options) {
  const std::string body = delete_body(keys);
  const S3Request request{
      .method = "POST",
      .query = {{"delete", ""}},
      .headers = {{"Content-MD5", md5_field(as_bytes(body))}, {"Content-Type", "application/xml"}},
      .body = as_bytes(body),
      .call = options};
  HEADRACE_TRY(const S3Answer answer, client_.perform(request));
  if (!answer.ok()) return client_.explain(request, answer).in(concat("removing ", keys.size(), " objects"));
  const auto failures = parse_delete_result(answer.http.body);
  if (!failures) return failures.error().in(concat(describe(""), ": removing ", keys.size(), " objects"));
  for (const S3DeleteFailure& failure : *failures) {
    if (failure.code == "NoSuchKey") continue;
    const bool was_asked = std::ranges::find(keys, failure.key) != keys.end();
    if (was_asked && is_transient_s3_code(failure.code)) {
      HEADRACE_CHECK(remove_one(failure.key, options));  // with retries
      continue;
    }
    S3Answer single;
    single.http.status = failure.code == "AccessDenied" ? 403 : 200;
    single.error_code = failure.code;
    single.error_message = failure.message;
    return client_.explain({.key = was_asked ? failure.key : ""}, single);
  }
  return {};
}

Status S3Store::remove_many(std::span<const std::string> keys, const CallOptions& options) {
  std::vector<std::string> batch;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    HEADRACE_CHECK(check_key(keys[i]));
    if (fits_into_xml(keys[i]) && keys.size() > 1) {
      batch.push_back(keys[i]);
    } else {
      HEADRACE_CHECK(remove_one(keys[i], options));
    }
    if (batch.size() == kKeysPerDelete || (i + 1 == keys.size() && !batch.empty())) {
      HEADRACE_CHECK(remove_batch(batch, options));
      batch.clear();
    }
  }
  return {};
}

Status S3Store::list(std::string_view prefix, const ListOptions& options,
                     const std::function<bool(const ObjectInfo&)>& visit) {
  S3Request request{.call = options.call};
  std::string last = options.after, continuation;
  int pages_without_news = 0;
  while (true) {
    request.query = {{"list-type", "2"}, {"encoding-type", "url"}, {"prefix", std::string(prefix)}};
    if (options.collapse_folders) request.query.emplace_back("delimiter", "/");
    if (!continuation.empty()) {
      request.query.emplace_back("continuation-token", continuation);
    } else if (!options.after.empty()) {
      request.query.emplace_back("start-after", options.after);
    }
    HEADRACE_TRY(const S3Answer answer, client_.perform(request));
    if (!answer.ok()) return client_.explain(request, answer).in(concat("listing ", prefix));
    const Result<S3ListPage> page = parse_list_page(answer.http.body);
    if (!page) return page.error().in(concat(describe(""), ": listing ", prefix));
    const std::string before = last;
    for (const ObjectInfo& entry : page->entries) {
      // Some servers repeat a folder on the next page, or report the folder that contains `after`.
      if (entry.key <= options.after || entry.key == last) continue;
      if (entry.key < last || !entry.key.starts_with(prefix)) {
        return Error{Code::kDataLoss, concat(describe(entry.key), ": listing ", prefix,
                                             ": the server's list is out of order or has another prefix")};
      }
      last = entry.key;
      if (!visit(entry)) return {};
    }
    if (!page->truncated) return {};
    pages_without_news = last == before ? pages_without_news + 1 : 0;
    if (page->continuation == continuation || pages_without_news == kMostPagesWithoutNews) {
      return Error{Code::kDataLoss, concat(describe(""), ": listing ", prefix,
                                           ": the server keeps sending pages that name no further object")};
    }
    continuation = page->continuation;
  }
}

}  // namespace

std::unique_ptr<Store> open_s3_store(std::string bucket, const S3Options& options) {
  return std::make_unique<S3Store>(std::move(bucket), options);
}

}  // namespace headrace
