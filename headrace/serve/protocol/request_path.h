#pragma once

/// \file The path of a request, split and decoded.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/base/result.h"

namespace headrace {

/// Which version of which model a request means: one of the two, or none: the server's choice.
struct RequestedModel {
  std::string name;
  std::optional<std::int64_t> version{};
  std::optional<std::string> label{};
  bool operator==(const RequestedModel&) const = default;
};

/// The parts between slashes, as they were sent, without a query ('?' and what follows). None if the path
/// does not begin with a slash; "/" has one part, which is empty.
std::optional<std::vector<std::string_view>> split_path(std::string_view path);

/// "%41" becomes "A"; what is no such code is left as it is, as curl does.
std::string decode_percent(std::string_view text);

/// ASCII letters of either case are equal.
bool equals_ignoring_case(std::string_view text, std::string_view lower_case);

/// Digits only.
/// \error kInvalidArgument  beyond 63 bits
Result<std::int64_t> parse_version(std::string_view digits);
bool is_version_number(std::string_view text);

}  // namespace headrace
