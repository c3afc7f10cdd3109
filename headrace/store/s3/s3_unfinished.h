#pragma once

/// \file Multipart uploads that were neither completed nor aborted. Internal to the driver.

#include <chrono>
#include <functional>
#include <optional>
#include <string_view>

#include "headrace/store/s3/s3_client.h"
#include "headrace/store/s3/s3_xml.h"
#include "headrace/store/store.h"

namespace headrace {

/// Calls `visit` for each upload whose key begins with `prefix`, until `visit` returns false. Cost: a request
/// for each 1,000 uploads of the bucket, and a request for each upload that is visited. The latter returns
/// the upload's size and when it last grew. If the server does not list parts (403, 405, 501), neither is
/// known; the time when an upload began would not tell when it last grew.
///
/// Servers list different uploads. For the empty prefix, MinIO returns the uploads that began at that node
/// since its process started. For an exact key it returns all uploads of that key, and for any other prefix
/// none. Therefore this requests both the prefix and the whole bucket, from any server.
Status list_pending_uploads(S3Client& client, std::string_view prefix, const CallOptions& call,
                            const std::function<bool(const UnfinishedWrite&)>& visit);

/// The parts of an upload. If `parts` is none, the server does not know the upload or, if `are_listed` is
/// false, does not list its parts.
struct SentParts {
  std::optional<S3PartsPage> parts{};
  bool are_listed = true;
};
/// All parts of an upload that the server has. `give_up_at` as in S3Request.
Result<SentParts> sent_parts(S3Client& client, std::string_view key, std::string_view id,
                             const CallOptions& call,
                             std::optional<std::chrono::steady_clock::time_point> give_up_at = std::nullopt);

/// Removes the upload and its parts. A missing upload is not an error. A part that arrives while its upload
/// is aborted may survive. Therefore this checks for parts, if the server allows it, and aborts again, a
/// bounded number of times. `give_up_at` as in S3Request, for the whole operation.
/// https://docs.aws.amazon.com/AmazonS3/latest/API/API_AbortMultipartUpload.html
/// \error kUnavailable  parts keep arriving
Status abort_upload(S3Client& client, std::string_view key, std::string_view id, const CallOptions& call,
                    std::optional<std::chrono::steady_clock::time_point> give_up_at = std::nullopt);

}  // namespace headrace
