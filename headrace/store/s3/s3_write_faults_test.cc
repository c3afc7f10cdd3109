// Writing, against a server that fails in the ways that real ones and the networks before them do.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "headrace/base/crc32c.h"
#include "headrace/base/text.h"
#include "headrace/os/thread_refusal_test.h"
#include "headrace/store/s3/s3_script_test.h"
#include "headrace/store/s3/s3_upload.h"

namespace headrace {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

TEST(S3Write, SendsAChecksumAndTheSessionToken) {
  Script script({kAccepted});
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
  Script script({kDropped, test_reply(503), kAccepted});
  EXPECT_TRUE(write_text(*script.store, "key", "text"));
}

TEST(S3Write, AConflictIsTriedAgain) {
  Script script({test_reply(409, error_xml("ConditionalRequestConflict")), kAccepted});
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
  Script changed({kDropped, refused, kAccepted});
  EXPECT_EQ(error_of(write_text(*changed.store, "key", "text", {.if_version = Version{"v0"}})).code,
            Code::kFailedPrecondition);
}

TEST(S3Write, WhoWonIsNotGuessedWhereNobodyTells) {
  const TestHttpReply refused = test_reply(412, error_xml("PreconditionFailed"));
  // A role that may write and not read.
  Script hidden({kDropped, refused, test_reply(403)});
  const Error unknown = error_of(write_text(*hidden.store, "key", "text", {.only_if_absent = true}));
  EXPECT_EQ(unknown.code, Code::kUnavailable);
  EXPECT_THAT(unknown.message,
              HasSubstr("it could not be found out whether the first attempt wrote the object"));
  Script gone({kDropped, refused, test_reply(404)});
  EXPECT_EQ(error_of(write_text(*gone.store, "key", "text", {.only_if_absent = true})).code,
            Code::kAlreadyExists);
}

TEST(S3Write, WhetherTheServerHonoursConditionsIsFoundOutOnce) {
  Script script({kAccepted, kRefused, kAccepted, kAccepted, kRefused, kAccepted}, {},
                {.probe_conditions = true});
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(write_text(*script.store, "key", "text", {.only_if_absent = true}));
  for (int i = 0; i < 2; ++i)
    ASSERT_TRUE(write_text(*script.store, "key", "text", {.if_version = Version{"v1"}}));
  const auto requests = script.requests();
  ASSERT_EQ(requests.size(), 6U);
  for (const int i : {0, 1, 2}) EXPECT_EQ(requests[i].header("If-None-Match"), "*");
  EXPECT_EQ(requests[1].body, requests[0].body) << "if the server takes it, nothing is lost";
  EXPECT_EQ(requests[3].header("If-Match"), "\"v1\"");
  EXPECT_EQ(requests[4].header("If-Match"), "\"headrace-no-such-version\"");
  EXPECT_EQ(requests[5].header("If-Match"), "\"v1\"");
}

TEST(S3Write, AServerThatIgnoresConditionsIsNotPublishedTo) {
  for (const WriteOptions& options :
       {WriteOptions{.only_if_absent = true}, WriteOptions{.if_version = Version{"v1"}}}) {
    Script script({kAccepted}, {}, {.probe_conditions = true});
    const Error error = error_of(write_text(*script.store, "key", "text", options));
    EXPECT_EQ(error.code, Code::kUnimplemented);
    EXPECT_THAT(error.message,
                AllOf(HasSubstr(options.only_if_absent ? "ignores If-None" : "ignores If-Match"),
                      HasSubstr("HEADRACE_S3_PROBE_CONDITIONS=0")));
    Script trusting({kAccepted});
    EXPECT_TRUE(write_text(*trusting.store, "key", "text", options));
    EXPECT_EQ(trusting.requests().size(), 1U);
  }
}

TEST(S3Write, WhereItCannotBeFoundOutTheNextWriteAsks) {
  // Somebody removes the object between two questions; then the role may no longer write.
  Script script({kAccepted, kAccepted, kRefused, kAccepted, kAccepted}, {}, {.probe_conditions = true});
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(write_text(*script.store, "key", "text", {.only_if_absent = true}));
  EXPECT_EQ(script.requests().size(), 4U);
  Script refused({kAccepted, test_reply(403, error_xml("AccessDenied")), kAccepted, kRefused, kAccepted}, {},
                 {.probe_conditions = true});
  for (int i = 0; i < 3; ++i)
    ASSERT_TRUE(write_text(*refused.store, "key", "text", {.only_if_absent = true}));
  EXPECT_EQ(refused.requests().size(), 5U);
}

TEST(S3Write, ALostAnswerOnAKeptConnectionIsNoticedToo) {
  Script script({kAccepted, kDropped, test_reply(412, error_xml("PreconditionFailed")), kMarkedObject});
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
const TestHttpReply kCompletedUpload = test_reply(
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
  Script script({busy, kUploadStarted, busy, kAccepted, kDropped, kAccepted,
                 test_reply(200, error_xml("InternalError")), kCompletedUpload},
                kOneByOne);
  const auto committed = upload_two_parts(script);
  ASSERT_TRUE(committed) << committed.error().message;
  EXPECT_EQ(committed->version.token, "etag-2");
  EXPECT_EQ(committed->size_bytes, 10U << 20);
  EXPECT_EQ(committed->key, "key");
  EXPECT_EQ(committed->crc32c, crc32c(Bytes(10 << 20)));
  EXPECT_THAT(script.requests().back().body,
              AllOf(HasSubstr("<PartNumber>2</PartNumber>"), HasSubstr("<ChecksumCRC32C>")));
  EXPECT_EQ(script.requests().back().target, "/bucket/key?uploadId=id%261");
}

TEST(S3Upload, ALostCompletionIsFoundByItsMark) {
  Script script(
      {kUploadStarted, kAccepted, kAccepted, kDropped, test_reply(404, error_xml("NoSuchUpload")),
       test_reply(200, std::string(10 << 20, 'x'), "ETag: \"v1\"\r\nx-amz-meta-headrace-write: MARK\r\n")},
      kOneByOne);
  const auto committed = upload_two_parts(script);
  ASSERT_TRUE(committed) << committed.error().message;
  EXPECT_EQ(script.seen().back(), "HEAD /bucket/key");
}

TEST(S3Upload, AnObjectOfItsMarkAndAnotherSizeIsNotItsOwn) {
  for (const std::size_t size : {(std::size_t{10} << 20) - 1, (std::size_t{10} << 20) + 1}) {
    Script script(
        {kUploadStarted, kAccepted, kAccepted, kDropped, test_reply(404, error_xml("NoSuchUpload")),
         test_reply(200, std::string(size, 'x'), "ETag: \"v1\"\r\nx-amz-meta-headrace-write: MARK\r\n"),
         test_reply(404, error_xml("NoSuchUpload"))},
        kOneByOne);
    EXPECT_FALSE(upload_two_parts(script)) << size;
  }
}

TEST(S3Upload, AConflictWithItsOwnLostCompletionIsASuccess) {
  Script script(
      {kUploadStarted, kAccepted, kAccepted, kDropped,
       test_reply(409, error_xml("ConditionalRequestConflict")),
       test_reply(200, std::string(10 << 20, 'x'), "ETag: \"v1\"\r\nx-amz-meta-headrace-write: MARK\r\n")},
      kOneByOne);
  const auto committed = upload_two_parts(script, {.only_if_absent = true});
  ASSERT_TRUE(committed) << committed.error().message;
  EXPECT_EQ(committed->version.token, "v1");
}

TEST(S3Upload, ARefusedCompletionIsAnErrorAndTheUploadIsDropped) {
  const auto error_after = [](std::vector<TestHttpReply> ends, const WriteOptions& options) {
    std::vector<TestHttpReply> replies = {kUploadStarted, kAccepted, kAccepted};
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
  EXPECT_EQ(error_after({conflict, kAccepted}, {.only_if_absent = true}).code, Code::kAlreadyExists);
  EXPECT_EQ(error_after({conflict, kAccepted}, {.if_version = Version{"v0"}}).code,
            Code::kFailedPrecondition);
  EXPECT_EQ(error_after({conflict, missing}, {.only_if_absent = true}).code, Code::kAborted);
  EXPECT_EQ(error_after({test_reply(200, error_xml("AccessDenied"))}, {}).code, Code::kPermissionDenied);
}

// The answers to the probe of a completion: start, part, object, completion, removal, abort.
std::vector<TestHttpReply> after_probe(std::vector<TestHttpReply> replies) {
  const TestHttpReply done = test_reply(204);
  std::vector<TestHttpReply> all = {kUploadStarted, kAccepted, kAccepted, kRefused, done, done, kGone};
  all.insert(all.end(), replies.begin(), replies.end());
  return all;
}

TEST(S3Upload, WhetherCompletionsHonourConditionsIsFoundOutOnceBeforeTheFirst) {
  const std::vector<TestHttpReply> two_uploads = {kUploadStarted, kAccepted, kAccepted, kCompletedUpload,
                                                  kUploadStarted, kAccepted, kAccepted, kCompletedUpload};
  for (const auto& [options, header, value] :
       {std::tuple{WriteOptions{.only_if_absent = true}, "If-None-Match", "*"},
        std::tuple{WriteOptions{.if_version = Version{"v1"}}, "If-Match", "\"headrace-no-such-version\""}}) {
    Script script(after_probe(two_uploads), kOneByOne, {.probe_conditions = true});
    for (int i = 0; i < 2; ++i) ASSERT_TRUE(upload_two_parts(script, options));
    const auto requests = script.requests();
    ASSERT_EQ(requests.size(), 15U);
    const std::string probe = requests[2].target;
    EXPECT_THAT(probe, testing::StartsWith("/bucket/.headrace-probe-"));
    EXPECT_EQ(requests[3].target, probe + "?uploadId=id%261");
    EXPECT_EQ(requests[3].header(header), value);
    EXPECT_EQ(concat(requests[4].method, " ", requests[4].target), concat("DELETE ", probe));
    EXPECT_EQ(requests[10].target, "/bucket/key?uploadId=id%261");
    EXPECT_NE(requests[10].header(header), "");
  }
}

TEST(S3Upload, AServerThatIgnoresConditionsOfCompletionsIsNotPublishedTo) {
  for (const WriteOptions& options :
       {WriteOptions{.only_if_absent = true}, WriteOptions{.if_version = Version{"v1"}}}) {
    Script script({kUploadStarted, kAccepted, kAccepted, kCompletedUpload, test_reply(204)}, kOneByOne,
                  {.probe_conditions = true});
    for (int i = 0; i < 2; ++i) {
      const Error error = error_of(upload_two_parts(script, options));
      EXPECT_EQ(error.code, Code::kUnimplemented);
      EXPECT_THAT(error.message,
                  AllOf(HasSubstr("was not written"), HasSubstr("completes a multipart upload"),
                        HasSubstr("HEADRACE_S3_PROBE_CONDITIONS=0")));
    }
    EXPECT_EQ(script.requests().size(), 5U) << "nothing but the probe was sent";
    Script trusting({kUploadStarted, kAccepted, kAccepted, kCompletedUpload}, kOneByOne);
    EXPECT_TRUE(upload_two_parts(trusting, options));
  }
}

TEST(S3Upload, WhatIsInMemoryIsOneRequestWhereCompletionsIgnoreConditions) {
  Script script(
      {kUploadStarted, kAccepted, kAccepted, kCompletedUpload, test_reply(204), kAccepted, kRefused},
      kOneByOne, {.probe_conditions = true});
  S3Client client("bucket", [&] {
    S3Options options = script.options();
    options.probe_conditions = true;
    return options;
  }());
  const Bytes data(11 << 20);
  const auto written = put_object_in_parts(client, "key", data, {.only_if_absent = true});
  ASSERT_TRUE(written) << written.error().message;
  const auto requests = script.requests();
  ASSERT_EQ(requests.size(), 7U);
  EXPECT_EQ(requests[5].target, "/bucket/key");
  EXPECT_EQ(requests[5].header("If-None-Match"), "*");
  EXPECT_EQ(requests[5].body.size(), data.size());
}

TEST(S3Upload, AServerThatCannotBeAskedAboutCompletionsIsTrusted) {
  const TestHttpReply denied = test_reply(403, error_xml("AccessDenied"));
  Script script({denied, kUploadStarted, kAccepted, kAccepted, kCompletedUpload}, kOneByOne,
                {.probe_conditions = true});
  EXPECT_TRUE(upload_two_parts(script, {.only_if_absent = true}));
}

TEST(S3Copy, CopiesPartsOfTheVersionThatItBeganWith) {
  const TestHttpReply source = test_reply(200, std::string(12, 'x'), "ETag: \"v7\"\r\n");
  Script script({source, kUploadStarted, kCopiedPart, kCompletedUpload});
  ASSERT_TRUE(script.store->copy("from", "to", {.only_if_absent = true}));
  const TestHttpRequest part = script.requests()[2];
  EXPECT_EQ(part.header("x-amz-copy-source"), "/bucket/from");
  EXPECT_EQ(part.header("x-amz-copy-source-if-match"), "\"v7\"");
  EXPECT_EQ(part.header("x-amz-copy-source-range"), "bytes=0-11");

  Script changed({source, kUploadStarted, kRefused, test_reply(204), kGone});
  EXPECT_FALSE(changed.store->copy("from", "to", {.only_if_absent = true}));
  EXPECT_THAT(changed.seen(), Contains("DELETE /bucket/to?uploadId=id%261"));
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
  Script script({kAccepted, kUploadStarted, kAccepted, kAccepted, kCompletedUpload}, kOneByOne);
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
                 uploads_page(first + others), kGone});
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
  Script aborting({kAccepted, test_reply(503, error_xml("SlowDown"))}, {.max_attempts = 1});
  const Status removed = aborting.store->remove_unfinished({.key = "key", .id = "1"}, {});
  ASSERT_FALSE(removed) << "nobody knows whether parts are left";
  EXPECT_EQ(removed.error().code, Code::kUnavailable);
  Script unseen({kAccepted, test_reply(403, error_xml("AccessDenied"))});
  EXPECT_TRUE(unseen.store->remove_unfinished({.key = "key", .id = "1"}, {}));
}

TEST(S3Unfinished, HasTheSizeOfThePartsOfAllPages) {
  const auto parts = [](int number, int size, bool is_cut) {
    return test_reply(200, concat("<ListPartsResult><IsTruncated>", is_cut ? "true" : "false",
                                  "</IsTruncated><Part><PartNumber>", number, "</PartNumber><Size>", size,
                                  "</Size></Part></ListPartsResult>"));
  };
  Script script({uploads_page("<Upload><Key>a</Key><UploadId>1</UploadId></Upload>"), parts(1, 70, true),
                 parts(5, 5, true), parts(9, 1, false), uploads_page("")});
  const auto writes = list_all_unfinished(*script.store, "a");
  ASSERT_TRUE(writes) << writes.error().message;
  ASSERT_EQ(writes->size(), 1U);
  EXPECT_EQ(writes->front().size_bytes, 76U);
  const auto seen = script.seen();
  EXPECT_EQ(seen[1], "GET /bucket/a?uploadId=1");
  EXPECT_EQ(seen[2], "GET /bucket/a?part-number-marker=1&uploadId=1");
  EXPECT_EQ(seen[3], "GET /bucket/a?part-number-marker=5&uploadId=1");
}

TEST(S3Unfinished, AListingThatRepeatsItselfIsAnError) {
  Script script({uploads_page("", "<IsTruncated>true</IsTruncated><NextKeyMarker>a</NextKeyMarker>")});
  EXPECT_EQ(error_of(list_all_unfinished(*script.store, "")).code, Code::kDataLoss);
  EXPECT_EQ(script.seen().size(), 2U);
}

TEST(S3Unfinished, IsAbortedUntilNoPartIsLeft) {
  Script script({kAccepted, kTwoParts, kGone, kGone});
  const Status removed = script.store->remove_unfinished({.key = "key", .id = "id&1"}, {});
  ASSERT_TRUE(removed) << removed.error().message;
  const std::string abort = "DELETE /bucket/key?uploadId=id%261", look = "GET /bucket/key?uploadId=id%261";
  EXPECT_THAT(script.seen(), ElementsAre(abort, look, abort, look));
}

TEST(S3Unfinished, WhosePartsKeepComingIsAnErrorInTheEnd) {
  std::vector<TestHttpReply> replies;
  for (int abort = 0; abort < 6; ++abort) replies.insert(replies.end(), {kAccepted, kTwoParts});
  replies.insert(replies.end(), {kAccepted, kGone});  // which is not asked for
  Script script(replies);
  const Status removed = script.store->remove_unfinished({.key = "key", .id = "1"}, {});
  EXPECT_EQ(script.seen().size(), 12U);
  ASSERT_FALSE(removed);
  EXPECT_EQ(removed.error().code, Code::kUnavailable);
  EXPECT_THAT(removed.error().message, HasSubstr("s3://bucket/key"));
}

TEST(S3Unfinished, AStopEndsItsAborts) {
  Script script({kAccepted, kTwoParts});
  std::stop_source stop;
  HttpTestServer server([&](const TestHttpRequest& request) {
    if (request.method == "GET") stop.request_stop();
    return request.method == "GET" ? kTwoParts : kAccepted;
  });
  S3Options options = script.options();
  options.endpoint = server.endpoint();
  const Status removed = open_s3_store("bucket", options)
                             ->remove_unfinished({.key = "key", .id = "1"}, {.stop = stop.get_token()});
  ASSERT_FALSE(removed);
  EXPECT_EQ(removed.error().code, Code::kCancelled);
}

TEST(S3Unfinished, WhatMayNotBeAbortedIsAnError) {
  Script script({test_reply(403, error_xml("AccessDenied"))});
  const Status removed = script.store->remove_unfinished({.key = "key", .id = "1"}, {});
  ASSERT_FALSE(removed);
  EXPECT_EQ(removed.error().code, Code::kPermissionDenied);
}

TEST(S3Upload, SmallObjectsAreOneRequest) {
  Script script({kAccepted});
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

}  // namespace
}  // namespace headrace
