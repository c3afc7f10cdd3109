#pragma once

/// \file Which models a server has, and how it serves each of them: from a TOML file or the command line.
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
  /// Where the model is: a URL, or a path on this machine.
  std::string place;
  VersionPolicy versions{};
  std::uint64_t batch_rows = 64;
  /// Sizes that batches are padded to; empty: no padding. `batch_rows` is always one of them.
  std::vector<std::uint64_t> batch_sizes{};
  std::uint64_t lanes = 1;
  std::uint64_t queue_rows = 4096;
  std::chrono::milliseconds deadline{30'000};
  std::optional<CanaryOptions> canary{};
  std::optional<ShadowOptions> shadow{};

  bool operator==(const ModelConfiguration&) const = default;
  BatcherOptions batching() const;
  /// Whether versions that were loaded for `other` can also be used for this configuration.
  bool loads_as(const ModelConfiguration& other) const;
};

struct ServingConfiguration {
  std::map<std::string, ModelConfiguration, std::less<>> models;  // by name
  /// The tracking root where each change is recorded as a run; empty: changes are not recorded.
  std::string record{};
  bool operator==(const ServingConfiguration&) const = default;
};

inline constexpr std::uint64_t kMostBatchRows = 65'536;
inline constexpr std::uint64_t kMostLanes = 256;
inline constexpr std::uint64_t kMostQueueRows = 100'000'000;

/// Checks that a name can stand in the path of a request.
/// \error kInvalidArgument  the name is empty or too long, or has a slash, a colon or a control character
Status check_served_name(std::string_view name);

/// Parses "default", "latest:3", "all", or numbers such as "3,5".
/// \error kInvalidArgument  the text is something else; as check_policy
Result<VersionPolicy> parse_version_policy(std::string_view text);

/// Parses a configuration file.
/// \param source_name  names the file in messages
/// \param defaults     for the keys that a model does not have
/// \param check_place  fails if a model cannot be at this place
/// \error kInvalidArgument  `text` is not TOML; a key is unknown; a value is not allowed; there is no model.
///                          The message names the line, the key, and the allowed values
Result<ServingConfiguration> parse_serving_configuration(
    std::string_view text, std::string_view source_name, const ModelConfiguration& defaults,
    const std::function<Status(const std::string&)>& check_place);

}  // namespace headrace
