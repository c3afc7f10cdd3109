// The store's functions: the requests that each of them sends, and what it returns.

#include "headrace/store/s3/s3_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "headrace/base/crc32c.h"
#include "headrace/base/text.h"
#include "headrace/store/s3/checksum.h"
#include "headrace/store/s3/s3_script_test.h"

namespace headrace {
namespace {

using std::chrono::system_clock;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

const std::string kFacts =
    "ETag: \"v1\"\r\nLast-Modified: Thu, 01 Jan 2026 00:00:00 GMT\r\nx-amz-checksum-crc32c: 4waSgw==\r\n";

void expect_facts(const ObjectInfo& object, std::uint64_t size_bytes) {
  EXPECT_EQ(object.key, "key");
  EXPECT_EQ(object.size_bytes, size_bytes);
  EXPECT_EQ(object.version, Version{"v1"});
  ASSERT_TRUE(object.modified);
  EXPECT_EQ(system_clock::to_time_t(*object.modified), 1'767'225'600);
  EXPECT_EQ(object.crc32c, 0xe3069283U);
}

const TestHttpReply kChanged = test_reply(412, error_xml("PreconditionFailed"));

std::vector<std::string> ranges_of(Script& script) {
  std::vector<std::string> ranges;
  for (const TestHttpRequest& request : script.requests()) ranges.push_back(request.header("Range"));
  return ranges;
}

TEST(S3Stat, TellsWhatTheServerKnows) {
  Script script({head_of(9, kFacts)});
  const auto object = script.store->stat("key", {});
  ASSERT_TRUE(object) << object.error().message;
  expect_facts(*object, 9);
  EXPECT_THAT(script.seen(), ElementsAre("HEAD /bucket/key"));
}

TEST(S3Stat, AsksTheObjectItselfWhereAHeadSaysTooLittle) {
  const TestHttpReply first = test_reply(206, "1", concat("Content-Range: bytes 0-0/9\r\n", kFacts));
  Script script({test_reply(405), first});
  const auto object = script.store->stat("key", {});
  ASSERT_TRUE(object) << object.error().message;
  expect_facts(*object, 9);
  EXPECT_THAT(script.seen(), ElementsAre("HEAD /bucket/key", "GET /bucket/key"));
  EXPECT_THAT(ranges_of(script), ElementsAre("", "bytes=0-0"));
  Script empty({test_reply(405), test_reply(416, error_xml("InvalidRange"))});
  const Error error = error_of(empty.store->stat("key", {}));
  EXPECT_EQ(error.code, Code::kUnimplemented) << "what the HEAD was answered";
  EXPECT_THAT(error.message, StartsWith("s3://bucket/key"));
}

TEST(S3Stat, WithoutChecksumsARefusedHeadIsNotRepeated) {
  S3Options options;
  options.send_checksums = false;
  Script script({test_reply(403), test_reply(403, error_xml("AccessDenied"))}, options);
  EXPECT_EQ(error_of(script.store->stat("key", {})).code, Code::kPermissionDenied);
  EXPECT_THAT(script.seen(), ElementsAre("HEAD /bucket/key", "GET /bucket/key"));
  EXPECT_EQ(script.requests()[0].header("x-amz-checksum-mode"), "");
}

TEST(S3Stat, AnObjectOfUnknownSizeIsAnError) {
  Script script({{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"}});
  const Error error = error_of(script.store->stat("key", {}));
  EXPECT_EQ(error.code, Code::kDataLoss);
  EXPECT_THAT(error.message, HasSubstr("s3://bucket/key: the server does not say how long it is"));
}

TEST(S3Stat, ThePinnedVersionGoesWithBothRequests) {
  const ReadOptions pinned{.if_version = Version{"v1"}};
  Script gone({kChanged});
  const Error error = error_of(gone.read(0, pinned));
  EXPECT_EQ(error.code, Code::kFailedPrecondition);
  EXPECT_THAT(error.message, HasSubstr("s3://bucket/key: it has changed since its version was read"));
  EXPECT_THAT(gone.seen(), ElementsAre("HEAD /bucket/key"));
  EXPECT_EQ(gone.requests()[0].header("If-Match"), "\"v1\"");
  Script hidden({test_reply(405), range_of(kObject, 0, 1)});
  EXPECT_TRUE(hidden.read(0, pinned));
  EXPECT_EQ(hidden.requests()[1].header("If-Match"), "\"v1\"");
}

TEST(S3ReadInto, ReturnsTheBytesAndTheFactsOfTheWholeObject) {
  Script script({test_reply(206, "23456", concat("Content-Range: bytes 2-6/9\r\n", kFacts))});
  Bytes target(5);
  const auto read = script.store->read_into("key", target, {.offset_bytes = 2});
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->bytes_read, 5U);
  expect_facts(read->object, 9);
  EXPECT_THAT(ranges_of(script), ElementsAre("bytes=2-6"));
  EXPECT_EQ(script.requests()[0].header("x-amz-checksum-mode"), "") << "of a part nothing is known";
  Script whole({test_reply(200, "123456789", kFacts)});
  Bytes room(9);
  const auto all = whole.store->read_into("key", room, {.is_whole = true});
  ASSERT_TRUE(all) << all.error().message;
  EXPECT_EQ(all->bytes_read, 9U);
  expect_facts(all->object, 9);
}

TEST(S3ReadInto, ARangeIsBelievedOnlyIfItIsWellFormed) {
  const auto message = [](std::string_view content_range, std::string_view body = "23456") {
    Script script({test_reply(206, body, concat("Content-Range: ", content_range, "\r\n"))});
    const auto text = script.read(5, {.offset_bytes = 2});
    return text ? *text : text.error().message;
  };
  EXPECT_EQ(message("bytes 2-6/10"), "23456");
  EXPECT_EQ(message("bytes 2-6/7"), "23456") << "which ends there";
  EXPECT_EQ(message("bytes 2-2/3", "2"), "2");
  for (const char* wrong : {"items 2-6/10", "bytes 2-6", "bytes 2/6-10", "bytes 26/10", "bytes 2-6/6",
                            "bytes 6-2/10", "bytes x-6/10", "bytes 2-x/10", "bytes 2-6/x", "bytes 2-7/10"})
    EXPECT_THAT(message(wrong),
                HasSubstr("s3://bucket/key, from byte 2: the server did not send the requested range"))
        << wrong;
}

TEST(S3ReadInto, ReadsLargeTargetsInRangesOfOneVersion) {
  S3Options options;
  options.range_bytes = 4;
  options.requests_at_once = 1;
  Script one({range_of(kObject, 0, 6)}, options);
  EXPECT_EQ(*one.read(6), "012345");
  EXPECT_THAT(one.seen(), ElementsAre("GET /bucket/key"));
  Script two({head_of(10), range_of(kObject, 0, 4), range_of(kObject, 4, 3)}, options);
  EXPECT_EQ(*two.read(7), "0123456");
  EXPECT_THAT(ranges_of(two), ElementsAre("", "bytes=0-3", "bytes=4-6"));
  for (const std::size_t i : {1, 2}) EXPECT_EQ(two.requests()[i].header("If-Match"), "\"v1\"");
  Script pinned({range_of(kObject, 1, 4), range_of(kObject, 5, 5)}, options);
  EXPECT_EQ(*pinned.read(9, {.offset_bytes = 1, .if_version = Version{"v1"}}), "123456789");
  EXPECT_THAT(ranges_of(pinned), ElementsAre("bytes=1-4", "bytes=5-9")) << "no HEAD is needed";
}

TEST(S3ReadInto, AnObjectThatChangesAgainAndAgainIsAnErrorInTheEnd) {
  S3Options options;
  options.range_bytes = 4;
  options.requests_at_once = 1;
  std::vector<TestHttpReply> replies;
  for (int i = 0; i < 4; ++i) replies.insert(replies.end(), {head_of(10), kChanged});
  Script script(replies, options);
  EXPECT_EQ(error_of(script.read(10)).code, Code::kFailedPrecondition);
  EXPECT_EQ(script.requests().size(), 8U) << "three restarts";
  Script pinned(replies, options);
  EXPECT_EQ(error_of(pinned.read(10, {.if_version = Version{"v1"}, .is_whole = true})).code,
            Code::kFailedPrecondition);
  EXPECT_THAT(pinned.seen(), ElementsAre("HEAD /bucket/key", "GET /bucket/key"));
  Script denied({head_of(10), test_reply(403, error_xml("AccessDenied"))}, options);
  EXPECT_EQ(error_of(denied.read(10)).code, Code::kPermissionDenied);
  EXPECT_EQ(denied.requests().size(), 2U) << "the second range is not asked for";
}

TEST(S3ReadInto, AtTheEndAHeadTellsWhereItIs) {
  Script empty_target({head_of(10)});
  EXPECT_EQ(*empty_target.read(0, {.offset_bytes = 10}), "");
  EXPECT_THAT(empty_target.seen(), ElementsAre("HEAD /bucket/key"));
  const TestHttpReply past = test_reply(416, error_xml("InvalidRange"));
  Script at_end({past, head_of(10)});
  Bytes target(5);
  const auto read = at_end.store->read_into("key", target, {.offset_bytes = 10});
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->bytes_read, 0U);
  EXPECT_EQ(read->object.size_bytes, 10U);
  Script behind({past, head_of(10)});
  const Error error = error_of(behind.read(5, {.offset_bytes = 11}));
  EXPECT_EQ(error.code, Code::kOutOfRange);
  EXPECT_THAT(error.message, HasSubstr("s3://bucket/key has 10 bytes, but the read begins at byte 11"));
  Script whole({past, head_of(0)});
  EXPECT_EQ(*whole.read(5, {.is_whole = true}), "");
}

TEST(S3ReadInto, AsksForNoByteThatNoObjectCanHave) {
  constexpr std::uint64_t kLast = std::numeric_limits<std::int64_t>::max();
  const TestHttpReply past = test_reply(416, error_xml("InvalidRange"));
  Script last_but_one({past, head_of(10)});
  EXPECT_EQ(error_of(last_but_one.read(5, {.offset_bytes = kLast - 1})).code, Code::kOutOfRange);
  EXPECT_THAT(ranges_of(last_but_one), ElementsAre("bytes=9223372036854775806-9223372036854775806", ""));
  for (const std::uint64_t offset : {kLast, std::numeric_limits<std::uint64_t>::max()}) {
    Script script({head_of(10)});
    EXPECT_EQ(error_of(script.read(5, {.offset_bytes = offset})).code, Code::kOutOfRange);
    EXPECT_THAT(script.seen(), ElementsAre("HEAD /bucket/key"));
  }
}

TEST(S3ReadInto, WithoutChecksumsAsksForNone) {
  S3Options options;
  options.send_checksums = false;
  Script script({test_reply(200, "123456789", "x-amz-checksum-crc32c: AAAAAA==\r\n")}, options);
  (void)script.read(9, {.is_whole = true});
  EXPECT_EQ(script.requests()[0].header("x-amz-checksum-mode"), "");
  EXPECT_EQ(script.requests()[0].header("Range"), "");
  Script part({range_of(kObject, 1, 5)});
  EXPECT_EQ(*part.read(5, {.offset_bytes = 1, .is_whole = true}), "12345") << "not from its beginning";
  EXPECT_THAT(ranges_of(part), ElementsAre("bytes=1-5"));
}

TEST(S3ReadMany, AnswersWithTheFirstErrorAndNamesItsObject) {
  Bytes first(2), second(3);
  S3Options options;
  options.requests_at_once = 1;
  const auto error_after = [&](std::vector<TestHttpReply> replies) {
    Script script(std::move(replies), options);
    const std::vector<ReadRequest> requests = {{"a", 0, first}, {"b", 8, second}};
    const Status done = script.store->read_many(requests, {});
    EXPECT_FALSE(done);
    EXPECT_EQ(script.seen()[0], "GET /bucket/a");
    return done ? Error{} : done.error();
  };
  const Error missing = error_after({test_reply(404, error_xml("NoSuchKey"))});
  EXPECT_EQ(missing.code, Code::kNotFound);
  EXPECT_THAT(missing.message, StartsWith("s3://bucket/a: "));
  const Error cut = error_after({range_of(kObject, 0, 2), range_of(kObject, 8, 2)});
  EXPECT_EQ(cut.code, Code::kDataLoss);
  EXPECT_THAT(cut.message, HasSubstr("s3://bucket/b: it ends before byte 11"));
  const Error past = error_after({range_of(kObject, 0, 2), test_reply(416, error_xml("InvalidRange"))});
  EXPECT_EQ(past.code, Code::kDataLoss);
}

TEST(S3ReadMany, OfNothingAsksNobody) {
  Script script({kAccepted});
  EXPECT_TRUE(script.store->read_many({}, {}));
  EXPECT_THAT(script.seen(), IsEmpty());
}

TEST(S3Store, PromisesWhatS3Does) {
  Script script({kAccepted});
  const Capabilities can = script.store->capabilities();
  EXPECT_TRUE(can.atomic_if_absent && can.atomic_if_version && can.strong_list && can.latest_only);
  EXPECT_TRUE(can.server_side_copy);
  EXPECT_FALSE(can.keeps_ranges);
  EXPECT_EQ(script.store->describe("key"), "s3://bucket/key");
}

TEST(S3Store, RefusesKeysThatAreNoneBeforeItAsks) {
  Script script({kAccepted});
  Store& store = *script.store;
  const std::vector<std::string> keys = {"/key"};
  EXPECT_EQ(error_of(store.stat("/key", {})).code, Code::kInvalidArgument);
  EXPECT_EQ(error_of(store.read_into("/key", {}, {})).code, Code::kInvalidArgument);
  EXPECT_EQ(error_of(store.write("/key", {}, {})).code, Code::kInvalidArgument);
  EXPECT_EQ(error_of(store.start_upload("/key", {})).code, Code::kInvalidArgument);
  EXPECT_EQ(error_of(store.copy("/key", "to", {})).code, Code::kInvalidArgument);
  EXPECT_EQ(error_of(store.copy("from", "/key", {})).code, Code::kInvalidArgument);
  EXPECT_FALSE(store.remove_many(keys, {}));
  EXPECT_THAT(script.seen(), IsEmpty());
}

const std::string kDeleted = "<DeleteResult></DeleteResult>";

std::vector<std::string> keys_of(std::size_t count) {
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < count; ++i) keys.push_back(concat("key/", i));
  return keys;
}

TEST(S3RemoveMany, SendsOneKeyAloneAndOthersTogether) {
  Script script({test_reply(200, kDeleted)});
  ASSERT_TRUE(script.store->remove_many(keys_of(1), {}));
  ASSERT_TRUE(script.store->remove_many(keys_of(2), {}));
  EXPECT_THAT(script.seen(), ElementsAre("DELETE /bucket/key/0", "POST /bucket?delete="));
  EXPECT_THAT(script.requests()[1].body, AllOf(HasSubstr("<Key>key/0</Key>"), HasSubstr("<Key>key/1</Key>")));
  ASSERT_TRUE(script.store->remove_many(keys_of(1'000), {}));
  EXPECT_EQ(script.requests().size(), 3U);
  ASSERT_TRUE(script.store->remove_many(keys_of(1'001), {}));
  EXPECT_EQ(script.requests().size(), 5U);
  EXPECT_THAT(script.requests()[4].body, HasSubstr("<Key>key/1000</Key>"));
  EXPECT_THAT(script.requests()[4].body, Not(HasSubstr("<Key>key/999</Key>")));
  ASSERT_TRUE(script.store->remove_many(keys_of(0), {}));
  EXPECT_EQ(script.requests().size(), 5U);
}

TEST(S3RemoveMany, SendsKeysAloneThatXmlCannotCarry) {
  Script script({test_reply(200, kDeleted)});
  const std::vector<std::string> keys = {"a\xef\xbf\xbf", "b", "c\xef\xbf\xbe"};
  ASSERT_TRUE(script.store->remove_many(keys, {}));
  EXPECT_THAT(script.seen(),
              ElementsAre("DELETE /bucket/a%EF%BF%BF", "DELETE /bucket/c%EF%BF%BE", "POST /bucket?delete="));
}

TEST(S3RemoveMany, WhatIsNotThereIsRemoved) {
  for (const char* code : {"NoSuchKey", "NotFound"}) {
    Script script({test_reply(404, error_xml(code))});
    EXPECT_TRUE(script.store->remove_many(keys_of(1), {})) << code;
  }
  Script no_bucket({test_reply(404, error_xml("NoSuchBucket"))});
  const Status status = no_bucket.store->remove_many(keys_of(1), {});
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(status.error().message, StartsWith("s3://bucket/key/0: "));
}

TEST(S3RemoveMany, SaysWhatWasRefused) {
  const auto error_after = [](const TestHttpReply& reply) {
    Script script({reply});
    const Status status = script.store->remove_many(keys_of(2), {});
    EXPECT_FALSE(status);
    EXPECT_EQ(script.requests().size(), 1U);
    return status ? Error{} : status.error();
  };
  const Error all = error_after(test_reply(403, error_xml("AccessDenied")));
  EXPECT_EQ(all.code, Code::kPermissionDenied);
  EXPECT_THAT(all.message, HasSubstr("removing 2 objects"));
  const Error nonsense = error_after(test_reply(200, "<html/>"));
  EXPECT_EQ(nonsense.code, Code::kDataLoss);
  EXPECT_THAT(nonsense.message, AllOf(HasSubstr("s3://bucket: "), HasSubstr("removing 2 objects")));
  const auto failure = [](std::string_view key, std::string_view code) {
    return test_reply(200, concat("<DeleteResult><Error><Key>", key, "</Key><Code>", code,
                                  "</Code><Message>because</Message></Error></DeleteResult>"));
  };
  EXPECT_THAT(error_after(failure("key/1", "AccessDenied")).message,
              AllOf(StartsWith("s3://bucket/key/1: "), HasSubstr("[403 AccessDenied: because]")));
  const Error odd = error_after(failure("key/1", "Odd"));
  EXPECT_EQ(odd.code, Code::kUnknown);
  EXPECT_THAT(odd.message, HasSubstr("[200 Odd: because]"));
  EXPECT_EQ(error_after(failure("other", "SlowDown")).code, Code::kUnavailable);
}

TestHttpReply list_page(std::initializer_list<std::string_view> keys, std::string_view next = "") {
  std::string xml = "<ListBucketResult>";
  for (const std::string_view key : keys)
    xml += concat("<Contents><Key>", key, "</Key><Size>1</Size></Contents>");
  if (!next.empty())
    xml += concat("<IsTruncated>true</IsTruncated><NextContinuationToken>", next, "</NextContinuationToken>");
  return test_reply(200, xml + "</ListBucketResult>");
}

std::vector<std::string> listed(Script& script, std::string_view prefix, const ListOptions& options,
                                std::size_t most = 100) {
  std::vector<std::string> keys;
  const Status done = script.store->list(prefix, options, [&](const ObjectInfo& object) {
    keys.push_back(object.key);
    return keys.size() < most;
  });
  EXPECT_TRUE(done) << done.error().message;
  return keys;
}

TEST(S3ListObjects, AsksPageForPage) {
  Script script({list_page({"a", "b"}, "t"), list_page({"c"})});
  EXPECT_THAT(listed(script, "", {}), ElementsAre("a", "b", "c"));
  EXPECT_THAT(script.seen(),
              ElementsAre("GET /bucket?encoding-type=url&list-type=2&prefix=",
                          "GET /bucket?continuation-token=t&encoding-type=url&list-type=2&prefix="));
  Script folders({list_page({"p/b"}, "t"), list_page({"p/c"})});
  EXPECT_THAT(listed(folders, "p/", {.after = "p/a", .collapse_folders = true}), ElementsAre("p/b", "p/c"));
  EXPECT_THAT(
      folders.seen(),
      ElementsAre(
          "GET /bucket?delimiter=%2F&encoding-type=url&list-type=2&prefix=p%2F&start-after=p%2Fa",
          "GET /bucket?continuation-token=t&delimiter=%2F&encoding-type=url&list-type=2&prefix=p%2F"));
}

TEST(S3ListObjects, EndsWhereTheVisitorHasEnough) {
  Script script({list_page({"a", "b", "c"}, "t"), list_page({"d"})});
  EXPECT_THAT(listed(script, "", {}, 2), ElementsAre("a", "b"));
  EXPECT_EQ(script.requests().size(), 1U);
}

TEST(S3ListObjects, LeavesOutWhatWasNotAskedFor) {
  Script script({list_page({"a", "b", "b", "c"})});
  EXPECT_THAT(listed(script, "", {.after = "a"}), ElementsAre("b", "c"));
}

TEST(S3ListObjects, NamesTheObjectThatIsOutOfOrder) {
  Script script({list_page({"p2"}, "t"), list_page({"p1"})});
  const Error error = error_of(list_all(*script.store, "p", {}));
  EXPECT_THAT(error.message, AllOf(StartsWith("s3://bucket/p1: listing p: "), HasSubstr("out of order")));
  Script nonsense({test_reply(200, "<html/>")});
  EXPECT_THAT(error_of(list_all(*nonsense.store, "p", {})).message,
              HasSubstr("s3://bucket: listing p: the server's answer is not a listing"));
}

// A listing of three objects, with so many pages without any after the first one.
Result<std::vector<ObjectInfo>> list_with_pages_between(int count) {
  HttpTestServer server([count](const TestHttpRequest& request) {
    const std::string name = "continuation-token=";
    const std::size_t at = request.target.find(name);
    const std::string token = at == std::string::npos ? "0" : request.target.substr(at + name.size());
    const int page = parse_number<int>(token.substr(0, token.find('&'))).value_or(-1);
    const std::string next = concat(page + 1);
    if (page == 0) return list_page({"p1"}, next);
    if (page <= count) return list_page({}, next);
    return page == count + 1 ? list_page({"p2"}, next) : list_page({"p3"});
  });
  return list_all(*open_s3_store("bucket", {.endpoint = server.endpoint()}), "p", {});
}

TEST(S3ListObjects, GoesOnThroughAThousandPagesWithoutNewsAndNoFurther) {
  const auto patient = list_with_pages_between(999);
  ASSERT_TRUE(patient) << patient.error().message;
  EXPECT_EQ(patient->size(), 3U);
  const Error error = error_of(list_with_pages_between(1'000));
  EXPECT_EQ(error.code, Code::kDataLoss);
  EXPECT_THAT(error.message, HasSubstr("keeps sending pages that name no further object"));
}

TEST(S3Copying, IsOneRequestUpToAQuarterOfAGibibyte) {
  constexpr std::uint64_t kMost = 256 << 20;
  const TestHttpReply copied = test_reply(200, "<CopyObjectResult><ETag>\"v2\"</ETag></CopyObjectResult>");
  Script one({head_of(kMost), copied});
  const auto object = one.store->copy("from", "to", {});
  ASSERT_TRUE(object) << object.error().message;
  EXPECT_EQ(object->key, "to");
  EXPECT_EQ(object->size_bytes, kMost);
  EXPECT_EQ(object->version, Version{"v2"});
  EXPECT_THAT(one.seen(), ElementsAre("HEAD /bucket/from", "PUT /bucket/to"));
  const TestHttpReply denied = test_reply(403, error_xml("AccessDenied"));
  Script parts({head_of(kMost + 1), denied});
  EXPECT_FALSE(parts.store->copy("from", "to", {}));
  EXPECT_THAT(parts.seen(), ElementsAre("HEAD /bucket/from", "POST /bucket/to?uploads="));
  for (const WriteOptions& options :
       {WriteOptions{.only_if_absent = true}, WriteOptions{.if_version = Version{"v"}}}) {
    Script conditional({head_of(7), denied});
    EXPECT_FALSE(conditional.store->copy("from", "to", options));
    EXPECT_EQ(conditional.seen()[1], "POST /bucket/to?uploads=");
  }
}

TEST(S3Copying, FailuresNameBothObjects) {
  Script denied({head_of(7), test_reply(403, error_xml("AccessDenied"))});
  const Error error = error_of(denied.store->copy("from", "to", {}));
  EXPECT_EQ(error.code, Code::kPermissionDenied);
  EXPECT_THAT(error.message, AllOf(HasSubstr("s3://bucket/to"), HasSubstr("copying from s3://bucket/from")));
  Script nonsense({head_of(7), test_reply(200, "<CopyObjectResult/>")});
  const Error no_etag = error_of(nonsense.store->copy("from", "to", {}));
  EXPECT_EQ(no_etag.code, Code::kDataLoss);
  EXPECT_THAT(no_etag.message, StartsWith("s3://bucket/to: "));
  Script missing({test_reply(404), test_reply(404, error_xml("NoSuchKey"))});
  EXPECT_THAT(error_of(missing.store->copy("from", "to", {})).message, HasSubstr("s3://bucket/from"));
}

TEST(S3Copying, NothingIsWrittenNotCopied) {
  Script script({head_of(0), kAccepted});
  const auto object = script.store->copy("from", "to", {.only_if_absent = true});
  ASSERT_TRUE(object) << object.error().message;
  EXPECT_EQ(object->size_bytes, 0U);
  EXPECT_THAT(script.seen(), ElementsAre("HEAD /bucket/from", "PUT /bucket/to"));
  EXPECT_EQ(script.requests()[1].header("x-amz-copy-source"), "");
  EXPECT_EQ(script.requests()[1].header("If-None-Match"), "*");
}

TEST(S3Copying, OfAnObjectToItselfChangesNothingUnlessThereIsACondition) {
  Script script({head_of(7, kFacts)});
  const auto object = script.store->copy("key", "key", {});
  ASSERT_TRUE(object) << object.error().message;
  expect_facts(*object, 7);
  EXPECT_EQ(script.requests().size(), 1U);
  for (const WriteOptions& options :
       {WriteOptions{.only_if_absent = true}, WriteOptions{.if_version = Version{"v"}}}) {
    Script conditional({head_of(7), test_reply(403, error_xml("AccessDenied"))});
    EXPECT_FALSE(conditional.store->copy("key", "key", options));
  }
}

}  // namespace
}  // namespace headrace
