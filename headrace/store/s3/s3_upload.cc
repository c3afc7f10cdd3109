#include "headrace/store/s3/s3_upload.h"

#include <algorithm>
#include <deque>
#include <exception>
#include <future>

#include "headrace/base/crc32c.h"
#include "headrace/base/environment.h"
#include "headrace/base/text.h"
#include "headrace/os/parallel.h"
#include "headrace/store/s3/checksum.h"
#include "headrace/store/s3/multipart.h"
#include "headrace/store/url.h"

namespace headrace {
namespace {

constexpr std::size_t kMinPartBytes = 5 << 20;
constexpr std::uint64_t kMaxPutBytes = std::uint64_t{5} << 30;
// S3 allows 5 GiB, but sends nothing while it copies.
constexpr std::uint64_t kMaxSingleCopyBytes = 256 << 20;

std::size_t first_part_bytes(const S3Client& client) {
  return std::max(client.options().part_bytes, kMinPartBytes);
}

Error too_many_parts(const S3Client& client, std::string_view key) {
  return {Code::kOutOfRange,
          concat(client.describe(key), ": more than ", kMaxParts, " parts; write larger parts")};
}

// If a server ignores a condition when it completes an upload, one writer could replace another writer's
// object without an error. This is tested before the first upload with a condition of that kind begins. If
// the test cannot be made, the server is trusted.
Honoured honours_at_completion(S3Client& client, std::string_view key, const WriteOptions& options) {
  const bool is_conditional = options.only_if_absent || options.if_version;
  if (!is_conditional || !client.options().probe_conditions) return Honoured::kYes;
  const bool of_version = options.if_version.has_value();
  std::atomic<Honoured>& known = of_version ? client.completes_if_version : client.completes_if_absent;
  if (known == Honoured::kUnknown) known = probe_completion(client, key, of_version, options.call);
  return known;
}

Status check_honoured_at_completion(S3Client& client, std::string_view key, const WriteOptions& options) {
  if (honours_at_completion(client, key, options) != Honoured::kNo) return {};
  return Error{
      Code::kUnimplemented,
      concat(client.describe(key), " was not written: the server ignores ",
             options.if_version ? "If-Match" : "If-None-Match",
             " when it completes a multipart upload, so two runs that publish here at the same time would "
             "destroy each other's results. Use a store that honours it (headrace doctor checks "
             "this); or, if only one process writes here at a time, set "
             "HEADRACE_S3_PROBE_CONDITIONS=0")};
}

// Sends parts in the background, a limited number at the same time, while the caller fills the next part.
class S3Upload final : public Upload {
 public:
  S3Upload(S3Client& client, std::string_view key, const WriteOptions& options)
      : client_(client), key_(key), options_(options) {}
  ~S3Upload() override { (void)wait_for_all(); }

  Status append(BytesView data) override {
    if (!failed_) return failed_;
    while (!data.empty()) {
      const std::size_t want = part_bytes_of(next_part_, first_part_bytes(client_));
      if (filling_.capacity() < want) filling_.reserve(want);
      const std::size_t taken = std::min(data.size(), want - filling_.size());
      headrace::append(filling_, data.first(taken));
      data = data.subspan(taken);
      // A full part waits for the next byte, because an object of one part needs no multipart upload.
      if (filling_.size() == want && !data.empty()) HEADRACE_CHECK(remember(send_filling()));
    }
    return {};
  }

  Result<ObjectInfo> commit() override {
    if (!failed_) return failed_.error();
    if (committed_)
      return Error{Code::kFailedPrecondition, concat(client_.describe(key_), ": it was already committed")};
    committed_ = true;
    if (!upload_) return put_object(client_, key_, filling_, options_);
    HEADRACE_CHECK(remember(send_filling()));
    HEADRACE_CHECK(remember(wait_for_all()));
    return upload_->complete();
  }

 private:
  struct Sending {
    Bytes data;
    std::future<Status> done;
  };

  Status remember(Status status) {
    if (!status) failed_ = status;
    return status;
  }

  Status send_filling() {
    if (next_part_ >= kMaxParts) return too_many_parts(client_, key_);
    if (!upload_) {
      HEADRACE_CHECK(check_honoured_at_completion(client_, key_, options_));
      HEADRACE_TRY(upload_, MultipartUpload::resume_or_start(client_, key_, options_,
                                                             client_.options().send_checksums, filling_));
    }
    // Sends fewer parts at the same time if they are large: memory stays near (parallel_parts + 1) ×
    // first_part_bytes as long as parts keep their first size.
    const std::size_t at_once =
        std::max<std::size_t>(1, client_.options().parallel_parts * first_part_bytes(client_) /
                                     std::max(filling_.size(), first_part_bytes(client_)));
    while (sending_.size() >= at_once) HEADRACE_CHECK(wait_for_oldest());
    auto& sending = sending_.emplace_back();
    sending.data = std::exchange(filling_, std::move(spare_));
    filling_.clear();
    spare_ = {};
    const auto send = [upload = upload_.get(), part = next_part_, &sending]() -> Status {
      try {
        return upload->send_part(part, sending.data);
      } catch (const std::exception& thrown) {
        return Error{Code::kResourceExhausted, concat("sending part ", part + 1, ": ", thrown.what())};
      }
    };
    try {
      sending.done = std::async(std::launch::async, send);
    } catch (const std::exception&) {  // the system allows no further thread, so this thread sends
      const Bytes data = std::move(sending.data);
      sending_.pop_back();
      HEADRACE_CHECK(upload_->send_part(next_part_, data));
    }
    ++next_part_;
    return {};
  }

  Status wait_for_oldest() {
    const Status status = sending_.front().done.get();
    spare_ = std::move(sending_.front().data);
    sending_.pop_front();
    return status;
  }

  // Waits for all parts, whatever their results are, and returns the first error.
  Status wait_for_all() {
    Status first;
    while (!sending_.empty()) {
      const Status status = wait_for_oldest();
      if (first && !status) first = status;
    }
    return first;
  }

  S3Client& client_;
  const std::string key_;
  const WriteOptions options_;
  std::unique_ptr<MultipartUpload> upload_;
  Bytes filling_;
  Bytes spare_;  // memory for the next part
  std::deque<Sending> sending_;
  std::size_t next_part_ = 0;
  Status failed_;
  bool committed_ = false;
};

// Called after a conditional write has succeeded: the server must refuse the same write now. A server that
// accepts it ignores conditions, and one of two writers that rely on them would destroy the other's work.
// Asks once, and once more if the server accepts it, since another process may remove the object meanwhile.
Status check_condition_was_honoured(S3Client& client, S3Request request) {
  const auto version = std::ranges::find(request.headers, "If-Match", &HttpHeader::name);
  const bool is_of_version = version != request.headers.end();
  std::atomic<bool>& is_honoured = is_of_version ? client.honours_version : client.honours_absent;
  if (is_honoured || !client.options().probe_conditions) return {};
  if (is_of_version) version->value = "\"headrace-no-such-version\"";
  for (int asked = 0; asked < 2; ++asked) {
    const Result<S3Answer> answer = client.perform(request);
    if (answer && (answer->http.status == 409 || answer->http.status == 412)) is_honoured = true;
    if (!answer || !answer->ok()) return {};
  }
  return Error{
      Code::kUnimplemented,
      concat(
          client.describe(request.key), " was written, but the server ignores ",
          is_of_version ? "If-Match" : "If-None-Match",
          ": two runs that publish here at the same time would destroy each other's results. Use a store "
          "that honours it (headrace doctor checks this); or, if only one process writes here at a time, set "
          "HEADRACE_S3_PROBE_CONDITIONS=0")};
}

}  // namespace

Honoured probe_completion(S3Client& client, std::string_view key, bool of_version, const CallOptions& call) {
  const std::string probe = join_key(parent_key(key), concat(".headrace-probe-", hex64(random_name_bits())));
  const std::byte content{};
  WriteOptions refused{.call = call};
  if (of_version) {
    refused.if_version = Version{"headrace-no-such-version"};
  } else {
    refused.only_if_absent = true;
  }
  const auto upload = MultipartUpload::start(client, probe, refused, false);
  if (!upload || !(*upload)->send_part(0, {&content, 1})) return Honoured::kUnknown;
  const auto there = put_object(client, probe, {&content, 1}, {.call = call});
  const auto completed = there ? (*upload)->complete() : Result<ObjectInfo>(there.error());
  // Even if the answer to the write was lost.
  (void)client.perform({.method = "DELETE", .key = probe, .call = {.deadline = std::chrono::seconds(10)}});
  if (completed) return Honoured::kNo;
  const Code code = completed.error().code;
  const bool is_refused = there && (code == Code::kAlreadyExists || code == Code::kFailedPrecondition);
  return is_refused ? Honoured::kYes : Honoured::kUnknown;
}

std::size_t part_bytes_of(std::size_t part, std::size_t first_bytes) {
  return part < 4'000 ? first_bytes : first_bytes << std::min<std::size_t>((part - 3'000) / 1'000, 6);
}

Result<ObjectInfo> put_object(S3Client& client, std::string_view key, BytesView data,
                              const WriteOptions& options) {
  S3Request request{.method = "PUT",
                    .key = std::string(key),
                    .headers = conditions_of(options),
                    .body = data,
                    .call = options.call};
  const bool conditional = !request.headers.empty();
  const WriteMark mark;
  if (conditional) request.headers.push_back(mark.header());
  std::optional<std::uint32_t> crc;
  if (client.options().send_checksums) {
    crc = crc32c(data);
    request.headers.push_back({"x-amz-checksum-crc32c", crc32c_field(*crc)});
  }
  HEADRACE_TRY(const S3Answer answer, client.perform(request));
  if (answer.ok()) {
    if (conditional) HEADRACE_CHECK(check_condition_was_honoured(client, request));
    return ObjectInfo{.key = std::string(key),
                      .size_bytes = data.size(),
                      .version = {unquoted_etag(answer.http.header("ETag").value_or(""))},
                      .crc32c = crc};
  }
  // The write may be refused because an earlier attempt succeeded but its answer was lost.
  if (conditional && answer.maybe_done_before && answer.http.status == 412) {
    HEADRACE_TRY(auto ours, find_marked(client, key, mark, options.call));
    if (ours) return *std::move(ours);
  }
  return write_error(client, request, answer, options);
}

Result<ObjectInfo> put_object_in_parts(S3Client& client, std::string_view key, BytesView data,
                                       const WriteOptions& options) {
  if (data.size() <= kMaxPutBytes && honours_at_completion(client, key, options) == Honoured::kNo)
    return put_object(client, key, data, options);
  HEADRACE_CHECK(check_honoured_at_completion(client, key, options));
  HEADRACE_TRY(const auto upload,
               MultipartUpload::start(client, key, options, client.options().send_checksums));
  std::vector<BytesView> parts;
  for (BytesView left = data; !left.empty(); left = left.subspan(parts.back().size())) {
    if (parts.size() == kMaxParts) return too_many_parts(client, key);
    parts.push_back(left.first(std::min(left.size(), part_bytes_of(parts.size(), first_part_bytes(client)))));
  }
  HEADRACE_CHECK(upload->send_parts(parts));
  return upload->complete();
}

std::unique_ptr<Upload> make_s3_upload(S3Client& client, std::string_view key, const WriteOptions& options) {
  return std::make_unique<S3Upload>(client, key, options);
}

Result<ObjectInfo> copy_object(S3Client& client, const ObjectInfo& source, std::string_view to,
                               const WriteOptions& options) {
  const bool conditional = options.only_if_absent || options.if_version;
  if (source.size_bytes == 0) return put_object(client, to, {}, options);
  if (!conditional && source.size_bytes <= kMaxSingleCopyBytes) {
    S3Request request{.method = "PUT",
                      .key = std::string(to),
                      .headers = {{"x-amz-copy-source", client.copy_source(source.key)},
                                  {"x-amz-copy-source-if-match", concat('"', source.version.token, '"')}},
                      .call = options.call};
    HEADRACE_TRY(const S3Answer answer, client.perform(request));
    if (!answer.ok())
      return client.explain(request, answer).in(concat("copying from ", client.describe(source.key)));
    Result<std::string> etag = parse_result_etag(answer.http.body);
    if (!etag) return std::move(etag).error().in(client.describe(to));
    return ObjectInfo{.key = std::string(to), .size_bytes = source.size_bytes, .version = {*etag}};
  }
  HEADRACE_CHECK(check_honoured_at_completion(client, to, options));
  HEADRACE_TRY(const auto upload, MultipartUpload::start(client, to, options, false));
  const std::uint64_t part_bytes = std::max(
      {client.options().copy_part_bytes, std::uint64_t{kMinPartBytes}, source.size_bytes / kMaxParts + 1});
  const std::size_t parts = (source.size_bytes + part_bytes - 1) / part_bytes;
  HEADRACE_CHECK(parallel_for(client.options().parallel_parts, parts, [&](std::size_t part) {
    const std::uint64_t offset = part * part_bytes;
    return upload->copy_part(part, source, offset, std::min(part_bytes, source.size_bytes - offset));
  }));
  return upload->complete();
}

}  // namespace headrace
