#pragma once

/// \file Options that commands for datasets and models share.

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>

#include "headrace/cli/command.h"
#include "headrace/stream/dataset.h"

namespace headrace {

inline constexpr Option kSplitOption = {
    .name = "split", .default_value = "test", .sentence = "Split of the dataset."};
inline constexpr Option kOnCorruptOption = {
    .name = "on-corrupt",
    .default_value = "fail",
    .sentence = "What to do with records that fail their checksum, and with missing shards.",
    .choices = "fail|skip-record|skip-shard"};

inline constexpr Option kDataVersionOption = {
    .name = "data-version",
    .type = OptionType::kInteger,
    .unit = "N",
    .sentence =
        "Version of the dataset: the number of its manifest, as headrace verify lists them. Default: the "
        "latest.",
    .minimum = 1};

/// The number that --data-version gives; none without it.
inline std::optional<std::uint64_t> data_version(const OptionValues& values) {
  if (!values.has("data-version")) return std::nullopt;
  return static_cast<std::uint64_t>(values.integer("data-version"));
}

/// The policy that --on-corrupt names.
inline CorruptionPolicy corruption_policy(const OptionValues& values) {
  for (const auto policy : {CorruptionPolicy::kSkipRecord, CorruptionPolicy::kSkipShard}) {
    if (values.text("on-corrupt") == policy_name(policy)) return policy;
  }
  return CorruptionPolicy::kFail;
}

/// A number for people, with four decimals.
inline std::string shown(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4f", value);
  return text;
}

}  // namespace headrace
