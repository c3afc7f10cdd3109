#pragma once

/// \file For tests of objects: bytes and types.

#include <map>
#include <string>
#include <utility>

#include "headrace/base/bytes.h"
#include "headrace/net/ignite/binary_type.h"

namespace headrace::ignite {

/// The bytes that hexadecimal digits stand for. Spaces are ignored.
inline Bytes bytes_of_hex(std::string digits) {
  std::erase(digits, ' ');
  Bytes out;
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
    out.push_back(static_cast<std::byte>(std::stoi(digits.substr(i, 2), nullptr, 16)));
  }
  return out;
}

/// Fetches types from `known`, like a cluster that has only these.
inline BinaryTypes::Fetch types_of(std::map<std::int32_t, BinaryType> known) {
  return [known = std::move(known)](std::int32_t id) -> Result<std::optional<BinaryType>> {
    const auto found = known.find(id);
    return found == known.end() ? std::nullopt : std::optional(found->second);
  };
}

}  // namespace headrace::ignite
