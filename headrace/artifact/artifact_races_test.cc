// Writers and `gc` that are stalled, killed, or at work at once: docs/formats/artifacts.md, "Who writes what,
// and two at once" and "Removal".

#include <gmock/gmock.h>

#include <atomic>
#include <semaphore>
#include <thread>

#include "headrace/artifact/artifact.h"
#include "headrace/artifact/collect_content.h"
#include "headrace/artifact/content.h"
#include "headrace/artifact/verify_artifact.h"
#include "headrace/base/digest.h"
#include "headrace/base/text.h"
#include "headrace/store/layers/forwarding.h"
#include "headrace/store/memory/memory_store.h"

namespace headrace {
namespace {

using testing::IsEmpty;

constexpr std::chrono::system_clock::time_point kTimeOfLog{};

// Runs `then` before the n-th call, from 0 on; and the call after it, unless the process is killed there.
class StalledStore final : public ForwardingStore {
 public:
  StalledStore(std::shared_ptr<Store> store, int at, std::function<void()> then, bool is_killed = false)
      : ForwardingStore(std::move(store)), at_(at), then_(std::move(then)), is_killed_(is_killed) {}

  Result<ReadResult> read_into(std::string_view key, MutableBytesView target,
                               const ReadOptions& options) override {
    HEADRACE_CHECK(step());
    return ForwardingStore::read_into(key, target, options);
  }
  Result<ObjectInfo> stat(std::string_view key, const CallOptions& options) override {
    HEADRACE_CHECK(step());
    return ForwardingStore::stat(key, options);
  }
  Result<ObjectInfo> write(std::string_view key, BytesView data, const WriteOptions& options) override {
    HEADRACE_CHECK(step());
    return ForwardingStore::write(key, data, options);
  }
  Status remove_many(std::span<const std::string> keys, const CallOptions& options) override {
    HEADRACE_CHECK(step());
    return ForwardingStore::remove_many(keys, options);
  }
  Status list(std::string_view prefix, const ListOptions& options,
              const std::function<bool(const ObjectInfo&)>& visit) override {
    HEADRACE_CHECK(step());
    return ForwardingStore::list(prefix, options, visit);
  }
  int calls() const { return calls_; }

 private:
  Status step() {
    const int call = calls_++;
    if (is_killed_ && call >= at_) return Error{Code::kUnavailable, "killed"};
    if (call == at_) then_();
    return {};
  }

  const int at_;
  const std::function<void()> then_;
  const bool is_killed_;
  std::atomic<int> calls_ = 0;
};

// A store of its own for each interleaving.
struct World {
  World() {
    stores.put({"memory", "test", ""}, root.store);
    put("files/a", "aaaa");
    put("files/b", "bb");
  }

  void put(std::string_view key, std::string_view text) { EXPECT_TRUE(write_text(*root.store, key, text)); }
  Location through(std::shared_ptr<StalledStore> store) const {
    Location out = root;
    out.store = std::move(store);
    return out;
  }
  // Bytes that an earlier writer has left.
  void leave_orphan(std::string_view key) const {
    const Location file = root.at(key);
    const ObjectInfo info = *file.store->stat(file.key, {});
    const Content content = content_of(file, info, *digest_of(file, info));
    EXPECT_TRUE(keep_contents(root, std::span(&content, 1), {}));
  }
  Result<ArtifactVersion> log(const Location& at, std::string_view file,
                              std::string_view name = "cats") const {
    ArtifactDraft draft = *ArtifactDraft::make(name, "dataset");
    EXPECT_TRUE(draft.add_file(root.at(file)));
    return log_artifact(at, draft, "run", kTimeOfLog);
  }
  Result<CollectedContent> gc(const Location& at) const {
    return collect_content(
        at, false, [](const ObjectInfo&) { return true; }, [](const ObjectInfo&) {}, {});
  }
  std::vector<std::string> problems() {
    ArtifactVerifier verifier(stores, root, {});
    const std::vector<std::string> names = *list_artifacts(root);
    for (const std::string& name : names) EXPECT_TRUE(verifier.verify_all(name));
    std::vector<std::string> out;
    for (const BadEntry& bad : verifier.bad()) out.push_back(concat(bad.artifact, " ", bad.problem));
    return out;
  }
  std::vector<std::uint64_t> numbers() const { return *artifact_numbers(root, "cats"); }

  Location root{std::shared_ptr<Store>(make_memory_store("test")), "", {"memory", "test", ""}};
  StoreRegistry stores{Environment{}};
};

using Meanwhile = std::function<void(World&)>;

// Stalls a writer at each of its calls. Returns the number of calls.
int stall_writer(const Meanwhile& meanwhile,
                 const std::function<void(World&, const ArtifactVersion&)>& check) {
  for (int at = 0;; ++at) {
    World world;
    world.leave_orphan("files/a");
    const auto stalled = std::make_shared<StalledStore>(world.root.store, at, [&] { meanwhile(world); });
    const auto version = world.log(world.through(stalled), "files/a");
    EXPECT_TRUE(version) << at << " " << version.error().message;
    if (stalled->calls() <= at) return at;
    EXPECT_THAT(world.problems(), IsEmpty()) << at;
    if (version) check(world, *version);
  }
}

TEST(ArtifactRaces, AWriterThatIsStalledWhileAnotherLogsIsTheNextVersion) {
  const int calls = stall_writer(
      [](World& world) { EXPECT_TRUE(world.log(world.root, "files/b")); },
      [](World& world, const ArtifactVersion& version) {
        EXPECT_EQ(world.numbers(), (std::vector<std::uint64_t>{1, 2}));
        EXPECT_EQ(find_artifact(world.root, concat("cats:v", version.number))->digest, version.digest);
      });
  EXPECT_GE(calls, 6);
}

TEST(ArtifactRaces, TwoThatLogTheSameAreOneVersion) {
  stall_writer([](World& world) { EXPECT_TRUE(world.log(world.root, "files/a")); },
               [](World& world, const ArtifactVersion& version) {
                 EXPECT_EQ(world.numbers(), std::vector<std::uint64_t>{1});
                 EXPECT_EQ(find_artifact(world.root, "cats")->digest, version.digest);
               });
}

TEST(ArtifactRaces, GcTakesNoContentFromAStalledWriter) {
  stall_writer([](World& world) { EXPECT_TRUE(world.gc(world.root)); },
               [](World& world, const ArtifactVersion&) {
                 EXPECT_TRUE(world.gc(world.root));
                 EXPECT_THAT(world.problems(), IsEmpty());
               });
}

TEST(ArtifactRaces, AStalledGcTakesNoContentFromAWriter) {
  for (int at = 0;; ++at) {
    World world;
    world.leave_orphan("files/a");
    world.leave_orphan("files/b");
    const auto stalled = std::make_shared<StalledStore>(
        world.root.store, at, [&] { EXPECT_TRUE(world.log(world.root, "files/a")); });
    EXPECT_TRUE(world.gc(world.through(stalled)));
    EXPECT_THAT(world.problems(), IsEmpty()) << at;
    if (stalled->calls() <= at) break;
  }
}

// Both are stalled once: gc goes to its i-th call, the writer to its j-th, gc to its end, then the writer.
TEST(ArtifactRaces, AStalledGcAndAStalledWriterSeeEachOther) {
  bool has_more_gc = true;
  for (int i = 0; has_more_gc; ++i) {
    bool has_more_writer = true;
    for (int j = 0; has_more_writer; ++j) {
      World world;
      world.leave_orphan("files/a");
      std::binary_semaphore is_stalled(0);
      std::binary_semaphore goes_on(0);
      const auto of_writer = std::make_shared<StalledStore>(world.root.store, j, [&] {
        is_stalled.release();
        goes_on.acquire();
      });
      std::thread writer;
      const auto of_gc = std::make_shared<StalledStore>(world.root.store, i, [&] {
        writer = std::thread([&] {
          EXPECT_TRUE(world.log(world.through(of_writer), "files/a"));
          if (of_writer->calls() <= j) is_stalled.release();
        });
        is_stalled.acquire();
      });
      EXPECT_TRUE(world.gc(world.through(of_gc)));
      has_more_gc = of_gc->calls() > i;
      if (!has_more_gc) break;
      goes_on.release();
      writer.join();
      has_more_writer = of_writer->calls() > j;
      EXPECT_THAT(world.problems(), IsEmpty()) << i << " " << j;
    }
  }
}

TEST(ArtifactRaces, WhatAKilledWriterLeftIsCompletedOrCollected) {
  for (int at = 0;; ++at) {
    World world;
    const auto killed = std::make_shared<StalledStore>(
        world.root.store, at, [] {}, true);
    const bool is_done = world.log(world.through(killed), "files/a").has_value();
    EXPECT_THAT(world.problems(), IsEmpty()) << at;
    const bool has_version = !world.numbers().empty();
    EXPECT_TRUE(world.gc(world.root));
    EXPECT_EQ(world.gc(world.root)->removed, 0U);
    EXPECT_TRUE(world.log(world.root, "files/a"));
    EXPECT_THAT(world.problems(), IsEmpty()) << at;
    EXPECT_EQ(world.numbers(), std::vector<std::uint64_t>{1}) << at << " " << has_version;
    if (is_done) break;
  }
}

// The window that the format names: gc removed the content, and the writer was killed before its last look.
TEST(ArtifactRaces, AVersionWithoutContentIsToldAndMendedByLoggingItAgain) {
  World world;
  ASSERT_TRUE(world.log(world.root, "files/a"));
  const auto contents = *list_all(*world.root.store, "_headrace/artifacts/content/");
  for (const ObjectInfo& content : contents) {
    ASSERT_TRUE(remove_object(*world.root.store, content.key));
    EXPECT_EQ(world.problems().size(), 1U);
    EXPECT_EQ(world.log(world.root, "files/a")->number, 1U);
    EXPECT_THAT(world.problems(), IsEmpty());
  }
}

// "a" is read before "cats", whose list it keeps as a file.
TEST(ArtifactRaces, GcReadsAListThatAnotherArtifactKeepsAsAFile) {
  World world;
  ASSERT_TRUE(world.log(world.root, "files/a"));
  const std::string list = find_artifact(world.root, "cats")->entries;
  ASSERT_TRUE(world.log(world.root, content_copy(world.root, list, 1).key, "a"));
  EXPECT_EQ(world.gc(world.root)->removed, 0U);
  EXPECT_THAT(world.problems(), IsEmpty());
}

TEST(ArtifactRaces, AReaderGoesOnWithAnotherCopyWhereItsOwnIsRemoved) {
  for (int at = 0;; ++at) {
    World world;
    ASSERT_TRUE(world.log(world.root, "files/a"));
    const std::vector<ObjectInfo> firsts = *list_all(*world.root.store, "_headrace/artifacts/content/");
    const auto stalled = std::make_shared<StalledStore>(world.root.store, at, [&] {
      for (const ObjectInfo& first : firsts) {
        const ContentCopy copy = *parse_content_key(world.root, first.key);
        world.put(content_copy(world.root, copy.sha256, 2).key,
                  to_string(read_object(*world.root.store, first.key, 1000)->data));
        EXPECT_TRUE(remove_object(*world.root.store, first.key));
      }
    });
    ArtifactVerifier verifier(world.stores, world.through(stalled), {});
    EXPECT_TRUE(verifier.verify("cats", 1));
    EXPECT_THAT(verifier.bad(), IsEmpty()) << at;
    if (stalled->calls() <= at) break;
  }
}

TEST(ArtifactRaces, GcRemovesNothingWhileAVersionCannotBeRead) {
  World world;
  ASSERT_TRUE(world.log(world.root, "files/a"));
  world.leave_orphan("files/b");
  world.put("_headrace/artifacts/named/cats/_headrace/version-00000001", "damaged");
  const std::size_t before = list_all(*world.root.store, "")->size();
  EXPECT_EQ(world.gc(world.root).error().code, Code::kDataLoss);
  EXPECT_EQ(list_all(*world.root.store, "")->size(), before);
}

TEST(ArtifactRaces, GcReadsNoVersionIfNoContentIsOld) {
  World world;
  ASSERT_TRUE(world.log(world.root, "files/a"));
  world.put("_headrace/artifacts/named/cats/_headrace/version-00000001", "damaged");
  const auto collected = collect_content(
      world.root, false, [](const ObjectInfo&) { return false; }, [](const ObjectInfo&) {}, {});
  ASSERT_TRUE(collected) << collected.error().message;
  EXPECT_EQ(collected->removed, 0U);
}

}  // namespace
}  // namespace headrace
