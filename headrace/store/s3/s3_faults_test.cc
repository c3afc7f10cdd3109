// The driver against a server that fails in the ways that real ones and the networks before them do.

#include <algorithm>
#include <atomic>
#include <latch>
#include <mutex>
#include <thread>

#include "headrace/base/crc32c.h"
#include "headrace/base/text.h"
#include "headrace/io/http_test_server.h"
#include "headrace/io/thread_refusal.h"
#include "headrace/store/s3/checksum.h"
#include "headrace/store/s3/s3_client.h"
#include "headrace/store/s3/s3_store.h"
#include "headrace/store/s3/s3_upload.h"

namespace headrace {
namespace {

using std::chrono::milliseconds;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using Then = TestHttpReply::Then;

constexpr std::string_view kSecret = "canary-secret-access-key";
constexpr std::string_view kToken = "canary-session-token";

std::string error_xml(std::string_view code, std::string_view more = "") {
  return concat("<?xml version=\"1.0\"?>\n<Error><Code>", code, "</Code><Message>why</Message>", more,
                "</Error>");
}

TestHttpReply range_of(std::string_view object, std::size_t begin, std::size_t size,
                       std::string_view etag = "v1") {
  return test_reply(206, object.substr(begin, size),
                    concat("ETag: \"", etag, "\"\r\nContent-Range: bytes ", begin, '-', begin + size - 1, '/',
                           object.size(), "\r\n"));
}

// Answers the requests in their order with the replies given, the last one again and again.
class Script {
 public:
  explicit Script(std::vector<TestHttpReply> replies, S3Options options = {})
      : replies_(std::move(replies)),
        server_([this](const TestHttpRequest& request) { return answer(request); }) {
    options.endpoint = server_.endpoint();
    options.endpoint_source = "AWS_ENDPOINT_URL_S3";
    options.credentials = fixed_credentials({"key-id", std::string(kSecret), std::string(kToken)});
    options.backoff = {.shortest = milliseconds(1), .longest = milliseconds(2)};
    options_ = options;
    store = open_s3_store("bucket", options_);
  }

  std::vector<TestHttpRequest> requests() {
    const std::scoped_lock lock(mutex_);
    return requests_;
  }
  // "PUT /bucket/key?query" of each.
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

const std::string kObject = "0123456789";
const TestHttpReply kDropped{"", Then::kClose};
const TestHttpReply kOk = test_reply(200, "", "ETag: \"v1\"\r\n");
const TestHttpReply kMarkedObject =
    test_reply(200, "", "ETag: \"v1\"\r\nx-amz-meta-headrace-write: MARK\r\n");

struct Fault {
  std::string name;
  TestHttpReply reply;
};
class ReadFault : public testing::TestWithParam<Fault> {};

TEST_P(ReadFault, IsOvercomeByAskingAgain) {
  Script script({GetParam().reply, GetParam().reply, range_of(kObject, 2, 5)});
  const auto text = script.read(5, {.offset_bytes = 2});
  ASSERT_TRUE(text) << text.error().message;
  EXPECT_EQ(*text, "23456");
  EXPECT_EQ(script.requests().size(), 3U);
}

TEST_P(ReadFault, IsReportedWhenItLastsAndTheAttemptsAreBounded) {
  Script script({GetParam().reply}, {.max_attempts = 4});
  const Error error = error_of(script.read(5));
  EXPECT_EQ(error.code, Code::kUnavailable) << error.message;
  EXPECT_THAT(error.message, HasSubstr("s3://bucket/key"));
  EXPECT_LE(script.requests().size(), 8U)
      << "four attempts, each sent again on a new connection at most once";
  EXPECT_GE(script.requests().size(), 4U);
}

INSTANTIATE_TEST_SUITE_P(
    S3, ReadFault,
    testing::Values(Fault{"ClosedBeforeTheAnswer", kDropped},
                    Fault{"ResetBeforeTheAnswer", {"", Then::kReset}},
                    Fault{"CutBody", {"HTTP/1.1 206 x\r\nContent-Length: 5\r\n\r\n234", Then::kClose}},
                    Fault{"ResetWithinTheBody",
                          {"HTTP/1.1 206 x\r\nContent-Length: 5\r\n\r\n234", Then::kReset}},
                    Fault{"SlowDown", test_reply(503, error_xml("SlowDown"))},
                    Fault{"InternalError", test_reply(500, error_xml("InternalError"))},
                    Fault{"BadGateway", test_reply(502, "<html>proxy</html>")},
                    Fault{"TooManyRequests", test_reply(429, "", "Retry-After: 0\r\n")},
                    Fault{"RequestTimeout", test_reply(400, error_xml("RequestTimeout"))}),
    [](const auto& test) { return test.param.name; });

TEST(S3Read, WhatRepeatingCannotChangeIsAskedOnce) {
  for (const auto& [status, code, expected] :
       {std::tuple{403, "AccessDenied", Code::kPermissionDenied},
        std::tuple{404, "NoSuchKey", Code::kNotFound},
        std::tuple{404, "NoSuchBucket", Code::kFailedPrecondition},
        std::tuple{412, "PreconditionFailed", Code::kFailedPrecondition},
        std::tuple{403, "ExpiredToken", Code::kUnauthenticated},
        std::tuple{403, "InvalidObjectState", Code::kFailedPrecondition}}) {
    Script script({test_reply(status, error_xml(code))});
    EXPECT_EQ(error_of(script.read(5)).code, expected) << code;
    EXPECT_EQ(script.requests().size(), 1U) << code;
  }
}

TEST(S3Read, AnswersThatDoNotFitTheQuestionAreRefused) {
  const auto refused = [](const TestHttpReply& reply, std::uint64_t offset, std::string_view why) {
    Script script({reply});
    const Error error = error_of(script.read(5, {.offset_bytes = offset}));
    EXPECT_EQ(error.code, Code::kDataLoss);
    EXPECT_THAT(error.message, HasSubstr(why));
  };
  refused(range_of(kObject, 3, 5), 2, "another range");
  refused(range_of(kObject, 2, 4), 2, "4 bytes instead of 5");
  refused(range_of(kObject, 2, 6), 2, "longer than the 5 bytes");
  refused(test_reply(200, "01234"), 2, "ignores ranges");
  refused(test_reply(200, kObject), 0, "longer than the 5 bytes");
  refused(test_reply(206, "23456"), 2, "another range");
  refused(test_reply(206, "23456", "Content-Range: bytes 2-6/4\r\n"), 2, "another range");
  refused({"<html>\r\n"}, 0, "not valid HTTP");
}

// A server that has one object and knows HEAD, ranges and If-Match; the object may change between requests.
class OneObject {
 public:
  OneObject(std::string content, std::string crc_field)
      : content_(std::move(content)),
        crc_field_(std::move(crc_field)),
        server_([this](const TestHttpRequest& request) { return answer(request); }) {
    S3Options options;
    options.endpoint = server_.endpoint();
    options.credentials = fixed_credentials({"key-id", std::string(kSecret)});
    options.range_bytes = 4;
    store = open_s3_store("bucket", options);
  }

  Result<std::string> read(std::size_t size, std::uint64_t offset = 0) {
    Bytes target(size);
    HEADRACE_TRY(const ReadResult result, store->read_into("key", target, {.offset_bytes = offset}));
    return std::string(as_text(target).substr(0, result.bytes_read));
  }
  // After so many answers the object is another one, of as many bytes.
  void change_after(int answers, std::string content) {
    changes_after_ = answers;
    next_content_ = std::move(content);
  }

 private:
  TestHttpReply answer(const TestHttpRequest& request) {
    const std::scoped_lock lock(mutex_);
    if (changes_after_-- == 0) {
      content_ = next_content_;
      etag_ = "v2";
      crc_field_.clear();
    }
    const std::string wanted = request.header("If-Match");
    if (!wanted.empty() && wanted != concat('"', etag_, '"')) return test_reply(412, "");
    if (request.method == "HEAD") {
      const std::string crc = crc_field_.empty() ? "" : concat("x-amz-checksum-crc32c: ", crc_field_, "\r\n");
      TestHttpReply reply = test_reply(200, content_, concat("ETag: \"", etag_, "\"\r\n", crc));
      reply.bytes.resize(reply.bytes.find("\r\n\r\n") + 4);
      return reply;
    }
    const std::string range = request.header("Range");  // "bytes=4-7"
    const std::size_t dash = range.find('-');
    const auto first = parse_number<std::size_t>(range.substr(6, dash - 6)).value_or(0);
    const auto last = parse_number<std::size_t>(range.substr(dash + 1)).value_or(0);
    if (first >= content_.size()) return test_reply(416, error_xml("InvalidRange"));
    return range_of(content_, first, std::min(last + 1, content_.size()) - first, etag_);
  }

  std::mutex mutex_;
  std::string content_;
  std::string crc_field_;
  std::string etag_ = "v1";
  std::string next_content_;
  int changes_after_ = -1;
  HttpTestServer server_;

 public:
  std::unique_ptr<Store> store;
};

TEST(S3Read, ManyRangesGiveWhatIsThereWhereverTheyBeginAndEnd) {
  const std::string content = "0123456789abcdefghijklmnopqrstuvwxyz";
  for (const std::string_view crc : {std::string(crc32c_field(crc32c(as_bytes(content)))), std::string()}) {
    OneObject object(content, std::string(crc));
    for (std::size_t offset = 0; offset <= content.size(); ++offset) {
      for (const std::size_t size : {1, 4, 5, 6, 7, 8, 11, 12, 13, 36, 37, 100}) {
        const auto text = object.read(size, offset);
        ASSERT_TRUE(text) << text.error().message;
        EXPECT_EQ(*text, content.substr(offset, size)) << offset << ", " << size;
      }
    }
    EXPECT_EQ(error_of(object.read(8, content.size() + 1)).code, Code::kOutOfRange);
  }
}

TEST(S3Read, AWholeObjectIsComparedWithTheChecksumThatTheServerKeeps) {
  const std::string content = "0123456789abcdefghij";
  OneObject damaged(content, crc32c_field(crc32c(as_bytes("0123456789abcdefghiJ"))));
  const Error error = error_of(damaged.read(20));
  EXPECT_EQ(error.code, Code::kDataLoss);
  EXPECT_THAT(error.message, AllOf(HasSubstr("s3://bucket/key"), HasSubstr("CRC32C")));
  EXPECT_TRUE(damaged.read(20, 1)) << "of a part nothing is known";
  OneObject in_parts(content, "4waSgw==-2");
  EXPECT_TRUE(in_parts.read(20)) << "a checksum of parts' checksums is none of the content";
}

TEST(S3Read, AChecksumOfPartsIsNoneOfTheObject) {
  for (const bool is_whole : {true, false}) {
    Script script({test_reply(200, kObject,
                              concat("x-amz-checksum-crc32c: 4waSgw==\r\nx-amz-checksum-type: ",
                                     is_whole ? "FULL_OBJECT" : "COMPOSITE", "\r\n"))});
    EXPECT_EQ(script.store->stat("key", {})->crc32c.has_value(), is_whole);
  }
}

TEST(S3Read, WhoMayNotSeeTheChecksumSeesTheRest) {
  Script script({test_reply(403), test_reply(200, kObject, "ETag: \"v1\"\r\n")});
  const auto object = script.store->stat("key", {});
  ASSERT_TRUE(object) << object.error().message;
  EXPECT_EQ(object->size_bytes, kObject.size());
  EXPECT_THAT(script.seen(), ElementsAre("HEAD /bucket/key", "HEAD /bucket/key"));
  EXPECT_EQ(script.requests()[0].header("x-amz-checksum-mode"), "ENABLED");
  EXPECT_EQ(script.requests()[1].header("x-amz-checksum-mode"), "");
}

TEST(S3Read, AnObjectThatIsReplacedMeanwhileIsReadAnewAndNeverMixed) {
  const std::string before(40, 'a'), after(40, 'b');
  for (int answers = 0; answers <= 11; ++answers) {
    OneObject object(before, "");
    object.change_after(answers, after);
    const auto text = object.read(40);
    ASSERT_TRUE(text) << text.error().message;
    EXPECT_EQ(*text, answers < 11 ? after : before) << "changed after " << answers << " answers";
  }
}

TEST(S3Read, AServerThatIgnoresTheVersionIsNotBelieved) {
  Script script({range_of(kObject, 0, 5, "v2")});
  EXPECT_EQ(error_of(script.read(5, {.if_version = Version{"v1"}})).code, Code::kFailedPrecondition);
  EXPECT_EQ(script.requests()[0].header("If-Match"), "\"v1\"");
}

TEST(S3Read, GivesUpWhenTheDeadlineHasPassed) {
  Script script({test_reply(503, error_xml("SlowDown"), "Retry-After: 20\r\n")});
  const Error error = error_of(script.read(5, {.call = {.deadline = milliseconds(100)}}));
  EXPECT_EQ(error.code, Code::kUnavailable);
  EXPECT_EQ(script.requests().size(), 1U) << "the pause asked for is longer than the deadline";
}

TEST(S3Write, SendsAChecksumAndTheSessionToken) {
  Script script({kOk});
  ASSERT_TRUE(write_text(*script.store, "a b/é", "123456789"));
  const TestHttpRequest request = script.requests()[0];
  EXPECT_EQ(request.target, "/bucket/a%20b/%C3%A9");
  EXPECT_EQ(request.header("x-amz-checksum-crc32c"), "4waSgw==");  // CRC-32C's check value, e3069283
  EXPECT_EQ(request.header("x-amz-security-token"), kToken);
  EXPECT_THAT(request.header("Authorization"),
              AllOf(HasSubstr("x-amz-checksum-crc32c;x-amz-content-sha256;x-amz-date;"
                              "x-amz-security-token"),
                    Not(HasSubstr(kSecret))));
  EXPECT_EQ(request.header("x-amz-content-sha256"), "UNSIGNED-PAYLOAD") << "it does not leave this machine";
}

TEST(S3Write, AnUnconditionalWriteIsRepeated) {
  Script script({kDropped, test_reply(503), kOk});
  EXPECT_TRUE(write_text(*script.store, "key", "text"));
}

TEST(S3Write, AConflictIsTriedAgain) {
  Script script({test_reply(409, error_xml("ConditionalRequestConflict")), kOk});
  EXPECT_TRUE(write_text(*script.store, "key", "text", {.only_if_absent = true}));
  EXPECT_EQ(script.requests()[1].header("If-None-Match"), "*");
}

TEST(S3Write, OfALostAnswerTheObjectItselfTellsWhoWon) {
  // The first attempt was carried out, but its answer was lost: the second one is refused.
  const TestHttpReply refused = test_reply(412, error_xml("PreconditionFailed"));
  Script won({kDropped, refused, kMarkedObject});
  const auto written = write_text(*won.store, "key", "text", {.only_if_absent = true});
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_EQ(written->version.token, "v1");
  EXPECT_THAT(won.seen(), ElementsAre("PUT /bucket/key", "PUT /bucket/key", "HEAD /bucket/key"));

  Script lost(
      {kDropped, refused, test_reply(200, "", "ETag: \"v1\"\r\nx-amz-meta-headrace-write: another\r\n")});
  EXPECT_EQ(error_of(write_text(*lost.store, "key", "text", {.only_if_absent = true})).code,
            Code::kAlreadyExists);
  Script changed({kDropped, refused, kOk});
  EXPECT_EQ(error_of(write_text(*changed.store, "key", "text", {.if_version = Version{"v0"}})).code,
            Code::kFailedPrecondition);
}

TEST(S3Write, ALostAnswerOnAKeptConnectionIsNoticedToo) {
  Script script({kOk, kDropped, test_reply(412, error_xml("PreconditionFailed")), kMarkedObject});
  ASSERT_TRUE(write_text(*script.store, "another", "text"));
  const auto written = write_text(*script.store, "key", "text", {.only_if_absent = true});
  EXPECT_TRUE(written) << written.error().message;
}

TEST(S3Write, ARefusalAtTheFirstAttemptIsFinal) {
  Script script({test_reply(412, error_xml("PreconditionFailed"))});
  EXPECT_EQ(error_of(write_text(*script.store, "key", "text", {.only_if_absent = true})).code,
            Code::kAlreadyExists);
  EXPECT_EQ(error_of(write_text(*script.store, "key", "text", {.if_version = Version{"v"}})).code,
            Code::kFailedPrecondition);
  EXPECT_EQ(script.requests().size(), 2U);
  Script gone({test_reply(404, error_xml("NoSuchKey"))});
  EXPECT_EQ(error_of(write_text(*gone.store, "key", "text", {.if_version = Version{"v"}})).code,
            Code::kFailedPrecondition);
}

const TestHttpReply kUploadStarted = test_reply(
    200, "<InitiateMultipartUploadResult><UploadId>id&amp;1</UploadId></InitiateMultipartUploadResult>");
const TestHttpReply kCompleted = test_reply(
    200, "<CompleteMultipartUploadResult><ETag>&quot;etag-2&quot;</ETag></CompleteMultipartUploadResult>");

// Uploads two parts, one request at a time, so that the order of requests is settled: start, part, part,
// complete.
Result<ObjectInfo> upload_two_parts(Script& script, const WriteOptions& options = {}) {
  HEADRACE_TRY(const auto upload, script.store->start_upload("key", options));
  HEADRACE_CHECK(upload->append(Bytes(6 << 20)));
  HEADRACE_CHECK(upload->append(Bytes(4 << 20)));
  return upload->commit();
}
const S3Options kOneByOne{.part_bytes = 5 << 20, .parallel_parts = 1};

TEST(S3Upload, OvercomesAFailureOfEveryStep) {
  const TestHttpReply busy = test_reply(503, error_xml("SlowDown"));
  Script script({busy, kUploadStarted, busy, kOk, kDropped, kOk, test_reply(200, error_xml("InternalError")),
                 kCompleted},
                kOneByOne);
  const auto committed = upload_two_parts(script);
  ASSERT_TRUE(committed) << committed.error().message;
  EXPECT_EQ(committed->version.token, "etag-2");
  EXPECT_EQ(committed->size_bytes, 10U << 20);
  EXPECT_THAT(script.requests().back().body,
              AllOf(HasSubstr("<PartNumber>2</PartNumber>"), HasSubstr("<ChecksumCRC32C>")));
  EXPECT_EQ(script.requests().back().target, "/bucket/key?uploadId=id%261");
}

TEST(S3Upload, ALostCompletionIsFoundByItsMark) {
  Script script(
      {kUploadStarted, kOk, kOk, kDropped, test_reply(404, error_xml("NoSuchUpload")),
       test_reply(200, std::string(10 << 20, 'x'), "ETag: \"v1\"\r\nx-amz-meta-headrace-write: MARK\r\n")},
      kOneByOne);
  const auto committed = upload_two_parts(script);
  ASSERT_TRUE(committed) << committed.error().message;
  EXPECT_EQ(script.seen().back(), "HEAD /bucket/key");
}

TEST(S3Upload, AConflictWithItsOwnLostCompletionIsASuccess) {
  Script script(
      {kUploadStarted, kOk, kOk, kDropped, test_reply(409, error_xml("ConditionalRequestConflict")),
       test_reply(200, std::string(10 << 20, 'x'), "ETag: \"v1\"\r\nx-amz-meta-headrace-write: MARK\r\n")},
      kOneByOne);
  const auto committed = upload_two_parts(script, {.only_if_absent = true});
  ASSERT_TRUE(committed) << committed.error().message;
  EXPECT_EQ(committed->version.token, "v1");
}

TEST(S3Upload, ARefusedCompletionIsAnErrorAndTheUploadIsDropped) {
  const auto error_after = [](std::vector<TestHttpReply> ends, const WriteOptions& options) {
    std::vector<TestHttpReply> replies = {kUploadStarted, kOk, kOk};
    replies.insert(replies.end(), ends.begin(), ends.end());
    Script script(replies, kOneByOne);
    const Error error = error_of(upload_two_parts(script, options));
    EXPECT_THAT(script.seen(), Contains("DELETE /bucket/key?uploadId=id%261"));
    return error;
  };
  const TestHttpReply refused = test_reply(412, error_xml("PreconditionFailed"));
  const TestHttpReply conflict = test_reply(409, error_xml("ConditionalRequestConflict"));
  const TestHttpReply missing = test_reply(404);
  EXPECT_EQ(error_after({refused}, {.only_if_absent = true}).code, Code::kAlreadyExists);
  EXPECT_EQ(error_after({refused}, {.if_version = Version{"v"}}).code, Code::kFailedPrecondition);
  EXPECT_EQ(error_after({conflict, kOk}, {.only_if_absent = true}).code, Code::kAlreadyExists);
  EXPECT_EQ(error_after({conflict, kOk}, {.if_version = Version{"v0"}}).code, Code::kFailedPrecondition);
  EXPECT_EQ(error_after({conflict, missing}, {.only_if_absent = true}).code, Code::kAborted);
  EXPECT_EQ(error_after({test_reply(200, error_xml("AccessDenied"))}, {}).code, Code::kPermissionDenied);
}

TEST(S3Upload, APartThatFailsFailsTheUpload) {
  Script script({kUploadStarted, test_reply(403, error_xml("AccessDenied"))}, kOneByOne);
  const Error error = error_of(upload_two_parts(script));
  EXPECT_EQ(error.code, Code::kPermissionDenied);
  EXPECT_THAT(script.seen(), Contains("DELETE /bucket/key?uploadId=id%261"));
  Script no_etag({kUploadStarted, test_reply(200)}, kOneByOne);
  EXPECT_EQ(error_of(upload_two_parts(no_etag)).code, Code::kDataLoss);
}

TEST(S3Upload, WithoutFurtherThreadsTheCallersOwnSendsTheParts) {
  Script script({kOk, kUploadStarted, kOk, kOk, kCompleted}, kOneByOne);
  ASSERT_TRUE(write_text(*script.store, "first", "so that the server has its thread for the connection"));
  const ThreadRefusal refusal;
  const auto committed = upload_two_parts(script);
  ASSERT_TRUE(committed) << committed.error().message;
  EXPECT_EQ(script.requests().size(), 5U);
}

TestHttpReply uploads_page(std::string_view uploads, std::string_view more = "") {
  return test_reply(200, concat("<ListMultipartUploadsResult><EncodingType>url</EncodingType>", more, uploads,
                                "</ListMultipartUploadsResult>"));
}
const TestHttpReply kTwoParts = test_reply(
    200,
    "<ListPartsResult><Part><PartNumber>1</PartNumber><Size>70</Size></Part><Part><PartNumber>3</PartNumber>"
    "<Size>5</Size><LastModified>2026-11-21T03:26:00.000Z</LastModified></Part></ListPartsResult>");
const TestHttpReply kNoSuchUpload = test_reply(404, error_xml("NoSuchUpload"));

TEST(S3Unfinished, ListsWhatThePrefixAndTheBucketShowOnceAndWithSizes) {
  const std::string first = "<Upload><Key>a/b+c</Key><UploadId>1</UploadId></Upload>";
  const std::string second =
      "<Upload><Key>a/d</Key><UploadId>2</UploadId><Initiated>2026-11-20T01:02:03.000Z</Initiated></Upload>";
  const std::string others =
      "<Upload><Key>b</Key><UploadId>3</UploadId></Upload><Upload><Key>a/e</Key><UploadId>4</UploadId></"
      "Upload>";
  Script script({uploads_page(first,
                              "<IsTruncated>true</IsTruncated><NextKeyMarker>a/b+c</NextKeyMarker>"
                              "<NextUploadIdMarker>1</NextUploadIdMarker>"),
                 kTwoParts, uploads_page(second), test_reply(403, error_xml("AccessDenied")),
                 uploads_page(first + others), kNoSuchUpload});
  const auto writes = list_all_unfinished(*script.store, "a/");
  ASSERT_TRUE(writes) << writes.error().message;
  ASSERT_EQ(writes->size(), 2U) << "the last one of the bucket has ended before its parts were listed";
  EXPECT_EQ(writes->at(0).key, "a/b c");
  EXPECT_EQ(writes->at(0).size_bytes, 75U);
  EXPECT_EQ(std::chrono::system_clock::to_time_t(*writes->at(0).modified), 1795231560);
  EXPECT_EQ(writes->at(1).id, "2");
  EXPECT_EQ(writes->at(1).size_bytes, std::nullopt) << "it may be seen, but not looked into";
  EXPECT_EQ(writes->at(1).modified, std::nullopt) << "it was begun then, but may have grown since";
  const auto seen = script.seen();
  EXPECT_EQ(seen[0], "GET /bucket?encoding-type=url&prefix=a%2F&uploads=");
  EXPECT_THAT(seen[2], AllOf(HasSubstr("key-marker=a%2Fb%20c"), HasSubstr("upload-id-marker=1")));
  EXPECT_EQ(seen[4], "GET /bucket?encoding-type=url&uploads=");
}

TEST(S3Unfinished, WhosePartsCannotBeListedForTheMomentIsAnError) {
  Script listing({uploads_page("<Upload><Key>a</Key><UploadId>1</UploadId></Upload>"),
                  test_reply(503, error_xml("SlowDown"))},
                 {.max_attempts = 1});
  EXPECT_EQ(error_of(list_all_unfinished(*listing.store, "a")).code, Code::kUnavailable);
  Script aborting({kOk, test_reply(503, error_xml("SlowDown"))}, {.max_attempts = 1});
  const Status removed = aborting.store->remove_unfinished({.key = "key", .id = "1"}, {});
  ASSERT_FALSE(removed) << "nobody knows whether parts are left";
  EXPECT_EQ(removed.error().code, Code::kUnavailable);
  Script unseen({kOk, test_reply(403, error_xml("AccessDenied"))});
  EXPECT_TRUE(unseen.store->remove_unfinished({.key = "key", .id = "1"}, {}));
}

TEST(S3Unfinished, AListingThatRepeatsItselfIsAnError) {
  Script script({uploads_page("", "<IsTruncated>true</IsTruncated><NextKeyMarker>a</NextKeyMarker>")});
  EXPECT_EQ(error_of(list_all_unfinished(*script.store, "")).code, Code::kDataLoss);
  EXPECT_EQ(script.seen().size(), 2U);
}

TEST(S3Unfinished, IsAbortedUntilNoPartIsLeft) {
  Script script({kOk, kTwoParts, kNoSuchUpload, kNoSuchUpload});
  const Status removed = script.store->remove_unfinished({.key = "key", .id = "id&1"}, {});
  ASSERT_TRUE(removed) << removed.error().message;
  const std::string abort = "DELETE /bucket/key?uploadId=id%261", look = "GET /bucket/key?uploadId=id%261";
  EXPECT_THAT(script.seen(), ElementsAre(abort, look, abort, look));
}

TEST(S3Unfinished, WhosePartsKeepComingIsAnErrorInTheEnd) {
  Script script(
      {kOk, kTwoParts, kOk, kTwoParts, kOk, kTwoParts, kOk, kTwoParts, kOk, kTwoParts, kOk, kTwoParts});
  const Status removed = script.store->remove_unfinished({.key = "key", .id = "1"}, {});
  ASSERT_FALSE(removed);
  EXPECT_EQ(removed.error().code, Code::kUnavailable);
  EXPECT_THAT(removed.error().message, HasSubstr("s3://bucket/key"));
}

TEST(S3Unfinished, WhatMayNotBeAbortedIsAnError) {
  Script script({test_reply(403, error_xml("AccessDenied"))});
  const Status removed = script.store->remove_unfinished({.key = "key", .id = "1"}, {});
  ASSERT_FALSE(removed);
  EXPECT_EQ(removed.error().code, Code::kPermissionDenied);
}

TEST(S3Upload, SmallObjectsAreOneRequest) {
  Script script({kOk});
  const auto upload = script.store->start_upload("key", {.only_if_absent = true});
  ASSERT_TRUE((*upload)->append(as_bytes("text")));
  ASSERT_TRUE((*upload)->commit());
  EXPECT_FALSE((*upload)->commit()) << "a second time";
  EXPECT_THAT(script.seen(), ElementsAre("PUT /bucket/key"));
}

TEST(S3Upload, PartsGrowSoThatTenThousandHoldATerabyte) {
  std::uint64_t total = 0;
  for (std::size_t part = 0; part < 10'000; ++part) {
    const std::size_t size = part_bytes_of(part, 8 << 20);
    EXPECT_TRUE(part >= 4'000 || size == 8U << 20);
    EXPECT_LE(size, 512U << 20);
    total += size;
  }
  EXPECT_GE(total, 1'000'000'000'000U);
}

TEST(S3Copy, AnErrorUnderA200IsAnError) {
  Script script({test_reply(200, kObject, "ETag: \"v1\"\r\n"), test_reply(200, error_xml("InternalError")),
                 test_reply(200, "<CopyObjectResult><ETag>\"v2\"</ETag></CopyObjectResult>")});
  const auto copied = script.store->copy("from", "to", {});
  ASSERT_TRUE(copied) << copied.error().message;
  EXPECT_EQ(copied->version.token, "v2");
  EXPECT_EQ(script.requests()[1].header("x-amz-copy-source"), "/bucket/from");
  EXPECT_EQ(script.requests()[1].header("x-amz-copy-source-if-match"), "\"v1\"");
}

TEST(S3Remove, SendsAThousandKeysAtATimeWithTheirDigest) {
  Script script({test_reply(200, "<DeleteResult></DeleteResult>")});
  std::vector<std::string> names;
  for (int i = 0; i < 2'500; ++i) names.push_back(concat("key/", i));
  ASSERT_TRUE(script.store->remove_many(names, {}));
  ASSERT_EQ(script.requests().size(), 3U);
  for (const TestHttpRequest& request : script.requests()) {
    EXPECT_EQ(request.target, "/bucket?delete=");
    EXPECT_EQ(request.header("Content-MD5"), md5_field(as_bytes(request.body)));
  }
}

TEST(S3Remove, NamesWhatCouldNotBeRemoved) {
  Script script(
      {test_reply(200,
                  "<DeleteResult><Error><Key>gone</Key><Code>NoSuchKey</Code></Error><Error><Key>kept</Key>"
                  "<Code>AccessDenied</Code><Message>no</Message></Error></DeleteResult>")});
  const std::vector<std::string> names = {"gone", "kept"};
  const Status status = script.store->remove_many(names, {});
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Code::kPermissionDenied);
  EXPECT_THAT(status.error().message, HasSubstr("s3://bucket/kept"));
}

TEST(S3Remove, AKeyThatFailedForTheMomentIsRemovedAlone) {
  const std::string busy = concat(std::string(200, 'a'), '/', std::string(200, 'b'));
  Script script({test_reply(200, concat("<DeleteResult><Error><Key>", busy,
                                        "</Key><Code>SlowDown</Code></Error><Error><Key>not-ours</Key>"
                                        "<Code>InternalError</Code></Error></DeleteResult>")),
                 test_reply(503, error_xml("SlowDown")), test_reply(204)});
  const std::vector<std::string> names = {busy, "other"};
  const Status status = script.store->remove_many(names, {});
  ASSERT_FALSE(status) << "the server names a key that it was not given";
  EXPECT_THAT(status.error().message, Not(HasSubstr("not-ours")));
  const std::string removed = concat("DELETE /bucket/", busy);
  EXPECT_THAT(script.seen(), ElementsAre("POST /bucket?delete=", removed, removed));
}

std::string page(std::initializer_list<std::string_view> keys, std::string_view end) {
  std::string xml = "<ListBucketResult><EncodingType>url</EncodingType>";
  for (const std::string_view key : keys) {
    xml += key.ends_with('/') ? concat("<CommonPrefixes><Prefix>", key, "</Prefix></CommonPrefixes>")
                              : concat("<Contents><Key>", key, "</Key><Size>1</Size></Contents>");
  }
  return concat(xml, end, "</ListBucketResult>");
}
std::string more(std::string_view token) {
  return concat("<IsTruncated>true</IsTruncated><NextContinuationToken>", token, "</NextContinuationToken>");
}

TEST(S3List, FollowsPagesAndDropsRepeatedFolders) {
  Script script({test_reply(200, page({"a+b", "c/"}, more("t+1/="))), test_reply(200, page({}, more("t2"))),
                 test_reply(200, page({"c/", "d%2B"}, ""))});
  std::vector<std::string> names;
  ASSERT_TRUE(script.store->list("", {.after = "0", .collapse_folders = true}, [&](const ObjectInfo& object) {
    names.push_back(object.key);
    return true;
  }));
  EXPECT_THAT(names, ElementsAre("a b", "c/", "d+"));
  EXPECT_THAT(script.seen()[0], HasSubstr("start-after=0"));
  EXPECT_THAT(script.seen()[1], HasSubstr("continuation-token=t%2B1%2F%3D"));
}

TEST(S3List, RefusesListsThatCannotBeRight) {
  const auto refused = [](std::vector<TestHttpReply> replies) {
    Script script(std::move(replies));
    const Error error = error_of(list_all(*script.store, "p", {}));
    EXPECT_EQ(error.code, Code::kDataLoss) << error.message;
    EXPECT_THAT(error.message, HasSubstr("s3://bucket"));
  };
  refused({test_reply(200, page({"p1"}, more("same"))), test_reply(200, page({"p2"}, more("same")))});
  refused({test_reply(200, page({"p2"}, more("t"))), test_reply(200, page({"p1"}, ""))});
  refused({test_reply(200, page({"other"}, ""))});
  refused({test_reply(200, page({"p%zz"}, ""))});
  refused({test_reply(200, page({"p1"}, "<IsTruncated>true</IsTruncated>"))});
  refused({test_reply(200, "<html><body>Welcome</body></html>")});
  refused({test_reply(200, "")});
  refused({test_reply(200, "<ListBucketResult><Contents><Key>p1</Key></Contents></ListBucketResult>")});
}

TEST(S3Region, ABucketIsFollowedToItsRegionAndOnlyThere) {
  std::atomic<int> strangers{0};
  HttpTestServer elsewhere([&](const TestHttpRequest&) { return ++strangers, test_reply(200); });
  const std::string location = concat("Location: ", elsewhere.endpoint().text(), "/bucket/key\r\n");
  Script moved(
      {test_reply(301, error_xml("PermanentRedirect"), location + "x-amz-bucket-region: eu-west-3\r\n"),
       kOk});
  ASSERT_TRUE(write_text(*moved.store, "key", "text"));
  EXPECT_THAT(moved.requests()[0].header("Authorization"), HasSubstr("/us-east-1/s3/"));
  EXPECT_THAT(moved.requests()[1].header("Authorization"), HasSubstr("/eu-west-3/s3/"));
  Script wrong(
      {test_reply(400, error_xml("AuthorizationHeaderMalformed", "<Region>eu-west-3</Region>")), kOk});
  EXPECT_TRUE(write_text(*wrong.store, "key", "text"));
  for (const int status : {301, 302, 307, 308}) {
    Script redirected({test_reply(status, "", location)});
    EXPECT_FALSE(write_text(*redirected.store, "key", "text")) << status;
  }
  // A server that never makes up its mind.
  Script flipping(
      {test_reply(301, "", "x-amz-bucket-region: a\r\n"), test_reply(301, "", "x-amz-bucket-region: b\r\n"),
       test_reply(301, "", "x-amz-bucket-region: a\r\n"), test_reply(301, "", "x-amz-bucket-region: b\r\n")});
  EXPECT_FALSE(write_text(*flipping.store, "key", "text"));
  EXPECT_EQ(flipping.requests().size(), 4U);
  EXPECT_EQ(strangers, 0);
}

// Writes two objects at once to a server that refuses each first attempt, but none before both are there.
void expect_both_to_learn(const std::function<bool(const TestHttpRequest&)>& is_wrong,
                          const TestHttpReply& refusal) {
  std::latch both_sent(2);
  HttpTestServer server([&](const TestHttpRequest& request) {
    if (!is_wrong(request)) return kOk;
    both_sent.arrive_and_wait();
    return refusal;
  });
  S3Options options{.endpoint = server.endpoint()};
  options.credentials = fixed_credentials({"key-id", std::string(kSecret)});
  options.now = [] { return std::chrono::system_clock::time_point(std::chrono::seconds(1'767'225'600)); };
  const auto store = open_s3_store("bucket", options);
  const auto write = [&](std::string_view key) {
    const auto written = write_text(*store, key, "text");
    EXPECT_TRUE(written) << written.error().message;
  };
  std::jthread other([&] { write("a"); });
  write("b");
}

TEST(S3Region, RequestsSentAtTheSameTimeAllFollowTheBucket) {
  expect_both_to_learn(
      [](const auto& request) {
        return request.header("Authorization").find("/us-east-1/") != std::string::npos;
      },
      test_reply(301, error_xml("PermanentRedirect"), "x-amz-bucket-region: eu-west-3\r\n"));
}

TEST(S3Clock, RequestsSentAtTheSameTimeAllCorrectIt) {
  expect_both_to_learn(
      [](const auto& request) { return request.header("x-amz-date").starts_with("20260101T00"); },
      test_reply(403, error_xml("RequestTimeTooSkewed"), "Date: Thu, 01 Jan 2026 01:00:00 GMT\r\n"));
}

TEST(S3Address, IsVirtualOnAwsWhereTheNameAllowsAndPathElsewhere) {
  const auto endpoint_of = [](const std::string& bucket, const S3Options& options) {
    S3Answer answer;
    answer.http.status = 404;
    answer.error_code = "NoSuchBucket";
    return S3Client(bucket, options).explain({}, answer).message;
  };
  EXPECT_THAT(endpoint_of("my-bucket", {.region = "eu-west-3"}),
              HasSubstr("https://my-bucket.s3.eu-west-3.amazonaws.com"));
  EXPECT_THAT(endpoint_of("my-bucket", {.region = "cn-north-1"}),
              HasSubstr(".s3.cn-north-1.amazonaws.com.cn"));
  EXPECT_THAT(endpoint_of("with.dots", {}), HasSubstr("https://s3.us-east-1.amazonaws.com"));
  S3Options own{.endpoint = *parse_http_endpoint("http://minio:9000")};
  EXPECT_THAT(endpoint_of("my-bucket", own), HasSubstr(" http://minio:9000"));
  own.addressing = S3Addressing::kVirtual;
  EXPECT_THAT(endpoint_of("my-bucket", own), HasSubstr(" http://my-bucket.minio:9000"));
}

TEST(S3Errors, NeverHoldASecret) {
  std::vector<TestHttpReply> replies = {
      kDropped, {"HTTP/1.1 200 O", Then::kClose}, {"nonsense\r\n"}, test_reply(418, "x")};
  for (const char* code :
       {"AccessDenied", "InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken", "InvalidToken",
        "RequestTimeTooSkewed", "NoSuchBucket", "SlowDown", "XMinioStorageFull", "Unheard0f"}) {
    replies.push_back(test_reply(403, error_xml(code)));
  }
  for (const TestHttpReply& reply : replies) {
    Script script({reply}, {.max_attempts = 2});
    std::vector<Error> errors = {error_of(script.read(5)), error_of(script.store->stat("key", {})),
                                 error_of(write_text(*script.store, "key", "text")),
                                 error_of(list_all(*script.store, ""))};
    for (const Error& error : errors) {
      EXPECT_THAT(error.message, AllOf(HasSubstr("s3://bucket"), Not(HasSubstr("canary"))));
    }
  }
}

TEST(S3Deadline, StartsAnewWithEachAnswer) {
  constexpr milliseconds kDeadline{3'000};
  std::atomic<int> attempts{0};
  HttpTestServer server([&](const TestHttpRequest&) {
    std::this_thread::sleep_for(kDeadline * 2 / 5);  // three of these are longer than the deadline
    return ++attempts < 4 ? test_reply(503, error_xml("SlowDown")) : kOk;
  });
  // The waits between attempts count against the deadline as well: kept out of the sum.
  const auto store =
      open_s3_store("bucket", {.endpoint = server.endpoint(), .backoff = {milliseconds(1), milliseconds(1)}});
  const auto written = write_text(*store, "key", "text", {.call = {.deadline = kDeadline}});
  EXPECT_TRUE(written) << written.error().message;
  EXPECT_EQ(attempts, 4);
}

TEST(S3Errors, AnUnreachableEndpointIsNamedWithItsSource) {
  S3Options options{.max_attempts = 2, .backoff = {milliseconds(1), milliseconds(1)}};
  {
    HttpTestServer gone([](const TestHttpRequest&) { return test_reply(200); });
    options.endpoint = gone.endpoint();
  }
  options.endpoint_source = "S3_ENDPOINT";
  const Error error = error_of(open_s3_store("bucket", options)->stat("key", {}));
  EXPECT_EQ(error.code, Code::kUnavailable);
  EXPECT_THAT(error.message, AllOf(HasSubstr(options.endpoint->text()), HasSubstr("comes from S3_ENDPOINT")));
}

TEST(S3Errors, AStoppedCallDoesNotRetry) {
  std::stop_source source;
  Script script({test_reply(503)}, {.max_attempts = 1'000'000});
  source.request_stop();
  EXPECT_EQ(error_of(script.read(5, {.call = {.stop = source.get_token()}})).code, Code::kCancelled);
}

TEST(S3Encryption, GoesWithTheRequestsThatNeedItAndIsSigned) {
  S3Options options;
  options.encryption = *customer_key_encryption(Bytes(32, std::byte{7}));
  options.requester_pays = true;
  Script script({kOk}, options);
  ASSERT_TRUE(write_text(*script.store, "key", "text"));
  ASSERT_TRUE(remove_object(*script.store, "key"));
  const std::string name = "x-amz-server-side-encryption-customer-key";
  const std::vector<TestHttpRequest> requests = script.requests();
  EXPECT_EQ(requests.at(0).header(name), "BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=");
  EXPECT_THAT(requests[0].header("Authorization"),
              AllOf(HasSubstr(";x-amz-request-payer;"), HasSubstr(name + ";")));
  EXPECT_EQ(requests.at(1).header(name), "") << "removing needs no key";
  EXPECT_EQ(requests[1].header("x-amz-request-payer"), "requester");
}

}  // namespace
}  // namespace headrace
