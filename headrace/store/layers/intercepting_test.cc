#include "headrace/store/layers/intercepting.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "headrace/base/text.h"
#include "headrace/store/layers/cached.h"
#include "headrace/store/layers/metered.h"
#include "headrace/store/layers/stoppable.h"
#include "headrace/store/memory/memory_store.h"

namespace headrace {
namespace {

using testing::ElementsAre;

// Records each call as "operation key, asked/moved" with its ranges, and may refuse all calls.
class TellingStore final : public InterceptingStore {
 public:
  using InterceptingStore::InterceptingStore;
  std::vector<std::string> told;
  bool refuses = false;

 private:
  Status around(StoreCall& call, const std::function<Status()>& go_on) override {
    EXPECT_EQ(call.options.deadline, std::chrono::milliseconds(321)) << operation_name(call.operation);
    if (refuses) return Error{Code::kAborted, std::string(operation_name(call.operation))};
    const Status status = go_on();
    told.push_back(
        concat(operation_name(call.operation), " ", call.key, ", ", call.asked_bytes, "/", call.moved_bytes));
    for (const ReadRequest& read : call.reads) {
      told.back() += concat(" ", read.key, " ", read.offset_bytes, "+", read.target.size(), " ",
                            read.if_version ? read.if_version->token : "any");
    }
    return status;
  }
};

constexpr std::string_view kAll[] = {
    "read",   "read_many", "stat",   "write", "start_upload",    "append",
    "commit", "copy",      "remove", "list",  "list_unfinished", "remove_unfinished"};

TEST(InterceptingStore, LeadsEveryCallThroughOneFunction) {
  const CallOptions call{.deadline = std::chrono::milliseconds(321)};
  TellingStore store(make_memory_store("test"));
  const ObjectInfo object = *write_text(store, "a", "hello", {.call = call});
  Bytes target(9);
  EXPECT_EQ(store.read_into("a", target, {.offset_bytes = 2, .if_version = object.version, .call = call})
                ->bytes_read,
            3U);
  const std::vector<ReadRequest> ranges = {{"a", 0, MutableBytesView(target).first(4)},
                                           {"a", 4, MutableBytesView(target).first(1), object.version}};
  EXPECT_TRUE(store.read_many(ranges, call));
  EXPECT_TRUE(store.read_many({}, call));
  EXPECT_EQ(store.stat("a", call)->size_bytes, 5U);
  const auto upload = store.start_upload("u", {.call = call});
  ASSERT_TRUE(upload);
  EXPECT_TRUE((*upload)->append(as_bytes("123")));
  EXPECT_EQ((*upload)->commit()->size_bytes, 3U);
  EXPECT_EQ(store.copy("a", "c", {.call = call})->key, "c");
  const std::vector<std::string> keys = {"u", "a"};
  EXPECT_TRUE(store.remove_many(keys, call));
  EXPECT_TRUE(store.remove_many({}, call));
  EXPECT_EQ(list_all(store, "", {.call = call})->size(), 1U);
  EXPECT_TRUE(list_all_unfinished(store, "p", call));
  EXPECT_TRUE(store.remove_unfinished({.key = "f"}, call));
  EXPECT_THAT(store.told,
              ElementsAre("write a, 5/5", "read a, 9/3 a 2+9 1", "read_many a, 5/5 a 0+4 any a 4+1 1",
                          "read_many , 0/0", "stat a, 0/0", "start_upload u, 0/0", "append u, 3/3",
                          "commit u, 0/0", "copy a, 0/0", "remove u, 0/0", "remove , 0/0", "list , 0/0",
                          "list_unfinished p, 0/0", "remove_unfinished f, 0/0"));
}

TEST(InterceptingStore, ACallThatIsRefusedIsNotMade) {
  const CallOptions call{.deadline = std::chrono::milliseconds(321)};
  TellingStore store(make_memory_store("test"));
  ASSERT_TRUE(write_text(store, "a", "hello", {.call = call}));
  const auto upload = store.start_upload("u", {.call = call});
  store.told.clear();
  store.refuses = true;
  const std::string key = "a";
  const std::vector<Status> refused = {
      store.read_into(key, {}, {.call = call}).error(),
      store.read_many({}, call).error(),
      store.stat(key, call).error(),
      write_text(store, "b", "", {.call = call}).error(),
      store.start_upload("b", {.call = call}).error(),
      (*upload)->append(as_bytes("1")).error(),
      (*upload)->commit().error(),
      store.copy(key, "b", {.call = call}).error(),
      store.remove_many({&key, 1}, call).error(),
      store.list("", {.call = call}, {}).error(),
      store.list_unfinished("", call, {}).error(),
      store.remove_unfinished({.key = key}, call).error(),
  };
  for (std::size_t i = 0; i < refused.size(); ++i) EXPECT_EQ(refused[i].error().message, kAll[i]);
  store.refuses = false;
  EXPECT_EQ(list_all(store, "", {.call = call})->size(), 1U);
  EXPECT_EQ(store.stat("a", call)->size_bytes, 5U);
}

TEST(InterceptingStore, AFailedCallHasMovedNothing) {
  class Failing final : public ForwardingStore {
   public:
    using ForwardingStore::ForwardingStore;
    Status read_many(std::span<const ReadRequest>, const CallOptions&) override {
      return Error{Code::kDataLoss, "cut"};
    }
    Result<ReadResult> read_into(std::string_view, MutableBytesView, const ReadOptions&) override {
      return Error{Code::kDataLoss, "cut"};
    }
    Result<ObjectInfo> write(std::string_view, BytesView, const WriteOptions&) override {
      return Error{Code::kDataLoss, "cut"};
    }
  };
  const CallOptions call{.deadline = std::chrono::milliseconds(321)};
  TellingStore store(std::make_shared<Failing>(make_memory_store("test")));
  Bytes target(4);
  const std::vector<ReadRequest> ranges = {{"a", 0, target}};
  EXPECT_EQ(store.read_many(ranges, call).error().message, "cut");
  EXPECT_EQ(store.read_into("a", target, {.call = call}).error().message, "cut");
  EXPECT_EQ(write_text(store, "a", "123", {.call = call}).error().message, "cut");
  EXPECT_THAT(store.told, ElementsAre("read_many a, 4/0 a 0+4 any", "read a, 4/0 a 0+4 any", "write a, 3/0"));
}

TEST(Layers, MakeTheSamePlaceOfAPlace) {
  const Location place{make_memory_store("test"), "a/b", {"memory", "test", "a/b"}};
  ASSERT_TRUE(write_text(*place.store, "a/b/c", "text"));
  const auto metrics = std::make_shared<StoreMetrics>();
  std::stop_source stop;
  const Location cache{make_memory_store("near"), "cache", {"memory", "near", "cache"}};
  const Location metered = make_metered(place, metrics), stoppable = make_stoppable(place, stop.get_token()),
                 cached = make_cached(place, cache, {});
  for (const Location& layered : {metered, stoppable, cached}) {
    EXPECT_EQ(layered.key, "a/b");
    EXPECT_EQ(layered.url, place.url);
    EXPECT_NE(layered.store, place.store);
    EXPECT_EQ(as_text(read_object(*layered.store, layered.at("c").key, 4)->data), "text");
  }
  EXPECT_EQ(metrics->of(StoreOperation::kStat).calls, 1U);
  EXPECT_TRUE(cached.store->capabilities().keeps_ranges);
  EXPECT_FALSE(cached.store->capabilities().latest_only);
  EXPECT_TRUE(cached.store->capabilities().strong_list);
  EXPECT_EQ(list_all(*cache.store, "cache/")->size(), 1U);
}

}  // namespace
}  // namespace headrace
