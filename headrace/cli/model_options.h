#pragma once

/// \file Options that the commands over datasets and models share.

#include <cstdio>
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

/// The policy that --on-corrupt names.
inline CorruptionPolicy corruption_policy(const OptionValues& values) {
  for (const auto policy : {CorruptionPolicy::kSkipRecord, CorruptionPolicy::kSkipShard}) {
    if (values.text("on-corrupt") == policy_name(policy)) return policy;
  }
  return CorruptionPolicy::kFail;
}

/// For people: four decimals.
inline std::string shown(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4f", value);
  return text;
}

}  // namespace headrace
