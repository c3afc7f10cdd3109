#include "headrace/track/created_once.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "headrace/base/crc32c.h"
#include "headrace/store/layers/forwarding.h"
#include "headrace/store/registry.h"

namespace headrace {
namespace {

using testing::HasSubstr;

// A store that keeps a checksum of every object, as S3 does.
class ChecksumStore final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;

  Result<ObjectInfo> stat(std::string_view key, const CallOptions& options) override {
    HEADRACE_TRY(ObjectInfo object, inner().stat(key, options));
    HEADRACE_TRY(const ReadObject read, read_object(inner(), key, 1 << 20));
    object.crc32c = crc32c(read.data);
    return object;
  }
  Result<ReadResult> read_into(std::string_view key, MutableBytesView, const ReadOptions&) override {
    return Error{Code::kInternal, std::string(key) + " is read"};
  }
};

class CreatedOnce : public testing::Test {
 protected:
  Version version() { return object.store->stat(object.key, {})->version; }
  std::string text() { return to_string(read_object(*object.store, object.key, 1 << 20)->data); }

  Status upload(std::string_view data) {
    HEADRACE_TRY(OnceUpload upload, OnceUpload::start(object));
    HEADRACE_CHECK(upload.append(as_bytes(data.substr(0, 2))));
    HEADRACE_CHECK(upload.append(as_bytes(data.substr(2))));
    EXPECT_EQ(upload.size_bytes(), data.size());
    EXPECT_EQ(upload.crc32c(), crc32c(as_bytes(data)));
    return upload.finish();
  }
  Status copy(std::string_view data) {
    const Location from = *stores.open("memory://once/from");
    HEADRACE_CHECK(write_text(*from.store, from.key, data));
    return copy_once(from, object, data.size(), crc32c(as_bytes(data)));
  }

  StoreRegistry stores{Environment{}};
  Location object = *stores.open("memory://once/folder/part");
};

TEST_F(CreatedOnce, TheSameBytesASecondTimeLeaveTheObjectInItsVersion) {
  ASSERT_TRUE(create_once(object, as_bytes("abcd")));
  const Version first = version();
  for (const Status& again : {create_once(object, as_bytes("abcd")), upload("abcd"), copy("abcd")})
    EXPECT_TRUE(again) << again.error().message;
  EXPECT_EQ(version(), first);
}

TEST_F(CreatedOnce, AnUploadAndACopyCreateWhatIsNotThere) {
  ASSERT_TRUE(upload("abcd"));
  EXPECT_EQ(text(), "abcd");
  ASSERT_TRUE(remove_object(*object.store, object.key));
  ASSERT_TRUE(copy("efgh"));
  EXPECT_EQ(text(), "efgh");
}

TEST_F(CreatedOnce, OtherBytesAreRefusedAndLeftAsTheyAre) {
  ASSERT_TRUE(create_once(object, as_bytes("abcd")));
  for (const char* other : {"abce", "abc", "abcde"}) {
    for (const Status& status : {create_once(object, as_bytes(other)), upload(other), copy(other)}) {
      ASSERT_FALSE(status) << other;
      EXPECT_EQ(status.error().code, Code::kFailedPrecondition);
      EXPECT_THAT(status.error().message, HasSubstr("memory://once/folder/part"));
      EXPECT_THAT(status.error().message, HasSubstr("--overwrite"));
    }
  }
  EXPECT_EQ(text(), "abcd");
}

TEST_F(CreatedOnce, AStoresOwnChecksumIsCompared) {
  object.store = std::make_shared<ChecksumStore>(object.store);
  ASSERT_TRUE(create_once(object, as_bytes("abcd")));
  EXPECT_TRUE(create_once(object, as_bytes("abcd")));
  EXPECT_FALSE(create_once(object, as_bytes("abce")));
}

TEST_F(CreatedOnce, AnObjectBeyondItsLimitIsRefusedWithWhatToDo) {
  const SizeLimit limit{.bytes = 10, .what_to_do = "use shorter names"};
  EXPECT_TRUE(check_size(object, 10, limit));
  const Status refused = check_size(object, 11, limit);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kInvalidArgument);
  EXPECT_THAT(refused.error().message, HasSubstr("memory://once/folder/part"));
  EXPECT_THAT(refused.error().message, HasSubstr("use shorter names"));
}

TEST_F(CreatedOnce, UnfinishedWorkIsReplacedUnlessItIsTheSame) {
  ASSERT_TRUE(write_unless_same(object, as_bytes("abcd")));
  const Version first = version();
  ASSERT_TRUE(write_unless_same(object, as_bytes("abcd")));
  EXPECT_EQ(version(), first);
  ASSERT_TRUE(write_unless_same(object, as_bytes("abce")));
  EXPECT_EQ(text(), "abce");
}

}  // namespace
}  // namespace headrace
