#include "headrace/store/conformance.h"

#include <random>

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

Bytes random_bytes(std::size_t size, unsigned seed) {
  std::mt19937_64 random(seed);
  std::vector<std::uint64_t> words(size / sizeof(std::uint64_t) + 1);
  for (std::uint64_t& word : words) word = random();
  const auto* const bytes = reinterpret_cast<const std::byte*>(words.data());
  return Bytes(bytes, bytes + size);
}

namespace {

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

TEST_P(StoreConformance, AnObjectCannotBeAFolderOfAnother) {
  ASSERT_OK(write_text(*store, "a/b", "1"));
  ASSERT_OK(write_text(*store, "c", "2"));
  // A driver that cannot detect the conflict accepts the write. Even then, the first object must stay
  // readable.
  for (const char* key : {"a", "c/d"}) {
    const auto written = write_text(*store, key, "x");
    if (!written) {
      EXPECT_EQ(written.error().code, Code::kFailedPrecondition) << written.error().message;
    }
  }
  EXPECT_EQ(text_of("a/b"), "1");
  EXPECT_EQ(text_of("c"), "2");
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
  // A folder that has become empty is not an object, so its name is free.
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

TEST_P(StoreConformance, AStoppedCallEnds) {
  const Bytes data = random_bytes(1'000'000, 7);
  ASSERT_OK(store->write("object", data, {}));
  std::stop_source source;
  source.request_stop();
  Bytes target(data.size());
  const auto read = store->read_into("object", target, {.call = {.stop = source.get_token()}});
  // A driver whose reads never wait may finish the read instead.
  if (!read) {
    EXPECT_EQ(read.error().code, Code::kCancelled) << read.error().message;
  }
}

}  // namespace
}  // namespace headrace
