#pragma once

/// \file Reads ranges of objects, many at once on the calling thread. Internal to the driver.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "headrace/store/s3/s3_client.h"
#include "headrace/store/store.h"

namespace headrace {

/// One range to be read with one request, and later the server's answer.
struct S3Range {
  std::string key;
  std::uint64_t offset_bytes = 0;
  MutableBytesView target{};  // not empty
  std::optional<Version> if_version{};
  /// Send the request without a Range field, because the server would not send the checksum otherwise. An
  /// object that does not fit into the target is not read at all.
  bool is_whole = false;
  std::optional<Result<S3Answer>> answer{};
};

/// Requests the ranges in order, and sets their answers. After a request fails, no further requests begin;
/// their ranges have no answer. `with_crc32c`: the answers hold the CRC32C of the bytes read.
void read_ranges(S3Client& client, std::span<S3Range> ranges, const CallOptions& call,
                 bool with_crc32c = false);

/// Checks that the answer holds exactly this range, complete, from the requested version. None: the range
/// begins at or past the end of the object, and the server does not say where the end is.
/// \error kNotFound, kFailedPrecondition, kDataLoss  as for Store::read_into
/// \error                                            as for S3Client::perform and S3Client::explain
Result<std::optional<ReadResult>> check_range(const S3Client& client, const S3Range& range);

/// Size of the largest target that is read with one request.
constexpr std::size_t most_in_one_range(std::size_t range_bytes) { return range_bytes + range_bytes / 2; }

/// Splits a target into ranges of `range_bytes` (S3Options). The last one may be half as large again.
std::vector<S3Range> split_into_ranges(std::string_view key, MutableBytesView target,
                                       std::uint64_t offset_bytes, const std::optional<Version>& version,
                                       std::size_t range_bytes);

/// The header field that pins a request to a version. Empty if there is no version.
HttpHeaders if_match(const std::optional<Version>& version);

/// Describes an object by the header fields of S3's answer.
ObjectInfo object_info_of(std::string_view key, std::uint64_t size_bytes, const HttpResponse& http);

/// The error of a refused read.
Error read_error(const S3Client& client, const S3Request& request, const S3Answer& answer);

}  // namespace headrace
