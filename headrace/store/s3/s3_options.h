#pragma once

/// \file Settings for reaching an S3 store, including the credentials.

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "headrace/base/environment.h"
#include "headrace/base/result.h"
#include "headrace/net/backoff.h"
#include "headrace/net/http/http_message.h"
#include "headrace/net/http/http_proxy.h"
#include "headrace/net/tls.h"
#include "headrace/store/s3/credentials/provider.h"
#include "headrace/store/s3/encryption.h"

namespace headrace {

enum class S3Addressing {
  kAuto,     // kVirtual on AWS, kPath elsewhere
  kPath,     // https://host/bucket/key
  kVirtual,  // https://bucket.host/key, or kPath if the bucket's name does not fit into a host name
};

struct S3Options {
  /// None: the region's endpoint at AWS.
  std::optional<HttpEndpoint> endpoint{};
  std::string region = "us-east-1";
  S3Addressing addressing = S3Addressing::kAuto;
  TlsOptions tls = TlsOptions();
  HttpProxies proxies{};
  /// Null: requests are not signed.
  std::shared_ptr<CredentialsProvider> credentials{};
  /// The source of the endpoint's setting, for messages: "AWS_ENDPOINT_URL_S3", "profile \"x\" in /home/…".
  std::string endpoint_source = "the default";
  std::string region_source = "the default";
  /// How the server encrypts written objects, and decrypts them for reading.
  S3Encryption encryption = NoEncryption();
  /// The sender of a request pays for it, not the bucket's owner.
  bool requester_pays = false;

  /// Whether the signature covers the body, which costs a SHA-256 of the body. None: only if the body is sent
  /// over a network without TLS. With TLS, and within this machine, nobody can change the body on the way,
  /// and the checksum catches accidents.
  std::optional<bool> sign_payload{};
  /// Send a CRC32C with every object and part, which the server checks and keeps. Turn off for servers that
  /// refuse the header.
  bool send_checksums = true;
  /// After the first successful conditional write, find out whether the server honours conditions.
  bool probe_conditions = true;

  /// Folder on this machine for notes of uploads that another run may continue. Empty: no notes are kept.
  std::string uploads_folder{};

  std::size_t part_bytes = 8 << 20;  // size of a part; values below 5 MiB, S3's minimum, count as 5 MiB
  int parallel_parts = 4;            // for one upload in pieces, and for one copy
  std::uint64_t copy_part_bytes = 256 << 20;
  std::size_t range_bytes = 8 << 20;  // size of one request of a read
  int requests_at_once = 64;          // for one call; the HTTP client decides how many are in flight
  std::size_t max_connections = 64;   // for the store
  int max_attempts = 8;               // for one request
  /// If the server has answered before, keep retrying for as long as the call may be without progress.
  bool outlasts_outages = true;
  BackoffOptions backoff{};
  /// Wall clock, for signatures.
  std::function<std::chrono::system_clock::time_point()> now = Environment{}.now;
};

/// Reads these settings. The first one in a line that is set is used:
///   keys      docs/credentials.md
///   endpoint  AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, the profile's endpoint_url, S3_ENDPOINT (host:port;
///             http if S3_USE_HTTPS=0)
///   region    AWS_REGION, AWS_DEFAULT_REGION, S3_REGION, the profile's region
///   TLS       AWS_CA_BUNDLE, S3_CA_FILE, the profile's ca_bundle; S3_VERIFY_SSL=0 turns verification off
///             for the store, but not for services that issue keys; HEADRACE_S3_CLIENT_CERTIFICATE,
///             HEADRACE_S3_CLIENT_KEY and HEADRACE_S3_CLIENT_KEY_PASSWORD for servers that ask for a client
///             certificate
///   proxies   HTTPS_PROXY, HTTP_PROXY, NO_PROXY (http_proxy.h)
///   others    HEADRACE_S3_ADDRESSING_STYLE or the profile's addressing_style (path, virtual, auto);
///             AWS_REQUEST_CHECKSUM_CALCULATION=when_required sends no checksums;
///             HEADRACE_S3_SIGN_PAYLOAD=0|1; HEADRACE_S3_PROBE_CONDITIONS=0;
///             HEADRACE_S3_SSE and related variables: encryption.h; AWS_REQUEST_PAYER=requester
/// \error kUnauthenticated  there are no credentials; the message says what to set
/// \error kInvalidArgument  a variable or profile cannot be understood; the message names it, never its
///                          secret
Result<S3Options> s3_options_from(const Environment& environment);

}  // namespace headrace
