#include "headrace/store/s3/s3_client.h"

#include <algorithm>
#include <array>

#include "headrace/base/digest.h"
#include "headrace/base/environment.h"
#include "headrace/base/text.h"
#include "headrace/net/url_encoding.h"
#include "headrace/store/s3/s3_address.h"
#include "headrace/store/s3/s3_errors.h"
#include "headrace/store/s3/s3_xml.h"

namespace headrace {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::size_t kAskFirstBytes = 1 << 20;
constexpr int kMaxRedirections = 3;
constexpr int kMaxBrokenAnswers = 4;  // of one request; a server that sends more of them is not an S3 server

bool only_reads(const S3Request& request) { return request.method == "GET" || request.method == "HEAD"; }

// Returns when an attempt ends that makes no progress from now on.
steady_clock::time_point limit_of(const S3Request& request) {
  const auto limit = steady_clock::now() + request.call.deadline;
  return request.give_up_at ? std::min(limit, *request.give_up_at) : limit;
}

bool is_answered_by_repeating(const S3Request& request, const S3Answer& answer) {
  const int status = answer.http.status;
  if (status == 307 || status == 500 || status == 502 || status == 503 || status == 504 || status == 429 ||
      status == 408)
    return true;
  if (is_transient_s3_code(answer.error_code)) return true;
  return status == 409 && request.repeat_conflicts &&
         (answer.error_code == "ConditionalRequestConflict" || answer.error_code == "OperationAborted");
}

// Returns whether the keys were refused, but may have been valid before, or may be valid soon: a session has
// ended, or the file now contains other keys.
bool are_refused_keys(const S3Answer& answer) {
  static constexpr std::array<std::string_view, 5> kCodes = {"ExpiredToken", "InvalidToken", "InvalidTokenId",
                                                             "TokenRefreshRequired", "InvalidAccessKeyId"};
  return std::ranges::find(kCodes, answer.error_code) != kCodes.end();
}

S3Operation operation_of(const S3Request& request) {
  if (request.key.empty() || request.method == "DELETE") return S3Operation::kOther;
  if (only_reads(request)) return S3Operation::kReads;
  const bool is_upload =
      std::ranges::any_of(request.query, [](const auto& parameter) { return parameter.first == "uploadId"; });
  if (request.method == "POST") return is_upload ? S3Operation::kCompletes : S3Operation::kStartsUpload;
  if (find_header(request.headers, "x-amz-copy-source"))
    return is_upload ? S3Operation::kCopiesIntoPart : S3Operation::kCopies;
  return is_upload ? S3Operation::kSendsPart : S3Operation::kWrites;
}

milliseconds asked_pause(const S3Answer& answer) {
  const auto seconds = parse_number<unsigned>(answer.http.header("Retry-After").value_or(""));
  return std::chrono::seconds(std::min(seconds.value_or(0), 20U));
}

HttpClientOptions http_options(const S3Options& options) {
  return {.max_connections = std::max<std::size_t>(options.max_connections, 1),
          .tls = options.tls,
          .proxies = options.proxies};
}

// Some answers have status 200 but contain an error, because the status was sent before the work was done.
void take_error(S3Answer& answer, bool may_be_in_success) {
  const bool success = answer.http.is_success();
  if (success && (!may_be_in_success || answer.http.body.empty())) return;
  if (const auto body = parse_s3_error(answer.http.body)) {
    answer.error_code = body->code.empty() ? "UnknownError" : body->code;
    answer.error_message = body->message;
    if (!body->region.empty() && !answer.http.header("x-amz-bucket-region")) {
      answer.http.headers.push_back({"x-amz-bucket-region", body->region});
    }
  } else if (!success) {
    answer.error_code = s3_code_of_status(answer.http.status);
  }
}

// For a long operation, the server sends status 200 and then a space from time to time, before it sends the
// outcome.
constexpr std::chrono::minutes kLongestTrickle{10};

bool may_fail_after_200(const S3Request& request) {
  return request.method == "POST" || find_header(request.headers, "x-amz-copy-source");
}

}  // namespace

S3Client::S3Client(std::string bucket, const S3Options& options)
    : bucket_(std::move(bucket)),
      options_(options),
      assumptions_{options.region, std::chrono::seconds(0)},
      http_(http_options(options)) {}

std::string S3Client::describe(std::string_view key) const {
  return concat("s3://", bucket_, key.empty() ? "" : "/", key);
}

std::string S3Client::copy_source(std::string_view key) const {
  return concat('/', percent_encode(bucket_), '/', percent_encode(key, "/"));
}

S3Client::Assumptions S3Client::assumptions() const {
  const std::scoped_lock lock(mutex_);
  return assumptions_;
}

Result<CredentialsProvider::Current> S3Client::signing_keys(const S3Request& request) {
  if (!options_.credentials) return CredentialsProvider::Current();
  auto keys =
      request.give_up_at ? options_.credentials->at_hand() : options_.credentials->get(request.call.stop);
  if (!keys) return std::move(keys).error().in(describe(request.key));
  return keys;
}

HttpRequest S3Client::signed_request(const S3Request& request, const Assumptions& assumed,
                                     const S3Credentials* keys) {
  const S3Address to = s3_address(bucket_, options_, assumed.region);
  const std::string path = to.path_of(request.key);
  const std::string query = canonical_query(request.query);
  HttpRequest http{.endpoint = to.endpoint,
                   .method = request.method,
                   .target = concat(path, query.empty() ? "" : "?", query),
                   .headers = request.headers,
                   .body = request.body,
                   .target_memory = request.target_memory,
                   .with_crc32c = request.with_crc32c,
                   .leaves_longer_body = request.leaves_longer_body,
                   .expect_continue = request.body.size() >= kAskFirstBytes};
  if (may_fail_after_200(request)) http.trickle_time = kLongestTrickle;
  // The HTTP client must not repeat a request, unseen by `perform`, if the first sending would make the
  // second one fail.
  http.repeatable =
      only_reads(request) || (request.method != "POST" && !find_header(request.headers, "If-None-Match") &&
                              !find_header(request.headers, "If-Match"));
  for (HttpHeader& header : encryption_headers(options_.encryption, operation_of(request)))
    http.headers.push_back(std::move(header));
  if (options_.requester_pays) http.headers.push_back({"x-amz-request-payer", "requester"});
  if (keys == nullptr) return http;

  const bool in_the_clear = !to.endpoint.tls && !to.endpoint.is_loopback();
  const std::string digest = request.body.empty() || options_.sign_payload.value_or(in_the_clear)
                                 ? sha256_hex(request.body)
                                 : "UNSIGNED-PAYLOAD";
  const std::string date = format_amz_date(options_.now() + assumed.clock_offset);
  http.headers.push_back({"x-amz-date", date});
  http.headers.push_back({"x-amz-content-sha256", digest});
  if (!keys->session_token.empty()) http.headers.push_back({"x-amz-security-token", keys->session_token});
  HttpHeaders to_sign = {{"host", to.endpoint.host_field()}};
  for (const HttpHeader& header : http.headers) {
    const std::string name = to_lower(header.name);
    if (name.starts_with("x-amz-") || name == "content-md5") to_sign.push_back(header);
  }
  const SignedParts parts{request.method, path, query, to_sign, digest};
  http.headers.push_back({"Authorization", signer_.authorization(*keys, parts, assumed.region, date)});
  return http;
}

bool S3Client::learn_region(const S3Answer& answer, const Assumptions& assumed) {
  const bool elsewhere = answer.http.status == 301 || answer.http.status == 307 || answer.http.status == 400;
  const auto told = answer.http.header("x-amz-bucket-region");
  if (!elsewhere || !told || told->empty() || told->size() > 64 ||
      told->find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") != std::string_view::npos) {
    return false;
  }
  const std::scoped_lock lock(mutex_);
  assumptions_.region = *told;
  return assumed.region != *told;
}

bool S3Client::learn_clock(const S3Answer& answer, const Assumptions& assumed) {
  const auto server_time = parse_http_date(answer.http.header("Date").value_or(""));
  if (answer.error_code != "RequestTimeTooSkewed" || !server_time) return false;
  const auto offset = std::chrono::duration_cast<std::chrono::seconds>(*server_time - options_.now());
  const std::scoped_lock lock(mutex_);
  assumptions_.clock_offset = offset;
  return std::chrono::abs(assumed.clock_offset - offset) > std::chrono::seconds(60);
}

struct S3Client::Call {
  HttpTransfers& transfers;
  const S3Request request;
  const Done done;
  Backoff backoff;
  steady_clock::time_point limit;
  Assumptions assumed{};
  HttpRequest http{};
  int attempt = 0;
  std::optional<steady_clock::time_point> first_failure{};
  int redirections = 0;
  int broken_answers = 0;
  bool maybe_done = false;
  CredentialsProvider::Current keys{};
  bool has_renewed_keys = false;
};

bool S3Client::renew_keys(const S3Answer& answer, Call& call) {
  if (call.keys == nullptr || call.has_renewed_keys || !are_refused_keys(answer)) return false;
  call.has_renewed_keys = true;
  return options_.credentials->refuse(call.keys);
}

Result<S3Answer> S3Client::perform(const S3Request& request) {
  HttpTransfers alone = transfers(request.call);
  std::optional<Result<S3Answer>> out;
  start(alone, request, [&](Result<S3Answer> answer) { out = std::move(answer); });
  alone.run();
  return *std::move(out);
}

void S3Client::start(HttpTransfers& transfers, S3Request request, Done done) {
  const auto limit = limit_of(request);
  send(std::make_shared<Call>(Call{.transfers = transfers,
                                   .request = std::move(request),
                                   .done = std::move(done),
                                   .backoff = Backoff(options_.backoff, random_name_bits()),
                                   .limit = limit}));
}

void S3Client::perform_many(std::size_t count, const CallOptions& call,
                            const std::function<S3Request(std::size_t)>& make,
                            const std::function<bool(std::size_t, Result<S3Answer>)>& take) {
  HttpTransfers together = transfers(call);
  std::size_t next = 0;
  bool goes_on = true;
  std::function<void()> start_next = [&] {
    if (!goes_on || next == count) return;
    const std::size_t now = next++;
    start(together, make(now), [&, now](Result<S3Answer> answer) {
      goes_on = take(now, std::move(answer)) && goes_on;
      start_next();
    });
  };
  const auto at_once = static_cast<std::size_t>(std::max(options_.requests_at_once, 1));
  for (std::size_t i = 0; i < std::min(at_once, count); ++i) start_next();
  together.run();
}

void S3Client::send(const std::shared_ptr<Call>& call) {
  ++call->attempt;
  const S3Request& request = call->request;
  if (options_.credentials && options_.credentials->may_wait()) call->transfers.give_way();
  auto keys = signing_keys(request);
  if (!keys) {
    return call->transfers.after(milliseconds(0),
                                 [call, error = std::move(keys).error()] { call->done(error); });
  }
  call->keys = *std::move(keys);
  // A read is repeated on another connection before the caller's deadline; the answer to a write may rightly
  // take long.
  const auto left = std::chrono::ceil<milliseconds>(call->limit - steady_clock::now());
  const auto patience =
      only_reads(request) ? std::min(left, request.call.deadline / 3 + milliseconds(1)) : left;
  call->assumed = assumptions();
  call->http = signed_request(request, call->assumed, call->keys.get());
  call->http.stall_timeout = std::max(patience, milliseconds(1));
  call->transfers.start(
      call->http, [this, call](Result<HttpResponse> response) { take_response(call, std::move(response)); });
}

Result<S3Answer> S3Client::to_answer(const Call& call, Result<HttpResponse> response) const {
  if (!response) return unreachable(call.request, std::move(response).error());
  S3Answer answer{.http = *std::move(response), .maybe_done_before = call.maybe_done};
  take_error(answer, may_fail_after_200(call.request));
  if (answer.ok() && call.request.check) HEADRACE_CHECK(call.request.check(answer));
  return answer;
}

void S3Client::take_response(const std::shared_ptr<Call>& call, Result<HttpResponse> response) {
  const S3Request& request = call->request;
  const bool stalled = !response && response.error().code == Code::kDeadlineExceeded;
  if (!stalled) call->limit = limit_of(request);
  Result<S3Answer> answer = to_answer(*call, std::move(response));
  milliseconds pause{0};
  if (answer) {
    if (answer->ok()) retry_budget_.succeeded();
    if (answer->ok() || answer->error_code == "NoSuchKey") bucket_was_seen_ = true;
    if (!answer->ok() && call->redirections < kMaxRedirections &&
        (learn_region(*answer, call->assumed) || learn_clock(*answer, call->assumed) ||
         renew_keys(*answer, *call))) {
      ++call->redirections;
      ++faults_;
      return send(call);
    }
    if (answer->ok() || !is_answered_by_repeating(request, *answer)) return call->done(std::move(answer));
    ++faults_;
    pause = asked_pause(*answer);
    call->maybe_done = call->maybe_done || answer->http.status != 409;
  } else {
    ++faults_;
    const Code code = answer.error().code;
    const bool broken = code == Code::kDataLoss && ++call->broken_answers < kMaxBrokenAnswers;
    if (code != Code::kUnavailable && code != Code::kDeadlineExceeded && !broken)
      return call->done(std::move(answer));
    call->maybe_done = true;
  }
  const auto now = steady_clock::now();
  if (!call->first_failure) call->first_failure = now;
  pause = std::max(pause, call->backoff.next());
  const bool outlasts = options_.outlasts_outages && bucket_was_seen_ &&
                        now + pause < *call->first_failure + request.call.deadline;
  const bool may_try = call->attempt < options_.max_attempts || outlasts;
  if (!may_try || now + pause >= call->limit || !retry_budget_.take()) {
    return call->done(std::move(answer));
  }
  call->transfers.after(pause, [this, call] { send(call); });
}

std::vector<StoreCounter> S3Client::counters() const {
  const HttpCounters http = http_.counters(s3_address(bucket_, options_, assumptions().region).endpoint);
  return {{"requests_total", "Requests sent, including repeated ones.", http.requests},
          {"faults_total", "Attempts without an answer, or with one that requires a retry.", faults_},
          {"resent_total", "Requests sent again because a kept connection was closed.", http.resent},
          {"overloads_total", "Answers with status 429 or 503.", http.overloads},
          {"hedges_total", "Second requests for late answers.", http.hedges},
          {"hedges_won_total", "Second requests that were answered first.", http.hedges_won},
          {"moved_bytes_total", "Bytes of bodies, both ways.", http.moved_bytes}};
}

Error S3Client::unreachable(const S3Request& request, Error error) const {
  std::string hint;
  if (error.code == Code::kUnavailable || error.code == Code::kDeadlineExceeded ||
      error.code == Code::kDataLoss) {
    hint = concat("; the endpoint comes from ", options_.endpoint_source);
  } else if (error.code == Code::kUnauthenticated || error.code == Code::kFailedPrecondition) {
    hint =
        "; name the file of the certificate authority in AWS_CA_BUNDLE (S3_VERIFY_SSL=0 turns the check off)";
  }
  error.message += hint;
  return std::move(error).in(describe(request.key));
}

Error S3Client::explain(const S3Request& request, const S3Answer& answer) const {
  const S3ErrorContext context{
      .endpoint = s3_address(bucket_, options_, assumptions().region).endpoint.text(),
      .endpoint_source = options_.endpoint_source,
      .credentials_source = options_.credentials ? options_.credentials->source() : "",
      .bucket = bucket_,
      .signed_by_us = options_.credentials != nullptr};
  return s3_error(answer.http.status, answer.error_code, answer.error_message, context)
      .in(describe(request.key));
}

}  // namespace headrace
