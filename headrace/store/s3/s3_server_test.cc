// Runs against the server that the environment names: tools/servers/minio.sh run --
// headrace_store_s3_server_test, or versitygw.sh

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "headrace/base/environment.h"
#include "headrace/base/text.h"
#include "headrace/os/parallel.h"
#include "headrace/store/conformance.h"
#include "headrace/store/s3/credentials/test_credentials.h"
#include "headrace/store/s3/s3_client.h"
#include "headrace/store/s3/s3_store.h"
#include "headrace/store/scratch_folder_test.h"

namespace headrace {
namespace {

using testing::AllOf;
using testing::HasSubstr;

auto* const scratch =
    static_cast<ScratchFolder*>(testing::AddGlobalTestEnvironment(new ScratchFolder));  // gtest owns it

S3Options server_options() {
  Result<S3Options> options = s3_options_from(Environment::capture());
  EXPECT_TRUE(options) << options.error().message;
  if (!options) return S3Options{};
  options->uploads_folder = scratch->path;
  return *options;
}

S3Credentials keys_of(const S3Options& options) {
  const auto keys = options.credentials->get({});
  EXPECT_TRUE(keys) << keys.error().message;
  return keys ? **keys : S3Credentials{};
}

// A new bucket of that name; false if the server refuses.
bool make_bucket(const std::string& name, const S3Options& options) {
  S3Client client(name, options);
  const S3Request request{.method = "PUT"};
  const auto answer = client.perform(request);
  EXPECT_TRUE(answer) << answer.error().message;
  EXPECT_TRUE(!answer || answer->ok()) << client.explain(request, *answer).message;
  return answer && answer->ok();
}

std::unique_ptr<Store> open_empty(S3Options options) {
  const std::string bucket = concat("test-", hex64(random_name_bits()));
  return make_bucket(bucket, options) ? open_s3_store(bucket, options) : nullptr;
}

std::unique_ptr<Store> open_signing_bodies() {
  S3Options options = server_options();
  options.sign_payload = true;
  options.send_checksums = false;
  return open_empty(options);
}

// versitygw puts U+FFFD in their place, whatever encoding is asked for.
bool lists_control_characters() {
  const auto answer = S3Client("any", server_options()).perform({.method = "HEAD"});
  return answer && answer->http.header("Server") != "VERSITYGW";
}

INSTANTIATE_TEST_SUITE_P(
    S3, StoreConformance,
    testing::Values(DriverUnderTest{"defaults", [] { return open_empty(server_options()); },
                                    lists_control_characters()},
                    DriverUnderTest{"signed_bodies", open_signing_bodies, lists_control_characters()}),
    driver_name);

Bytes random_bytes(std::size_t size) {
  std::mt19937_64 random(1);
  Bytes data(size);
  for (auto& byte : data) byte = static_cast<std::byte>(random());
  return data;
}

class S3Server : public testing::Test {
 protected:
  void SetUp() override {
    store = open_empty(server_options());
    ASSERT_NE(store, nullptr);
  }
  std::unique_ptr<Store> store;
};

TEST_F(S3Server, UploadsHonourConditionsWhetherTheyHaveOnePartOrMany) {
  for (const std::size_t size : {std::size_t{100}, std::size_t{20} << 20}) {
    const std::string key = concat("object-", size);
    const auto first = write_text(*store, key, "first");
    ASSERT_TRUE(first);
    auto fits = store->start_upload(key, {.if_version = first->version});
    ASSERT_TRUE((*fits)->append(random_bytes(size)));
    const auto committed = (*fits)->commit();
    ASSERT_TRUE(committed) << committed.error().message;
    EXPECT_EQ(store->stat(key, {})->version, committed->version);
    auto stale = store->start_upload(key, {.if_version = first->version});
    ASSERT_TRUE((*stale)->append(random_bytes(size)));
    const auto refused = (*stale)->commit();
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::kFailedPrecondition) << refused.error().message;
  }
}

TEST_F(S3Server, ADroppedUploadLeavesNoPartsBehind) {
  auto upload = store->start_upload("folder/object", {});
  ASSERT_TRUE((*upload)->append(random_bytes(30 << 20)));
  for (const char* prefix : {"", "folder/", "folder/object"}) {
    const auto writes = list_all_unfinished(*store, prefix);
    ASSERT_TRUE(writes) << writes.error().message;
    ASSERT_EQ(writes->size(), 1U) << prefix;
    EXPECT_EQ(writes->front().key, "folder/object");
    EXPECT_TRUE(writes->front().modified && writes->front().size_bytes);
  }
  EXPECT_TRUE(list_all_unfinished(*store, "other")->empty());
  upload->reset();
  EXPECT_TRUE(list_all_unfinished(*store, "")->empty());
}

TEST_F(S3Server, AnUploadGoesOnWhereAnotherWasLeft) {
  Bytes data = random_bytes(30 << 20);
  {
    auto upload = store->start_upload("object", {.resumes = true});
    ASSERT_TRUE((*upload)->append(data));
  }
  const auto left = list_all_unfinished(*store, "object");
  ASSERT_TRUE(left && left->size() == 1);
  EXPECT_EQ(left->front().size_bytes, 24U << 20) << "the last part waits for the byte after it";

  data[20 << 20] = ~data[20 << 20];  // in the third part
  const auto moved_bytes = [&] {
    const auto counters = store->counters();
    return std::ranges::find(counters, "moved_bytes_total", &StoreCounter::name)->value;
  };
  const std::uint64_t before = moved_bytes();
  auto upload = store->start_upload("object", {.resumes = true});
  ASSERT_TRUE((*upload)->append(data));
  const auto written = (*upload)->commit();
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_LT(moved_bytes() - before, 15U << 20) << "the third part and the rest";
  EXPECT_TRUE(list_all_unfinished(*store, "object")->empty()) << "it was that upload which was finished";
  const auto read = read_object(*store, "object", 1 << 30);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->data, data);
  EXPECT_EQ(read->object.version, written->version);
}

TEST_F(S3Server, AnUploadThatIsRemovedWhileItIsWrittenFailsAndLeavesNothing) {
  auto upload = store->start_upload("object", {});
  ASSERT_TRUE((*upload)->append(random_bytes(20 << 20)));
  const auto writes = list_all_unfinished(*store, "object");
  ASSERT_TRUE(writes && writes->size() == 1);
  ASSERT_TRUE(store->remove_unfinished(writes->front(), {}));
  ASSERT_TRUE(store->remove_unfinished(writes->front(), {})) << "it is gone, which is what was wanted";
  EXPECT_FALSE((*upload)->append(random_bytes(20 << 20)) && (*upload)->commit());
  upload->reset();
  EXPECT_TRUE(list_all_unfinished(*store, "")->empty());
  EXPECT_EQ(store->stat("object", {}).error().code, Code::kNotFound);
}

TEST_F(S3Server, LargeObjectsAreCopiedInParts) {
  S3Options options = server_options();
  options.copy_part_bytes = 5 << 20;
  const auto small_parts = open_s3_store(store->describe("").substr(5), options);
  const Bytes data = random_bytes((12 << 20) + 7);
  ASSERT_TRUE(store->write("from", data, {}));
  const auto copied =
      small_parts->copy("from", "to", {.only_if_absent = true});  // conditional: always in parts
  ASSERT_TRUE(copied) << copied.error().message;
  EXPECT_TRUE(read_object(*store, "to", 1 << 30)->data == data);
  const auto again = small_parts->copy("from", "to", {.only_if_absent = true});
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, Code::kAlreadyExists) << again.error().message;
  const auto stale = store->copy("from", "to", {.if_version = Version{"00000000000000000000000000000000"}});
  ASSERT_FALSE(stale);
  EXPECT_EQ(stale.error().code, Code::kFailedPrecondition) << stale.error().message;
  ASSERT_TRUE(store->copy("to", "to", {}));
}

TEST_F(S3Server, FoldersBeyondOnePageAreListedOnce) {
  std::vector<std::string> folders;
  for (int i = 0; i < 1'050; ++i) folders.push_back(concat("f", zero_padded(i, 4), "/"));
  const Status written = parallel_for(8, folders.size(), [&](std::size_t i) -> Status {
    HEADRACE_CHECK(write_text(*store, folders[i] + "x", "x"));
    return {};
  });
  ASSERT_TRUE(written) << written.error().message;
  const auto listed = list_all(*store, "", {.collapse_folders = true});
  ASSERT_TRUE(listed) << listed.error().message;
  ASSERT_EQ(listed->size(), folders.size());
  for (std::size_t i = 0; i < folders.size(); ++i) EXPECT_EQ((*listed)[i].key, folders[i]);
  const auto rest = list_all(*store, "", {.after = folders[1'040], .collapse_folders = true});
  ASSERT_TRUE(rest) << rest.error().message;
  EXPECT_EQ(rest->size(), 9U);
  EXPECT_EQ(rest->front().key, folders[1'041]);
}

TEST_F(S3Server, ErrorsSayWhatToDoAndHoldNoSecret) {
  const S3Options good = server_options();
  const std::string bucket = store->describe("").substr(5);
  const auto error_with = [&](const S3Options& options, const std::string& name, bool by_stat) {
    const auto opened = open_s3_store(name, options);
    Bytes target(1);
    const Error error =
        by_stat ? opened->stat("key", {}).error() : opened->read_into("key", target, {}).error();
    EXPECT_THAT(error.message, HasSubstr(concat("s3://", name, "/key")));
    EXPECT_THAT(error.message, Not(HasSubstr(keys_of(options).secret_access_key)));
    return error;
  };
  for (const bool by_stat : {false, true}) {
    S3Options wrong = good;
    S3Credentials keys = keys_of(good);
    keys.secret_access_key = "canary-wrong-secret";
    wrong.credentials = fixed_credentials(keys, good.credentials->source());
    Error error = error_with(wrong, bucket, by_stat);
    EXPECT_EQ(error.code, Code::kUnauthenticated);
    EXPECT_THAT(error.message, AllOf(HasSubstr("secret key"), HasSubstr("AWS_SECRET_ACCESS_KEY")));
    keys.access_key_id = "nobody";
    wrong.credentials = fixed_credentials(keys, good.credentials->source());
    error = error_with(wrong, bucket, by_stat);
    EXPECT_EQ(error.code, Code::kUnauthenticated);
    EXPECT_THAT(error.message, AllOf(HasSubstr("access key id"), HasSubstr("AWS_ACCESS_KEY_ID")));
    error = error_with(good, bucket + "-missing", by_stat);
    EXPECT_EQ(error.code, Code::kFailedPrecondition);
    EXPECT_THAT(error.message,
                AllOf(HasSubstr("no bucket"), HasSubstr("create it"), HasSubstr(good.endpoint->text())));
    EXPECT_EQ(error_with(good, bucket, by_stat).code, Code::kNotFound);
  }
  S3Options anonymous = good;
  anonymous.credentials.reset();
  const Error error = open_s3_store(bucket, anonymous)->stat("key", {}).error();
  EXPECT_EQ(error.code, Code::kPermissionDenied);
  EXPECT_THAT(error.message, AllOf(HasSubstr("anonymous"), HasSubstr("AWS_ACCESS_KEY_ID")));
}

TEST_F(S3Server, AWrongClockIsCorrectedOnce) {
  S3Options late = server_options();
  late.now = [] { return std::chrono::system_clock::now() - std::chrono::hours(3); };
  const auto opened = open_s3_store(store->describe("").substr(5), late);
  const auto written = write_text(*opened, "object", "text");
  EXPECT_TRUE(written) << written.error().message;
}

TEST_F(S3Server, TheServerRefusesDamagedBodies) {
  // The checksum that is sent must be one that the server checks.
  S3Client client(store->describe("").substr(5), server_options());
  const auto answer = client.perform({.method = "PUT",
                                      .key = "object",
                                      .headers = {{"x-amz-checksum-crc32c", "AAAAAA=="}},
                                      .body = as_bytes("text")});
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->http.status, 400);
  EXPECT_EQ(store->stat("object", {}).error().code, Code::kNotFound);
}

}  // namespace
}  // namespace headrace
