#pragma once

/// \file One multipart upload on the server. Internal to the driver.

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/store/s3/s3_client.h"
#include "headrace/store/s3/s3_xml.h"
#include "headrace/store/s3/upload_note.h"
#include "headrace/store/store.h"

namespace headrace {

/// Makes a write recognisable by its object if an answer gets lost: a random number in the object's metadata.
/// ETags cannot do this, because writers of equal bytes get equal ETags.
struct WriteMark {
  WriteMark();
  explicit WriteMark(std::string of_another) : value(std::move(of_another)) {}
  HttpHeader header() const;
  std::string value;
};

/// "If-None-Match: *" or "If-Match", as the options ask.
HttpHeaders conditions_of(const WriteOptions& options);

/// The object, if it exists and carries that mark.
/// \error kUnavailable  that cannot be found out
Result<std::optional<ObjectInfo>> find_marked(S3Client& client, std::string_view key, const WriteMark& mark,
                                              const CallOptions& call);

/// The error of a refused write; 412 and the like become the errors that WriteOptions promise.
Error write_error(const S3Client& client, const S3Request& request, const S3Answer& answer,
                  const WriteOptions& options);

class MultipartUpload {
 public:
  static Result<std::unique_ptr<MultipartUpload>> start(S3Client& client, std::string_view key,
                                                        const WriteOptions& options, bool with_checksums);
  /// Continues the upload of that key that an earlier run on this machine has left, if the options allow it
  /// (WriteOptions::resumes), there is one, and it has exactly this first part; otherwise starts one.
  /// \error those of S3Client::perform, if the earlier upload could not be looked at
  static Result<std::unique_ptr<MultipartUpload>> resume_or_start(S3Client& client, std::string_view key,
                                                                  const WriteOptions& options,
                                                                  bool with_checksums, BytesView first_part);
  /// Removes the sent parts, unless the upload was completed or is to be resumed. Tries for some seconds, and
  /// fetches no keys for it.
  ~MultipartUpload();

  /// Sends nothing if the server already has exactly that part. Thread-safe. `part` counts from 0.
  Status send_part(std::size_t part, BytesView data);
  /// All of them, from the first on, many at once on this thread.
  Status send_parts(std::span<const BytesView> parts);
  Status copy_part(std::size_t part, const ObjectInfo& source, std::uint64_t offset_bytes,
                   std::uint64_t size_bytes);

  /// Makes the object from the parts, all of which must have been sent. If they were sent with checksums, the
  /// server checks the checksum of the whole, and keeps it.
  Result<ObjectInfo> complete();

 private:
  MultipartUpload(S3Client& client, std::string_view key, const WriteOptions& options, bool with_checksums,
                  WriteMark mark = {});
  Result<bool> find_sent(BytesView first_part);
  bool was_sent(std::size_t part, BytesView data) const;
  void forget_note();
  S3Request part_request(std::size_t part) const;
  // With the part's checksum in the request and in `sent`.
  S3Request sending_request(std::size_t part, BytesView data, S3Part& sent) const;
  Status take_sent(std::size_t part, S3Part sent, const Result<S3Answer>& answer);
  void keep(std::size_t part, S3Part sent);
  // Size, and the checksum if every part has one.
  S3Part whole() const;
  Result<ObjectInfo> after_refusal(const S3Request& request, const S3Answer& answer, const S3Part& all);

  S3Client& client_;
  const std::string key_;
  const WriteOptions options_;
  const bool with_checksums_;
  const WriteMark mark_;
  std::string id_;
  std::vector<S3SentPart> sent_before_;  // by an earlier run; by part, from 0
  std::unique_ptr<UploadNote> note_;     // by which another run may go on
  std::mutex mutex_;
  std::vector<S3Part> parts_;
  bool over_ = false;
};

}  // namespace headrace
