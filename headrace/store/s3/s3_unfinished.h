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

/// Calls `visit` for each upload of a key with that prefix until it returns false. Cost: a request for each
/// 1,000 uploads of the bucket, and one for each that is visited, which returns its size and when it last
/// grew. If the server does not list parts (403, 405, 501), neither is known: the time when an upload was
/// begun says nothing about them.
///
/// Servers differ in what they list. MinIO answers the empty prefix with the uploads begun at that node since
/// its process started, an exact key with all uploads of that key, and any other prefix with nothing.
/// Therefore both the prefix and the whole bucket are requested, from any server.
Status list_pending_uploads(S3Client& client, std::string_view prefix, const CallOptions& call,
                            const std::function<bool(const UnfinishedWrite&)>& visit);

/// None: the server knows no such upload, or does not list its parts (`is_told` is then false).
struct SentParts {
  std::optional<S3PartsPage> parts{};
  bool is_told = true;
};
/// All parts that the server has of an upload. `give_up_at` as S3Request has it.
Result<SentParts> sent_parts(S3Client& client, std::string_view key, std::string_view id,
                             const CallOptions& call,
                             std::optional<std::chrono::steady_clock::time_point> give_up_at = std::nullopt);

/// Removes the upload and its parts; a missing upload is not an error. A part that arrives while its upload
/// is aborted may survive, so this checks, if the server allows it, and aborts again, a bounded number of
/// times.
/// https://docs.aws.amazon.com/AmazonS3/latest/API/API_AbortMultipartUpload.html
/// `give_up_at` as in S3Request, for the whole operation.
/// \error kUnavailable  parts keep arriving
Status abort_upload(S3Client& client, std::string_view key, std::string_view id, const CallOptions& call,
                    std::optional<std::chrono::steady_clock::time_point> give_up_at = std::nullopt);

}  // namespace headrace
