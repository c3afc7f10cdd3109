// Keys for tests.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "headrace/store/s3/credentials/provider.h"

namespace headrace {

// Keys that never change. `source` is for messages.
inline std::shared_ptr<CredentialsProvider> fixed_credentials(S3Credentials credentials,
                                                              std::string source = "the caller") {
  const auto fetch = [credentials = std::move(credentials)](const FetchLimits&) -> Result<S3Credentials> {
    return credentials;
  };
  return std::make_shared<CredentialsProvider>(
      CredentialsSource{.name = std::move(source), .fetch = fetch, .is_renewable = false},
      std::chrono::system_clock::now);
}

}  // namespace headrace
