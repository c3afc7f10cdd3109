#pragma once

/// \file Parses the header Range of a request (RFC 9110, section 14).

#include <cstdint>
#include <string_view>

#include "headrace/base/result.h"

namespace headrace::mlflow {

struct ByteRange {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  bool operator==(const ByteRange&) const = default;
};

/// The range of an object of `whole` bytes that "bytes=5-9", "bytes=5-" or "bytes=-5" names. All bytes if
/// `header` is empty or anything else, such as several ranges or another unit.
/// \error kOutOfRange  the range begins after the end of the object
Result<ByteRange> parse_byte_range(std::string_view header, std::uint64_t whole);

}  // namespace headrace::mlflow
