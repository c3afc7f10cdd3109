#pragma once

/// \file Create-only objects with numbered names, "<prefix>00000001", "<prefix>00000002" …, for manifests,
/// alias logs and other histories. No object is ever replaced. If several writers create the same number,
/// exactly one of them wins.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/store/store.h"

namespace headrace {

/// Numbers are 1 … 2^53, because every JSON reader keeps those exactly.
inline constexpr std::uint64_t kLargestNumber = std::uint64_t{1} << 53;

struct NumberedObject {
  std::uint64_t number = 0;
  Bytes data;
  ObjectInfo object;
};

/// "<prefix>" followed by the number in at least eight digits.
std::string numbered_key(std::string_view prefix, std::uint64_t number);

/// Parses a number as numbered_key writes it after the prefix. None for any other text, which names another
/// kind of object: "3", "+00000003", "000000003", "00000000", or a number above kLargestNumber.
std::optional<std::uint64_t> number_of_digits(std::string_view digits);

/// The numbers present below `prefix`, ascending. Objects with other names are ignored. Cost: one listing.
Result<std::vector<std::uint64_t>> present_numbers(Store& store, std::string_view prefix,
                                                   const CallOptions& call = {});

/// The highest number present below `prefix`. None if no number is present. Cost: one listing.
Result<std::optional<std::uint64_t>> latest_number(Store& store, std::string_view prefix,
                                                   const CallOptions& call = {});

struct LatestNumber {
  std::uint64_t number = 0;
  std::uint64_t size_bytes = 0;
};
/// The highest number present in each folder directly below `prefix`, by the folder's name. Folders without
/// numbers are left out. Cost: one listing.
Result<std::map<std::string, LatestNumber>> latest_numbers(Store& store, std::string_view prefix,
                                                           const CallOptions& call = {});

/// Whether a number above `number` is present. Cost: a listing that starts after `number`, so that it is
/// short even in a long history. If `number` is above 9,999,999, the listing starts at the first object.
Result<bool> has_number_after(Store& store, std::string_view prefix, std::uint64_t number,
                              const CallOptions& call = {});

/// Reads the object with the highest number. None if no number is present. Cost: a listing and a read.
/// \error kResourceExhausted  the object is larger than `limit_bytes`
Result<std::optional<NumberedObject>> read_latest(Store& store, std::string_view prefix,
                                                  std::uint64_t limit_bytes, const CallOptions& call = {});

/// Creates the object with that number.
/// \error kAlreadyExists      the number is taken
/// \error kResourceExhausted  the number is above kLargestNumber
Result<ObjectInfo> create_numbered(Store& store, std::string_view prefix, std::uint64_t number,
                                   BytesView data, const CallOptions& call = {});

}  // namespace headrace
