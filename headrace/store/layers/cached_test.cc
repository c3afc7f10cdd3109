#include "headrace/store/layers/cached.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <latch>
#include <string>
#include <thread>
#include <vector>

#include "headrace/base/text.h"
#include "headrace/store/conformance.h"
#include "headrace/store/file/file_store.h"
#include "headrace/store/layers/forwarding.h"
#include "headrace/store/memory/memory_store.h"

namespace headrace {
namespace {

using std::chrono_literals::operator""ms;

Location cache_in(const std::shared_ptr<Store>& store) {
  return {store, "cache", Url{"memory", "near", "cache"}};
}

INSTANTIATE_TEST_SUITE_P(Cached, StoreConformance,
                         testing::Values(DriverUnderTest{"cached",
                                                         [] {
                                                           return make_cached(
                                                               make_memory_store("test"),
                                                               cache_in(make_memory_store("near")), {});
                                                         }}),
                         driver_name);

class CountingStore final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  Result<ReadResult> read_into(std::string_view key, MutableBytesView target,
                               const ReadOptions& options) override {
    ++reads;
    return ForwardingStore::read_into(key, target, options);
  }
  std::atomic<int> reads = 0;
};

class CachedStoreTest : public testing::Test {
 protected:
  void SetUp() override {
    data.resize(10'000);
    for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::byte>(i * 7);
    const auto written = far->write("a", data, {});
    ASSERT_TRUE(written);
    version = written->version;
  }

  Bytes read(Store& store, std::uint64_t offset, std::size_t size) {
    Bytes target(size);
    const auto result = store.read_into("a", target, {.offset_bytes = offset, .if_version = version});
    EXPECT_TRUE(result) << result.error().message;
    if (!result) return {};
    EXPECT_EQ(result->object.size_bytes, data.size());
    EXPECT_EQ(result->object.version, version);
    target.resize(result->bytes_read);
    return target;
  }
  Bytes expected(std::size_t offset, std::size_t size) const {
    return {data.begin() + static_cast<std::ptrdiff_t>(offset),
            data.begin() + static_cast<std::ptrdiff_t>(std::min(offset + size, data.size()))};
  }

  // Bytes of all objects in the folder.
  std::uint64_t kept_bytes() const {
    std::uint64_t bytes = 0;
    const auto kept = list_all(*near, "cache/");
    EXPECT_TRUE(kept);
    for (const ObjectInfo& object : *kept) bytes += object.size_bytes;
    return bytes;
  }

  std::shared_ptr<Store> near = make_memory_store("near");
  std::shared_ptr<CountingStore> far = std::make_shared<CountingStore>(make_memory_store("far"));
  Bytes data;
  Version version;
};

TEST_F(CachedStoreTest, ARangeOfAVersionIsFetchedOnceForAllWhoShareTheFolder) {
  const auto one = make_cached(far, cache_in(near), {}), other = make_cached(far, cache_in(near), {});
  for (const auto& [offset, size] : std::vector<std::pair<std::uint64_t, std::size_t>>{
           {0, 100}, {100, 100}, {0, 10'000}, {9'990, 100}, {10'000, 5}, {5, 0}}) {
    const int before = far->reads;
    EXPECT_EQ(read(*one, offset, size), expected(offset, size));
    EXPECT_EQ(far->reads, before + 1);
    EXPECT_EQ(read(*other, offset, size), expected(offset, size));
    EXPECT_EQ(far->reads, before + 1) << offset << " " << size;
  }
}

TEST_F(CachedStoreTest, WhatMayChangeIsNotTakenFromTheCache) {
  const auto store = make_cached(far, cache_in(near), {});
  Bytes target(100);
  ASSERT_TRUE(store->read_into("a", target, {}));
  ASSERT_TRUE(store->read_into("a", target, {}));
  EXPECT_EQ(far->reads, 2);
  read(*store, 0, 100);
  ASSERT_TRUE(write_text(*far, "a", "another version"));
  EXPECT_EQ(read(*store, 0, 100), expected(0, 100)) << "that version is still what it was";
  EXPECT_EQ(store->read_into("a", target, {.offset_bytes = 1, .if_version = version}).error().code,
            Code::kFailedPrecondition);
}

TEST_F(CachedStoreTest, WhatIsDamagedIsFetchedAnew) {
  const auto store = make_cached(far, cache_in(near), {});
  read(*store, 0, 1000);
  const std::string key = list_all(*near, "cache/")->front().key;
  const Bytes sound = read_object(*near, key, 1 << 20)->data;
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{5}, std::size_t{12}, std::size_t{500}, sound.size()}) {
    Bytes damaged(sound.begin(), sound.begin() + static_cast<std::ptrdiff_t>(size));
    if (size == sound.size()) damaged[700] ^= std::byte{1};
    ASSERT_TRUE(near->write(key, damaged, {}));
    const int before = far->reads;
    EXPECT_EQ(read(*store, 0, 1000), expected(0, 1000)) << size;
    EXPECT_EQ(far->reads, before + 1);
    EXPECT_EQ(read_object(*near, key, 1 << 20)->data, sound) << "and kept again";
  }
}

TEST_F(CachedStoreTest, TheFolderStaysWithinItsMost) {
  const auto store = make_cached(far, cache_in(near), {.max_bytes = 3000});
  int hits = 0;
  for (int round = 0; round < 20; ++round) {
    for (std::uint64_t offset = 0; offset < 5'000; offset += 100) {
      const int before = far->reads;
      EXPECT_EQ(read(*store, offset, 100), expected(offset, 100));
      if (far->reads == before) ++hits;
      EXPECT_LE(kept_bytes(), 3000U);
    }
  }
  EXPECT_GT(hits, 80) << "of 1,000, though more is read in turn than fits";
}

TEST_F(CachedStoreTest, LargeRangesDoNotPassTheMostEither) {
  const auto store = make_cached(far, cache_in(near), {.max_bytes = 3000});
  for (std::uint64_t offset = 0; offset < 9'000; offset += 300) {
    const std::size_t size = 100 + offset % 700;
    EXPECT_EQ(read(*store, offset, size), expected(offset, size));
    EXPECT_LE(kept_bytes(), 3000U);
  }
  const std::uint64_t before = kept_bytes();
  read(*store, 1, 751);
  EXPECT_EQ(kept_bytes(), before) << "over a quarter of the most";
}

TEST_F(CachedStoreTest, WhatTheCacheHasNotWrittenStays) {
  const std::string rest(62, 'a');
  const std::vector<std::string> foreign = {"thesis.txt",
                                            ".hidden",
                                            "photos/2026/a.jpg",
                                            "ab/" + rest,
                                            "objects/ab/" + rest,
                                            "headrace-cache.txt",
                                            "headrace-cache/notes",
                                            "headrace-cache/ab/notes",
                                            "headrace-cache/ab/" + rest + "a",
                                            "headrace-cache/ab/" + rest.substr(1),
                                            "headrace-cache/abc" + rest.substr(1),
                                            "headrace-cache/abc/" + rest.substr(1),
                                            "headrace-cache/ab/" + rest.substr(1) + "A",
                                            "headrace-cache/ag/" + rest,
                                            "headrace-cache/cd/" + rest + "/deeper",
                                            "headrace-cache/headrace-cache/ab/" + rest};
  for (const std::string& name : foreign)
    ASSERT_TRUE(near->write("cache/" + name, BytesView(data).first(1000), {}));
  ASSERT_TRUE(write_text(*near, "cache-of-another", "its own"));
  const auto store = make_cached(far, cache_in(near), {.max_bytes = 3000});
  for (std::uint64_t offset = 0; offset < 10'000; offset += 50) read(*store, offset, 50);
  EXPECT_LE(kept_bytes(), 3000U + foreign.size() * 1000);
  EXPECT_GT(kept_bytes(), foreign.size() * 1000) << "others' files do not count";
  for (const std::string& name : foreign) EXPECT_TRUE(near->stat("cache/" + name, {})) << name;
  EXPECT_TRUE(near->stat("cache-of-another", {}));
}

TEST_F(CachedStoreTest, StoresThatShareAFolderShareItsMost) {
  std::vector<std::unique_ptr<Store>> stores;
  for (int i = 0; i < 10; ++i) stores.push_back(make_cached(far, cache_in(near), {.max_bytes = 3000}));
  for (std::uint64_t i = 0; i < 400; ++i) {
    read(*stores[i % stores.size()], i * 20, 20 + i % 50);
    EXPECT_LE(kept_bytes(), 3000U);
  }
}

TEST_F(CachedStoreTest, ThreadsThatShareAFolderShareItsMost) {
  std::vector<std::unique_ptr<Store>> stores;
  for (int i = 0; i < 4; ++i) stores.push_back(make_cached(far, cache_in(near), {.max_bytes = 3000}));
  for (std::uint64_t round = 0; round < 20; ++round) {
    std::vector<std::jthread> threads;
    for (std::uint64_t t = 0; t < stores.size(); ++t) {
      threads.emplace_back([this, round, t, &store = *stores[t]] {
        for (std::uint64_t i = 0; i < 20; ++i) {
          const std::uint64_t offset = (round * 740 + i * 37 + t * 5) % 5000;
          EXPECT_EQ(read(store, offset, 100 + i), expected(offset, 100 + i));
        }
      });
    }
    threads.clear();
    EXPECT_LE(kept_bytes(), 3000U) << round;
    EXPECT_GT(kept_bytes(), 1000U);
  }
}

// The count of a folder ends with the last store that is cached there: later ones look at it again.
TEST_F(CachedStoreTest, WhatIsKnownOfAFolderIsForgottenWithItsLastStore) {
  read(*make_cached(far, cache_in(near), {.max_bytes = 3000}), 0, 50);
  const std::string one = list_all(*near, "cache/")->front().key;
  const std::string folder = one.substr(0, one.size() - 65);
  for (char digit : std::string("0123456789abcdef")) {
    const std::string name = concat(std::string(2, digit), "/", std::string(62, digit));
    ASSERT_TRUE(near->write(folder + name, BytesView(data).first(500), {}));
  }
  EXPECT_GT(kept_bytes(), 8000U);
  read(*make_cached(far, cache_in(near), {.max_bytes = 3000}), 100, 50);
  EXPECT_LE(kept_bytes(), 3000U);
}

TEST_F(CachedStoreTest, WhoeverWritesKeepsToItsOwnMost) {
  const auto large = make_cached(far, cache_in(near), {.max_bytes = 9000});
  const auto small = make_cached(far, cache_in(near), {.max_bytes = 3000});
  for (std::uint64_t offset = 0; offset < 8'000; offset += 100) read(*large, offset, 100);
  EXPECT_GT(kept_bytes(), 3000U);
  read(*small, 0, 200);
  EXPECT_LE(kept_bytes(), 3000U);
}

// Killed processes leave such files where a file cannot be written without a name.
TEST_F(CachedStoreTest, WhatKilledWritesHaveLeftCountsAndGoes) {
  std::string root = (std::filesystem::temp_directory_path() / "headrace-cache-XXXXXX").string();
  ASSERT_NE(mkdtemp(root.data()), nullptr);
  const std::shared_ptr<Store> files = make_file_store(root);
  const auto bytes_with_unfinished = [&] {
    const auto objects = list_all(*files, "");
    const auto unfinished = list_all_unfinished(*files, "");
    EXPECT_TRUE(objects && unfinished);
    std::uint64_t bytes = 0;
    for (const ObjectInfo& object : *objects) bytes += object.size_bytes;
    for (const UnfinishedWrite& write : *unfinished) bytes += *write.size_bytes;
    return bytes;
  };
  const auto leave = [&](std::string_view name) {
    ASSERT_TRUE(files->write("made", BytesView(data).first(500), {}));
    std::filesystem::create_directories((root / std::filesystem::path(name)).parent_path());
    std::filesystem::rename(root + "/made", root + "/" + std::string(name));
  };
  for (int i = 10; i < 30; ++i)
    leave(concat("cache/headrace-cache/", i, "/.headrace-write-0123456789abcd", i));
  leave("cache/headrace-cache/ab/cd/.headrace-write-0123456789abcdef");
  leave("cache/.headrace-write-0123456789abcdef");
  EXPECT_EQ(bytes_with_unfinished(), 11'000U);
  const auto store = make_cached(far, cache_in(files), {.max_bytes = 3000});
  for (std::uint64_t offset = 0; offset < 5'000; offset += 100) {
    EXPECT_EQ(read(*store, offset, 100), expected(offset, 100));
    EXPECT_LE(bytes_with_unfinished(), 1000 + 3000U) << "but for the two that are not the cache's";
  }
  std::filesystem::remove_all(root);
}

// The cache's writes must leave nothing behind when they are killed, and need not wait for the disk.
TEST_F(CachedStoreTest, WritesReplaceNothingAndAreNotSynced) {
  class RecordingStore final : public ForwardingStore {
   public:
    using ForwardingStore::ForwardingStore;
    Result<std::unique_ptr<Upload>> start_upload(std::string_view key, const WriteOptions& options) override {
      EXPECT_TRUE(options.only_if_absent);
      EXPECT_FALSE(options.is_durable);
      ++writes;
      return ForwardingStore::start_upload(key, options);
    }
    int writes = 0;
  };
  const auto recording = std::make_shared<RecordingStore>(near);
  const auto store = make_cached(far, cache_in(recording), {});
  read(*store, 0, 1000);
  ASSERT_TRUE(write_text(*near, list_all(*near, "cache/")->front().key, "damaged"));
  read(*store, 0, 1000);
  EXPECT_EQ(recording->writes, 2);
}

// Lists only once it is released.
class HeldStore final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  Status list(std::string_view prefix, const ListOptions& options,
              const std::function<bool(const ObjectInfo&)>& visit) override {
    is_listing.count_down();
    is_released.wait();
    return ForwardingStore::list(prefix, options, visit);
  }
  std::latch is_listing{1}, is_released{1};
};

TEST_F(CachedStoreTest, AForksChildHasACountOfItsOwn) {
  const auto held = std::make_shared<HeldStore>(near);
  const auto store = make_cached(far, cache_in(held), {});
  std::jthread reader([&] { read(*store, 0, 100); });
  held->is_listing.wait();
  const pid_t child = fork();
  if (child == 0) {  // where the reader never comes back from its listing
    const std::shared_ptr<Store> own = make_memory_store("near");
    const auto anew = make_cached(far, cache_in(own), {});
    Bytes target(100);
    const auto got = anew->read_into("a", target, {.if_version = version, .call = {.deadline = 200ms}});
    _exit(got && list_all(*own, "cache/")->size() == 1 ? 0 : 1);
  }
  held->is_released.count_down();
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0)
      << "what the child reads is kept, without a wait";
}

TEST(CacheUrl, IsAFolderAndASize) {
  EXPECT_EQ(parse_cache_url("file:///c")->folder, "file:///c");
  EXPECT_EQ(parse_cache_url("file:///c?max=2GiB")->folder, "file:///c");
  EXPECT_EQ(parse_cache_url("file:///c?max=2GiB")->options.max_bytes, std::uint64_t{2} << 30);
  for (const char* wrong :
       {"file:///c?", "file:///c?max=", "file:///c?max=0", "file:///c?max=x", "file:///c?min=1"})
    EXPECT_EQ(parse_cache_url(wrong).error().code, Code::kInvalidArgument) << wrong;
}

TEST_F(CachedStoreTest, AFolderThatFailsCostsNoRead) {
  class FailingStore final : public ForwardingStore {
   public:
    using ForwardingStore::ForwardingStore;
    Result<std::unique_ptr<Upload>> start_upload(std::string_view, const WriteOptions&) override {
      return Error{Code::kResourceExhausted, "disk full"};
    }
    Status list(std::string_view, const ListOptions&,
                const std::function<bool(const ObjectInfo&)>&) override {
      return Error{Code::kUnavailable, "gone"};
    }
  };
  const auto store = make_cached(far, cache_in(std::make_shared<FailingStore>(near)), {});
  EXPECT_EQ(read(*store, 0, 100), expected(0, 100));
  EXPECT_EQ(read(*store, 0, 100), expected(0, 100));
}

}  // namespace
}  // namespace headrace
