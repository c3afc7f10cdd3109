#pragma once

/// \file For tests of this folder: a server that answers as a script says, and a store that uses it.

#include <algorithm>
#include <mutex>

#include "headrace/base/environment.h"
#include "headrace/base/text.h"
#include "headrace/net/http/http_test_server.h"
#include "headrace/store/s3/credentials/test_credentials.h"
#include "headrace/store/s3/s3_store.h"

namespace headrace {

inline constexpr std::string_view kSecret = "canary-secret-access-key";
inline constexpr std::string_view kToken = "canary-session-token";

inline std::string error_xml(std::string_view code, std::string_view more = "") {
  return concat("<?xml version=\"1.0\"?>\n<Error><Code>", code, "</Code><Message>why</Message>", more,
                "</Error>");
}

inline TestHttpReply range_of(std::string_view object, std::size_t begin, std::size_t size,
                              std::string_view etag = "v1") {
  return test_reply(206, object.substr(begin, size),
                    concat("ETag: \"", etag, "\"\r\nContent-Range: bytes ", begin, '-', begin + size - 1, '/',
                           object.size(), "\r\n"));
}

// Requests that a store may send on its own, in addition to those that a test counts.
struct Initiative {
  bool probe_conditions = false;
  bool outlasts_outages = false;
};

// Answers the requests in order with the given replies. The last reply answers all further requests.
class Script {
 public:
  explicit Script(std::vector<TestHttpReply> replies, S3Options options = {}, Initiative initiative = {})
      : replies_(std::move(replies)),
        server_([this](const TestHttpRequest& request) { return answer(request); }) {
    if (!options.now) options.now = Environment{}.now;
    options.endpoint = server_.endpoint();
    options.endpoint_source = "AWS_ENDPOINT_URL_S3";
    options.probe_conditions = initiative.probe_conditions;
    options.outlasts_outages = initiative.outlasts_outages;
    options.credentials = fixed_credentials({"key-id", std::string(kSecret), std::string(kToken)});
    options.backoff = {.shortest = std::chrono::milliseconds(1), .longest = std::chrono::milliseconds(2)};
    options_ = options;
    store = open_s3_store("bucket", options_);
  }

  std::vector<TestHttpRequest> requests() {
    const std::scoped_lock lock(mutex_);
    return requests_;
  }
  // One line for each request: "PUT /bucket/key?query".
  std::vector<std::string> seen() {
    std::vector<std::string> lines;
    for (const TestHttpRequest& request : requests())
      lines.push_back(concat(request.method, ' ', request.target));
    return lines;
  }
  Result<std::string> read(std::size_t size, const ReadOptions& options = {}) {
    Bytes target(size);
    HEADRACE_TRY(const ReadResult result, store->read_into("key", target, options));
    return std::string(as_text(target).substr(0, result.bytes_read));
  }
  const S3Options& options() const { return options_; }

 private:
  TestHttpReply answer(const TestHttpRequest& request) {
    const std::scoped_lock lock(mutex_);
    requests_.push_back(request);
    TestHttpReply reply = replies_[std::min(requests_.size(), replies_.size()) - 1];
    // "MARK" stands for the mark of the last write that carried one.
    if (!request.header("x-amz-meta-headrace-write").empty())
      mark_ = request.header("x-amz-meta-headrace-write");
    if (const auto at = reply.bytes.find("MARK"); at != std::string::npos) reply.bytes.replace(at, 4, mark_);
    const std::size_t head_end = reply.bytes.find("\r\n\r\n");
    if (request.method == "HEAD" && head_end != std::string::npos) reply.bytes.resize(head_end + 4);
    return reply;
  }

  std::mutex mutex_;
  std::vector<TestHttpReply> replies_;
  std::vector<TestHttpRequest> requests_;
  std::string mark_;
  S3Options options_;
  HttpTestServer server_;

 public:
  std::unique_ptr<Store> store;
};

template <typename T>
Error error_of(const Result<T>& result) {
  EXPECT_FALSE(result) << "it should have failed";
  return result ? Error{} : result.error();
}

inline const std::string kObject = "0123456789";
inline const TestHttpReply kDropped{"", TestHttpReply::Then::kClose};
inline const TestHttpReply kAccepted = test_reply(200, "", "ETag: \"v1\"\r\n");
inline const TestHttpReply kMarkedObject =
    test_reply(200, "", "ETag: \"v1\"\r\nx-amz-meta-headrace-write: MARK\r\n");

inline const TestHttpReply kDenied = test_reply(403, error_xml("AccessDenied"));
inline const TestHttpReply kRefused = test_reply(412, error_xml("PreconditionFailed"));
inline const TestHttpReply kGone = test_reply(404, error_xml("NoSuchUpload"));
inline const TestHttpReply kCopiedPart =
    test_reply(200, "<CopyPartResult><ETag>&quot;p&quot;</ETag></CopyPartResult>");

// The answer to HEAD for an object that need not exist.
inline TestHttpReply head_of(std::uint64_t size_bytes, std::string_view lines = "ETag: \"v1\"\r\n") {
  return {concat("HTTP/1.1 200 OK\r\nContent-Length: ", size_bytes, "\r\n", lines, "\r\n")};
}

}  // namespace headrace
