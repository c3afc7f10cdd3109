#pragma once

/// \file Create-only objects with numbered names, "<prefix>00000001", "<prefix>00000002" …, for manifests,
/// alias logs and other histories. Nothing is ever replaced; if several writers create the same number,
/// exactly one wins.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/store/store.h"

namespace headrace {

/// Numbers are 1 … 2^53, which every reader of JSON keeps exactly.
inline constexpr std::uint64_t kLargestNumber = std::uint64_t{1} << 53;

struct NumberedObject {
  std::uint64_t number = 0;
  Bytes data;
  ObjectInfo object;
};

/// "<prefix>" followed by the number in at least eight digits.
std::string numbered_key(std::string_view prefix, std::uint64_t number);

/// The number that `digits` is, as numbered_key writes it after the prefix. None if they are anything else:
/// "3", "+00000003", "000000003", 0 and numbers above kLargestNumber are names of others.
std::optional<std::uint64_t> number_of_digits(std::string_view digits);

/// The numbers present below `prefix`, ascending. Objects with other names do not count.
Result<std::vector<std::uint64_t>> present_numbers(Store& store, std::string_view prefix,
                                                   const CallOptions& call = {});

/// The highest number present below `prefix`; none if there is none.
Result<std::optional<std::uint64_t>> latest_number(Store& store, std::string_view prefix,
                                                   const CallOptions& call = {});

struct LatestNumber {
  std::uint64_t number = 0;
  std::uint64_t size_bytes = 0;
};
/// The highest number present in each folder directly below `prefix`, by the folder's name. One listing.
Result<std::map<std::string, LatestNumber>> latest_numbers(Store& store, std::string_view prefix,
                                                           const CallOptions& call = {});

/// Whether a number above `number` is present. Cost: a list of what comes after it, which is little in a long
/// history.
Result<bool> has_number_after(Store& store, std::string_view prefix, std::uint64_t number,
                              const CallOptions& call = {});

/// The object with the highest number; none if there is none.
/// \error kResourceExhausted  larger than `limit_bytes`
Result<std::optional<NumberedObject>> read_latest(Store& store, std::string_view prefix,
                                                  std::uint64_t limit_bytes, const CallOptions& call = {});

/// \error kAlreadyExists      that number is taken
/// \error kResourceExhausted  it is above kLargestNumber
Result<ObjectInfo> create_numbered(Store& store, std::string_view prefix, std::uint64_t number,
                                   BytesView data, const CallOptions& call = {});

}  // namespace headrace
