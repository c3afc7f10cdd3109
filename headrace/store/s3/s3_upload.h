#pragma once

/// \file Writing: single PUT, multipart upload, copy. Internal to the driver.

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "headrace/store/s3/s3_client.h"
#include "headrace/store/store.h"

namespace headrace {

/// A whole object in one request.
Result<ObjectInfo> put_object(S3Client& client, std::string_view key, BytesView data,
                              const WriteOptions& options);

/// Whether the server refuses to complete an upload under a condition that does not hold. Asked of an object
/// of one byte and a random name beside `key`, ".headrace-probe-…", which is removed again. kUnknown if the
/// server refuses something else: the rights to write, for example.
Honoured probe_completion(S3Client& client, std::string_view key, bool of_version, const CallOptions& call);

/// In parts, sent without a copy. If the server ignores conditions when it completes uploads, a conditional
/// write is one request, if that may be so large.
Result<ObjectInfo> put_object_in_parts(S3Client& client, std::string_view key, BytesView data,
                                       const WriteOptions& options);

/// In parts, several at once, once there is more than one part's worth of data. Borrows `client`.
std::unique_ptr<Upload> make_s3_upload(S3Client& client, std::string_view key, const WriteOptions& options);

/// Copies the version of `source` with that ETag: in one request if it is small and the target has no
/// condition, otherwise as a multipart upload whose parts the server copies, because only the completion of
/// an upload supports conditions on all servers.
Result<ObjectInfo> copy_object(S3Client& client, const ObjectInfo& source, std::string_view to,
                               const WriteOptions& options);

/// Size of the part with that number (from 0): `first_bytes` for the first 4,000 parts, because some servers
/// require equal parts, then doubled with every 1,000, so that 10,000 parts of 8 MiB at first hold 1 TB.
std::size_t part_bytes_of(std::size_t part, std::size_t first_bytes);

}  // namespace headrace
