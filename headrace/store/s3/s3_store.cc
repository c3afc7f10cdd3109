#include "headrace/store/s3/s3_store.h"

#include <algorithm>
#include <limits>

#include "headrace/base/text.h"
#include "headrace/io/parallel.h"
#include "headrace/store/s3/checksum.h"
#include "headrace/store/s3/s3_client.h"
#include "headrace/store/s3/s3_errors.h"
#include "headrace/store/s3/s3_upload.h"
#include "headrace/store/s3/s3_xml.h"

namespace headrace {
namespace {

constexpr std::size_t kKeysPerDelete = 1'000;
constexpr std::size_t kMaxSinglePutBytes = 64 << 20;

struct ContentRange {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  std::uint64_t size_bytes = 0;
};

// "bytes 0-9/100"
std::optional<ContentRange> parse_content_range(std::string_view text) {
  const std::size_t dash = text.find('-'), slash = text.find('/');
  if (!text.starts_with("bytes ") || dash == text.npos || slash == text.npos || dash > slash)
    return std::nullopt;
  const auto first = parse_number<std::uint64_t>(text.substr(6, dash - 6));
  const auto last = parse_number<std::uint64_t>(text.substr(dash + 1, slash - dash - 1));
  const auto size = parse_number<std::uint64_t>(text.substr(slash + 1));
  if (!first || !last || !size || *first > *last || *last >= *size) return std::nullopt;
  return ContentRange{*first, *last, *size};
}

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
  Capabilities capabilities() const override {
    return {.atomic_if_absent = true, .atomic_if_version = true, .strong_list = true, .latest_only = true};
  }
  std::string describe(std::string_view key) const override { return client_.describe(key); }

 private:
  Result<ObjectInfo> head(std::string_view key, const std::optional<Version>& version,
                          const CallOptions& call);
  Result<ReadResult> read_at_end(std::string_view key, const ReadOptions& options);
  Result<ReadResult> check_range(std::string_view key, const S3Answer& answer, MutableBytesView target,
                                 const ReadOptions& options) const;
  Error read_error(const S3Request& request, const S3Answer& answer) const;
  Status remove_one(const std::string& key, const CallOptions& options);
  Status remove_batch(const std::vector<std::string>& keys, const CallOptions& options);

  S3Client client_;
};

ObjectInfo info_of(std::string_view key, std::uint64_t size_bytes, const HttpResponse& http) {
  return {.key = std::string(key),
          .size_bytes = size_bytes,
          .version = {unquoted_etag(http.header("ETag").value_or(""))},
          .modified = parse_http_date(http.header("Last-Modified").value_or(""))};
}

HttpHeaders if_match(const std::optional<Version>& version) {
  if (!version) return {};
  return {{"If-Match", concat('"', version->token, '"')}};
}

Error S3Store::read_error(const S3Request& request, const S3Answer& answer) const {
  if (answer.http.status == 412) {
    return {Code::kFailedPrecondition,
            concat(describe(request.key), ": it has changed since its version was read")};
  }
  return client_.explain(request, answer);
}

Result<ObjectInfo> S3Store::head(std::string_view key, const std::optional<Version>& version,
                                 const CallOptions& call) {
  S3Request request{.method = "HEAD", .key = std::string(key), .headers = if_match(version), .call = call};
  HEADRACE_TRY(const S3Answer answer, client_.perform(request));
  if (answer.ok()) {
    const auto size = parse_number<std::uint64_t>(answer.http.header("Content-Length").value_or(""));
    if (!size)
      return Error{Code::kDataLoss, concat(describe(key), ": the server does not say how long it is")};
    return info_of(key, *size, answer.http);
  }
  if (answer.http.status == 412 || (answer.http.status == 404 && client_.bucket_was_seen())) {
    return read_error(request, answer);
  }
  // The answer to HEAD has no body, so it cannot tell a missing object from a missing bucket, nor why access
  // is denied. The answer to GET says.
  request.method = "GET";
  request.headers.push_back({"Range", "bytes=0-0"});
  HEADRACE_TRY(const S3Answer reason, client_.perform(request));
  return reason.ok() || reason.http.status == 416 ? client_.explain(request, answer)
                                                  : read_error(request, reason);
}

Result<ObjectInfo> S3Store::stat(std::string_view key, const CallOptions& options) {
  HEADRACE_CHECK(check_key(key));
  return head(key, std::nullopt, options);
}

// For ranges that begin at or past the end, which S3 refuses without saying where the end is.
Result<ReadResult> S3Store::read_at_end(std::string_view key, const ReadOptions& options) {
  HEADRACE_TRY(ObjectInfo object, head(key, options.if_version, options.call));
  if (options.offset_bytes > object.size_bytes) {
    return Error{Code::kOutOfRange, concat(describe(key), " has ", object.size_bytes, " bytes, and byte ",
                                           options.offset_bytes, " was asked for")};
  }
  return ReadResult{0, std::move(object)};
}

Result<ReadResult> S3Store::check_range(std::string_view key, const S3Answer& answer, MutableBytesView target,
                                        const ReadOptions& options) const {
  const auto wrong = [&](std::string_view what) {
    return Error{Code::kDataLoss, concat(describe(key), ", from byte ", options.offset_bytes, ": ", what)};
  };
  ReadResult result{static_cast<std::size_t>(answer.http.body_bytes),
                    info_of(key, answer.http.body_bytes, answer.http)};
  if (answer.http.status == 206) {
    const auto range = parse_content_range(answer.http.header("Content-Range").value_or(""));
    if (!range || range->first != options.offset_bytes ||
        range->last - range->first + 1 != result.bytes_read) {
      return wrong("the server sent another range than it was asked for");
    }
    result.object.size_bytes = range->size_bytes;
  } else if (options.offset_bytes != 0) {
    return wrong("the server ignores ranges");
  }
  const std::uint64_t expected =
      std::min<std::uint64_t>(target.size(), result.object.size_bytes - options.offset_bytes);
  if (result.bytes_read != expected) {
    return wrong(concat("the server sent ", result.bytes_read, " bytes instead of ", expected));
  }
  if (options.if_version && result.object.version != *options.if_version) {
    return Error{Code::kFailedPrecondition,
                 concat(describe(key), ": it has changed since its version was read")};
  }
  return result;
}

Result<ReadResult> S3Store::read_into(std::string_view key, MutableBytesView target,
                                      const ReadOptions& options) {
  HEADRACE_CHECK(check_key(key));
  const std::uint64_t room =
      std::numeric_limits<std::int64_t>::max() -
      std::min<std::uint64_t>(options.offset_bytes, std::numeric_limits<std::int64_t>::max());
  if (target.empty() || room == 0) return read_at_end(key, options);
  const std::uint64_t last = options.offset_bytes + std::min<std::uint64_t>(target.size(), room) - 1;
  S3Request request{.key = std::string(key),
                    .headers = if_match(options.if_version),
                    .target_memory = target,
                    .call = options.call};
  request.headers.push_back({"Range", concat("bytes=", options.offset_bytes, '-', last)});
  HEADRACE_TRY(const S3Answer answer, client_.perform(request));
  if (answer.ok()) return check_range(key, answer, target, options);
  if (answer.http.status == 416) return read_at_end(key, options);
  return read_error(request, answer);
}

Status S3Store::read_many(std::span<const ReadRequest> requests, const CallOptions& options) {
  const int threads =
      static_cast<int>(std::min<std::size_t>(client_.options().parallel_reads, requests.size()));
  return parallel_for(threads, requests.size(), [&](std::size_t i) {
    const ReadRequest& request = requests[i];
    return read_exactly(
        *this, request.key, request.target,
        {.offset_bytes = request.offset_bytes, .if_version = request.if_version, .call = options});
  });
}

Result<ObjectInfo> S3Store::write(std::string_view key, BytesView data, const WriteOptions& options) {
  HEADRACE_CHECK(check_key(key));
  if (data.size() <= kMaxSinglePutBytes) return put_object(client_, key, data, options);
  const std::unique_ptr<Upload> upload = make_s3_upload(client_, key, options);
  HEADRACE_CHECK(upload->append(data));
  return upload->commit();
}

Result<std::unique_ptr<Upload>> S3Store::start_upload(std::string_view key, const WriteOptions& options) {
  HEADRACE_CHECK(check_key(key));
  return make_s3_upload(client_, key, options);
}

Result<ObjectInfo> S3Store::copy(std::string_view from, std::string_view to, const WriteOptions& options) {
  HEADRACE_CHECK(check_key(from));
  HEADRACE_CHECK(check_key(to));
  HEADRACE_TRY(ObjectInfo source, head(from, std::nullopt, options.call));
  // S3 refuses to copy an object to itself; the result would be what is there.
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
      HEADRACE_CHECK(remove_one(failure.key, options));  // which repeats, as it may have to
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
    for (const ObjectInfo& entry : page->entries) {
      // Some servers repeat a folder on the next page, or report the one that `after` lies in.
      if (entry.key <= options.after || entry.key == last) continue;
      if (entry.key < last || !entry.key.starts_with(prefix)) {
        return Error{Code::kDataLoss, concat(describe(entry.key), ": listing ", prefix,
                                             ": the server's list is out of order or of another prefix")};
      }
      last = entry.key;
      if (!visit(entry)) return {};
    }
    if (!page->truncated) return {};
    if (page->continuation == continuation) {
      return Error{Code::kDataLoss,
                   concat(describe(""), ": listing ", prefix, ": the server repeats the same page")};
    }
    continuation = page->continuation;
  }
}

}  // namespace

std::unique_ptr<Store> open_s3_store(std::string bucket, const S3Options& options) {
  return std::make_unique<S3Store>(std::move(bucket), options);
}

}  // namespace headrace
