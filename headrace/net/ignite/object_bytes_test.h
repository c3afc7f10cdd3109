#pragma once

/// \file Bytes and types for tests of objects.

#include <map>
#include <string>
#include <utility>

#include "headrace/base/bytes.h"
#include "headrace/net/ignite/binary_type.h"

namespace headrace::ignite {

/// Digits in hexadecimal; spaces are left out.
inline Bytes bytes_of_hex(std::string digits) {
  std::erase(digits, ' ');
  Bytes out;
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
    out.push_back(static_cast<std::byte>(std::stoi(digits.substr(i, 2), nullptr, 16)));
  }
  return out;
}

/// The types of a cluster that has these.
inline BinaryTypes::Fetch types_of(std::map<std::int32_t, BinaryType> known) {
  return [known = std::move(known)](std::int32_t id) -> Result<std::optional<BinaryType>> {
    const auto found = known.find(id);
    return found == known.end() ? std::nullopt : std::optional(found->second);
  };
}

}  // namespace headrace::ignite
