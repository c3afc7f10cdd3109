#pragma once

/// \file What a driver says of itself, in one value that its folder defines and registry.cc lists: everything
/// else (commands, Python, TensorFlow, the reference) asks the registry. docs/how-to/write-a-store-driver.md.
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
  std::string warning{};  // what makes it unsafe, for people; empty: nothing
};

/// One or several environment variables that a driver reads, beside those of its options.
struct DriverVariable {
  std::string_view names;     // "S3_ENDPOINT with S3_USE_HTTPS"
  std::string_view sentence;  // what they do
};

/// What presigned URLs are good for at most, with every provider that has them.
inline constexpr std::chrono::hours kLongestPresigned{7 * 24};

struct PresignOptions {
  std::string method = "GET";  // or "PUT", "HEAD", "DELETE"
  std::chrono::seconds lifetime{3'600};
};

struct PresignedUrl {
  /// A secret for as long as it can be used.
  std::string url;
  /// Its lifetime, or the end of the keys that signed it.
  std::chrono::system_clock::time_point usable_until;
};

/// Plain data and functions; null: the driver does not have it. All functions may be called from any thread.
struct StoreDriver {
  std::string_view scheme;   // "s3"; lower case letters, digits, '+' and '-'
  std::string_view example;  // "s3://bucket/key"
  std::string_view summary;  // one sentence, as `headrace --help` shows it, without full stop
  std::string_view details;  // paragraphs: what to know before using it
  UrlForm url_form{};
  /// What Python's keyword arguments and storage_options may give; each has a `variable`, which it sets.
  std::span<const Option> options{};
  std::span<const DriverVariable> variables{};

  /// Makes no request yet. Stores are opened once for each authority and query.
  /// \error kInvalidArgument  a variable, or the URL's query, cannot be understood
  Result<OpenedStore> (*open)(const Url& url, const Environment& environment) = nullptr;

  /// Checks options that concern each other, before their variables are set; may set others.
  /// \error kInvalidArgument  never holds a secret
  Status (*check_options)(const OptionValues& given, Environment& environment) = nullptr;

  /// Reports what stands between this machine and the place, found out step by step without writing; false:
  /// the place cannot be used. For `headrace doctor`.
  bool (*examine)(const Url& url, const Environment& environment, const CallOptions& call,
                  const Report& report) = nullptr;

  /// Beyond `examine_writes` of examine.h: writes objects of names that nobody else has into `folder`, and
  /// removes them.
  void (*examine_own_writes)(const Url& url, std::string_view folder, const Environment& environment,
                             const CallOptions& call, const Report& report) = nullptr;

  /// A URL that lets whoever has it read or write one object for a while, without keys. May have to fetch
  /// keys first.
  /// \error kInvalidArgument     a lifetime below a second or above kLongestPresigned, or no key
  /// \error kFailedPrecondition  with these settings no URL can do that
  Result<PresignedUrl> (*presign)(const Url& url, const Environment& environment,
                                  const PresignOptions& options, const std::stop_token& stop) = nullptr;
};

/// `environment` with the variables of the options that are given, as text, by name ("endpoint-url").
/// \error kInvalidArgument  an option that the driver lacks, or whose value it does not take
Result<Environment> with_options(const StoreDriver& driver,
                                 std::span<const std::pair<std::string, std::string>> given,
                                 Environment environment);

/// What a user is to know of a driver: forms of URLs, options and variables; plain text in lines.
std::string describe_driver(const StoreDriver& driver);

}  // namespace headrace
