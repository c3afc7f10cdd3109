#include "headrace/store/transfer/folder_pair.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "headrace/base/text.h"
#include "headrace/store/memory/memory_store.h"
#include "headrace/store/noting_store_test.h"

namespace headrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class FolderPairTest : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* key : {"data/a1", "data/a2", "data/b", "database"})
      ASSERT_TRUE(write_text(*from_.store, key, "1", {.call = noted_call()}));
    for (const char* key : {"copy/a2", "copy/a3", "copy/c"})
      ASSERT_TRUE(write_text(*to_.store, key, "22", {.call = noted_call()}));
    from_calls_->forget();
    to_calls_->forget();
  }
  std::vector<std::string> pairs(FolderPairOptions options) const {
    options.call = noted_call();
    std::vector<std::string> seen;
    EXPECT_TRUE(list_folder_pair(from_, to_, options, [&](ObjectPair&& pair) {
      seen.push_back(pair.name);
      if (pair.at_from) seen.back() += concat(" from ", pair.at_from->key, " ", pair.at_from->size_bytes);
      if (pair.at_to) seen.back() += concat(" to ", pair.at_to->key, " ", pair.at_to->size_bytes);
      return true;
    }));
    return seen;
  }

  std::shared_ptr<NotingStore> from_calls_ = std::make_shared<NotingStore>(make_memory_store("a"));
  std::shared_ptr<NotingStore> to_calls_ = std::make_shared<NotingStore>(make_memory_store("b"));
  const Location from_{from_calls_, "data", {"memory", "a", "data"}};
  const Location to_{to_calls_, "copy", {"memory", "b", "copy"}};
};

TEST_F(FolderPairTest, ListsBothSidesOrOne) {
  EXPECT_THAT(pairs({}), ElementsAre("a1 from data/a1 1", "a2 from data/a2 1 to copy/a2 2", "a3 to copy/a3 2",
                                     "b from data/b 1", "c to copy/c 2"));
  EXPECT_THAT(from_calls_->calls(), ElementsAre("list data/"));
  EXPECT_THAT(to_calls_->calls(), ElementsAre("list copy/"));
  to_calls_->forget();
  EXPECT_THAT(pairs({.lists_to = false}),
              ElementsAre("a1 from data/a1 1", "a2 from data/a2 1", "b from data/b 1"));
  EXPECT_THAT(to_calls_->calls(), IsEmpty());
}

TEST_F(FolderPairTest, ListsNamesOfOnePrefix) {
  EXPECT_THAT(pairs({.name_prefix = "a"}),
              ElementsAre("a1 from data/a1 1", "a2 from data/a2 1 to copy/a2 2", "a3 to copy/a3 2"));
  EXPECT_THAT(from_calls_->calls(), ElementsAre("list data/a"));
  EXPECT_THAT(pairs({.name_prefix = "z"}), IsEmpty());
}

TEST_F(FolderPairTest, AStopEndsTheListing) {
  std::stop_source stop;
  stop.request_stop();
  CallOptions call = noted_call();
  call.stop = stop.get_token();
  const Status listed = list_folder_pair(from_, to_, {.call = call}, [](ObjectPair&&) { return true; });
  ASSERT_FALSE(listed);
  EXPECT_EQ(listed.error().code, Code::kCancelled);
  EXPECT_EQ(listed.error().message, "listing memory://a/data was stopped");
  EXPECT_THAT(from_calls_->calls(), IsEmpty());
}

// Has as many objects as one part of a listing holds, or one more, without keeping any.
class ManyStore final : public ForwardingStore {
 public:
  explicit ManyStore(std::size_t count) : ForwardingStore(make_memory_store("many")), count_(count) {}
  Status list(std::string_view prefix, const ListOptions& options,
              const std::function<bool(const ObjectInfo&)>& visit) override {
    ++lists;
    const std::size_t begin = options.after.empty() ? 0 : std::stoul(options.after.substr(prefix.size())) + 1;
    for (std::size_t i = begin; i < count_; ++i) {
      ++visits;
      if (!visit({.key = concat(prefix, zero_padded(i, 6)), .size_bytes = i})) break;
    }
    return {};
  }
  int lists = 0;
  std::size_t visits = 0;

 private:
  const std::size_t count_;
};

TEST(FolderPair, ALongFolderIsListedInParts) {
  for (const auto& [count, lists] : {std::pair<std::size_t, int>(49'999, 1), {50'000, 2}, {50'001, 2}}) {
    const auto many = std::make_shared<ManyStore>(count);
    const Location from{many, "data", {"memory", "many", "data"}};
    std::size_t seen = 0;
    ASSERT_TRUE(list_folder_pair(from, from, {.lists_to = false}, [&](ObjectPair&& pair) {
      EXPECT_EQ(pair.at_from->size_bytes, seen);
      ++seen;
      return true;
    }));
    EXPECT_EQ(seen, count);
    EXPECT_EQ(many->lists, lists) << count;
  }
}

TEST_F(FolderPairTest, AFolderIsWhatHasSomethingBelow) {
  EXPECT_TRUE(*is_folder(from_, noted_call()));
  EXPECT_FALSE(*is_folder(Location{from_.store, "dat", {}}, noted_call()));
  EXPECT_FALSE(*is_folder(from_.at("b"), noted_call()));
  EXPECT_TRUE(*is_folder(Location{from_.store, "", {}}, noted_call()));
}

TEST(FolderPair, OneObjectIsEnoughForAFolder) {
  const auto many = std::make_shared<ManyStore>(10);
  EXPECT_TRUE(*is_folder({many, "data", {"memory", "many", "data"}}, {}));
  EXPECT_EQ(many->visits, 1U);
}

TEST_F(FolderPairTest, WhoHasSeenEnoughEndsTheListing) {
  std::vector<std::string> seen;
  ASSERT_TRUE(list_folder_pair(from_, to_, {.call = noted_call()}, [&](ObjectPair&& pair) {
    seen.push_back(pair.name);
    return seen.size() < 2;
  }));
  EXPECT_THAT(seen, ElementsAre("a1", "a2"));
}

TEST_F(FolderPairTest, AFolderThatCannotBeListedIsAnError) {
  class Hidden final : public ForwardingStore {
   public:
    using ForwardingStore::ForwardingStore;
    Status list(std::string_view, const ListOptions&,
                const std::function<bool(const ObjectInfo&)>&) override {
      return Error{Code::kPermissionDenied, "hidden"};
    }
  };
  const Location hidden{std::make_shared<Hidden>(from_.store), "data", {"memory", "h", "data"}};
  const auto visit = [](ObjectPair&&) { return true; };
  EXPECT_EQ(list_folder_pair(hidden, to_, {.call = noted_call()}, visit).error().message, "hidden");
  EXPECT_EQ(list_folder_pair(from_, hidden, {.call = noted_call()}, visit).error().message, "hidden");
  EXPECT_EQ(is_folder(hidden, noted_call()).error().message, "hidden");
}

}  // namespace
}  // namespace headrace
