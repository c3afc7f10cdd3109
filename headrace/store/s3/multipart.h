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

/// A random number in an object's metadata. If the answer to a write is lost, the mark shows whether the
/// object comes from that write. ETags cannot show this, because writers of equal bytes get equal ETags.
struct WriteMark {
  WriteMark();
  explicit WriteMark(std::string of_another) : value(std::move(of_another)) {}
  HttpHeader header() const;
  std::string value;
};

/// The conditions in `options` as header fields: "If-None-Match: *" or "If-Match".
HttpHeaders conditions_of(const WriteOptions& options);

/// Describes the object if it exists and carries that mark. None otherwise. Cost: one request.
/// \error kUnavailable  the request failed, so that it is unknown whether the write was done
Result<std::optional<ObjectInfo>> find_marked(S3Client& client, std::string_view key, const WriteMark& mark,
                                              const CallOptions& call);

/// The error of a refused write. 412 and the like become the errors that Store::write promises.
Error write_error(const S3Client& client, const S3Request& request, const S3Answer& answer,
                  const WriteOptions& options);

class MultipartUpload {
 public:
  /// Starts an upload, with one request. `with_checksums`: a CRC32C is sent with each part and with the whole
  /// object. Borrows `client`.
  /// \error as for S3Client::perform and S3Client::explain
  static Result<std::unique_ptr<MultipartUpload>> start(S3Client& client, std::string_view key,
                                                        const WriteOptions& options, bool with_checksums);
  /// Continues an upload of that key that an earlier run on this machine has left unfinished. Requires that
  /// the options allow it (WriteOptions::resumes) and that the earlier upload has exactly this first part.
  /// Otherwise starts an upload.
  /// \error as for S3Client::perform, also if the earlier upload could not be inspected
  static Result<std::unique_ptr<MultipartUpload>> resume_or_start(S3Client& client, std::string_view key,
                                                                  const WriteOptions& options,
                                                                  bool with_checksums, BytesView first_part);
  /// Removes the sent parts, unless the upload was completed or may be resumed. Tries for at most about 5 s,
  /// and fetches no credentials for it.
  ~MultipartUpload();

  /// Sends a part, unless the server already has exactly that part. `part` counts from 0. Thread-safe.
  Status send_part(std::size_t part, BytesView data);
  /// Sends all parts, beginning with part 0, many at once on this thread.
  Status send_parts(std::span<const BytesView> parts);
  /// Makes the server copy a part from the version that `source` describes. Thread-safe.
  Status copy_part(std::size_t part, const ObjectInfo& source, std::uint64_t offset_bytes,
                   std::uint64_t size_bytes);

  /// Makes the object from the parts, all of which must have been sent. If they were sent with checksums, the
  /// server checks the checksum of the whole object, and keeps it.
  /// \error kAlreadyExists, kFailedPrecondition  as for Store::write
  Result<ObjectInfo> complete();

 private:
  MultipartUpload(S3Client& client, std::string_view key, const WriteOptions& options, bool with_checksums,
                  WriteMark mark = {});
  Result<bool> find_sent(BytesView first_part);
  bool was_sent(std::size_t part, BytesView data) const;
  void forget_note();
  S3Request part_request(std::size_t part) const;
  // Puts the part's checksum into the request and into `sent`.
  S3Request sending_request(std::size_t part, BytesView data, S3Part& sent) const;
  Status take_sent(std::size_t part, S3Part sent, const Result<S3Answer>& answer);
  void keep(std::size_t part, S3Part sent);
  // Size of the whole object, and its checksum if every part has one.
  S3Part whole() const;
  Result<ObjectInfo> after_refusal(const S3Request& request, const S3Answer& answer, const S3Part& all);

  S3Client& client_;
  const std::string key_;
  const WriteOptions options_;
  const bool with_checksums_;
  const WriteMark mark_;
  std::string id_;
  std::vector<S3SentPart> sent_before_;  // by an earlier run; the index is the part, from 0
  std::unique_ptr<UploadNote> note_;     // lets another run continue this upload
  std::mutex mutex_;
  std::vector<S3Part> parts_;
  bool over_ = false;
};

}  // namespace headrace
