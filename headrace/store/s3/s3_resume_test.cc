// Uploads that go on where an ended run left them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "headrace/base/crc32c.h"
#include "headrace/base/text.h"
#include "headrace/store/s3/checksum.h"
#include "headrace/store/s3/s3_script_test.h"
#include "headrace/store/scratch_folder_test.h"

namespace headrace {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::Not;

auto* const scratch =
    static_cast<ScratchFolder*>(testing::AddGlobalTestEnvironment(new ScratchFolder));  // gtest owns it

TestHttpReply begun(std::string_view id = "begun") {
  return test_reply(200, concat("<InitiateMultipartUploadResult><UploadId>", id,
                                "</UploadId></InitiateMultipartUploadResult>"));
}
const TestHttpReply kCompleted = test_reply(200,
                                            "<CompleteMultipartUploadResult><ETag>\"e\"</ETag>"
                                            "</CompleteMultipartUploadResult>");

// Uploads an object of three parts of 5 MiB. One script answers two runs, the first of which fails at its
// second part.
class ResumedUpload : public testing::Test {
 protected:
  static constexpr std::size_t kPartBytes = 5 << 20;

  void SetUp() override {
    for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::byte>(i / kPartBytes + i % 251);
  }
  S3Options options() const {
    S3Options options;
    options.part_bytes = kPartBytes;
    options.parallel_parts = 1;
    options.uploads_folder = folder;
    return options;
  }
  BytesView part(std::size_t i) const { return BytesView(data).subspan(i * kPartBytes).first(kPartBytes); }
  static TestHttpReply parts(std::initializer_list<std::pair<int, BytesView>> sent) {
    std::string xml = "<ListPartsResult>";
    for (const auto& [number, bytes] : sent)
      xml += concat("<Part><PartNumber>", number, "</PartNumber><Size>", bytes.size(), "</Size><ETag>&quot;",
                    md5_hex(bytes), "&quot;</ETag></Part>");
    return test_reply(200, xml + "</ListPartsResult>");
  }
  std::vector<TestHttpReply> after_a_failure(std::vector<TestHttpReply> replies) const {
    std::vector<TestHttpReply> all = {begun(), kAccepted, kDenied};
    all.insert(all.end(), replies.begin(), replies.end());
    return all;
  }
  Result<ObjectInfo> write(Script& script, const WriteOptions& how = {.resumes = true}) const {
    HEADRACE_TRY(const auto upload, script.store->start_upload("key", how));
    HEADRACE_CHECK(upload->append(data));
    return upload->commit();
  }
  void fail_once(Script& script) const {
    EXPECT_FALSE(write(script));
    EXPECT_EQ(script.seen().size(), 3U) << "what was sent is left";
  }
  static std::vector<std::string> seen_after_the_failure(Script& script) {
    std::vector<std::string> seen = script.seen();
    seen.erase(seen.begin(), seen.begin() + 3);
    return seen;
  }
  bool has_note() const { return !std::filesystem::is_empty(folder); }

  const std::string folder = scratch->new_root() + "/uploads";
  Bytes data = Bytes(3 * kPartBytes);
};

TEST_F(ResumedUpload, SendsWhatTheServerHasNotOrHasOfOtherBytes) {
  Script script(after_a_failure({parts({{1, part(0)}, {2, part(2)}}), kAccepted, kAccepted, kCompleted}),
                options());
  fail_once(script);
  const auto written = write(script);
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_THAT(seen_after_the_failure(script),
              ElementsAre("GET /bucket/key?uploadId=begun", "PUT /bucket/key?partNumber=2&uploadId=begun",
                          "PUT /bucket/key?partNumber=3&uploadId=begun", "POST /bucket/key?uploadId=begun"));
  const TestHttpRequest last = script.requests().back();
  EXPECT_THAT(last.body, HasSubstr(md5_hex(part(0)))) << "by the ETag that the server told";
  EXPECT_EQ(last.header("x-amz-checksum-crc32c"), crc32c_field(crc32c(data)));
  EXPECT_FALSE(has_note());
}

TEST_F(ResumedUpload, KnowsThePartsOfAllPages) {
  TestHttpReply first_page = parts({{1, part(0)}});
  const std::string cut = "<ListPartsResult><IsTruncated>true</IsTruncated>";
  const std::string xml = first_page.bytes.substr(first_page.bytes.find("<ListPartsResult>") + 17);
  first_page = test_reply(200, cut + xml);
  Script script(after_a_failure({first_page, parts({{2, part(1)}, {3, part(2)}}), kCompleted}), options());
  fail_once(script);
  const auto written = write(script);
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_THAT(
      seen_after_the_failure(script),
      ElementsAre("GET /bucket/key?uploadId=begun", "GET /bucket/key?part-number-marker=1&uploadId=begun",
                  "POST /bucket/key?uploadId=begun"));
}

TEST_F(ResumedUpload, ThatBeginsWithOtherBytesIsRemovedAndBegunAnew) {
  for (const TestHttpReply& sent : {parts({{1, part(1)}}), parts({{2, part(1)}}), parts({})}) {
    Script script(after_a_failure({sent, test_reply(204), kGone, begun("new"), kAccepted, kAccepted,
                                   kAccepted, kCompleted}),
                  options());
    fail_once(script);
    const auto written = write(script);
    ASSERT_TRUE(written) << written.error().message;
    EXPECT_THAT(seen_after_the_failure(script),
                IsSupersetOf({"DELETE /bucket/key?uploadId=begun", "POST /bucket/key?uploads="}));
    EXPECT_EQ(script.seen().back(), "POST /bucket/key?uploadId=new");
    EXPECT_FALSE(has_note());
  }
}

TEST_F(ResumedUpload, ThatCannotBeLookedAtForTheMomentIsKept) {
  S3Options impatient = options();
  impatient.max_attempts = 1;
  Script script(after_a_failure({test_reply(503), parts({{1, part(0)}}), kAccepted, kAccepted, kCompleted}),
                impatient);
  fail_once(script);
  EXPECT_EQ(error_of(write(script)).code, Code::kUnavailable);
  EXPECT_TRUE(write(script));
  EXPECT_THAT(script.seen(), Not(Contains(HasSubstr("DELETE"))));
}

TEST_F(ResumedUpload, WhoseCompletionIsRefusedIsRemoved) {
  Script script({begun(), kAccepted, kAccepted, kAccepted, test_reply(400, error_xml("InvalidPart")),
                 test_reply(204), kGone},
                options());
  EXPECT_FALSE(write(script));
  EXPECT_THAT(script.seen(), Contains("DELETE /bucket/key?uploadId=begun"));
  EXPECT_FALSE(has_note());
}

TEST_F(ResumedUpload, IsRecognisedByTheMarkOfTheRunThatBeganIt) {
  Script script(
      after_a_failure({parts({{1, part(0)}, {2, part(1)}, {3, part(2)}}), kDropped, kGone,
                       test_reply(200, as_text(data), "ETag: \"e\"\r\nx-amz-meta-headrace-write: MARK\r\n")}),
      options());
  fail_once(script);
  const auto written = write(script);
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_EQ(script.seen().back(), "HEAD /bucket/key");
}

TEST_F(ResumedUpload, IsLeftToWhoHasBegunItAndIsStillAtIt) {
  Script script({begun(), kAccepted, begun("second"), kAccepted, kAccepted, kAccepted, kCompleted,
                 test_reply(204), kGone},
                options());
  const auto first = script.store->start_upload("key", {.resumes = true});
  ASSERT_TRUE((*first)->append(BytesView(data).first(kPartBytes + 1)));
  while (script.requests().size() < 2) std::this_thread::yield();
  const auto written = write(script);
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_EQ(script.seen().back(), "POST /bucket/key?uploadId=second");
}

TEST_F(ResumedUpload, IsNotWhatWasNotAskedForOrCannotBe) {
  S3Options of_another = options();
  of_another.encryption = ServerKeyEncryption{"AES256"};
  S3Options of_kms = options();
  of_kms.encryption = ServerKeyEncryption{"aws:kms"};
  S3Options nowhere = options();
  nowhere.uploads_folder.clear();
  for (const auto& [how, where] :
       {std::pair{WriteOptions{}, options()}, std::pair{WriteOptions{.resumes = true}, of_kms},
        std::pair{WriteOptions{.resumes = true}, nowhere}}) {
    Script script({begun(), kAccepted, kDenied, test_reply(204), kGone}, where);
    EXPECT_FALSE(write(script, how));
    EXPECT_THAT(script.seen(), Contains("DELETE /bucket/key?uploadId=begun")) << "it leaves nothing";
  }
  Script copying(
      {test_reply(200, as_text(data), "ETag: \"v1\"\r\n"), begun(), kDenied, test_reply(204), kGone},
      options());
  EXPECT_FALSE(copying.store->copy("from", "to", {.only_if_absent = true, .resumes = true}));
  EXPECT_THAT(copying.seen(), Contains("DELETE /bucket/to?uploadId=begun"));
}

}  // namespace
}  // namespace headrace
