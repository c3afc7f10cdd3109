// Writing in one request and in parts: what is sent, what comes back, and what is cleaned up.

#include "headrace/store/s3/s3_upload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "headrace/base/crc32c.h"
#include "headrace/base/text.h"
#include "headrace/store/s3/checksum.h"
#include "headrace/store/s3/multipart.h"
#include "headrace/store/s3/s3_script_test.h"
#include "headrace/store/s3/s3_unfinished.h"
#include "headrace/store/scratch_folder_test.h"

namespace headrace {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::system_clock;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

auto* const folder_of_notes =
    static_cast<ScratchFolder*>(testing::AddGlobalTestEnvironment(new ScratchFolder));  // gtest owns it

constexpr std::size_t kPart = 5 << 20;
const S3Options kSmallParts{.part_bytes = kPart, .parallel_parts = 1};
const TestHttpReply kStartedUpload =
    test_reply(200, "<InitiateMultipartUploadResult><UploadId>id</UploadId></InitiateMultipartUploadResult>");
const TestHttpReply kCompletedWhole =
    test_reply(200, "<CompleteMultipartUploadResult><ETag>\"whole\"</ETag></CompleteMultipartUploadResult>");
const TestHttpReply kConflict = test_reply(409, error_xml("ConditionalRequestConflict"));
const TestHttpReply kRemoved = test_reply(204);

Bytes counted_bytes(std::size_t size) {
  Bytes data(size);
  for (std::size_t i = 0; i < size; ++i) data[i] = static_cast<std::byte>(i / kPart + i % 251);
  return data;
}

Result<ObjectInfo> upload(Script& script, BytesView data, const WriteOptions& options = {}) {
  HEADRACE_TRY(const auto upload, script.store->start_upload("key", options));
  HEADRACE_CHECK(upload->append(data));
  return upload->commit();
}

TEST(S3Put, TellsWhatItWrote) {
  Script script({kAccepted});
  const auto written = write_text(*script.store, "key", "123456789");
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_EQ(written->key, "key");
  EXPECT_EQ(written->size_bytes, 9U);
  EXPECT_EQ(written->version, Version{"v1"});
  EXPECT_EQ(written->crc32c, 0xe3069283U);
  const TestHttpRequest request = script.requests()[0];
  EXPECT_EQ(request.method, "PUT");
  EXPECT_EQ(request.body, "123456789");
  for (const char* name : {"If-Match", "If-None-Match", "x-amz-meta-headrace-write"})
    EXPECT_EQ(request.header(name), "") << name;
}

TEST(S3Put, UnderAConditionCarriesAMarkOfItsOwn) {
  Script script({kAccepted});
  ASSERT_TRUE(write_text(*script.store, "key", "text", {.only_if_absent = true}));
  ASSERT_TRUE(write_text(*script.store, "key", "text", {.if_version = Version{"v1"}}));
  const auto mark = [&](std::size_t i) { return script.requests()[i].header("x-amz-meta-headrace-write"); };
  EXPECT_EQ(mark(0).size(), 32U);
  EXPECT_NE(mark(0), mark(1));
  EXPECT_EQ(script.requests()[0].header("If-Match"), "");
  EXPECT_EQ(script.requests()[1].header("If-None-Match"), "");
}

TEST(S3Put, WithoutChecksumsSendsNone) {
  S3Options options;
  options.send_checksums = false;
  Script script({kAccepted}, options);
  const auto written = write_text(*script.store, "key", "text");
  ASSERT_TRUE(written);
  EXPECT_EQ(written->crc32c, std::nullopt);
  EXPECT_EQ(script.requests()[0].header("x-amz-checksum-crc32c"), "");
}

TEST(S3Put, IsOneRequestUpTo64MebibytesAndAnUploadBeyond) {
  constexpr std::size_t kMost = 64 << 20;
  Script script({kDenied});
  const Bytes data(kMost + 1);
  EXPECT_FALSE(script.store->write("key", BytesView(data).first(kMost), {}));
  EXPECT_FALSE(script.store->write("key", data, {}));
  EXPECT_THAT(script.seen(), ElementsAre("PUT /bucket/key", "POST /bucket/key?uploads="));
}

TEST(S3Put, TellsTheFactsOfAWriteWhoseAnswerWasLost) {
  Script script({kDropped, kRefused,
                 head_of(4,
                         "ETag: \"v7\"\r\nLast-Modified: Thu, 01 Jan 2026 00:00:00 GMT\r\n"
                         "x-amz-meta-headrace-write: MARK\r\n")});
  const auto written = write_text(*script.store, "key", "text", {.only_if_absent = true});
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_EQ(written->key, "key");
  EXPECT_EQ(written->size_bytes, 4U);
  EXPECT_EQ(written->version, Version{"v7"});
  ASSERT_TRUE(written->modified);
  EXPECT_EQ(system_clock::to_time_t(*written->modified), 1'767'225'600);
}

TEST(S3Put, RefusalsSayWhatWasWanted) {
  Script there({kRefused});
  EXPECT_THAT(error_of(write_text(*there.store, "key", "text", {.only_if_absent = true})).message,
              HasSubstr("s3://bucket/key: it already exists, but this write may only create it"));
  EXPECT_THAT(error_of(write_text(*there.store, "key", "text", {.if_version = Version{"v"}})).message,
              HasSubstr("s3://bucket/key: it is no longer the version that was to be replaced"));
  EXPECT_EQ(error_of(write_text(*there.store, "key", "text")).code, Code::kFailedPrecondition);
  Script missing({test_reply(404, error_xml("NoSuchKey"))});
  EXPECT_EQ(error_of(write_text(*missing.store, "key", "text", {.only_if_absent = true})).code,
            Code::kNotFound);
  Script no_bucket({test_reply(404, error_xml("NoSuchBucket"))});
  EXPECT_THAT(error_of(write_text(*no_bucket.store, "key", "text", {.if_version = Version{"v"}})).message,
              HasSubstr("no bucket"));
  Script denied({kDenied});
  EXPECT_EQ(error_of(write_text(*denied.store, "key", "text", {.only_if_absent = true})).code,
            Code::kPermissionDenied);
}

TEST(S3Put, AConflictShowsTooThatConditionsAreHonoured) {
  Script script({kAccepted, test_reply(409, error_xml("Odd")), kAccepted}, {}, {.probe_conditions = true});
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(write_text(*script.store, "key", "text", {.only_if_absent = true}));
  EXPECT_EQ(script.requests().size(), 3U);
  Script plain({kAccepted}, {}, {.probe_conditions = true});
  ASSERT_TRUE(write_text(*plain.store, "key", "text"));
  EXPECT_EQ(plain.requests().size(), 1U) << "there is no condition to ask about";
  Script ignoring({kAccepted}, {}, {.probe_conditions = true});
  EXPECT_FALSE(write_text(*ignoring.store, "key", "text", {.only_if_absent = true}));
  EXPECT_EQ(ignoring.requests().size(), 3U) << "asked twice";
}

TEST(S3UploadInParts, BeginsWithTheByteAfterTheFirstPart) {
  for (const std::size_t part_bytes : {kPart, std::size_t{1}}) {  // S3 demands 5 MiB
    S3Options options = kSmallParts;
    options.part_bytes = part_bytes;
    Script one({kAccepted}, options);
    const auto written = upload(one, counted_bytes(kPart));
    ASSERT_TRUE(written) << written.error().message;
    EXPECT_THAT(one.seen(), ElementsAre("PUT /bucket/key"));
    EXPECT_EQ(written->size_bytes, kPart);
    Script two({kStartedUpload, kAccepted, kAccepted, kCompletedWhole}, options);
    ASSERT_TRUE(upload(two, counted_bytes(kPart + 1)));
    EXPECT_THAT(two.seen(),
                ElementsAre("POST /bucket/key?uploads=", "PUT /bucket/key?partNumber=1&uploadId=id",
                            "PUT /bucket/key?partNumber=2&uploadId=id", "POST /bucket/key?uploadId=id"));
    EXPECT_EQ(two.requests()[1].body.size(), kPart);
    EXPECT_EQ(two.requests()[2].body.size(), 1U);
  }
}

TEST(S3UploadInParts, SendsChecksumsOfPartsAndWhole) {
  const Bytes data = counted_bytes(2 * kPart + 7);
  Script script({kStartedUpload, kAccepted, kAccepted, kAccepted, kCompletedWhole}, kSmallParts);
  const auto written = upload(script, data, {.only_if_absent = true});
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_EQ(written->crc32c, crc32c(data));
  EXPECT_EQ(written->version, Version{"whole"});
  const auto requests = script.requests();
  EXPECT_EQ(requests[0].header("x-amz-checksum-algorithm"), "CRC32C");
  EXPECT_EQ(requests[0].header("x-amz-checksum-type"), "FULL_OBJECT");
  EXPECT_EQ(requests[0].header("x-amz-meta-headrace-write").size(), 32U);
  std::string body;
  for (const std::size_t i : {1, 2, 3}) {
    body += requests[i].body;
    EXPECT_EQ(requests[i].header("x-amz-checksum-crc32c"), crc32c_field(crc32c(as_bytes(requests[i].body))));
    EXPECT_EQ(requests[i].header("If-None-Match"), "");
  }
  EXPECT_TRUE(body == as_text(data));
  EXPECT_EQ(requests[4].header("x-amz-checksum-crc32c"), crc32c_field(crc32c(data)));
  EXPECT_EQ(requests[4].header("x-amz-checksum-type"), "FULL_OBJECT");
  EXPECT_EQ(requests[4].header("If-None-Match"), "*");
  EXPECT_THAT(requests[4].body, HasSubstr("<ETag>&quot;v1&quot;</ETag>"));
}

TEST(S3UploadInParts, WithoutChecksumsSendsNone) {
  S3Options options = kSmallParts;
  options.send_checksums = false;
  Script script({kStartedUpload, kAccepted, kAccepted, kCompletedWhole}, options);
  const auto written = upload(script, counted_bytes(kPart + 1));
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_EQ(written->crc32c, std::nullopt);
  for (const TestHttpRequest& request : script.requests()) {
    for (const char* name : {"x-amz-checksum-algorithm", "x-amz-checksum-type", "x-amz-checksum-crc32c"})
      EXPECT_EQ(request.header(name), "");
    EXPECT_THAT(request.body, Not(HasSubstr("ChecksumCRC32C")));
  }
}

TEST(S3UploadInParts, WhatHasFailedStaysFailed) {
  Script script({kDenied}, kSmallParts);
  const auto upload = script.store->start_upload("key", {});
  const Status first = (*upload)->append(Bytes(kPart + 1));
  ASSERT_FALSE(first);
  EXPECT_EQ(first.error().code, Code::kPermissionDenied);
  const Status second = (*upload)->append(Bytes(1));
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Code::kPermissionDenied);
  EXPECT_EQ(error_of((*upload)->commit()).code, Code::kPermissionDenied);
  EXPECT_THAT(script.seen(), ElementsAre("POST /bucket/key?uploads="));
}

TEST(S3UploadInParts, IsCommittedOnce) {
  Script script({kStartedUpload, kAccepted, kAccepted, kCompletedWhole}, kSmallParts);
  const auto upload = script.store->start_upload("key", {});
  ASSERT_TRUE((*upload)->append(Bytes(kPart + 1)));
  ASSERT_TRUE((*upload)->commit());
  const Error error = error_of((*upload)->commit());
  EXPECT_EQ(error.code, Code::kFailedPrecondition);
  EXPECT_THAT(error.message, HasSubstr("s3://bucket/key: it was already committed"));
  EXPECT_EQ(script.requests().size(), 4U);
}

TEST(S3UploadInParts, OfNothingIsAnEmptyObject) {
  Script script({kAccepted});
  const auto written = upload(script, {});
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_EQ(written->size_bytes, 0U);
  EXPECT_THAT(script.seen(), ElementsAre("PUT /bucket/key"));
}

TEST(S3UploadInParts, ThatIsDroppedIsAborted) {
  Script script({kStartedUpload, kAccepted, kRemoved, kGone}, kSmallParts);
  auto upload = script.store->start_upload("key", {});
  ASSERT_TRUE((*upload)->append(Bytes(kPart + 1)));
  upload->reset();
  EXPECT_THAT(script.seen(),
              ElementsAre("POST /bucket/key?uploads=", "PUT /bucket/key?partNumber=1&uploadId=id",
                          "DELETE /bucket/key?uploadId=id", "GET /bucket/key?uploadId=id"));
}

TEST(S3UploadInParts, AnAnswerWithoutIdOrETagIsAnError) {
  Script no_id({test_reply(200, "<InitiateMultipartUploadResult/>")}, kSmallParts);
  const Error unknown = error_of(upload(no_id, Bytes(kPart + 1)));
  EXPECT_EQ(unknown.code, Code::kDataLoss);
  EXPECT_THAT(unknown.message, StartsWith("s3://bucket/key: "));
  EXPECT_EQ(no_id.requests().size(), 1U) << "there is nothing to abort";
  Script no_etag({kStartedUpload, kAccepted, kAccepted, test_reply(200, "<CompleteMultipartUploadResult/>")},
                 kSmallParts);
  const Error nameless = error_of(upload(no_etag, Bytes(kPart + 1)));
  EXPECT_EQ(nameless.code, Code::kDataLoss);
  EXPECT_THAT(nameless.message, StartsWith("s3://bucket/key: "));
  EXPECT_EQ(no_etag.requests().size(), 4U) << "it is over: nothing is aborted";
  Script part({kStartedUpload, test_reply(200), kRemoved, kGone}, kSmallParts);
  EXPECT_THAT(error_of(upload(part, Bytes(kPart + 1))).message,
              HasSubstr("s3://bucket/key: the server gave part 1 no ETag"));
  Script refused({kStartedUpload, kDenied, kRemoved, kGone}, kSmallParts);
  EXPECT_THAT(error_of(upload(refused, Bytes(kPart + 1))).message,
              AllOf(HasSubstr("s3://bucket/key"), HasSubstr("sending part 1")));
}

TEST(S3UploadInParts, OnlyACompletionThatMayHaveBeenDoneIsLookedFor) {
  Script gone({kStartedUpload, kAccepted, kAccepted, kGone, kRemoved, kGone}, kSmallParts);
  EXPECT_EQ(error_of(upload(gone, Bytes(kPart + 1))).code, Code::kAborted);
  EXPECT_THAT(gone.seen(), Not(Contains("HEAD /bucket/key")));
  Script refused({kStartedUpload, kAccepted, kAccepted, kRefused, kRemoved, kGone}, kSmallParts);
  EXPECT_EQ(error_of(upload(refused, Bytes(kPart + 1), {.only_if_absent = true})).code, Code::kAlreadyExists);
  EXPECT_THAT(refused.seen(), Not(Contains("HEAD /bucket/key")));
  Script twice({kStartedUpload, kAccepted, kAccepted, kDropped, kRefused,
                head_of(kPart + 1, "ETag: \"v1\"\r\nx-amz-meta-headrace-write: MARK\r\n")},
               kSmallParts);
  const auto written = upload(twice, Bytes(kPart + 1), {.only_if_absent = true});
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_EQ(written->key, "key");
  EXPECT_EQ(written->size_bytes, kPart + 1);
  EXPECT_EQ(twice.requests().size(), 6U) << "nothing is aborted";
}

TEST(S3UploadInParts, OfAConflictTheObjectTellsWhoWasFaster) {
  const auto refusal = [](const WriteOptions& options, const TestHttpReply& now) {
    Script script({kStartedUpload, kAccepted, kAccepted, kConflict, now, now, kRemoved, kGone}, kSmallParts);
    const Error error = error_of(upload(script, Bytes(kPart + 1), options));
    EXPECT_EQ(script.seen()[4], "HEAD /bucket/key");
    return error;
  };
  const Error replaced = refusal({.if_version = Version{"v0"}}, head_of(3));
  EXPECT_EQ(replaced.code, Code::kFailedPrecondition);
  EXPECT_THAT(replaced.message, HasSubstr("s3://bucket/key: it is no longer the version"));
  EXPECT_EQ(refusal({.if_version = Version{"v1"}}, head_of(3)).code, Code::kAborted) << "nobody";
  const Error made = refusal({.only_if_absent = true}, head_of(3));
  EXPECT_EQ(made.code, Code::kAlreadyExists);
  EXPECT_THAT(made.message, HasSubstr("s3://bucket/key: it already exists"));
  EXPECT_EQ(refusal({.if_version = Version{"v0"}}, test_reply(404)).code, Code::kAborted);
  EXPECT_EQ(refusal({}, head_of(3)).code, Code::kAborted);
}

TEST(S3PutInParts, SendsThePartsOfWhatIsInMemory) {
  const Bytes data = counted_bytes(2 * kPart + 7);
  Script script({kStartedUpload, kAccepted, kAccepted, kAccepted, kCompletedWhole},
                {.part_bytes = kPart, .requests_at_once = 1});
  S3Client client("bucket", script.options());
  const auto written = put_object_in_parts(client, "key", data, {.if_version = Version{"v0"}});
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_EQ(written->size_bytes, data.size());
  EXPECT_EQ(written->crc32c, crc32c(data));
  std::string body;
  for (const std::size_t i : {1, 2, 3}) body += script.requests()[i].body;
  EXPECT_TRUE(body == as_text(data));
  EXPECT_EQ(script.requests()[1].body.size(), kPart);
  EXPECT_EQ(script.requests()[0].header("x-amz-checksum-algorithm"), "CRC32C");
  EXPECT_EQ(script.requests()[4].header("If-Match"), "\"v0\"");
}

TEST(S3PutInParts, EndsAtTheFirstPartThatFails) {
  Script script({kStartedUpload, kDenied, kRemoved, kGone}, {.part_bytes = kPart, .requests_at_once = 1});
  S3Client client("bucket", script.options());
  const Error error = error_of(put_object_in_parts(client, "key", Bytes(2 * kPart), {}));
  EXPECT_EQ(error.code, Code::kPermissionDenied);
  EXPECT_THAT(error.message, HasSubstr("sending part 1"));
  EXPECT_THAT(script.seen(),
              ElementsAre("POST /bucket/key?uploads=", "PUT /bucket/key?partNumber=1&uploadId=id",
                          "DELETE /bucket/key?uploadId=id", "GET /bucket/key?uploadId=id"));
}

TEST(S3CopyInParts, CopiesRangesOfTheSource) {
  S3Options options{.parallel_parts = 1, .copy_part_bytes = 6 << 20};
  Script script(
      {head_of((12 << 20) + 1), kStartedUpload, kCopiedPart, kCopiedPart, kCopiedPart, kCompletedWhole},
      options);
  const auto copied = script.store->copy("from", "to", {.if_version = Version{"v0"}});
  ASSERT_TRUE(copied) << copied.error().message;
  EXPECT_EQ(copied->key, "to");
  EXPECT_EQ(copied->size_bytes, (12U << 20) + 1);
  EXPECT_EQ(copied->version, Version{"whole"});
  EXPECT_EQ(copied->crc32c, std::nullopt);
  const auto requests = script.requests();
  EXPECT_EQ(requests[1].header("x-amz-checksum-algorithm"), "");
  std::vector<std::string> ranges;
  for (const std::size_t i : {2, 3, 4}) ranges.push_back(requests[i].header("x-amz-copy-source-range"));
  EXPECT_THAT(ranges, ElementsAre("bytes=0-6291455", "bytes=6291456-12582911", "bytes=12582912-12582912"));
  EXPECT_EQ(requests[4].target, "/bucket/to?partNumber=3&uploadId=id");
  EXPECT_EQ(requests[5].header("x-amz-checksum-crc32c"), "");
  EXPECT_THAT(requests[5].body, HasSubstr("<PartNumber>3</PartNumber><ETag>&quot;p&quot;</ETag>"));
}

TEST(S3CopyInParts, ItsPartsAreAsLargeAsTheirNumberDemands) {
  const auto first_range = [](std::uint64_t size_bytes, std::uint64_t copy_part_bytes) {
    S3Options options{.parallel_parts = 1, .copy_part_bytes = copy_part_bytes};
    Script script({head_of(size_bytes), kStartedUpload, kDenied, kRemoved, kGone}, options);
    const Error error = error_of(script.store->copy("from", "to", {.only_if_absent = true}));
    EXPECT_EQ(error.code, Code::kPermissionDenied);
    EXPECT_THAT(error.message,
                AllOf(HasSubstr("s3://bucket/to"), HasSubstr("copying from s3://bucket/from")));
    EXPECT_THAT(script.seen(), Contains("DELETE /bucket/to?uploadId=id"));
    return script.requests()[2].header("x-amz-copy-source-range");
  };
  EXPECT_EQ(first_range(20 << 20, 1), "bytes=0-5242879");
  EXPECT_EQ(first_range(20 << 20, 10 << 20), "bytes=0-10485759");
  EXPECT_EQ(first_range(100'000'000'000, 1), "bytes=0-10000000");
}

TEST(S3CopyInParts, APartWithoutETagIsAnError) {
  Script script({head_of(7), kStartedUpload, test_reply(200, "<CopyPartResult/>"), kRemoved, kGone});
  const Error error = error_of(script.store->copy("from", "to", {.only_if_absent = true}));
  EXPECT_EQ(error.code, Code::kDataLoss);
  EXPECT_THAT(error.message, StartsWith("s3://bucket/to: "));
}

// Every request is sent with the caller's deadline. If an answer asks for a longer pause, the call ends,
// whichever of its requests got that answer.
void expect_to_keep_the_deadline(const std::vector<TestHttpReply>& replies, const S3Options& options,
                                 Initiative initiative,
                                 const std::function<bool(Script&, const CallOptions&)>& call) {
  const TestHttpReply later = test_reply(503, error_xml("SlowDown"), "Retry-After: 20\r\n");
  for (std::size_t i = 0; i < replies.size(); ++i) {
    std::vector<TestHttpReply> until(replies.begin(), replies.begin() + static_cast<std::ptrdiff_t>(i));
    until.push_back(later);
    until.insert(until.end(), {kRemoved, kGone});
    Script script(until, options, initiative);
    (void)call(script, {.deadline = seconds(10)});
    const auto seen = script.seen();
    ASSERT_GT(seen.size(), i);
    EXPECT_THAT(std::vector(seen.begin() + static_cast<std::ptrdiff_t>(i) + 1, seen.end()),
                Not(Contains(seen[i])))
        << "request " << i;
  }
}

TEST(S3Deadlines, BoundEachRequestOfACall) {
  const WriteOptions absent{.only_if_absent = true};
  const auto expect = [](const std::vector<TestHttpReply>& replies,
                         const std::function<bool(Script&, const CallOptions&)>& call,
                         Initiative initiative = {}) {
    expect_to_keep_the_deadline(replies, kSmallParts, initiative, call);
  };
  const auto text = [](const CallOptions& call, bool is_conditional) {
    return WriteOptions{.only_if_absent = is_conditional, .call = call};
  };
  expect({test_reply(404), kAccepted},
         [](Script& script, const CallOptions& call) { return script.store->stat("key", call).has_value(); });
  expect({test_reply(416), kAccepted},
         [](Script& script, const CallOptions& call) { return script.read(5, {.call = call}).has_value(); });
  expect({kAccepted}, [](Script& script, const CallOptions& call) {
    Bytes target(5);
    const std::vector<ReadRequest> requests = {{"key", 0, target}};
    return script.store->read_many(requests, call).has_value();
  });
  expect({kDropped, kRefused, kAccepted}, [&](Script& script, const CallOptions& call) {
    return write_text(*script.store, "key", "text", text(call, true)).has_value();
  });
  expect({kStartedUpload, kAccepted, kAccepted, kConflict, kAccepted, kAccepted},
         [&](Script& script, const CallOptions& call) {
           return upload(script, Bytes(kPart + 1), text(call, true)).has_value();
         });
  expect({head_of(7), kStartedUpload, kCopiedPart, kCompletedWhole},
         [&](Script& script, const CallOptions& call) {
           return script.store->copy("from", "to", text(call, true)).has_value();
         });
  expect({head_of(7), kCompletedWhole}, [&](Script& script, const CallOptions& call) {
    return script.store->copy("from", "to", text(call, false)).has_value();
  });
  expect({kAccepted}, [](Script& script, const CallOptions& call) {
    const std::vector<std::string> keys = {"a"};
    return script.store->remove_many(keys, call).has_value();
  });
  const TestHttpReply busy =
      test_reply(200, "<DeleteResult><Error><Key>a</Key><Code>SlowDown</Code></Error></DeleteResult>");
  expect({busy, kAccepted}, [](Script& script, const CallOptions& call) {
    const std::vector<std::string> keys = {"a", "b"};
    return script.store->remove_many(keys, call).has_value();
  });
  expect({kAccepted}, [](Script& script, const CallOptions& call) {
    return list_all(*script.store, "", {.call = call}).has_value();
  });
  const TestHttpReply one_upload =
      test_reply(200,
                 "<ListMultipartUploadsResult><Upload><Key>a</Key><UploadId>1</UploadId></Upload>"
                 "</ListMultipartUploadsResult>");
  expect({one_upload, kAccepted}, [](Script& script, const CallOptions& call) {
    return script.store->list_unfinished("a", call, [](const UnfinishedWrite&) { return true; }).has_value();
  });
  expect({kAccepted, kGone}, [](Script& script, const CallOptions& call) {
    return script.store->remove_unfinished({.key = "key", .id = "1"}, call).has_value();
  });
  // The probe of a completion: start, part, object, completion, removal.
  expect({kStartedUpload, kAccepted, kAccepted, kRefused, kRemoved},
         [&](Script& script, const CallOptions& call) {
           return upload(script, Bytes(kPart + 1), text(call, true)).has_value();
         },
         {.probe_conditions = true});
}

TEST(S3Stops, ReachReadsAndPartsThatAreOnTheirWayTogether) {
  std::stop_source stop;
  stop.request_stop();
  Script script({kAccepted}, kSmallParts);
  const CallOptions stopped{.stop = stop.get_token()};
  Bytes target(5);
  const std::vector<ReadRequest> requests = {{"key", 0, target}};
  EXPECT_EQ(script.store->read_many(requests, stopped).error().code, Code::kCancelled);
  EXPECT_EQ(error_of(script.read(5, {.call = stopped})).code, Code::kCancelled);
  EXPECT_EQ(error_of(list_all(*script.store, "", {.call = stopped})).code, Code::kCancelled);
  EXPECT_EQ(error_of(upload(script, Bytes(kPart + 1), {.call = stopped})).code, Code::kCancelled);
  EXPECT_THAT(script.seen(), IsEmpty());
}

const std::string kPartsOfSize7 =
    "<Part><PartNumber>1</PartNumber><Size>7</Size><LastModified>2026-01-01T00:00:00.000Z</LastModified>"
    "</Part>";
TestHttpReply parts_page(std::string_view parts, bool is_cut = false) {
  return test_reply(200, concat("<ListPartsResult><IsTruncated>", is_cut ? "true" : "false", "</IsTruncated>",
                                parts, "</ListPartsResult>"));
}
TestHttpReply shown_uploads(std::string_view uploads) {
  return test_reply(200, concat("<ListMultipartUploadsResult>", uploads, "</ListMultipartUploadsResult>"));
}
std::string pending(std::string_view key, std::string_view id, std::string_view more = "") {
  return concat("<Upload><Key>", key, "</Key><UploadId>", id, "</UploadId>", more, "</Upload>");
}

TEST(S3UnfinishedWrites, WithoutAPrefixAreListedOnce) {
  Script script({shown_uploads(pending("a", "1") + pending("b", "2")), parts_page(kPartsOfSize7), kGone});
  const auto writes = list_all_unfinished(*script.store, "");
  ASSERT_TRUE(writes) << writes.error().message;
  ASSERT_EQ(writes->size(), 1U);
  EXPECT_EQ(writes->front().key, "a");
  EXPECT_EQ(writes->front().id, "1");
  EXPECT_EQ(writes->front().size_bytes, 7U);
  EXPECT_THAT(script.seen(), ElementsAre("GET /bucket?encoding-type=url&uploads=", "GET /bucket/a?uploadId=1",
                                         "GET /bucket/b?uploadId=2"));
}

TEST(S3UnfinishedWrites, HaveTheTimeOfTheirLatestPartOrOfTheirBeginning) {
  const std::string begun = "<Initiated>2026-01-02T00:00:00.000Z</Initiated>";
  Script script({shown_uploads(pending("a", "1", begun) + pending("b", "2") + pending("c", "3", begun)),
                 parts_page(kPartsOfSize7), parts_page(kPartsOfSize7), parts_page("")});
  const auto writes = list_all_unfinished(*script.store, "");
  ASSERT_TRUE(writes) << writes.error().message;
  ASSERT_EQ(writes->size(), 3U);
  EXPECT_EQ(system_clock::to_time_t(*writes->at(0).modified), 1'767'312'000);
  EXPECT_EQ(system_clock::to_time_t(*writes->at(1).modified), 1'767'225'600);
  EXPECT_EQ(system_clock::to_time_t(*writes->at(2).modified), 1'767'312'000);
  EXPECT_EQ(writes->at(2).size_bytes, 0U);
}

TEST(S3UnfinishedWrites, WhosePartsTheServerDoesNotShowAreListedWithoutSize) {
  for (const int status : {403, 405, 501}) {
    Script script({shown_uploads(pending("a", "1")), test_reply(status)}, {.max_attempts = 1});
    const auto writes = list_all_unfinished(*script.store, "");
    ASSERT_TRUE(writes) << status;
    EXPECT_EQ(writes->at(0).size_bytes, std::nullopt);
  }
  Script failing({shown_uploads(pending("a", "1")), test_reply(400, error_xml("Odd"))});
  EXPECT_THAT(error_of(list_all_unfinished(*failing.store, "")).message,
              AllOf(HasSubstr("s3://bucket/a"), HasSubstr("listing the parts of an unfinished upload")));
  Script nonsense({shown_uploads(pending("a", "1")), test_reply(200, "<html/>")});
  EXPECT_THAT(error_of(list_all_unfinished(*nonsense.store, "")).message, StartsWith("s3://bucket/a: "));
}

TEST(S3UnfinishedWrites, EndWhereTheVisitorHasEnough) {
  Script script({shown_uploads(pending("a", "1") + pending("ab", "2")), parts_page(kPartsOfSize7)});
  int visited = 0;
  ASSERT_TRUE(
      script.store->list_unfinished("a", {}, [&](const UnfinishedWrite&) { return ++visited, false; }));
  EXPECT_EQ(visited, 1);
  EXPECT_EQ(script.requests().size(), 2U);
}

TEST(S3UnfinishedWrites, ThatCannotBeListedSayOfWhat) {
  Script denied({kDenied});
  const Error error = error_of(list_all_unfinished(*denied.store, "p/"));
  EXPECT_EQ(error.code, Code::kPermissionDenied);
  EXPECT_THAT(error.message, HasSubstr("s3://bucket: listing the unfinished uploads of p/"));
  Script nonsense({test_reply(200, "<html/>")});
  EXPECT_THAT(error_of(list_all_unfinished(*nonsense.store, "p/")).message,
              HasSubstr("listing the unfinished uploads of p/"));
}

TEST(S3UnfinishedWrites, TheirPartsAreAskedForWhilePagesGoOnAndTenTimesAtMost) {
  std::vector<TestHttpReply> replies = {shown_uploads(pending("a", "1"))};
  for (int i = 1; i <= 12; ++i)
    replies.push_back(
        parts_page(concat("<Part><PartNumber>", i, "</PartNumber><Size>1</Size></Part>"), true));
  Script endless(replies);
  const auto writes = list_all_unfinished(*endless.store, "");
  ASSERT_TRUE(writes) << writes.error().message;
  EXPECT_EQ(writes->at(0).size_bytes, 10U) << "as many as an upload can have are on ten pages";
  EXPECT_EQ(endless.requests().size(), 11U);
}

TEST(S3UnfinishedWrites, APageOfPartsThatRepeatsItselfIsTheLast) {
  Script script({parts_page(kPartsOfSize7, true)});
  S3Client client("bucket", script.options());
  const auto sent = sent_parts(client, "a", "1", {});
  ASSERT_TRUE(sent) << sent.error().message;
  EXPECT_EQ(script.requests().size(), 2U);
  ASSERT_TRUE(sent->parts);
  EXPECT_TRUE(sent->are_listed);
}

TEST(S3UnfinishedWrites, AreAbortedOnceWhereNothingIsLeft) {
  Script script({kRemoved, parts_page("")});
  ASSERT_TRUE(script.store->remove_unfinished({.key = "key", .id = "1"}, {}));
  EXPECT_EQ(script.requests().size(), 2U);
  Script gone({kGone, kGone});
  EXPECT_TRUE(gone.store->remove_unfinished({.key = "key", .id = "1"}, {}));
  Script denied({kDenied});
  EXPECT_THAT(denied.store->remove_unfinished({.key = "key", .id = "1"}, {}).error().message,
              AllOf(HasSubstr("s3://bucket/key"), HasSubstr("aborting an unfinished upload")));
}

TEST(S3UnfinishedWrites, WhoHasNoMoreTimeAbortsOnce) {
  Script script({kRemoved, parts_page(kPartsOfSize7)});
  S3Client client("bucket", script.options());
  const Status aborted = abort_upload(client, "key", "1", {}, std::chrono::steady_clock::now() - seconds(1));
  EXPECT_FALSE(aborted);
  EXPECT_LE(script.requests().size(), 2U);
}

TEST(S3Resumes, GoOnOnlyWithAnUploadThatWasBegunTheSameWay) {
  S3Options options = kSmallParts;
  options.uploads_folder = folder_of_notes->new_root() + "/uploads";
  Script script({kStartedUpload, kAccepted, kDenied, kStartedUpload, kDenied, kStartedUpload, kDenied,
                 kStartedUpload, kDenied, kGone},
                options);
  const Bytes data = counted_bytes(2 * kPart);
  const auto write = [&](const S3Options& how, const char* key) {
    const auto store = open_s3_store("bucket", how);
    const auto upload = store->start_upload(key, {.resumes = true});
    EXPECT_FALSE((*upload)->append(data) && (*upload)->commit());
    return script.requests().size();
  };
  S3Options encrypted = script.options(), unchecked = script.options();
  encrypted.encryption = ServerKeyEncryption{"AES256"};
  unchecked.send_checksums = false;
  EXPECT_EQ(write(script.options(), "key"), 3U);
  EXPECT_EQ(write(encrypted, "key"), 5U);
  EXPECT_EQ(write(unchecked, "key"), 7U);
  EXPECT_EQ(write(script.options(), "other"), 9U);
  for (const std::size_t begun : {3, 5, 7}) EXPECT_THAT(script.seen()[begun], HasSubstr("?uploads="));
  (void)write(script.options(), "key");
  EXPECT_EQ(script.seen()[9], "GET /bucket/key?uploadId=id") << "that is the first again";
}

}  // namespace
}  // namespace headrace
