#pragma once

/// \file Reads and writes the XML bodies of the S3 protocol. Internal to the driver. Bodies come from a
/// server that is not trusted: the HTTP client limits their size, and external entities are not loaded.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/base/bytes.h"
#include "headrace/base/result.h"
#include "headrace/store/store.h"

namespace headrace {

/// "<Error><Code>…". `message` is cleaned for printing.
struct S3ErrorBody {
  std::string code;
  std::string message;
  std::string region;
};
/// None if the body is not an S3 error.
std::optional<S3ErrorBody> parse_s3_error(BytesView body);

struct S3ListPage {
  /// Objects and folders in ascending order of keys, folder markers ("a/") left out.
  std::vector<ObjectInfo> entries;
  bool truncated = false;
  std::string continuation;
};
/// \error kDataLoss  `body` is not an answer to ListObjectsV2
Result<S3ListPage> parse_list_page(BytesView body);

/// \error kDataLoss  `body` is not an answer to CreateMultipartUpload
Result<std::string> parse_upload_id(BytesView body);

struct S3PendingUpload {
  std::string key;
  std::string id;
  std::optional<std::chrono::system_clock::time_point> initiated;
};
struct S3UploadsPage {
  std::vector<S3PendingUpload> uploads;
  bool truncated = false;
  std::string next_key, next_id;  // where the next page begins
};
/// \error kDataLoss  `body` is not an answer to ListMultipartUploads
Result<S3UploadsPage> parse_uploads_page(BytesView body);

/// The largest number of parts of one upload.
inline constexpr std::size_t kMaxParts = 10'000;

/// A part of an upload that the server has.
struct S3SentPart {
  std::uint64_t number = 0;  // from 1
  std::string etag;          // without quotes
  std::uint64_t size_bytes = 0;
};
/// A page of the parts that were sent for an upload.
struct S3PartsPage {
  std::vector<S3SentPart> parts;
  /// When the latest part of the page was sent.
  std::optional<std::chrono::system_clock::time_point> modified{};
  bool truncated = false;

  std::uint64_t size_bytes() const;
  std::uint64_t last_part() const;  // the highest number; 0: there are no parts
};
/// \error kDataLoss  `body` is not an answer to ListParts
Result<S3PartsPage> parse_parts_page(BytesView body);

/// The ETag, without quotes, in a CopyObjectResult, CopyPartResult or CompleteMultipartUploadResult.
/// \error kDataLoss  `body` is none of them
Result<std::string> parse_result_etag(BytesView body);

struct S3DeleteFailure {
  std::string key;  // as the server returns it: compare it with the keys that were sent
  std::string code;
  std::string message;
};
/// \error kDataLoss  `body` is not an answer to DeleteObjects
Result<std::vector<S3DeleteFailure>> parse_delete_result(BytesView body);

/// Whether a body can hold `key`. XML 1.0 cannot represent control characters.
bool fits_into_xml(std::string_view key);
/// The body of a quiet DeleteObjects. REQUIRES: `fits_into_xml` holds for every key.
std::string delete_body(const std::vector<std::string>& keys);

struct S3Part {
  std::string etag;
  std::uint64_t size_bytes = 0;
  std::optional<std::uint32_t> crc32c{};  // none if the part was sent without one
};
/// The body of CompleteMultipartUpload. The first part gets the number 1.
std::string complete_body(const std::vector<S3Part>& parts);

/// The ETag without its quotes.
std::string unquoted_etag(std::string_view etag);

}  // namespace headrace
