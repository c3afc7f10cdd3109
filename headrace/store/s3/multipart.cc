#include "headrace/store/s3/multipart.h"

#include <algorithm>
#include <functional>
#include <variant>

#include "headrace/base/crc32c.h"
#include "headrace/base/environment.h"
#include "headrace/base/text.h"
#include "headrace/store/s3/checksum.h"
#include "headrace/store/s3/s3_read.h"
#include "headrace/store/s3/s3_unfinished.h"

namespace headrace {
namespace {

constexpr std::string_view kMarkName = "x-amz-meta-headrace-write";
// For cleaning up behind a failure: not with the caller's stop, which may be why we clean up.
constexpr std::chrono::seconds kLongestCleaning{5};

// An object that appears under a condition is recognised by its mark, which who resumes does not know. Where
// the server encrypts with keys that are not its own, an ETag says nothing of the content.
bool may_resume(const S3Client& client, const WriteOptions& options) {
  const auto* keys = std::get_if<ServerKeyEncryption>(&client.options().encryption);
  const bool etags_are_digests = std::holds_alternative<NoEncryption>(client.options().encryption) ||
                                 (keys != nullptr && keys->algorithm == "AES256");
  return options.resumes && !options.only_if_absent && !options.if_version && etags_are_digests;
}

// The ETag of a part is the MD5 of its content, in hexadecimal digits, where nothing is encrypted, or with
// the server's own keys:
// https://docs.aws.amazon.com/AmazonS3/latest/API/API_Object.html
bool is_of(const S3SentPart& part, BytesView data) {
  return part.size_bytes == data.size() && part.etag == md5_hex(data);
}

}  // namespace

WriteMark::WriteMark() : value(concat(hex64(random_name_bits()), hex64(random_name_bits()))) {}

HttpHeader WriteMark::header() const { return {std::string(kMarkName), value}; }

HttpHeaders conditions_of(const WriteOptions& options) {
  HttpHeaders headers;
  if (options.only_if_absent) headers.push_back({"If-None-Match", "*"});
  if (options.if_version) headers.push_back({"If-Match", concat('"', options.if_version->token, '"')});
  return headers;
}

namespace {

// The object that is there after a write whose answer was lost, if it is the one that was written.
// \error kUnavailable  that cannot be found out
Result<std::optional<ObjectInfo>> find_written(
    S3Client& client, std::string_view key, const CallOptions& call,
    const std::function<bool(const HttpResponse&, const ObjectInfo&)>& is_what_was_written) {
  S3Request request{.method = "HEAD", .key = std::string(key), .call = call};
  if (client.options().send_checksums) request.headers = {{"x-amz-checksum-mode", "ENABLED"}};
  const auto answer = client.perform(request);
  if (answer && answer->http.status == 404) return std::optional<ObjectInfo>();
  if (!answer || !answer->ok()) {
    const Error why = answer ? client.explain(request, *answer) : answer.error();
    return Error{Code::kUnavailable, concat(client.describe(key),
                                            ": a write whose answer was lost was then refused, and whether ",
                                            "it had been done at first could not be found out: ", why.message,
                                            "; read the object to see who has written it")};
  }
  const auto size = parse_number<std::uint64_t>(answer->http.header("Content-Length").value_or(""));
  ObjectInfo object = object_info_of(key, size.value_or(0), answer->http);
  return is_what_was_written(answer->http, object) ? std::optional(std::move(object)) : std::nullopt;
}

}  // namespace

Result<std::optional<ObjectInfo>> find_marked(S3Client& client, std::string_view key, const WriteMark& mark,
                                              const CallOptions& call) {
  return find_written(client, key, call, [&](const HttpResponse& http, const ObjectInfo&) {
    return http.header(kMarkName) == mark.value;
  });
}

Error write_error(const S3Client& client, const S3Request& request, const S3Answer& answer,
                  const WriteOptions& options) {
  Error error = client.explain(request, answer);
  const int status = answer.http.status;
  const bool no_longer = status == 412 || (status == 404 && answer.error_code == "NoSuchKey");
  if (options.only_if_absent && status == 412) {
    return {Code::kAlreadyExists,
            concat(client.describe(request.key), ": it exists already, and was to be created")};
  }
  if (options.if_version && no_longer) {
    return {Code::kFailedPrecondition,
            concat(client.describe(request.key), ": it is no longer the version that was to be replaced")};
  }
  return error;
}

MultipartUpload::MultipartUpload(S3Client& client, std::string_view key, const WriteOptions& options,
                                 bool with_checksums)
    : client_(client), key_(key), options_(options), with_checksums_(with_checksums) {}

Result<std::unique_ptr<MultipartUpload>> MultipartUpload::start(S3Client& client, std::string_view key,
                                                                const WriteOptions& options,
                                                                bool with_checksums) {
  std::unique_ptr<MultipartUpload> upload(new MultipartUpload(client, key, options, with_checksums));
  S3Request request{.method = "POST",
                    .key = upload->key_,
                    .query = {{"uploads", ""}},
                    .headers = {upload->mark_.header()},
                    .call = options.call};
  if (with_checksums) {
    request.headers.push_back({"x-amz-checksum-algorithm", "CRC32C"});
    request.headers.push_back({"x-amz-checksum-type", "FULL_OBJECT"});
  }
  HEADRACE_TRY(const S3Answer answer, client.perform(request));
  if (!answer.ok()) return client.explain(request, answer);
  Result<std::string> id = parse_upload_id(answer.http.body);
  if (!id) return std::move(id).error().in(client.describe(key));
  upload->id_ = *std::move(id);
  return upload;
}

Result<std::unique_ptr<MultipartUpload>> MultipartUpload::resume_or_start(S3Client& client,
                                                                          std::string_view key,
                                                                          const WriteOptions& options,
                                                                          bool with_checksums,
                                                                          BytesView first_part) {
  if (!may_resume(client, options)) return start(client, key, options, with_checksums);
  // Who may write need not have the right to list: then there is nothing to go on with.
  std::vector<SentUpload> uploads;
  if (auto found = sent_uploads(client, key, options.call)) uploads = *std::move(found);
  const SentUpload* best = nullptr;
  for (const SentUpload& upload : uploads) {
    const S3PartsPage& sent = upload.sent;
    // Of other tools, whose completion would demand other checksums.
    if (sent.checksum_algorithm != (with_checksums ? "CRC32C" : "")) continue;
    if (best != nullptr && best->sent.size_bytes() >= sent.size_bytes()) continue;
    const auto first = std::ranges::find(sent.parts, 1U, &S3SentPart::number);
    if (first != sent.parts.end() && is_of(*first, first_part)) best = &upload;
  }
  if (best == nullptr) return start(client, key, options, with_checksums);
  std::unique_ptr<MultipartUpload> upload(new MultipartUpload(client, key, options, with_checksums));
  upload->id_ = best->id;
  upload->sent_before_.resize(static_cast<std::size_t>(best->sent.last_part()));
  for (const S3SentPart& part : best->sent.parts) upload->sent_before_[part.number - 1] = part;
  return upload;
}

bool MultipartUpload::was_sent(std::size_t part, BytesView data) const {
  return part < sent_before_.size() && is_of(sent_before_[part], data);
}

MultipartUpload::~MultipartUpload() {
  if (over_ || id_.empty() || may_resume(client_, options_)) return;
  // Best effort: what stays behind is an unfinished write, which list_unfinished finds.
  const auto give_up_at = std::chrono::steady_clock::now() + kLongestCleaning;
  (void)abort_upload(client_, key_, id_, {}, give_up_at).has_value();
}

S3Request MultipartUpload::part_request(std::size_t part) const {
  return {.method = "PUT",
          .key = key_,
          .query = {{"partNumber", concat(part + 1)}, {"uploadId", id_}},
          .call = options_.call};
}

void MultipartUpload::keep(std::size_t part, S3Part sent) {
  const std::scoped_lock lock(mutex_);
  if (parts_.size() <= part) parts_.resize(part + 1);
  parts_[part] = std::move(sent);
}

S3Request MultipartUpload::sending_request(std::size_t part, BytesView data, S3Part& sent) const {
  S3Request request = part_request(part);
  request.body = data;
  sent.size_bytes = data.size();
  if (with_checksums_) {
    sent.crc32c = crc32c(data);
    request.headers.push_back({"x-amz-checksum-crc32c", crc32c_field(*sent.crc32c)});
  }
  return request;
}

Status MultipartUpload::take_sent(std::size_t part, S3Part sent, const Result<S3Answer>& answer) {
  if (!answer) return answer.error();
  if (!answer->ok())
    return client_.explain(part_request(part), *answer).in(concat("sending part ", part + 1));
  sent.etag = answer->http.header("ETag").value_or("");
  if (sent.etag.empty()) {
    return Error{Code::kDataLoss,
                 concat(client_.describe(key_), ": the server gave part ", part + 1, " no ETag")};
  }
  keep(part, std::move(sent));
  return {};
}

Status MultipartUpload::send_part(std::size_t part, BytesView data) {
  S3Part sent;
  const S3Request request = sending_request(part, data, sent);
  if (was_sent(part, data)) {
    sent.etag = concat('"', sent_before_[part].etag, '"');
    keep(part, std::move(sent));
    return {};
  }
  return take_sent(part, std::move(sent), client_.perform(request));
}

Status MultipartUpload::send_parts(std::span<const BytesView> parts) {
  std::vector<S3Part> sent(parts.size());
  Status first_failure;
  client_.perform_many(
      parts.size(), options_.call,
      [&](std::size_t part) { return sending_request(part, parts[part], sent[part]); },
      [&](std::size_t part, const Result<S3Answer>& answer) {
        const Status taken = take_sent(part, std::move(sent[part]), answer);
        if (!taken && first_failure) first_failure = taken;
        return static_cast<bool>(taken);
      });
  return first_failure;
}

Status MultipartUpload::copy_part(std::size_t part, const ObjectInfo& source, std::uint64_t offset_bytes,
                                  std::uint64_t size_bytes) {
  S3Request request = part_request(part);
  request.headers = {
      {"x-amz-copy-source", client_.copy_source(source.key)},
      {"x-amz-copy-source-if-match", concat('"', source.version.token, '"')},
      {"x-amz-copy-source-range", concat("bytes=", offset_bytes, '-', offset_bytes + size_bytes - 1)}};
  HEADRACE_TRY(const S3Answer answer, client_.perform(request));
  if (!answer.ok())
    return client_.explain(request, answer).in(concat("copying from ", client_.describe(source.key)));
  Result<std::string> etag = parse_result_etag(answer.http.body);
  if (!etag) return std::move(etag).error().in(client_.describe(key_));
  keep(part, {.etag = concat('"', *etag, '"'), .size_bytes = size_bytes});
  return {};
}

S3Part MultipartUpload::whole() const {
  S3Part whole{.crc32c = 0};
  for (const S3Part& part : parts_) {
    whole.size_bytes += part.size_bytes;
    if (whole.crc32c && part.crc32c) {
      whole.crc32c = combined_crc32c(*whole.crc32c, *part.crc32c, part.size_bytes);
    } else {
      whole.crc32c.reset();
    }
  }
  return whole;
}

Result<ObjectInfo> MultipartUpload::complete() {
  const std::string body = complete_body(parts_);
  const S3Part all = whole();
  S3Request request{.method = "POST",
                    .key = key_,
                    .query = {{"uploadId", id_}},
                    .headers = conditions_of(options_),
                    .body = as_bytes(body),
                    .call = options_.call,
                    .repeat_conflicts = false};
  if (all.crc32c) {
    request.headers.push_back({"x-amz-checksum-crc32c", crc32c_field(*all.crc32c)});
    request.headers.push_back({"x-amz-checksum-type", "FULL_OBJECT"});
  }
  HEADRACE_TRY(const S3Answer answer, client_.perform(request));
  if (!answer.ok()) return after_refusal(request, answer, all);
  over_ = true;
  Result<std::string> etag = parse_result_etag(answer.http.body);
  if (!etag) return std::move(etag).error().in(client_.describe(key_));
  return ObjectInfo{.key = key_, .size_bytes = all.size_bytes, .version = {*etag}, .crc32c = all.crc32c};
}

Result<std::optional<ObjectInfo>> MultipartUpload::find_done(const S3Part& all) {
  if (sent_before_.empty()) return find_marked(client_, key_, mark_, options_.call);
  return find_written(client_, key_, options_.call, [&](const HttpResponse&, const ObjectInfo& object) {
    return all.crc32c && object.crc32c == all.crc32c;
  });
}

Result<ObjectInfo> MultipartUpload::after_refusal(const S3Request& request, const S3Answer& answer,
                                                  const S3Part& all) {
  const int status = answer.http.status;
  // "No such upload", "it is there already" and a conflict, which may be one with ourselves, are what the
  // second of two attempts hears if the first succeeded.
  if (status == 409 || (answer.maybe_done_before && (status == 404 || status == 412))) {
    HEADRACE_TRY(auto done, find_done(all));
    if (done && done->size_bytes == all.size_bytes) {
      over_ = true;
      return *std::move(done);
    }
  }
  // The upload is gone with a conflict (Amazon S3 User Guide, "Prevent object overwrites"): who was faster?
  if (status == 409 && (options_.only_if_absent || options_.if_version)) {
    const auto now = client_.perform({.method = "HEAD", .key = key_, .call = options_.call});
    if (now && now->ok() && options_.only_if_absent) {
      return Error{Code::kAlreadyExists,
                   concat(client_.describe(key_), ": it exists already, and was to be created")};
    }
    if (now && now->ok() &&
        unquoted_etag(now->http.header("ETag").value_or("")) !=
            options_.if_version.value_or(Version{}).token) {
      return Error{Code::kFailedPrecondition,
                   concat(client_.describe(key_), ": it is no longer the version that was to be replaced")};
    }
  }
  return write_error(client_, request, answer, options_);
}

}  // namespace headrace
