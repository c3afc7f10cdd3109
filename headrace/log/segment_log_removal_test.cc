#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "headrace/log/segment_log.h"
#include "headrace/store/layers/forwarding.h"
#include "headrace/store/memory/memory_store.h"

namespace headrace {
namespace {

using testing::ElementsAre;

// Somebody removes the log just before an object of it is looked at, or is read.
class RemovedStore : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  Result<ObjectInfo> stat(std::string_view key, const CallOptions& options) override {
    if (before_stat) {
      EXPECT_TRUE(remove_object(inner(), key));
    }
    return ForwardingStore::stat(key, options);
  }
  Result<ReadResult> read_into(std::string_view key, MutableBytesView target,
                               const ReadOptions& options) override {
    EXPECT_TRUE(remove_object(inner(), key));
    return ForwardingStore::read_into(key, target, options);
  }
  bool before_stat = true;
};

class SegmentLogRemovalTest : public testing::TestWithParam<bool> {
 protected:
  std::shared_ptr<RemovedStore> store = std::make_shared<RemovedStore>(make_memory_store("test"));
  Background background{1};
};

TEST_P(SegmentLogRemovalTest, ANumberThatAnotherHadIsPassedOver) {
  ASSERT_TRUE(write_text(*store, "log", "other"));
  const auto log = SegmentLog::open({store, "log", {"memory", "test", "log"}}, false, {}, background);
  ASSERT_TRUE(log);
  ASSERT_TRUE((*log)->append(as_bytes("bytes")));
  store->before_stat = GetParam();
  const Status closed = (*log)->close();
  EXPECT_TRUE(closed) << closed.error().message;
  std::vector<std::string> keys;
  const auto objects = list_all(*store, "");
  for (const ObjectInfo& object : *objects) keys.push_back(object.key);
  EXPECT_THAT(keys, ElementsAre("log.000001"));
}

INSTANTIATE_TEST_SUITE_P(BeforeStat, SegmentLogRemovalTest, testing::Bool());

}  // namespace
}  // namespace headrace
