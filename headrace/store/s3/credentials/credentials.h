#pragma once

/// \file Keys for S3, and their sources. docs/credentials.md has the order and the rules.

#include <chrono>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>

#include "headrace/base/result.h"

namespace headrace {

/// Never printed; no error message contains any part of them.
struct S3Credentials {
  std::string access_key_id;
  std::string secret_access_key;
  std::string session_token{};  // empty unless the keys are temporary
  std::optional<std::chrono::system_clock::time_point> expires{};
};

struct FetchLimits {
  /// Longest time without progress, for each request. For a program: its longest run time.
  std::chrono::milliseconds patience{30'000};
  std::stop_token stop{};
};

struct CredentialsSource {
  /// For messages: "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY", "profile \"x\" in /home/…".
  std::string name;
  /// Fetches keys. Blocks. Called by one thread at a time.
  std::function<Result<S3Credentials>(const FetchLimits&)> fetch;
  /// Whether another fetch may return other keys.
  bool is_renewable = true;
};

}  // namespace headrace
