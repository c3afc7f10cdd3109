#pragma once

/// \file Bearer tokens (RFC 6750) from a file: they decide who may ask which model.

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

/// A token, and the models that it opens.
struct TokenRights {
  std::string token;
  /// Empty: all models.
  std::vector<std::string> models{};
  bool allows(std::string_view model) const;
};

/// One token in each line, and behind it the models that it is for, with blanks between them; none: all.
/// Lines that begin with # and empty lines are passed over.
/// \error kInvalidArgument  a token is shorter than 16 characters or has a character that no header may have,
///                          one is there twice, or there is none: names the line, not the token
Result<std::vector<TokenRights>> parse_tokens(std::string_view text);

/// Thread-safe. The file is looked at again every few seconds; one that cannot be read or parsed changes
/// nothing, and is remarked on.
class AccessTokens {
 public:
  /// \error kNotFound, kPermissionDenied  of the file; kInvalidArgument: as parse_tokens
  static Result<std::unique_ptr<AccessTokens>> open(std::string path, std::chrono::milliseconds look_every,
                                                    std::function<void(const std::string&)> remark);

  /// `authorization`: the header of that name; none: there was none. `model`: none: a request that names no
  /// model, which any token may send. Takes as long for any token that is wrong.
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
  std::string state_;  // of the file when it was read last
  std::chrono::steady_clock::time_point look_at_{};
};

}  // namespace headrace
