#pragma once

/// \file Which models a server has, and how it serves each: a file in TOML, or the command line.
/// docs/serving.md describes the file.

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/base/result.h"
#include "headrace/serve/batch/batcher.h"
#include "headrace/serve/release/canary.h"
#include "headrace/serve/release/shadow.h"
#include "headrace/serve/version/wanted_version.h"

namespace headrace {

struct ModelConfiguration {
  /// A URL, or a path of this machine.
  std::string place;
  VersionPolicy versions{};
  std::uint64_t batch_rows = 64;
  /// Sizes that batches are filled up to; empty: any. `batch_rows` is always one of them.
  std::vector<std::uint64_t> batch_sizes{};
  std::uint64_t lanes = 1;
  std::uint64_t queue_rows = 4096;
  std::chrono::milliseconds deadline{30'000};
  std::optional<CanaryOptions> canary{};
  std::optional<ShadowOptions> shadow{};

  bool operator==(const ModelConfiguration&) const = default;
  BatcherOptions batching() const;
  /// Whether the versions that `other` has loaded can be used for this, too.
  bool loads_as(const ModelConfiguration& other) const;
};

struct ServingConfiguration {
  std::map<std::string, ModelConfiguration, std::less<>> models;  // by their names
  /// The tracking root that gets a run for each change; empty: none does.
  std::string record{};
  bool operator==(const ServingConfiguration&) const = default;
};

inline constexpr std::uint64_t kMostBatchRows = 65'536;
inline constexpr std::uint64_t kMostLanes = 256;
inline constexpr std::uint64_t kMostQueueRows = 100'000'000;

/// A name that can stand in the path of a request.
/// \error kInvalidArgument  it is empty, too long, or has a slash, a colon or a control character
Status check_served_name(std::string_view name);

/// "default", "latest:3", "all", or numbers: "3,5".
/// \error kInvalidArgument  it is something else, or as check_policy
Result<VersionPolicy> parse_version_policy(std::string_view text);

/// `source_name` is for messages. `defaults`: for what a model does not say. `check_place` knows which places
/// there can be.
/// \error kInvalidArgument  it is no TOML; a key is unknown, a value is not allowed, or there is no model:
///                          names the line, the key, and what is allowed
Result<ServingConfiguration> parse_serving_configuration(
    std::string_view text, std::string_view source_name, const ModelConfiguration& defaults,
    const std::function<Status(const std::string&)>& check_place);

}  // namespace headrace
