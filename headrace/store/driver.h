#pragma once

/// \file Each driver describes itself in one value, which its folder defines and registry.cc lists. All other
/// code (commands, Python, TensorFlow, the reference) asks the registry. See
/// docs/how-to/write-a-store-driver.md.
///
///   extern const StoreDriver kMemoryDriver;   // in memory_driver.h
///   const StoreDriver kMemoryDriver = {.scheme = "memory", …, .open = open_memory};

#include <chrono>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>

#include "headrace/base/environment.h"
#include "headrace/base/options.h"
#include "headrace/base/result.h"
#include "headrace/store/examine.h"
#include "headrace/store/store.h"
#include "headrace/store/url.h"

namespace headrace {

struct OpenedStore {
  std::unique_ptr<Store> store;
  std::string warning{};  // one sentence that tells users why the store is unsafe; empty: it is safe
  /// The server that answers, if the URL does not name it. Two stores with the same URL but different servers
  /// hold different objects. Contains no secret.
  std::string server{};
};

/// Environment variables that a driver reads in addition to those of its options.
struct DriverVariable {
  std::string_view names;     // "S3_ENDPOINT with S3_USE_HTTPS"
  std::string_view sentence;  // what they do
};

/// The longest lifetime of a presigned URL. All providers have the same limit.
inline constexpr std::chrono::hours kLongestPresigned{7 * 24};

struct PresignOptions {
  std::string method = "GET";  // or "PUT", "HEAD", "DELETE"
  std::chrono::seconds lifetime{3'600};
};

struct PresignedUrl {
  /// A secret until `usable_until`.
  std::string url;
  /// When the lifetime of the URL ends or the keys that signed it expire, whichever is earlier.
  std::chrono::system_clock::time_point usable_until;
};

/// Data and functions. A null function means that the driver does not offer it. The functions are
/// thread-safe.
struct StoreDriver {
  std::string_view scheme;   // "s3"; lower case letters, digits, '+' and '-'
  std::string_view example;  // "s3://bucket/key"
  std::string_view summary;  // one sentence without full stop, which `headrace --help` shows
  std::string_view details;  // paragraphs: what users should know before they use the driver
  UrlForm url_form{};
  /// Options for Python's keyword arguments and storage_options. Each sets its `variable`.
  std::span<const Option> options{};
  std::span<const DriverVariable> variables{};

  /// Makes a store, without sending a request. The registry calls it once for each authority and query.
  /// \error kInvalidArgument  a variable, or the URL's query, cannot be understood
  Result<OpenedStore> (*open)(const Url& url, const Environment& environment) = nullptr;

  /// Checks combinations of options before `with_options` sets their variables. May set other variables.
  /// \error kInvalidArgument  the options contradict each other; the message never holds a secret
  Status (*check_options)(const OptionValues& given, Environment& environment) = nullptr;

  /// For `headrace doctor`: tests step by step whether this machine can reach `url`, and reports each
  /// finding. Writes nothing. Returns false if the URL cannot be used.
  bool (*examine)(const Url& url, const Environment& environment, const CallOptions& call,
                  const Report& report) = nullptr;

  /// Tests kinds of writes that `examine_writes` (examine.h) does not test. Writes objects with unique names
  /// into `folder`, and removes them.
  void (*examine_own_writes)(const Url& url, std::string_view folder, const Environment& environment,
                             const CallOptions& call, const Report& report) = nullptr;

  /// Makes a presigned URL: anyone who has it can use `options.method` on one object for
  /// `options.lifetime`, without credentials. May first fetch the credentials that sign it.
  /// \error kInvalidArgument     the lifetime is below a second or above kLongestPresigned, or `url` has no
  ///                             valid key
  /// \error kFailedPrecondition  these settings rule out presigned URLs
  Result<PresignedUrl> (*presign)(const Url& url, const Environment& environment,
                                  const PresignOptions& options, const std::stop_token& stop) = nullptr;
};

/// Returns `environment` plus the variables of the given options. `given` holds pairs of an option's name
/// ("endpoint-url") and its value as text.
/// \error kInvalidArgument  the driver has no such option, or refuses its value
Result<Environment> with_options(const StoreDriver& driver,
                                 std::span<const std::pair<std::string, std::string>> given,
                                 Environment environment);

/// Describes a driver for users: its URLs, options and variables, in lines of plain text.
std::string describe_driver(const StoreDriver& driver);

}  // namespace headrace
