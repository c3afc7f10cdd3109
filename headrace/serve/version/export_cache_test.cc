#include "headrace/serve/version/export_cache.h"

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "headrace/base/environment.h"
#include "headrace/serve/version/published_models_test.h"
#include "headrace/store/layers/forwarding.h"
#include "headrace/store/memory/memory_store.h"

namespace headrace {
namespace {

namespace fs = std::filesystem;

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return file ? std::string(std::istreambuf_iterator<char>(file), {}) : "none";
}

class CacheOfExports : public testing::Test {
 protected:
  CacheOfExports()
      : cache_folder((fs::temp_directory_path() / concat("exports-", hex64(random_name_bits()))).string()) {
    root.store = std::shared_ptr<Store>(make_memory_store("out"));
    metered = make_metered(root, metrics);
  }
  void TearDown() override { fs::remove_all(cache_folder); }

  // Published by Headrace below `metered`.
  WantedVersion published(std::uint64_t number, const std::string& text) {
    const Location model = metered.at("m");
    publish_version(model, number, text);
    const auto source = open_model_source(version_folder(model, number), {});
    WantedVersion version = *(*source)->wanted().versions.at(0);
    version.number = number;
    return version;
  }
  // Made by others.
  WantedVersion foreign(const std::string& text) {
    write_files(metered.at("foreign"), model_files(text));
    const auto source = open_model_source(metered.at("foreign"), {});
    EXPECT_TRUE((*source)->poll({}));
    return *(*source)->wanted().versions.at(0);
  }
  std::unique_ptr<ExportCache> open(const ExportCacheOptions& options = {}) {
    auto cache = ExportCache::open(cache_folder, options);
    EXPECT_TRUE(cache) << cache.error().message;
    return *std::move(cache);
  }
  // The cached digests, ascending; everything else but locks is a surprise.
  std::vector<std::string> entries() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(cache_folder)) {
      const std::string name = entry.path().filename().string();
      if (!name.ends_with(".use") && !name.ends_with(".fetch")) names.push_back(name);
    }
    std::ranges::sort(names);
    return names;
  }
  std::uint64_t reads() const { return metrics->of(StoreOperation::kRead).calls; }

  const std::string cache_folder;
  const std::shared_ptr<StoreMetrics> metrics = std::make_shared<StoreMetrics>();
  Location root;
  Location metered;
};

void expect_model(const Result<CachedExport>& cached, const std::string& text) {
  ASSERT_TRUE(cached) << cached.error().message;
  for (const auto& [name, content] : model_files(text))
    EXPECT_EQ(content_of(cached->path() + "/" + name), content);
}

TEST_F(CacheOfExports, AVersionIsFetchedOnce) {
  const WantedVersion version = published(3, "three");
  const auto cache = open();
  const std::uint64_t before = calls_in(*metrics);
  expect_model(cache->fetch(version, {}), "three");
  EXPECT_EQ(calls_in(*metrics) - before, 3U) << "a read for each file";
  expect_model(cache->fetch(version, {}), "three");
  expect_model(open()->fetch(version, {}), "three");
  EXPECT_EQ(calls_in(*metrics) - before, 3U);
  EXPECT_THAT(entries(), ElementsAre(version.digest));
}

TEST_F(CacheOfExports, LargeFilesAreFetchedInRanges) {
  std::string large(9 << 20, 'x');
  for (std::size_t i = 0; i < large.size(); i += 997) large[i] = static_cast<char>(i);
  TestFiles files = model_files("large");
  files["assets/large"] = large;
  files["assets/empty"] = "";
  const Location folder = metered.at("large");
  ASSERT_TRUE(Ownership(folder, 0, 0, 0).publish(manifest_of(folder, files)));
  const auto source = open_model_source(folder, {});
  const auto& version = *(*source)->wanted().versions.at(0);
  std::atomic<std::uint64_t> most_bytes = 0;
  std::uint64_t before = reads();
  const auto cached = open()->fetch(version, {}, [&](std::uint64_t done, std::uint64_t all) {
    EXPECT_EQ(all, version.size_bytes);
    if (done == all) most_bytes = done;
  });
  expect_model(cached, "large");
  EXPECT_EQ(content_of(cached->path() + "/assets/large"), large);
  EXPECT_EQ(content_of(cached->path() + "/assets/empty"), "");
  EXPECT_EQ(reads() - before, 6U);
  EXPECT_EQ(most_bytes, version.size_bytes);
}

TEST_F(CacheOfExports, ManyThreadsFetchOnce) {
  const WantedVersion version = published(1, "one");
  const auto cache = open();
  const std::uint64_t before = reads();
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) threads.emplace_back([&] { expect_model(cache->fetch(version, {}), "one"); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(reads() - before, 3U);
  EXPECT_THAT(entries(), ElementsAre(version.digest));
}

TEST_F(CacheOfExports, AlteredAndMissingFilesOfAnExportAreNamed) {
  const WantedVersion version = published(1, "one");
  const auto cache = open();
  const auto expect_refused = [&](const std::string& how) {
    const auto fetched = cache->fetch(version, {});
    ASSERT_FALSE(fetched) << how;
    EXPECT_EQ(fetched.error().code, Code::kDataLoss);
    EXPECT_THAT(fetched.error().message, HasSubstr("memory://out/m/1/saved_model.pb " + how));
    EXPECT_THAT(entries(), IsEmpty());
  };
  ASSERT_TRUE(write_text(*root.store, "m/1/saved_model.pb", "gRaph one"));
  expect_refused("has the CRC32C");
  ASSERT_TRUE(write_text(*root.store, "m/1/saved_model.pb", "graph one and more"));
  expect_refused("has changed its size");
  ASSERT_TRUE(write_text(*root.store, "m/1/saved_model.pb", "g"));
  expect_refused("has changed its size");
  ASSERT_TRUE(remove_object(*root.store, "m/1/saved_model.pb"));
  expect_refused("was removed");
  ASSERT_TRUE(write_text(*root.store, "m/1/saved_model.pb", "graph one"));
  expect_model(cache->fetch(version, {}), "one");
}

TEST_F(CacheOfExports, AForeignModelIsFetchedAsItWasListedOrNotAtAll) {
  const WantedVersion version = foreign("one");
  const auto cache = open();
  ASSERT_TRUE(write_text(*root.store, "foreign/saved_model.pb", "graph two"));
  const auto replaced = cache->fetch(version, {});
  ASSERT_FALSE(replaced);
  EXPECT_EQ(replaced.error().code, Code::kAborted);
  EXPECT_THAT(replaced.error().message, HasSubstr("the next poll finds"));
  ASSERT_TRUE(remove_object(*root.store, "foreign/saved_model.pb"));
  EXPECT_EQ(cache->fetch(version, {}).error().code, Code::kAborted);
  EXPECT_THAT(entries(), IsEmpty());
  const WantedVersion next = foreign("two");
  EXPECT_NE(next.digest, version.digest);
  expect_model(cache->fetch(next, {}), "two");
}

TEST_F(CacheOfExports, DamagedEntriesAreFetchedAgain) {
  for (const WantedVersion& version : {published(1, "one"), foreign("one")}) {
    const std::string entry = cache_folder + "/" + version.digest;
    const std::string graph = entry + "/model/saved_model.pb";
    expect_model(open()->fetch(version, {}), "one");
    const std::vector<std::function<void()>> damages = {
        [&] { std::ofstream(graph) << "grXph one"; },
        [&] { std::ofstream(graph) << "graph"; },
        [&] { fs::remove(graph); },
        [&] { fs::remove_all(entry + "/model/variables"); },
        [&] {
          fs::remove(graph);
          fs::create_symlink("/etc/hostname", graph);
        },
        [&] { fs::resize_file(entry + "/model/variables/variables.index", 0); },
    };
    for (const auto& damage : damages) {
      damage();
      expect_model(open()->fetch(version, {}), "one");
    }
    const std::uint64_t before = reads();
    expect_model(open()->fetch(version, {}), "one");
    EXPECT_EQ(reads(), before);
  }
}

TEST_F(CacheOfExports, WithoutItsChecksumsAForeignModelIsFetchedAgain) {
  const WantedVersion version = foreign("one");
  for (const char* text : {"", "{}", "[]", R"({"saved_model.pb":"123"})", R"({"saved_model.pb":7})"}) {
    expect_model(open()->fetch(version, {}), "one");
    std::ofstream(cache_folder + "/" + version.digest + "/checksums") << text;
    const std::uint64_t before = reads();
    expect_model(open()->fetch(version, {}), "one");
    EXPECT_EQ(reads() - before, 3U) << text;
  }
}

TEST_F(CacheOfExports, AfterTheFirstUseOnlySizesAreCompared) {
  const WantedVersion version = published(1, "one");
  const auto cache = open();
  const auto held = cache->fetch(version, {});
  ASSERT_TRUE(held);
  std::ofstream(held->path() + "/saved_model.pb") << "grXph one";
  const std::uint64_t before = reads();
  ASSERT_TRUE(cache->fetch(version, {}));
  EXPECT_EQ(reads(), before);
  std::ofstream(held->path() + "/saved_model.pb") << "graph";
  expect_model(cache->fetch(version, {}), "one");
  EXPECT_EQ(reads() - before, 3U);
}

TEST_F(CacheOfExports, WhatWasUsedLongestAgoGoesFirstAndWhatIsUsedStays) {
  const WantedVersion one = published(1, "v1"), two = published(2, "v2"), three = published(3, "v3"),
                      four = published(4, "v4");
  // Room for two, with their checksums.
  const auto measured = open();
  ASSERT_TRUE(measured->fetch(one, {}));
  std::uint64_t entry_bytes = 0;
  for (const auto& entry : fs::recursive_directory_iterator(cache_folder))
    entry_bytes += entry.is_regular_file() ? entry.file_size() : 0;
  const auto cache = open({.bound_bytes = 2 * entry_bytes});
  const auto sorted = [](std::vector<std::string> digests) {
    std::ranges::sort(digests);
    return digests;
  };
  ASSERT_TRUE(cache->fetch(two, {}));
  // The system's times are coarse.
  for (const auto& [digest, age] : {std::pair(one.digest, 200), std::pair(two.digest, 100)}) {
    const std::string use = concat(cache_folder, "/", digest, ".use");
    fs::last_write_time(use, fs::last_write_time(use) - std::chrono::seconds(age));
  }
  ASSERT_TRUE(cache->fetch(one, {}));
  EXPECT_EQ(entries(), sorted({one.digest, two.digest}));
  {
    const auto held = cache->fetch(three, {});
    ASSERT_TRUE(held);
    EXPECT_THAT(held->remark(), IsEmpty());
    EXPECT_EQ(entries(), sorted({one.digest, three.digest}));
    const auto also_held = cache->fetch(one, {});
    const auto too_much = cache->fetch(four, {});
    ASSERT_TRUE(too_much);
    EXPECT_THAT(too_much->remark(), HasSubstr("more than its bound"));
    expect_model(held, "v3");
    EXPECT_EQ(entries(), sorted({one.digest, three.digest, four.digest}));
  }
  EXPECT_EQ(entries().size(), 3U) << "nothing is removed before room is needed";
  open({.bound_bytes = 2 * entry_bytes});
  EXPECT_EQ(entries().size(), 2U);
  open({.bound_bytes = 0});
  EXPECT_EQ(fs::directory_iterator(cache_folder), fs::directory_iterator()) << "nor do locks stay";
}

TEST_F(CacheOfExports, AnEntryIsUsedWhenItsUseBeginsAndWhenItEnds) {
  const WantedVersion version = published(1, "one");
  const auto cache = open();
  ASSERT_TRUE(cache->fetch(version, {}));
  const std::string use = concat(cache_folder, "/", version.digest, ".use");
  const auto now = fs::last_write_time(use);
  const auto former = now - std::chrono::hours(1);
  fs::last_write_time(use, former);
  {
    const auto held = cache->fetch(version, {});
    EXPECT_GE(fs::last_write_time(use), now);
    fs::last_write_time(use, former);
  }
  EXPECT_GE(fs::last_write_time(use), now);
}

TEST_F(CacheOfExports, AVersionLargerThanTheBoundIsServedWithARemark) {
  const auto cache = open({.bound_bytes = 3});
  const auto held = cache->fetch(published(1, "one"), {});
  expect_model(held, "one");
  EXPECT_THAT(held->remark(), HasSubstr("more than its bound of 3 B"));
}

TEST_F(CacheOfExports, AVersionThatFitsOnNoDiskIsRefusedBeforeItIsFetched) {
  const auto cache = open();
  const WantedVersion kept = published(1, "one");
  const auto held = cache->fetch(kept, {});
  ASSERT_TRUE(cache->fetch(published(2, "two"), {}));
  WantedVersion large = published(3, "three");
  const auto space = fs::space(cache_folder);
  if (space.available >= kMostVersionBytes)
    large.files[0].size_bytes = kMostVersionBytes;
  else
    large.files[0].size_bytes = space.available + (1 << 30);
  const std::uint64_t before = reads();
  const auto refused = cache->fetch(large, {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(reads(), before);
  EXPECT_EQ(refused.error().code, Code::kResourceExhausted);
  EXPECT_THAT(refused.error().message, HasSubstr("has room for"));
  EXPECT_THAT(entries(), ElementsAre(kept.digest)) << "what is used";
}

TEST_F(CacheOfExports, NamesThatLeadOutOfTheFolderAreRefused) {
  WantedVersion version = published(1, "one");
  const auto cache = open();
  for (const char* name : {"../x", "/x", "variables/../../x", ""}) {
    WantedVersion hostile = version;
    hostile.files[1].name = name;
    EXPECT_EQ(cache->fetch(hostile, {}).error().code, Code::kInvalidArgument) << name;
  }
  version.digest = "../" + std::string(61, 'a');
  EXPECT_EQ(cache->fetch(version, {}).error().code, Code::kInvalidArgument);
  EXPECT_THAT(entries(), IsEmpty());
}

// Requests a stop when it is read.
class StoppingStore final : public ForwardingStore {
 public:
  StoppingStore(std::shared_ptr<Store> store, std::stop_source stop)
      : ForwardingStore(std::move(store)), stop_(std::move(stop)) {}
  Result<ReadResult> read_into(std::string_view key, MutableBytesView target,
                               const ReadOptions& options) override {
    stop_.request_stop();
    return inner().read_into(key, target, options);
  }

 private:
  std::stop_source stop_;
};

TEST_F(CacheOfExports, AStopEndsAFetchAndLeavesNothing) {
  WantedVersion version = published(1, "one");
  std::stop_source stop;
  version.folder.store = std::make_shared<StoppingStore>(root.store, stop);
  const auto cache = open({.threads = 1});
  const auto stopped = cache->fetch(version, {.stop = stop.get_token()});
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code, Code::kCancelled);
  EXPECT_THAT(entries(), IsEmpty());
  EXPECT_EQ(cache->fetch(version, {.stop = stop.get_token()}).error().code, Code::kCancelled);
  expect_model(cache->fetch(version, {}), "one");
}

TEST_F(CacheOfExports, AFolderThatOthersCanWriteToIsRefused) {
  fs::create_directory(cache_folder);
  fs::permissions(cache_folder, fs::perms::all);
  EXPECT_EQ(ExportCache::open(cache_folder).error().code, Code::kPermissionDenied);
}

}  // namespace
}  // namespace headrace
