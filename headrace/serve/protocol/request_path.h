#pragma once

/// \file Splits and decodes the path of a request.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/base/result.h"

namespace headrace {

/// The model that a request names, and its version or label. If neither is given, the server chooses.
struct RequestedModel {
  std::string name;
  std::optional<std::int64_t> version{};
  std::optional<std::string> label{};
  bool operator==(const RequestedModel&) const = default;
};

/// The parts between slashes, not decoded, without a query ('?' and what follows). nullopt if the path does
/// not begin with a slash; "/" has one part, which is empty. The parts are views of `path`.
std::optional<std::vector<std::string_view>> split_path(std::string_view path);

/// Decodes percent codes: "%41" becomes "A". Malformed codes are left as they are, as curl does.
std::string decode_percent(std::string_view text);

/// Whether a text equals `lower_case`, ignoring the case of ASCII letters.
bool equals_ignoring_case(std::string_view text, std::string_view lower_case);

/// Parses the digits of a version.
/// \error kInvalidArgument  the number is above 2^63 − 1
/// REQUIRES: is_version_number(digits)
Result<std::int64_t> parse_version(std::string_view digits);
/// Whether a text consists of digits, at least one.
bool is_version_number(std::string_view text);

}  // namespace headrace
