#pragma once

/// \file One bucket's requests: addressed, signed, sent, and repeated if that may help. Internal to the
/// driver.

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "headrace/net/http/http_client.h"
#include "headrace/store/s3/credentials/sigv4.h"
#include "headrace/store/s3/s3_options.h"
#include "headrace/store/store.h"

namespace headrace {

/// The server's final answer.
struct S3Answer {
  HttpResponse http{};
  /// Empty on success; otherwise the <Code> of the error, or a name made from the status if there was no
  /// body.
  std::string error_code{};
  std::string error_message{};
  /// An earlier attempt of this request may have taken effect: its answer got lost, or it failed inside the
  /// server.
  bool maybe_done_before = false;

  bool ok() const { return error_code.empty(); }
};

struct S3Request {
  std::string method = "GET";
  std::string key{};  // empty: the bucket itself
  QueryParameters query{};
  HttpHeaders headers{};
  BytesView body{};
  MutableBytesView target_memory{};
  bool with_crc32c = false;         // of what goes into `target_memory`
  bool leaves_longer_body = false;  // than `target_memory`
  CallOptions call{};
  /// Repeat after 409 ConditionalRequestConflict; false for completing an upload, which S3 has then dropped.
  bool repeat_conflicts = true;
  /// For cleaning up after a failure: all attempts together end about then, and no keys are fetched for them.
  std::optional<std::chrono::steady_clock::time_point> give_up_at{};
  /// Checks a success. Its error, kDataLoss, counts like an answer that did not arrive.
  std::function<Status(const S3Answer&)> check{};
};

/// Whether a server refuses what a condition forbids, as far as is known.
enum class Honoured { kUnknown, kYes, kNo };

/// Thread-safe.
class S3Client {
 public:
  S3Client(std::string bucket, const S3Options& options);

  /// Sends the request until there is an answer that repeating would not change: success, or an error that
  /// the caller understands (404, 412, …). Repeats, with backoff, after lost connections, 500, 502, 503, 504,
  /// 429 and the like; follows a bucket to its region; corrects a wrong clock; has refused keys renewed once.
  /// call.deadline bounds the time without progress. Each attempt that ends otherwise than by silence
  /// restarts it; such attempts are bounded by S3Options::max_attempts or, for a server that has answered
  /// before, by the deadline counted from the first that failed. A 200 with an error in its body counts as
  /// that error. Every request must therefore be safe to repeat, given `maybe_done_before`.
  /// \error as HttpClient::perform, naming the object, the endpoint and the source of the endpoint's setting;
  /// as CredentialsProvider::get, for which this may block beyond the deadline (docs/credentials.md)
  Result<S3Answer> perform(const S3Request& request);

  /// The same without waiting: `transfers.run()` calls `done` at the end. All requests of one `transfers` may
  /// be started at once; everything that a request borrows must live until then.
  using Done = std::function<void(Result<S3Answer>)>;
  void start(HttpTransfers& transfers, S3Request request, Done done);
  HttpTransfers transfers(const CallOptions& call) { return HttpTransfers(http_, call.stop); }

  /// `count` requests, at most `S3Options::requests_at_once` on their way. `make` returns a request when its
  /// turn comes; `take` gets its answer and says whether to begin further ones; requests that have begun
  /// always end. Both are called on this thread.
  void perform_many(std::size_t count, const CallOptions& call,
                    const std::function<S3Request(std::size_t)>& make,
                    const std::function<bool(std::size_t, Result<S3Answer>)>& take);

  /// The error for an answer, with what to do.
  Error explain(const S3Request& request, const S3Answer& answer) const;

  /// "s3://bucket/key"
  std::string describe(std::string_view key) const;
  /// "/bucket/key" percent-encoded, for x-amz-copy-source.
  std::string copy_source(std::string_view key) const;
  const S3Options& options() const { return options_; }
  std::vector<StoreCounter> counters() const;
  /// Region of the bucket, as far as known.
  std::string region() const { return assumptions().region; }
  /// True if some answer has shown that the bucket exists.
  bool bucket_was_seen() const { return bucket_was_seen_; }
  /// True if some answer has shown that the server honours If-None-Match, or If-Match, on writes.
  std::atomic<bool> honours_absent{false}, honours_version{false};
  /// The same where a multipart upload is completed.
  std::atomic<Honoured> completes_if_absent{Honoured::kUnknown}, completes_if_version{Honoured::kUnknown};

 private:
  // Values that address and sign a request. Its answer may correct them.
  struct Assumptions {
    std::string region;
    std::chrono::seconds clock_offset;
  };
  Assumptions assumptions() const;
  // The keys that sign; null if requests are not signed. \error as CredentialsProvider::get
  Result<CredentialsProvider::Current> signing_keys(const S3Request& request);
  HttpRequest signed_request(const S3Request& request, const Assumptions& assumed, const S3Credentials* keys);
  // A request until it is over, through all its attempts.
  struct Call;
  void send(const std::shared_ptr<Call>& call);
  Result<S3Answer> to_answer(const Call& call, Result<HttpResponse> response) const;
  void take_response(const std::shared_ptr<Call>& call, Result<HttpResponse> response);
  // True if the answer shows that the request was sent with a wrong assumption: another, sent at the same
  // time, may have learnt the right one already.
  bool learn_region(const S3Answer& answer, const Assumptions& assumed);
  bool learn_clock(const S3Answer& answer, const Assumptions& assumed);
  // True, once for each call, if its keys were refused and there may be others.
  bool renew_keys(const S3Answer& answer, Call& call);
  Error unreachable(const S3Request& request, Error error) const;

  const std::string bucket_;
  const S3Options options_;
  SigV4Signer signer_;
  mutable std::mutex mutex_;
  Assumptions assumptions_;
  std::atomic<bool> bucket_was_seen_{false};
  RetryBudget retry_budget_{1500};        // an outage, of as many requests at once as there are
  std::atomic<std::uint64_t> faults_{0};  // attempts without an answer that could be used
  HttpClient http_;
};

}  // namespace headrace
