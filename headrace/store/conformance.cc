#include "headrace/store/conformance.h"

#include <atomic>
#include <random>
#include <thread>

#include "headrace/base/text.h"

namespace headrace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

void StoreConformance::SetUp() {
  store = GetParam().open_empty();
  ASSERT_NE(store, nullptr) << "the driver under test could not be opened: is its server running?";
}

std::string StoreConformance::text_of(std::string_view key) {
  const auto read = read_object(*store, key, 1 << 30);
  return read ? to_string(read->data) : concat("error: ", read.error().message);
}

std::vector<std::string> StoreConformance::keys(std::string_view prefix, const ListOptions& options) {
  const auto objects = list_all(*store, prefix, options);
  EXPECT_TRUE(objects) << objects.error().message;
  std::vector<std::string> names;
  if (objects) {
    for (const ObjectInfo& object : *objects) names.push_back(object.key);
  }
  return names;
}

namespace {

Bytes random_bytes(std::size_t size, unsigned seed) {
  std::mt19937_64 random(seed);
  Bytes data(size);
  for (auto& byte : data) byte = static_cast<std::byte>(random());
  return data;
}

#define ASSERT_OK(expression)                            \
  do {                                                   \
    const auto& ok_result = (expression);                \
    ASSERT_TRUE(ok_result) << ok_result.error().message; \
  } while (false)

TEST_P(StoreConformance, AMissingObjectIsNotFoundAndNamed) {
  Bytes target(4);
  const auto read = store->read_into("no/such/key", target, {});
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, Code::kNotFound);
  EXPECT_THAT(read.error().message, HasSubstr(store->describe("no/such/key")));
  const auto stat = store->stat("no/such/key", {});
  ASSERT_FALSE(stat);
  EXPECT_EQ(stat.error().code, Code::kNotFound);
}

TEST_P(StoreConformance, WhatWasWrittenIsReadBack) {
  for (const std::size_t size : {0, 1, 1000, 70'000, 3'000'000}) {
    const Bytes data = random_bytes(size, 1);
    const auto written = store->write("folder/object", data, {});
    ASSERT_TRUE(written) << written.error().message;
    EXPECT_EQ(written->size_bytes, size);
    const auto read = read_object(*store, "folder/object", 10'000'000);
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->data, data);
    EXPECT_EQ(read->object.version, written->version);
    EXPECT_EQ(read->object.key, "folder/object");
  }
}

TEST_P(StoreConformance, KeysMayHoldAnythingThatTheGrammarAllows) {
  const std::vector<std::string> odd = {"a b+c%2F&=?#.bin", "grüße/日本語/ключ", "x/~tilde!*'();:@$,[]",
                                        std::string(255, 'k') + "/leaf"};
  for (const std::string& key : odd) {
    ASSERT_OK(write_text(*store, key, key));
    EXPECT_EQ(text_of(key), key);
    EXPECT_THAT(keys(key), ElementsAre(key));
  }
  ASSERT_OK(store->remove_many(odd, {}));
  EXPECT_THAT(keys(""), IsEmpty());
}

TEST_P(StoreConformance, KeysThatBreakTheGrammarAreRefused) {
  for (const std::string& key :
       {std::string(), std::string("/a"), std::string("a/"), std::string("a//b"), std::string("a/../b"),
        std::string("./a"), std::string("a\0b", 3), std::string("a\xff"), std::string(256, 'x')}) {
    const auto written = write_text(*store, key, "x");
    ASSERT_FALSE(written) << key;
    EXPECT_EQ(written.error().code, Code::kInvalidArgument) << key;
  }
  EXPECT_THAT(keys(""), IsEmpty());
}

TEST_P(StoreConformance, AnObjectCannotBeAFolderOfAnother) {
  ASSERT_OK(write_text(*store, "a/b", "1"));
  ASSERT_OK(write_text(*store, "c", "2"));
  // A driver that cannot see the conflict accepts the write; what was there must stay readable all the same.
  for (const char* key : {"a", "c/d"}) {
    const auto written = write_text(*store, key, "x");
    if (!written) {
      EXPECT_EQ(written.error().code, Code::kFailedPrecondition) << written.error().message;
    }
  }
  EXPECT_EQ(text_of("a/b"), "1");
  EXPECT_EQ(text_of("c"), "2");
}

TEST_P(StoreConformance, RangesAreReadAndEndWhereTheObjectEnds) {
  const Bytes data = random_bytes(100'000, 2);
  ASSERT_OK(store->write("object", data, {}));
  Bytes target(1000);
  for (const std::uint64_t offset :
       {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{50'000}, std::uint64_t{99'000}}) {
    const auto read = store->read_into("object", target, {.offset_bytes = offset});
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->bytes_read, target.size());
    EXPECT_EQ(read->object.size_bytes, data.size());
    EXPECT_TRUE(std::equal(target.begin(), target.end(), data.begin() + static_cast<std::ptrdiff_t>(offset)));
  }
  EXPECT_EQ(store->read_into("object", target, {.offset_bytes = 99'500})->bytes_read, 500U);
  EXPECT_EQ(store->read_into("object", target, {.offset_bytes = 100'000})->bytes_read, 0U);
  EXPECT_EQ(store->read_into("object", {}, {.offset_bytes = 5})->bytes_read, 0U);
  const auto past = store->read_into("object", target, {.offset_bytes = 100'001});
  ASSERT_FALSE(past);
  EXPECT_EQ(past.error().code, Code::kOutOfRange);
}

TEST_P(StoreConformance, AReadOfOneVersionRefusesAnother) {
  const auto first = write_text(*store, "object", "first");
  ASSERT_OK(first);
  Bytes target(5);
  ASSERT_OK(store->read_into("object", target, {.if_version = first->version}));
  ASSERT_OK(write_text(*store, "object", "other"));
  const auto read = store->read_into("object", target, {.if_version = first->version});
  if (read) {
    EXPECT_FALSE(store->capabilities().latest_only);
    EXPECT_EQ(as_text(target), "first");
  } else {
    EXPECT_EQ(read.error().code, Code::kFailedPrecondition);
  }
}

TEST_P(StoreConformance, ReadManyFillsEveryTargetOrNamesTheFirstThatFailed) {
  const Bytes data = random_bytes(50'000, 3);
  ASSERT_OK(store->write("a", data, {}));
  ASSERT_OK(write_text(*store, "b", "hello"));
  Bytes first(100), second(5), third(20'000);
  const std::vector<ReadRequest> requests = {{"a", 7, first}, {"b", 0, second}, {"a", 30'000, third}};
  ASSERT_OK(store->read_many(requests, {}));
  EXPECT_TRUE(std::equal(first.begin(), first.end(), data.begin() + 7));
  EXPECT_EQ(as_text(second), "hello");
  EXPECT_TRUE(std::equal(third.begin(), third.end(), data.begin() + 30'000));

  Bytes too_long(6);
  const std::vector<ReadRequest> cut = {{"a", 0, first}, {"b", 0, too_long}};
  const Status status = store->read_many(cut, {});
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Code::kDataLoss);
  EXPECT_THAT(status.error().message, HasSubstr(store->describe("b")));
}

TEST_P(StoreConformance, OnlyIfAbsentCreatesAndNeverReplaces) {
  ASSERT_OK(write_text(*store, "claims/one", "first", {.only_if_absent = true}));
  const auto second = write_text(*store, "claims/one", "second", {.only_if_absent = true});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Code::kAlreadyExists);
  EXPECT_EQ(text_of("claims/one"), "first");
}

TEST_P(StoreConformance, OfManyWritersOnlyIfAbsentExactlyOneWins) {
  ASSERT_TRUE(store->capabilities().atomic_if_absent);
  for (int round = 0; round < 5; ++round) {
    const std::string key = concat("claim-", round);
    std::atomic<int> winners{0}, winner{-1};
    std::vector<std::jthread> threads;
    for (int i = 0; i < 16; ++i) {
      threads.emplace_back([&, i] {
        if (write_text(*store, key, concat(i), {.only_if_absent = true})) ++winners, winner = i;
      });
    }
    threads.clear();
    EXPECT_EQ(winners, 1);
    EXPECT_EQ(text_of(key), concat(winner.load()));
  }
}

TEST_P(StoreConformance, IfVersionReplacesThatVersionOnlyOrIsRefused) {
  const auto first = write_text(*store, "object", "first");
  ASSERT_OK(first);
  if (!store->capabilities().atomic_if_version) {
    const auto refused = write_text(*store, "object", "second", {.if_version = first->version});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::kUnimplemented);
    EXPECT_EQ(text_of("object"), "first");
    return;
  }
  ASSERT_OK(write_text(*store, "object", "second", {.if_version = first->version}));
  const auto stale = write_text(*store, "object", "third", {.if_version = first->version});
  ASSERT_FALSE(stale);
  EXPECT_EQ(stale.error().code, Code::kFailedPrecondition);
  EXPECT_EQ(text_of("object"), "second");
}

TEST_P(StoreConformance, AnUploadAppearsWholeAtCommitAndNotBefore) {
  const Bytes data = random_bytes(12'000'000, 4);
  auto upload = store->start_upload("big/object", {});
  ASSERT_OK(upload);
  for (std::size_t offset = 0; offset < data.size();) {
    const std::size_t piece = std::min<std::size_t>(data.size() - offset, 1'234'567);
    ASSERT_OK((*upload)->append(BytesView(data).subspan(offset, piece)));
    offset += piece;
  }
  EXPECT_THAT(keys(""), IsEmpty());
  const auto committed = (*upload)->commit();
  ASSERT_TRUE(committed) << committed.error().message;
  EXPECT_EQ(committed->size_bytes, data.size());
  const auto read = read_object(*store, "big/object", 20'000'000);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_TRUE(read->data == data);
}

TEST_P(StoreConformance, AnUploadOfNothingIsAnEmptyObject) {
  auto upload = store->start_upload("empty", {});
  ASSERT_OK(upload);
  ASSERT_OK((*upload)->commit());
  EXPECT_EQ(store->stat("empty", {})->size_bytes, 0U);
}

TEST_P(StoreConformance, AnUploadThatIsDroppedLeavesNothing) {
  ASSERT_OK(write_text(*store, "object", "before"));
  {
    auto upload = store->start_upload("object", {});
    ASSERT_OK(upload);
    ASSERT_OK((*upload)->append(random_bytes(9'000'000, 5)));
  }
  EXPECT_EQ(text_of("object"), "before");
  EXPECT_THAT(keys(""), ElementsAre("object"));
}

TEST_P(StoreConformance, AnUploadHonoursOnlyIfAbsentAtCommit) {
  for (const std::size_t size : {10, 9'000'000}) {
    const std::string key = concat("object-", size);
    auto upload = store->start_upload(key, {.only_if_absent = true});
    ASSERT_OK(upload);
    ASSERT_OK((*upload)->append(random_bytes(size, 6)));
    ASSERT_OK(write_text(*store, key, "was faster"));
    const auto committed = (*upload)->commit();
    ASSERT_FALSE(committed);
    EXPECT_EQ(committed.error().code, Code::kAlreadyExists) << committed.error().message;
    EXPECT_EQ(text_of(key), "was faster");
  }
}

TEST_P(StoreConformance, CopyMakesAnEqualObjectAndNeedsASource) {
  ASSERT_OK(write_text(*store, "from/a b", "content"));
  const auto copied = store->copy("from/a b", "to/é", {});
  ASSERT_TRUE(copied) << copied.error().message;
  EXPECT_EQ(copied->size_bytes, 7U);
  EXPECT_EQ(text_of("to/é"), "content");
  const auto missing = store->copy("from/nothing", "to/nothing", {});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Code::kNotFound);
}

TEST_P(StoreConformance, RemoveIsDoneOnceAndRepeatable) {
  ASSERT_OK(write_text(*store, "a/1", "x"));
  ASSERT_OK(write_text(*store, "a/2", "x"));
  const std::vector<std::string> names = {"a/1", "a/never", "a/2"};
  ASSERT_OK(store->remove_many(names, {}));
  ASSERT_OK(store->remove_many(names, {}));
  EXPECT_THAT(keys(""), IsEmpty());
  // A folder that is left empty is no object, so its name is free.
  ASSERT_OK(write_text(*store, "a", "now an object"));
  EXPECT_EQ(text_of("a"), "now an object");
}

TEST_P(StoreConformance, ListsInByteOrderByPrefix) {
  for (const char* key : {"b/2", "a.txt", "a/1", "a0", "ab", "b/10", "a/b/c", "é"})
    ASSERT_OK(write_text(*store, key, "x"));
  EXPECT_THAT(keys(""), ElementsAre("a.txt", "a/1", "a/b/c", "a0", "ab", "b/10", "b/2", "é"));
  EXPECT_THAT(keys("a"), ElementsAre("a.txt", "a/1", "a/b/c", "a0", "ab"));
  EXPECT_THAT(keys("a/"), ElementsAre("a/1", "a/b/c"));
  EXPECT_THAT(keys("a/b"), ElementsAre("a/b/c"));
  EXPECT_THAT(keys("nothing"), IsEmpty());
}

TEST_P(StoreConformance, AListingResumesAfterAKeyAndStopsWhenAsked) {
  for (const char* key : {"a/1", "a/2", "a/3", "a/sub/4", "b"}) ASSERT_OK(write_text(*store, key, "x"));
  EXPECT_THAT(keys("a/", {.after = "a/1"}), ElementsAre("a/2", "a/3", "a/sub/4"));
  EXPECT_THAT(keys("", {.after = "a/sub/4"}), ElementsAre("b"));
  int visited = 0;
  ASSERT_OK(store->list("a/", {}, [&](const ObjectInfo&) { return ++visited < 2; }));
  EXPECT_EQ(visited, 2);
}

TEST_P(StoreConformance, FoldersAreReportedOnceWhenCollapsed) {
  for (const char* key : {"top", "a/1", "a/2", "a/sub/3", "a/sub/deep/4", "b/5"})
    ASSERT_OK(write_text(*store, key, "x"));
  EXPECT_THAT(keys("", {.collapse_folders = true}), ElementsAre("a/", "b/", "top"));
  EXPECT_THAT(keys("a/", {.collapse_folders = true}), ElementsAre("a/1", "a/2", "a/sub/"));
  EXPECT_THAT(keys("a/", {.after = "a/2", .collapse_folders = true}), ElementsAre("a/sub/"));
}

TEST_P(StoreConformance, AListShowsManyObjectsInPages) {
  std::vector<std::string> names;
  for (int i = 0; i < 1100; ++i) names.push_back(concat("many/", zero_padded(i, 5)));
  std::atomic<int> failures{0};
  {
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t < 8; ++t) {
      threads.emplace_back([&, t] {
        for (std::size_t i = t; i < names.size(); i += 8)
          failures += write_text(*store, names[i], "x") ? 0 : 1;
      });
    }
  }
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(keys("many/"), names);
  ASSERT_OK(store->remove_many(names, {}));
  EXPECT_THAT(keys("many/"), IsEmpty());
}

TEST_P(StoreConformance, ReadersSeeTheOldObjectOrTheNewOneNeverAMixture) {
  const Bytes ones(200'000, std::byte{1}), twos(300'000, std::byte{2});
  ASSERT_OK(store->write("object", ones, {}));
  std::atomic<bool> done{false};
  std::atomic<int> failures{0};
  std::jthread writer([&] {
    for (int i = 0; i < 30; ++i) failures += store->write("object", i % 2 == 0 ? twos : ones, {}) ? 0 : 1;
    done = true;
  });
  while (!done) {
    Bytes target(400'000);
    const auto read = store->read_into("object", target, {});
    ASSERT_TRUE(read) << read.error().message;
    target.resize(read->bytes_read);
    ASSERT_TRUE(target == ones || target == twos);
  }
  writer.join();
  EXPECT_EQ(failures, 0);
}

TEST_P(StoreConformance, AStoppedCallEnds) {
  const Bytes data = random_bytes(1'000'000, 7);
  ASSERT_OK(store->write("object", data, {}));
  std::stop_source source;
  source.request_stop();
  Bytes target(data.size());
  const auto read = store->read_into("object", target, {.call = {.stop = source.get_token()}});
  // A driver whose reads never wait may finish instead.
  if (!read) {
    EXPECT_EQ(read.error().code, Code::kCancelled) << read.error().message;
  }
}

}  // namespace
}  // namespace headrace
