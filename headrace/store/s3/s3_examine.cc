#include "headrace/store/s3/s3_examine.h"

#include "headrace/base/environment.h"
#include "headrace/base/text.h"
#include "headrace/store/s3/s3_address.h"
#include "headrace/store/s3/s3_client.h"
#include "headrace/store/s3/s3_upload.h"
#include "headrace/store/url.h"

namespace headrace {
namespace {

using Outcome = Finding::Outcome;
using std::chrono::seconds;
using std::chrono::system_clock;

constexpr seconds kMostSkew{60};
constexpr seconds kSkewThatIsRefused{15 * 60};
constexpr seconds kSoon{15 * 60};

std::string minutes_text(seconds time) {
  return time < seconds(120) ? concat(time.count(), " s") : concat(time.count() / 60, " min");
}

class S3Examination {
 public:
  S3Examination(std::string_view bucket, const S3Options& options, const CallOptions& call,
                const Report& report)
      : bucket_(bucket), options_(options), call_(call), report_(report) {}

  bool run() {
    shows_settings();
    const bool has_keys = finds_keys();
    return connects() && has_keys && lists();
  }

 private:
  void shows_settings();
  bool finds_keys();
  bool connects();
  void judges_tls(const HttpEndpoint& endpoint, const HttpResponse& answer);
  void judges_clock(const HttpResponse& answer, system_clock::time_point now);
  bool lists();
  void judges_region(const std::string& actual);

  void ok(std::string name, std::string text) { report_({std::move(name), Outcome::kOk, std::move(text)}); }
  void warns(std::string name, std::string text, std::string advice) {
    report_({std::move(name), Outcome::kWarning, std::move(text), std::move(advice)});
  }
  void fails(std::string name, std::string text, std::string advice) {
    report_({std::move(name), Outcome::kFailure, std::move(text), std::move(advice)});
  }

  const std::string bucket_;
  const S3Options& options_;
  const CallOptions& call_;
  const Report& report_;
};

struct EncryptionName {
  std::string operator()(const NoEncryption&) const { return "the bucket's default"; }
  std::string operator()(const ServerKeyEncryption& server) const {
    return concat(server.algorithm, server.kms_key_id.empty() ? "" : " with the key ", server.kms_key_id);
  }
  std::string operator()(const CustomerKeyEncryption&) const { return "with your own key (SSE-C)"; }
};

void S3Examination::shows_settings() {
  const HttpEndpoint endpoint = s3_address(bucket_, options_, options_.region).endpoint;
  ok("endpoint",
     concat(endpoint.text(), ", from ", options_.endpoint ? options_.endpoint_source : "the region (AWS)"));
  ok("region", concat(options_.region, ", from ", options_.region_source));
  ok("encryption", std::visit(EncryptionName(), options_.encryption));
}

bool S3Examination::finds_keys() {
  const std::string name = "credentials";
  if (!options_.credentials) {
    ok(name, "none: requests are not signed (HEADRACE_S3_ANONYMOUS)");
    return true;
  }
  const auto keys = options_.credentials->get(call_.stop);
  if (!keys) {
    fails(name, keys.error().message,
          concat("make this source work, or set another one: docs/credentials.md"));
    return false;
  }
  const std::string from =
      concat("key ", (*keys)->access_key_id.substr(0, 4), "…, from ", options_.credentials->source());
  const bool can_be_renewed = options_.credentials->is_renewable();
  if ((*keys)->expires) {
    const auto left = std::chrono::duration_cast<seconds>(*(*keys)->expires - options_.now());
    const std::string text = concat(from, ", valid for another ", minutes_text(left));
    if (can_be_renewed || left > kSoon) {
      ok(name, concat(text, can_be_renewed ? "; will be renewed before that" : ""));
    } else {
      warns(name, text, "renew them");
    }
  } else if (!(*keys)->session_token.empty() && !can_be_renewed) {
    warns(name, concat(from, "; temporary, and their lifetime is unknown"),
          "a run that outlives them fails: for long runs use a profile or a role, which can be renewed");
  } else {
    ok(name, from);
  }
  return true;
}

std::string connection_advice(const Error& error, const S3Options& options, const HttpProxy* proxy) {
  if (proxy != nullptr)
    return concat("requests go through the proxy in ", proxy->source, "; NO_PROXY names hosts that do not");
  const std::string where = options.endpoint ? options.endpoint_source : "AWS_REGION";
  if (error.code == Code::kUnauthenticated)
    return "name the file of the server's certificate authority in AWS_CA_BUNDLE";
  if (error.code == Code::kFailedPrecondition) return "check the file that AWS_CA_BUNDLE names";
  if (error.message.find("TLS") != std::string::npos)
    return concat("does the server speak TLS at this port? If not, ", where, " should begin with http://");
  if (error.code == Code::kDataLoss)
    return concat("the server there does not speak HTTP; if it speaks TLS, ", where,
                  " should begin with https://");
  if (error.code == Code::kDeadlineExceeded)
    return concat("nothing answers: look for a firewall or proxy, and check ", where);
  return concat("is the server running, and is the address in ", where, " right?");
}

// Sends an unsigned request, so that the answer depends on the connection alone.
bool S3Examination::connects() {
  const S3Address to = s3_address(bucket_, options_, options_.region);
  HttpClient client({.max_connections = 1, .tls = options_.tls, .proxies = options_.proxies});
  const HttpProxy* proxy = options_.proxies.of(to.endpoint);
  const auto begin = std::chrono::steady_clock::now();
  const auto answer = client.perform(
      {.endpoint = to.endpoint, .method = "HEAD", .target = to.path_of(""), .stall_timeout = call_.deadline},
      call_.stop);
  const auto took = std::chrono::steady_clock::now() - begin;
  if (!answer) {
    fails("connection", answer.error().message, connection_advice(answer.error(), options_, proxy));
    return false;
  }
  const std::string server = printable_line(answer->header("Server").value_or("it does not name itself"), 60);
  ok("connection",
     concat("answers in ", std::chrono::ceil<std::chrono::milliseconds>(took).count(), " ms (", server, ")",
            proxy != nullptr ? concat(", through the proxy in ", proxy->source) : ""));
  judges_tls(to.endpoint, *answer);
  judges_clock(*answer, options_.now());
  return true;
}

void S3Examination::judges_tls(const HttpEndpoint& endpoint, const HttpResponse& answer) {
  const std::string name = "TLS", version(answer.tls_version);
  if (!endpoint.tls && endpoint.is_loopback()) return ok(name, "none, within this machine");
  if (!endpoint.tls) {
    return warns(name, "none: anyone on the network path can read everything",
                 concat("let ", options_.endpoint_source, " begin with https://"));
  }
  if (!options_.tls.verify) {
    return warns(name, concat(version, ", but the server's certificate is not checked (S3_VERIFY_SSL=0)"),
                 "name the file of its certificate authority in AWS_CA_BUNDLE instead");
  }
  const std::string authorities =
      options_.tls.ca_file.empty() ? "the system's authorities" : options_.tls.ca_file;
  ok(name, concat(version, ", certificate checked against ", authorities));
}

void S3Examination::judges_clock(const HttpResponse& answer, system_clock::time_point now) {
  const std::string name = "clock";
  const auto theirs = parse_http_date(answer.header("Date").value_or(""));
  if (!theirs) return ok(name, "the server does not report its time");
  const auto skew = std::chrono::duration_cast<seconds>(now - *theirs);
  const std::string text = concat(minutes_text(std::chrono::abs(skew)),
                                  skew < seconds(0) ? " behind" : " ahead of", " the server's");
  if (std::chrono::abs(skew) <= kMostSkew) return ok(name, text);
  const std::string refused =
      "; requests signed with this time are refused, and repeated with the server's time";
  warns(name, concat(text, std::chrono::abs(skew) > kSkewThatIsRefused ? refused : ""),
        "set this machine's clock, or let NTP set it");
}

bool S3Examination::lists() {
  S3Client client(bucket_, options_);
  const S3Request request{.query = {{"list-type", "2"}, {"max-keys", "1"}}, .call = call_};
  const auto answer = client.perform(request);
  const std::string name = "access";
  if (!answer) {
    fails(name, answer.error().message, "the server answered a moment ago: try again");
    return false;
  }
  judges_region(client.region());
  if (answer->ok()) {
    ok(name, concat(client.describe(""), " can be listed"));
    return true;
  }
  const Error error = client.explain(request, *answer);
  if (error.code == Code::kPermissionDenied) {
    warns(name, error.message, "commands that list folders need the right to list the bucket");
    return true;
  }
  fails(name, error.message,
        error.code == Code::kUnauthenticated ? "put the right keys into the source of the credentials, above"
                                             : "create it, or correct the URL or the endpoint");
  return false;
}

void S3Examination::judges_region(const std::string& actual) {
  if (actual == options_.region) return;
  warns("region of the bucket", concat(actual, ", not ", options_.region, ", as the server reported"),
        concat("set AWS_REGION=", actual, " to save requests, and for presigned URLs"));
}

// Returns whether the server refuses the checksum, and not, for example, the key or the signature.
bool refuses_checksum(const S3Answer& answer) {
  const bool names_it = to_lower(answer.error_message).find("checksum") != std::string::npos;
  return answer.http.status == 400 &&
         (answer.error_code == "BadDigest" || answer.error_code == "XAmzContentChecksumMismatch" ||
          (answer.error_code == "InvalidRequest" && names_it));
}

}  // namespace

bool examine_s3(std::string_view bucket, const S3Options& options, const CallOptions& call,
                const Report& report) {
  return S3Examination(bucket, options, call, report).run();
}

void examine_s3_checksums(std::string_view bucket, std::string_view folder, const S3Options& options,
                          const CallOptions& call, const Report& report) {
  const std::string name = "checksums";
  if (!options.send_checksums) {
    return report({name, Outcome::kWarning, "not sent (AWS_REQUEST_CHECKSUM_CALCULATION=when_required)",
                   "unset it if the server supports x-amz-checksum-crc32c, which detects damage in transit"});
  }
  S3Client client(std::string(bucket), options);
  const std::string key = join_key(folder, concat("headrace-doctor-", hex64(random_name_bits())));
  const auto answer = client.perform({.method = "PUT",
                                      .key = key,
                                      .headers = {{"x-amz-checksum-crc32c", "AAAAAA=="}},
                                      .body = as_bytes("other bytes than the checksum's"),
                                      .call = call});
  const bool may_be_there =
      !answer || answer->ok() || answer->maybe_done_before || answer->http.status >= 500;
  if (may_be_there) (void)client.perform({.method = "DELETE", .key = key, .call = {.deadline = seconds(10)}});
  if (!answer) return report({name, Outcome::kFailure, answer.error().message, "try again"});
  if (refuses_checksum(*answer)) return report({name, Outcome::kOk, "a damaged object is refused (CRC32C)"});
  if (!answer->ok())
    return report({name, Outcome::kWarning, concat("the server answers ", answer->error_code, ": unknown")});
  report({name, Outcome::kWarning, "the server accepts objects with a wrong CRC32C",
          "damage in transit to the server is noticed when an object is read, not when it is written"});
}

void examine_s3_completions(std::string_view bucket, std::string_view folder, const S3Options& options,
                            const CallOptions& call, const Report& report) {
  S3Client client(std::string(bucket), options);
  for (const bool of_version : {false, true}) {
    const std::string_view header = of_version ? "If-Match" : "If-None-Match";
    const std::string name = concat("uploads in parts, ", header);
    switch (probe_completion(client, join_key(folder, "object"), of_version, call)) {
      case Honoured::kYes:
        report({name, Outcome::kOk, "an upload whose condition does not hold is not completed"});
        break;
      case Honoured::kNo:
        report({name, Outcome::kFailure, "an existing object was replaced without an error",
                concat("large objects cannot be published here safely: use a store that honours ", header,
                       " on CompleteMultipartUpload, or one writer at a time")});
        break;
      case Honoured::kUnknown:
        report({name, Outcome::kWarning, "this could not be tested on the server",
                "try again with the right to write and remove objects"});
    }
  }
}

}  // namespace headrace
