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

/// Calls `visit` for each of a key with that prefix until it returns false. Cost: a request for each 1,000 of
/// the bucket, and one for each that is visited, which tells its size and when it last grew. Where the server
/// does not tell about parts (403, 405, 501) neither is known: when an upload was begun says nothing of that.
///
/// What a server shows differs. MinIO answers for the empty prefix with the uploads begun at that node since
/// its process started, for an exact key with all of that key's, and for any other prefix with nothing; so
/// both the prefix and the whole bucket are asked for, whatever the server.
Status list_pending_uploads(S3Client& client, std::string_view prefix, const CallOptions& call,
                            const std::function<bool(const UnfinishedWrite&)>& visit);

/// None: the server knows no such upload, or does not tell about its parts (`is_told` is false then).
struct SentParts {
  std::optional<S3PartsPage> parts{};
  bool is_told = true;
};
/// All parts that the server has of an upload. `give_up_at` as S3Request has it.
Result<SentParts> sent_parts(S3Client& client, std::string_view key, std::string_view id,
                             const CallOptions& call,
                             std::optional<std::chrono::steady_clock::time_point> give_up_at = std::nullopt);

/// Removes the upload and its parts; one that is not there is no error. A part that arrives while its upload
/// is aborted may outlive it, so this looks, where the server lets it, and aborts again, a bounded number of
/// times.
/// https://docs.aws.amazon.com/AmazonS3/latest/API/API_AbortMultipartUpload.html
/// `give_up_at` as S3Request has it, for all of it.
/// \error kUnavailable  parts keep arriving
Status abort_upload(S3Client& client, std::string_view key, std::string_view id, const CallOptions& call,
                    std::optional<std::chrono::steady_clock::time_point> give_up_at = std::nullopt);

}  // namespace headrace
