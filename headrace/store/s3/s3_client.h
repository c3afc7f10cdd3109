#pragma once

/// \file Addresses, signs and sends the requests to one bucket, and retries them if that may help. Internal
/// to the driver.

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
  /// Empty on success. Otherwise the <Code> of the error, or a name made from the status if there was no
  /// body.
  std::string error_code{};
  std::string error_message{};
  /// An earlier attempt of this request may have taken effect, because its answer was lost or it failed
  /// inside the server.
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
  bool with_crc32c = false;         // compute the CRC32C of the bytes in `target_memory`
  bool leaves_longer_body = false;  // do not read a body that is longer than `target_memory`
  CallOptions call{};
  /// Retry after 409 ConditionalRequestConflict. False for completing an upload, which S3 has then dropped.
  bool repeat_conflicts = true;
  /// For cleaning up after a failure: the time at which all attempts together end. No credentials are fetched
  /// for them.
  std::optional<std::chrono::steady_clock::time_point> give_up_at{};
  /// Checks a successful answer. Its error, kDataLoss, counts as an answer that did not arrive.
  std::function<Status(const S3Answer&)> check{};
};

/// Whether a server enforces conditions on writes, as far as is known.
enum class Honoured { kUnknown, kYes, kNo };

/// Thread-safe.
class S3Client {
 public:
  S3Client(std::string bucket, const S3Options& options);

  /// Sends the request until there is an answer that a retry would not change: success, or an error that the
  /// caller understands (404, 412, …). Retries, with backoff, after lost connections, 500, 502, 503, 504, 429
  /// and the like. Follows a bucket to its region, corrects a wrong clock, and renews refused credentials
  /// once. A 200 with an error in its body counts as that error. Every request must therefore be safe to
  /// repeat, given `maybe_done_before`.
  ///
  /// `call.deadline` limits the time without progress. Each attempt that ends with an answer or a lost
  /// connection restarts that time. The number of attempts is limited by S3Options::max_attempts. If the
  /// server has answered before, more are made until the deadline has passed since the first failed one
  /// (S3Options::outlasts_outages).
  /// \error as for HttpClient::perform; the message names the object, the endpoint and the source of the
  ///        endpoint's setting
  /// \error as for CredentialsProvider::get, which may block beyond the deadline (docs/credentials.md)
  Result<S3Answer> perform(const S3Request& request);

  /// Like `perform`, but does not wait: `transfers.run()` makes the attempts, and calls `done` at the end.
  /// Any number of requests may be started on one `transfers`. Everything that a request borrows must live
  /// until its `done` is called.
  using Done = std::function<void(Result<S3Answer>)>;
  void start(HttpTransfers& transfers, S3Request request, Done done);
  HttpTransfers transfers(const CallOptions& call) { return HttpTransfers(http_, call.stop); }

  /// Performs `count` requests, at most `S3Options::requests_at_once` of them at once. `make` returns a
  /// request when its turn comes. `take` gets its answer, and returns whether to begin further requests.
  /// Requests that have begun always end. Both functions are called on this thread.
  void perform_many(std::size_t count, const CallOptions& call,
                    const std::function<S3Request(std::size_t)>& make,
                    const std::function<bool(std::size_t, Result<S3Answer>)>& take);

  /// The error for an answer. Its message says what to do.
  Error explain(const S3Request& request, const S3Answer& answer) const;

  /// "s3://bucket/key"
  std::string describe(std::string_view key) const;
  /// Value of x-amz-copy-source: "/bucket/key", percent-encoded.
  std::string copy_source(std::string_view key) const;
  const S3Options& options() const { return options_; }
  std::vector<StoreCounter> counters() const;
  /// Region of the bucket, as far as it is known.
  std::string region() const { return assumptions().region; }
  /// True if some answer has shown that the bucket exists.
  bool bucket_was_seen() const { return bucket_was_seen_; }
  /// True if some answer has shown that the server honours If-None-Match, or If-Match, on writes.
  std::atomic<bool> honours_absent{false}, honours_version{false};
  /// Whether the server honours these conditions when it completes a multipart upload.
  std::atomic<Honoured> completes_if_absent{Honoured::kUnknown}, completes_if_version{Honoured::kUnknown};

 private:
  // Values that address and sign a request. Its answer may correct them.
  struct Assumptions {
    std::string region;
    std::chrono::seconds clock_offset;
  };
  Assumptions assumptions() const;
  // The keys that sign; null if requests are not signed. \error as for CredentialsProvider::get
  Result<CredentialsProvider::Current> signing_keys(const S3Request& request);
  HttpRequest signed_request(const S3Request& request, const Assumptions& assumed, const S3Credentials* keys);
  // A request with all its attempts, until it is over.
  struct Call;
  void send(const std::shared_ptr<Call>& call);
  Result<S3Answer> to_answer(const Call& call, Result<HttpResponse> response) const;
  void take_response(const std::shared_ptr<Call>& call, Result<HttpResponse> response);
  // True if the answer shows that the request was sent with a wrong assumption. A concurrent request may
  // already have learnt the right one.
  bool learn_region(const S3Answer& answer, const Assumptions& assumed);
  bool learn_clock(const S3Answer& answer, const Assumptions& assumed);
  // True, at most once for each call, if its keys were refused and there may be other keys.
  bool renew_keys(const S3Answer& answer, Call& call);
  Error unreachable(const S3Request& request, Error error) const;

  const std::string bucket_;
  const S3Options options_;
  SigV4Signer signer_;
  mutable std::mutex mutex_;
  Assumptions assumptions_;
  std::atomic<bool> bucket_was_seen_{false};
  RetryBudget retry_budget_{1500};        // enough for an outage with all requests under way
  std::atomic<std::uint64_t> faults_{0};  // attempts without a usable answer
  HttpClient http_;
};

}  // namespace headrace
