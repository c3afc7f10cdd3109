// The driver against a server that fails in the ways that real ones and the networks before them do.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "headrace/base/crc32c.h"
#include "headrace/base/environment.h"
#include "headrace/base/text.h"
#include "headrace/store/s3/checksum.h"
#include "headrace/store/s3/credentials/test_credentials.h"
#include "headrace/store/s3/s3_client.h"
#include "headrace/store/s3/s3_script_test.h"

namespace headrace {
namespace {

using std::chrono::milliseconds;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using Then = TestHttpReply::Then;

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

TEST(S3Read, AServerThatWasThereIsWaitedForLonger) {
  std::vector<TestHttpReply> replies(15, test_reply(503));
  replies.insert(replies.begin(), kAccepted);
  replies.push_back(range_of(kObject, 0, 5));
  Script away(replies, {}, {.outlasts_outages = true});
  ASSERT_TRUE(write_text(*away.store, "key", "text"));
  EXPECT_TRUE(away.read(5));
  Script wrong({test_reply(503)});
  EXPECT_FALSE(wrong.read(5));
  EXPECT_EQ(wrong.requests().size(), 8U);
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

TEST(S3Read, AHeadThatSaysTooLittleIsFollowedByAReadOfTheSameObject) {
  Script script({test_reply(404), test_reply(404, error_xml("NoSuchKey"))});
  EXPECT_EQ(script.store->stat("a/key", {}).error().code, Code::kNotFound);
  EXPECT_THAT(script.seen(), testing::ElementsAre("HEAD /bucket/a/key", "GET /bucket/a/key"));
}

TEST(S3Read, AnswersThatDoNotFitTheQuestionAreRefused) {
  const auto refused = [](const TestHttpReply& reply, std::uint64_t offset, std::string_view why) {
    Script script({reply});
    const Error error = error_of(script.read(5, {.offset_bytes = offset}));
    EXPECT_EQ(error.code, Code::kDataLoss);
    EXPECT_THAT(error.message, HasSubstr(why));
  };
  refused(range_of(kObject, 3, 5), 2, "did not send the requested range");
  refused(range_of(kObject, 2, 4), 2, "4 bytes instead of 5");
  refused(range_of(kObject, 2, 6), 2, "longer than the 5 bytes");
  refused(test_reply(200, "01234"), 2, "ignores ranges");
  refused(test_reply(200, kObject), 0, "longer than the 5 bytes");
  refused(test_reply(206, "23456"), 2, "did not send the requested range");
  refused(test_reply(206, "23456", "Content-Range: bytes 2-6/4\r\n"), 2, "did not send the requested range");
  refused({"<html>\r\n"}, 0, "not valid HTTP");
}

// A server that has one object and knows HEAD, ranges and If-Match; the object may change between requests.
class OneObject {
 public:
  OneObject(std::string content, std::string crc_field)
      : content_(std::move(content)),
        crc_field_(std::move(crc_field)),
        server_([this](const TestHttpRequest& request) { return answer(request); }) {
    S3Options options{.now = Environment{}.now};
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

TEST(S3Read, ManyPlacesAreReadIntoTheirTargets) {
  OneObject object("0123456789abcdef", "");
  Bytes first(3), second(10), third(9);
  const Version version{"v1"};
  const auto read = [&](std::vector<ReadRequest> requests) { return object.store->read_many(requests, {}); };
  const Status done = read({{"key", 1, first}, {"key", 3, second, version}, {"key", 7, third}});
  ASSERT_TRUE(done) << done.error().message;
  const auto code_of = [](const Status& status) { return status ? Code::kUnknown : status.error().code; };
  EXPECT_EQ(as_text(first), "123");
  EXPECT_EQ(as_text(second), "3456789abc");
  EXPECT_EQ(as_text(third), "789abcdef");
  EXPECT_EQ(code_of(read({{"key", 1, first}, {"key", 14, first, version}})), Code::kDataLoss);
  EXPECT_EQ(code_of(read({{"key", 8, third}})), Code::kDataLoss);
  EXPECT_EQ(code_of(read({{"key", 1, first}, {"key", 1, first, Version{"v0"}}})), Code::kFailedPrecondition);
  EXPECT_EQ(code_of(read({{"/key", 1, first}})), Code::kInvalidArgument);
  for (const StoreCounter& counter : object.store->counters()) {
    if (counter.name == "requests_total") {
      EXPECT_GE(counter.value, 7U);
    }
  }
  EXPECT_EQ(object.store->counters().size(), 7U);
}

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

TEST(S3Read, AWholeObjectIsComparedWithTheChecksumThatTheStoreKeeps) {
  const auto reply = [](std::string_view crc) {
    return test_reply(200, "123456789", concat("ETag: \"v1\"\r\nx-amz-checksum-crc32c: ", crc, "\r\n"));
  };
  const ReadOptions whole{.if_version = Version{"v1"}, .is_whole = true};
  Script right({reply("4waSgw==")});  // CRC-32C's check value
  EXPECT_EQ(*right.read(9, whole), "123456789");
  EXPECT_EQ(right.requests()[0].header("Range"), "") << "with a range, servers tell no checksum";
  EXPECT_EQ(right.requests()[0].header("If-Match"), "\"v1\"");
  EXPECT_EQ(right.requests()[0].header("x-amz-checksum-mode"), "ENABLED");
  Script once({reply("AAAAAA=="), reply("4waSgw==")});
  EXPECT_EQ(*once.read(9, whole), "123456789") << "damage on the way is read again";
  Script damaged({reply("AAAAAA==")});
  const Error error = error_of(damaged.read(9, whole));
  EXPECT_EQ(error.code, Code::kDataLoss);
  EXPECT_THAT(error.message, AllOf(HasSubstr("s3://bucket/key"), HasSubstr("CRC32C")));
  EXPECT_EQ(*Script({reply("4waSgw==")}).read(100, {.is_whole = true}), "123456789") << "of any version";
}

TEST(S3Read, AWholeObjectForWhichThereIsNoRoomIsLeftAndItsSizeTold) {
  const auto reply = [](std::string_view length_field, std::string_view body) {
    return TestHttpReply{concat("HTTP/1.1 200 OK\r\nETag: \"v1\"\r\n", length_field, "\r\n\r\n", body)};
  };
  Script script({reply("Content-Length: 9", "123456789")});
  Bytes target(8);
  const auto read = script.store->read_into("key", target, {.is_whole = true});
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->bytes_read, 0U);
  EXPECT_EQ(read->object.size_bytes, 9U);
  EXPECT_EQ(read->object.version, Version{"v1"});
  EXPECT_EQ(script.requests().size(), 1U);
  Script chunked({reply("Transfer-Encoding: chunked", "9\r\n123456789\r\n0\r\n\r\n")});
  EXPECT_EQ(error_of(chunked.read(8, {.is_whole = true})).code, Code::kDataLoss) << "its size is not told";
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
  const Error error = error_of(script.read(5, {.call = {.deadline = std::chrono::seconds(10)}}));
  EXPECT_EQ(error.code, Code::kUnavailable);
  EXPECT_EQ(script.requests().size(), 1U) << "the pause asked for is longer than the deadline";
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
  std::vector<TestHttpReply> without_end;  // two marks take turns, and nothing comes
  for (int i = 0; i < 2'000; ++i) without_end.push_back(test_reply(200, page({}, more(i % 2 ? "t" : "u"))));
  refused(std::move(without_end));
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
       kAccepted});
  ASSERT_TRUE(write_text(*moved.store, "key", "text"));
  EXPECT_THAT(moved.requests()[0].header("Authorization"), HasSubstr("/us-east-1/s3/"));
  EXPECT_THAT(moved.requests()[1].header("Authorization"), HasSubstr("/eu-west-3/s3/"));
  Script wrong(
      {test_reply(400, error_xml("AuthorizationHeaderMalformed", "<Region>eu-west-3</Region>")), kAccepted});
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
    if (!is_wrong(request)) return kAccepted;
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
    return ++attempts < 4 ? test_reply(503, error_xml("SlowDown")) : kAccepted;
  });
  // The waits between attempts count against the deadline as well: kept out of the sum.
  const auto store =
      open_s3_store("bucket", {.endpoint = server.endpoint(), .backoff = {milliseconds(1), milliseconds(1)}});
  const auto written = write_text(*store, "key", "text", {.call = {.deadline = kDeadline}});
  EXPECT_TRUE(written) << written.error().message;
  EXPECT_EQ(attempts, 4);
}

TEST(S3Errors, AnUnreachableEndpointIsNamedWithItsSource) {
  S3Options options{
      .max_attempts = 2, .backoff = {milliseconds(1), milliseconds(1)}, .now = Environment{}.now};
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
  Script script({kAccepted}, options);
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

TEST(S3Repeats, AreBoundedForAllRequestsOfAStoreTogether) {
  constexpr std::size_t kRequests = 8, kBudget = 1'500;
  S3Options patient;
  patient.max_attempts = 1'000'000;
  Script script({test_reply(500, error_xml("InternalError"))}, patient);
  S3Client client("bucket", script.options());
  const S3Request request{.method = "PUT", .key = "key"};
  client.perform_many(
      kRequests, {}, [&](std::size_t) { return request; },
      [](std::size_t, const Result<S3Answer>& answer) {
        EXPECT_TRUE(answer && !answer->ok());
        return true;
      });
  EXPECT_EQ(script.requests().size(), kRequests + kBudget);
  const auto another = client.perform(request);
  EXPECT_TRUE(another && !another->ok());
  EXPECT_EQ(script.requests().size(), kRequests + kBudget + 1) << "none is left for others";
}

}  // namespace
}  // namespace headrace
