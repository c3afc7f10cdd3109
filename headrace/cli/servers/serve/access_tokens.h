#pragma once

/// \file Bearer tokens (RFC 6750) from a file. They decide who may use which model.

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/base/result.h"

namespace headrace {

/// A token, and the models that its owner may use.
struct TokenRights {
  std::string token;
  /// Empty: all models.
  std::vector<std::string> models{};
  bool allows(std::string_view model) const;
};

/// Parses a file of tokens. Each line has a token, and after it the models that it is for, separated by
/// blanks; no models: all. Empty lines and lines that begin with # are ignored.
/// \error kInvalidArgument  a token is shorter than 16 characters, has a character that no token may have, or
///                          occurs twice; or there is no token. The message names the line, not the token
Result<std::vector<TokenRights>> parse_tokens(std::string_view text);

/// The tokens of a file. `check` looks at the file again every `look_every`. A file that cannot be read or
/// parsed changes nothing, and is remarked on. Thread-safe.
class AccessTokens {
 public:
  /// \error kNotFound, kPermissionDenied  the file cannot be read; kInvalidArgument  as parse_tokens
  static Result<std::unique_ptr<AccessTokens>> open(std::string path, std::chrono::milliseconds look_every,
                                                    std::function<void(const std::string&)> remark);

  /// Checks the token of a request. Takes the same time for every wrong token.
  /// \param authorization  the header of that name; none: it is missing
  /// \param model          none: the request names no model, and any token is enough
  /// \error kUnauthenticated   no token, or an unknown one
  /// \error kPermissionDenied  the token is for other models
  Status check(std::optional<std::string_view> authorization, std::optional<std::string_view> model);

 private:
  AccessTokens(std::string path, std::chrono::milliseconds look_every,
               std::function<void(const std::string&)> remark)
      : path_(std::move(path)), look_every_(look_every), remark_(std::move(remark)) {}
  Status read();
  std::shared_ptr<const std::vector<TokenRights>> current();

  const std::string path_;
  const std::chrono::milliseconds look_every_;
  const std::function<void(const std::string&)> remark_;
  std::mutex mutex_;
  std::shared_ptr<const std::vector<TokenRights>> tokens_;
  std::string state_;  // of the file when it was last read
  std::chrono::steady_clock::time_point look_at_{};
};

}  // namespace headrace
