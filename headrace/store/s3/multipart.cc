#include "headrace/store/s3/multipart.h"

#include <variant>

#include "headrace/base/crc32c.h"
#include "headrace/base/environment.h"
#include "headrace/base/text.h"
#include "headrace/store/s3/checksum.h"
#include "headrace/store/s3/s3_unfinished.h"

namespace headrace {
namespace {

constexpr std::string_view kMarkName = "x-amz-meta-headrace-write";
// Limit for cleaning up after a failure. The caller's stop is not used, since it may be the reason for the
// cleaning.
constexpr std::chrono::seconds kLongestCleaning{5};

// If the server encrypts with keys other than its own, a part's ETag says nothing about its content.
bool may_resume(const S3Client& client, const WriteOptions& options) {
  const auto* keys = std::get_if<ServerKeyEncryption>(&client.options().encryption);
  const bool etags_are_digests = std::holds_alternative<NoEncryption>(client.options().encryption) ||
                                 (keys != nullptr && keys->algorithm == "AES256");
  return options.resumes && etags_are_digests;
}

// Returns a name for an object of a store, and for the settings with which its upload began.
std::string note_name(const S3Client& client, std::string_view key, bool with_checksums) {
  const bool is_encrypted = !std::holds_alternative<NoEncryption>(client.options().encryption);
  return concat(client.options().endpoint ? client.options().endpoint->text() : "AWS", '\0',
                client.describe(key), '\0', is_encrypted ? "AES256" : "", '\0',
                with_checksums ? "CRC32C" : "");
}

// If nothing is encrypted, or only with the server's own keys, the ETag of a part is the MD5 of its content
// in hexadecimal digits: https://docs.aws.amazon.com/AmazonS3/latest/API/API_Object.html
bool is_of(const S3SentPart& part, BytesView data) {
  return part.size_bytes == data.size() && part.etag == md5_hex(data);
}

}  // namespace

WriteMark::WriteMark() : WriteMark(concat(hex64(random_name_bits()), hex64(random_name_bits()))) {}

HttpHeader WriteMark::header() const { return {std::string(kMarkName), value}; }

HttpHeaders conditions_of(const WriteOptions& options) {
  HttpHeaders headers;
  if (options.only_if_absent) headers.push_back({"If-None-Match", "*"});
  if (options.if_version) headers.push_back({"If-Match", concat('"', options.if_version->token, '"')});
  return headers;
}

Result<std::optional<ObjectInfo>> find_marked(S3Client& client, std::string_view key, const WriteMark& mark,
                                              const CallOptions& call) {
  const S3Request request{.method = "HEAD", .key = std::string(key), .call = call};
  const auto answer = client.perform(request);
  const bool is_absent = answer && answer->http.status == 404;
  if (!answer || (!answer->ok() && !is_absent)) {
    const Error why = answer ? client.explain(request, *answer) : answer.error();
    return Error{
        Code::kUnavailable,
        concat(client.describe(key), ": the answer to a write was lost, its repetition was refused, and ",
               "it could not be found out whether the first attempt wrote the object: ", why.message,
               "; read the object to see which version it has")};
  }
  if (is_absent || answer->http.header(kMarkName) != mark.value) return std::optional<ObjectInfo>();
  return std::optional(ObjectInfo{
      .key = std::string(key),
      .size_bytes =
          parse_number<std::uint64_t>(answer->http.header("Content-Length").value_or("")).value_or(0),
      .version = {unquoted_etag(answer->http.header("ETag").value_or(""))},
      .modified = parse_http_date(answer->http.header("Last-Modified").value_or(""))});
}

Error write_error(const S3Client& client, const S3Request& request, const S3Answer& answer,
                  const WriteOptions& options) {
  Error error = client.explain(request, answer);
  const int status = answer.http.status;
  const bool no_longer = status == 412 || (status == 404 && answer.error_code == "NoSuchKey");
  if (options.only_if_absent && status == 412) {
    return {Code::kAlreadyExists,
            concat(client.describe(request.key), ": it already exists, but this write may only create it")};
  }
  if (options.if_version && no_longer) {
    return {Code::kFailedPrecondition,
            concat(client.describe(request.key), ": it is no longer the version that was to be replaced")};
  }
  return error;
}

MultipartUpload::MultipartUpload(S3Client& client, std::string_view key, const WriteOptions& options,
                                 bool with_checksums, WriteMark mark)
    : client_(client),
      key_(key),
      options_(options),
      with_checksums_(with_checksums),
      mark_(std::move(mark)) {}

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
  auto note = UploadNote::take(client.options().uploads_folder, note_name(client, key, with_checksums));
  if (note == nullptr) return start(client, key, options, with_checksums);
  if (const auto begun = note->read()) {
    std::unique_ptr<MultipartUpload> upload(
        new MultipartUpload(client, key, options, with_checksums, WriteMark(begun->mark)));
    upload->id_ = begun->id;
    upload->note_ = std::move(note);
    HEADRACE_TRY(const bool goes_on, upload->find_sent(first_part));
    if (goes_on) return upload;
    note = std::move(upload->note_);  // without the note, the upload's destructor removes the parts
  }
  HEADRACE_TRY(std::unique_ptr<MultipartUpload> upload, start(client, key, options, with_checksums));
  if (note->write({upload->id_, upload->mark_.value})) {
    upload->note_ = std::move(note);
  } else {
    note->remove();
  }
  return upload;
}

// Finds the parts that the server has. Returns whether the first of them has these bytes.
Result<bool> MultipartUpload::find_sent(BytesView first_part) {
  HEADRACE_TRY(const SentParts sent, sent_parts(client_, key_, id_, options_.call));
  if (!sent.parts) return false;
  sent_before_.resize(static_cast<std::size_t>(sent.parts->last_part()));
  for (const S3SentPart& part : sent.parts->parts) sent_before_[part.number - 1] = part;
  return was_sent(0, first_part);
}

bool MultipartUpload::was_sent(std::size_t part, BytesView data) const {
  return part < sent_before_.size() && is_of(sent_before_[part], data);
}

MultipartUpload::~MultipartUpload() {
  if (over_ || id_.empty() || note_ != nullptr) return;
  // Best effort: if this fails, the parts stay as an unfinished write, which list_unfinished finds.
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
  if (!answer.ok()) {
    Result<ObjectInfo> done = after_refusal(request, answer, all);
    forget_note();  // if it was refused, it would be refused again
    return done;
  }
  over_ = true;
  forget_note();
  Result<std::string> etag = parse_result_etag(answer.http.body);
  if (!etag) return std::move(etag).error().in(client_.describe(key_));
  return ObjectInfo{.key = key_, .size_bytes = all.size_bytes, .version = {*etag}, .crc32c = all.crc32c};
}

void MultipartUpload::forget_note() {
  if (note_ != nullptr) note_->remove();
  note_.reset();
}

Result<ObjectInfo> MultipartUpload::after_refusal(const S3Request& request, const S3Answer& answer,
                                                  const S3Part& all) {
  const int status = answer.http.status;
  // If the first of two attempts succeeded, the second one gets "no such upload", "already exists" or a
  // conflict, which may be a conflict with the first attempt.
  if (status == 409 || (answer.maybe_done_before && (status == 404 || status == 412))) {
    HEADRACE_TRY(auto done, find_marked(client_, key_, mark_, options_.call));
    if (done && done->size_bytes == all.size_bytes) {
      over_ = true;
      return *std::move(done);
    }
  }
  // A conflict ends the upload (Amazon S3 User Guide, "Prevent object overwrites"), so this finds out whether
  // another writer was faster.
  if (status == 409 && (options_.only_if_absent || options_.if_version)) {
    const auto now = client_.perform({.method = "HEAD", .key = key_, .call = options_.call});
    if (now && now->ok() && options_.only_if_absent) {
      return Error{Code::kAlreadyExists,
                   concat(client_.describe(key_), ": it already exists, but this write may only create it")};
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
