#pragma once

/// \file Writing: single PUT, multipart upload, copy. Internal to the driver.

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "headrace/store/s3/s3_client.h"
#include "headrace/store/store.h"

namespace headrace {

/// Writes a whole object with one PUT.
Result<ObjectInfo> put_object(S3Client& client, std::string_view key, BytesView data,
                              const WriteOptions& options);

/// Whether the server refuses to complete an upload under a condition that does not hold. Tests this with an
/// object of one byte and a random name beside `key`, ".headrace-probe-…", and removes that object. kUnknown
/// if the server refuses for another reason: missing permissions, for example.
Honoured probe_completion(S3Client& client, std::string_view key, bool of_version, const CallOptions& call);

/// Writes a whole object in parts, which are sent without copying `data`. If the server ignores conditions
/// when it completes uploads, a conditional write of up to 5 GiB is one request instead.
/// \error kUnimplemented  the server ignores conditions, and the object is larger than that
/// \error kOutOfRange     the object needs more than kMaxParts parts
Result<ObjectInfo> put_object_in_parts(S3Client& client, std::string_view key, BytesView data,
                                       const WriteOptions& options);

/// An upload that sends parts as soon as the data are more than one part, several at once. Borrows `client`.
std::unique_ptr<Upload> make_s3_upload(S3Client& client, std::string_view key, const WriteOptions& options);

/// Copies the version that `source` describes. A small object is copied in one request, if the target has no
/// condition. Otherwise the copy is a multipart upload whose parts the server copies, because only the
/// completion of an upload supports conditions on all servers.
Result<ObjectInfo> copy_object(S3Client& client, const ObjectInfo& source, std::string_view to,
                               const WriteOptions& options);

/// Size of part `part`, counted from 0. The first 4,000 parts have `first_bytes`, because some servers
/// require equal parts. Then the size doubles after every 1,000 parts. If `first_bytes` is 8 MiB, 10,000
/// parts hold 1 TB.
std::size_t part_bytes_of(std::size_t part, std::size_t first_bytes);

}  // namespace headrace
