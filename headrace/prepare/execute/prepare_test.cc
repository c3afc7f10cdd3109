#include "headrace/prepare/execute/prepare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "headrace/base/crc32c.h"
#include "headrace/base/text.h"
#include "headrace/engine/encoder.h"
#include "headrace/engine/hash/hash_encoder.h"
#include "headrace/prepare/execute/shared_plan.h"
#include "headrace/prepare/plan/layout_schema.h"
#include "headrace/prepare/sort/spill_store.h"
#include "headrace/store/layers/forwarding.h"

namespace headrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Forwards to another store. From the n-th changing call on, every call fails as if the process had died
// there.
class DyingStore final : public ForwardingStore {
 public:
  DyingStore(std::shared_ptr<Store> store, int calls)
      : ForwardingStore(std::move(store)), calls_left_(calls) {}

  Result<ReadResult> read_into(std::string_view key, MutableBytesView target,
                               const ReadOptions& options) override {
    if (calls_left_ <= 0) return dead();
    return inner().read_into(key, target, options);
  }
  Result<ObjectInfo> stat(std::string_view key, const CallOptions& options) override {
    if (calls_left_ <= 0) return dead();
    return inner().stat(key, options);
  }
  Result<ObjectInfo> write(std::string_view key, BytesView data, const WriteOptions& options) override {
    if (--calls_left_ <= 0) return dead();
    return inner().write(key, data, options);
  }
  Result<std::unique_ptr<Upload>> start_upload(std::string_view key, const WriteOptions& options) override {
    if (--calls_left_ <= 0) return dead();
    return inner().start_upload(key, options);
  }
  Status remove_many(std::span<const std::string> keys, const CallOptions& options) override {
    if (--calls_left_ <= 0) return dead();
    return inner().remove_many(keys, options);
  }
  Status list(std::string_view prefix, const ListOptions& options,
              const std::function<bool(const ObjectInfo&)>& visit) override {
    if (calls_left_ <= 0) return dead();
    return inner().list(prefix, options, visit);
  }

 private:
  static Error dead() { return {Code::kUnavailable, "the process is gone"}; }
  std::atomic<int> calls_left_;
};

// Forwards to another store, and refuses to write manifests.
class UnpublishingStore final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;

  Result<ObjectInfo> write(std::string_view key, BytesView data, const WriteOptions& options) override {
    const bool is_manifest = key.find("/_headrace/manifest-") != key.npos && !is_entry(data);
    if (is_manifest) return Error{Code::kUnavailable, "the process is gone"};
    return inner().write(key, data, options);
  }
};

// Forwards to another store, and keeps the names of the objects that are read.
class WatchedStore final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;

  Result<ReadResult> read_into(std::string_view key, MutableBytesView target,
                               const ReadOptions& options) override {
    keys.emplace(key);
    return inner().read_into(key, target, options);
  }

  std::set<std::string> keys;
};

class Prepare : public testing::Test {
 protected:
  Prepare() : store(registry.open("memory://test")->store) {
    encoders["hash:16"] = *make_hash_encoder(16);
    for (const char* split_name : {"train", "test"}) {
      for (int i = 0; i < 60; ++i) {
        put(concat("raw/", split_name, i % 2 == 0 ? "/pos/" : "/neg/", i, "_7.txt"),
            concat("text number ", i, " of ", split_name));
      }
    }
    put("raw/README", "about it");
    put("raw/train/unsup/0_0.txt", "no label");
    wish.shard_records = 7;
    wish.seed = 44;
  }

  void put(const std::string& key, std::string_view text) { ASSERT_TRUE(write_text(*store, key, text)); }

  Location at(const std::string& key, std::shared_ptr<Store> through = nullptr) {
    return {through ? through : store, key, Url{"memory", "test", key}};
  }

  // The plan for what lies at `input` now.
  Result<PreparePlan> plan_of(const std::string& input) {
    PreparePlan plan = wish;
    HEADRACE_TRY(plan.input, find_input(at(input), InputFormat::kAclImdb));
    plan.schema = *layout_schema(InputFormat::kAclImdb, {.encoder = "hash:16"});
    plan.encoder_digests["hash:16"] = encoders.at("hash:16")->weights_digest();
    return plan;
  }

  Result<PrepareResult> run_on(const std::string& input, const std::string& output,
                               const PrepareOptions& with, const PrepareProgress& progress,
                               std::shared_ptr<Store> through = nullptr) {
    HEADRACE_TRY(const PreparePlan plan, plan_of(input));
    return prepare({.plan = plan, .encoders = encoders}, registry, at(output, std::move(through)), with,
                   actor, progress, {});
  }
  Result<PrepareResult> run(const std::string& output, const PrepareOptions& with,
                            std::shared_ptr<Store> through = nullptr) {
    return run_on(
        "raw", output, with, [](auto...) {}, std::move(through));
  }

  // Every object below, by its key without the folder, as its checksum.
  std::map<std::string, std::uint32_t> content(const std::string& folder) {
    std::map<std::string, std::uint32_t> out;
    const auto objects = list_all(*store, folder + "/");
    for (const ObjectInfo& object : *objects) {
      out[object.key.substr(folder.size() + 1)] = crc32c(read_object(*store, object.key, 1 << 30)->data);
    }
    return out;
  }

  // Every object below, by its key without the folder, as its version.
  std::map<std::string, std::string> versions(const std::string& folder) {
    std::map<std::string, std::string> out;
    const auto objects = list_all(*store, folder + "/");
    for (const ObjectInfo& object : *objects)
      out[object.key.substr(folder.size() + 1)] = object.version.token;
    return out;
  }

  // Executes every task of a plan that was shared at "data", as a process that joins it.
  Status execute_all(const PreparePlan& plan) {
    const std::string digest = configuration_digest(plan_configuration(plan));
    SpillStore spills(work_folder(at("data"), name_tag(digest, 1)), 0);
    PlanTasks tasks({plan, digest, encoders, registry, spills, at("data")}, {OtherProcesses::kMayJoin});
    for (std::uint64_t task = 0;; ++task) {
      const Status done = tasks.execute(task);
      if (!done && done.error().code == Code::kOutOfRange) return {};
      HEADRACE_CHECK(done);
    }
  }

  // Removes the receipts of all tasks at "data", so that they are done once more.
  void remove_receipts() {
    for (const auto& [key, version] : versions("data")) {
      const bool is_receipt = key.find("/slice-") != key.npos || key.find("/shard-") != key.npos;
      if (is_receipt) {
        ASSERT_TRUE(remove_object(*store, "data/" + key));
      }
    }
  }

  // Whatever is published must be whole.
  void check_parts(const std::string& folder) {
    const Manifest manifest = published(folder);
    ASSERT_FALSE(manifest.parts.empty());
    const auto objects = content(folder);
    for (const ManifestPart& part : manifest.parts) EXPECT_EQ(objects.at(part.key), part.crc32c) << part.key;
  }

  Manifest published(const std::string& folder) {
    const auto found = read_published(at(folder), "dataset");
    EXPECT_TRUE(found && *found);
    return found && *found ? (*found)->manifest : Manifest{};
  }

  // The checksums of all parts, by their keys without the tag that tells generations apart.
  std::map<std::string, std::uint32_t> parts(const std::string& folder) {
    std::map<std::string, std::uint32_t> out;
    for (const ManifestPart& part : published(folder).parts) {
      const std::string name = std::regex_replace(part.key, std::regex("[0-9a-f]{8}"), "tag");
      out[name] = part.role == "report" || part.role == "inputs" || part.role == "index" ? 0 : part.crc32c;
    }
    return out;
  }

  StoreRegistry registry{Environment{}};
  TextEncoders encoders;
  std::shared_ptr<Store> store;
  PreparePlan wish;  // everything but the input and the schema
  PrepareOptions options;
  const Actor actor{.command = "prepare", .run = "run-1"};
};

TEST_F(Prepare, PublishesEveryRecordOnceAndCountsTheRest) {
  const auto result = run("data", options);
  ASSERT_TRUE(result) << result.error().message;
  const DatasetAttributes& attributes = result->attributes;
  EXPECT_EQ(attributes.counts,
            (std::map<std::string, std::uint64_t>{
                {"in", 122}, {"written", 120}, {"rejected", 0}, {"dropped", 0}, {"ignored", 2}}));
  EXPECT_EQ(attributes.splits.at("train").records, 60U);
  EXPECT_EQ(attributes.splits.at("test").labels.at("neg"), 30U);
  EXPECT_EQ(attributes.labels, (std::vector<std::string>{"pos", "neg"}));
  EXPECT_EQ(result->shards, 18U);
  check_parts("data");
  // Nothing but the parts, the entry of ownership and the manifest is left.
  EXPECT_EQ(content("data").size(), published("data").parts.size() + 2);
}

TEST_F(Prepare, OtherInputIsRefusedWithTheAdviceToAppendOnlyIfThatHelps) {
  const auto advises = [&]() {
    const auto refused = run("data", options);
    EXPECT_FALSE(refused);
    EXPECT_THAT(refused.error().message, HasSubstr("another configuration"));
    return refused.error().message.find("To add new input to the dataset, use --append") != std::string::npos;
  };
  ASSERT_TRUE(run("data", options));
  wish.seed = 45;
  EXPECT_FALSE(advises()) << "nothing is new";
  put("raw/train/pos/more.txt", "one more");
  EXPECT_FALSE(advises()) << "an append repeats the earlier seed";
  wish.seed = 44;
  EXPECT_TRUE(advises());
  put("raw/train/pos/0_7.txt", "another text");
  EXPECT_FALSE(advises()) << "an append refuses objects that have changed";
}

TEST_F(Prepare, BytesDependNeitherOnWorkersNorOnMemory) {
  ASSERT_TRUE(run("one", options));
  const auto expected = content("one");
  for (const int workers : {2, 7}) {
    PrepareOptions other = options;
    other.workers = workers;
    other.memory_bytes = 500;  // spills
    ASSERT_TRUE(run(concat("with-", workers), other));
    EXPECT_EQ(content(concat("with-", workers)), expected);
  }
}

TEST_F(Prepare, AProcessThatDiesAnywhereIsContinuedToTheSameBytes) {
  ASSERT_TRUE(run("whole", options));
  const auto expected = content("whole");
  int died = 0;
  for (int calls = 1; calls < 200; ++calls) {
    const std::string output = concat("dying-", calls);
    const auto whole = run(output, options, std::make_shared<DyingStore>(store, calls));
    if (whole) break;
    EXPECT_EQ(whole.error().code, Code::kUnavailable) << whole.error().message;
    ++died;
    if (*read_published(at(output))) check_parts(output);
    const auto result = run(output, options);
    ASSERT_TRUE(result) << result.error().message;
    ASSERT_EQ(content(output), expected) << "died at call " << calls;
  }
  EXPECT_GT(died, 40);
}

TEST_F(Prepare, ProgressCountsEveryRecordOnce) {
  for (const std::uint64_t memory_bytes : {std::uint64_t{500}, std::uint64_t{64} << 20}) {
    options.memory_bytes = memory_bytes;
    std::map<std::string, PrepareState> last;
    const auto look = [&](const PrepareState& state) {
      EXPECT_LE(last[std::string(state.stage)].done, state.done);
      EXPECT_LE(state.done, state.total);
      last[std::string(state.stage)] = state;
    };
    ASSERT_TRUE(run_on("raw", concat("data-", memory_bytes), options, look));
    EXPECT_EQ(last.at("writing").done, 120U);
    EXPECT_EQ(last.at("writing").total, 120U);
    EXPECT_EQ(last.at("writing").unit, "records");
    EXPECT_EQ(last.at("reading").done, last.at("reading").total);
  }
}

TEST_F(Prepare, ShardsThatHaveAReceiptAreNotLeftToWrite) {
  const auto plan = plan_of("raw");
  ASSERT_TRUE(share_plan(*plan, at("data"), false, actor));
  const std::string digest = configuration_digest(plan_configuration(*plan));
  const auto shared = read_shared_plan(at("data"));
  SpillStore spills(work_folder(at("data"), name_tag(digest, 1)), 0);
  PlanTasks tasks({shared->plan, digest, encoders, registry, spills, at("data")},
                  {.others = OtherProcesses::kMayJoin, .owned = shared->owned});
  const std::uint64_t slices = tasks.read_tasks();
  EXPECT_EQ(tasks.unread()->size(), slices);
  for (std::uint64_t slice = 0; slice < slices; ++slice) ASSERT_TRUE(tasks.execute(slice));
  EXPECT_TRUE(tasks.unread()->empty());
  ASSERT_TRUE(tasks.arrange());
  EXPECT_EQ(tasks.unwritten()->size(), 18U);
  for (const std::uint64_t shard : {3, 7}) ASSERT_TRUE(tasks.execute(slices + shard));
  const auto left = tasks.unwritten();
  ASSERT_TRUE(left);
  EXPECT_EQ(left->size(), 16U);
  for (const std::uint64_t shard : *left) EXPECT_TRUE(shard != 3 && shard != 7);
  const auto early = tasks.publish();
  ASSERT_FALSE(early);
  EXPECT_EQ(early.error().code, Code::kFailedPrecondition);
}

TEST_F(Prepare, AProcessThatDiesAtTheManifestLeavesEveryShardToTheNext) {
  options.memory_bytes = 500;  // spills
  ASSERT_FALSE(run("data", options, std::make_shared<UnpublishingStore>(store)));
  const auto left = versions("data");
  const auto next = run("data", options);
  ASSERT_TRUE(next) << next.error().message;
  EXPECT_EQ(next->shards_done_before, next->shards);
  EXPECT_GT(next->shards, 0U);
  const auto published = versions("data");
  for (const auto& [key, version] : left) {
    if (!key.starts_with("_headrace/work/")) {
      EXPECT_EQ(published.at(key), version) << key;
    }
  }
}

TEST_F(Prepare, ATaskThatIsDoneTwiceLeavesEveryObjectInItsVersion) {
  put("raw/train/pos/902_9.txt", "caf\xe9");  // something to report
  const auto plan = plan_of("raw");
  ASSERT_TRUE(plan);
  ASSERT_TRUE(share_plan(*plan, at("data"), false, actor));
  ASSERT_TRUE(execute_all(*plan));
  const auto first = versions("data");
  remove_receipts();
  ASSERT_TRUE(share_plan(*plan, at("data"), false, actor));
  const Status again = execute_all(*plan);
  ASSERT_TRUE(again) << again.error().message;
  auto second = versions("data");
  ASSERT_EQ(first.size(), second.size());
  for (const auto& [key, version] : first) {
    const bool is_receipt = key.find("/slice-") != key.npos || key.find("/shard-") != key.npos;
    if (!is_receipt) {
      EXPECT_EQ(second.at(key), version) << key;
    }
  }
}

TEST_F(Prepare, AWorkObjectThatHasOtherBytesIsMadeAgain) {
  const auto plan = plan_of("raw");
  ASSERT_TRUE(plan);
  ASSERT_TRUE(share_plan(*plan, at("data"), false, actor));
  ASSERT_TRUE(execute_all(*plan));
  std::string key;
  for (const auto& [name, version] : versions("data")) {
    if (name.find("/rows-00000-00000") != std::string::npos) key = "data/" + name;
  }
  const std::string before = to_string(read_object(*store, key, 1 << 30)->data);
  put(key, "of an attempt that ended early");
  remove_receipts();
  const Status done = execute_all(*plan);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(to_string(read_object(*store, key, 1 << 30)->data), before);
}

TEST_F(Prepare, APartThatHasOtherBytesIsRefusedAndLeft) {
  const auto plan = plan_of("raw");
  ASSERT_TRUE(plan);
  ASSERT_TRUE(share_plan(*plan, at("data"), false, actor));
  ASSERT_TRUE(execute_all(*plan));
  for (const char* part : {"data/train-", "/_headrace/index/test-"}) {
    std::string key;
    for (const auto& [name, version] : versions("data")) {
      if (concat("data/", name).find(part) != std::string::npos) key = "data/" + name;
    }
    const std::string before = to_string(read_object(*store, key, 1 << 30)->data);
    put(key, "other bytes");
    remove_receipts();
    const Status refused = execute_all(*plan);
    ASSERT_FALSE(refused) << part;
    EXPECT_EQ(refused.error().code, Code::kFailedPrecondition);
    EXPECT_THAT(refused.error().message, HasSubstr(key));
    EXPECT_THAT(refused.error().message, HasSubstr("--overwrite"));
    EXPECT_EQ(to_string(read_object(*store, key, 1 << 30)->data), "other bytes");
    put(key, before);
  }
}

TEST_F(Prepare, WhatIsPublishedIsNotMadeAgainAndAnotherPlanIsRefused) {
  ASSERT_TRUE(run("data", options));
  const auto again = run("data", options);
  ASSERT_TRUE(again);
  EXPECT_TRUE(again->was_published);
  wish.seed = 45;
  const auto other = run("data", options);
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(other.error().message, HasSubstr("seed was 44 and is now 45"));
  options.overwrite = true;
  const auto anew = run("data", options);
  ASSERT_TRUE(anew) << anew.error().message;
  EXPECT_FALSE(anew->was_published);
}

TEST_F(Prepare, OverwritingLeavesWhatItDidNotMake) {
  ASSERT_TRUE(run("data", options));
  const std::vector<std::string> others = {"faiss.index", "report-final.pdf", "mine.tfrecord",
                                           "_headrace/runs/1/start"};
  for (const std::string& name : others) put("data/" + name, "not of this stage");
  wish.seed = 45;
  options.overwrite = true;
  ASSERT_FALSE(run("data", options, std::make_shared<DyingStore>(store, 40)));
  wish.seed = 46;
  const auto result = run("data", options);
  ASSERT_TRUE(result) << result.error().message;
  const auto objects = content("data");
  for (const std::string& name : others) EXPECT_TRUE(objects.contains(name)) << name;
  EXPECT_EQ(objects.size(), published("data").parts.size() + 2 + others.size())
      << "what the two plans before have made is gone";
}

TEST_F(Prepare, OverwritingLeavesWhatIsPublishedUntilTheInputWasRead) {
  ASSERT_TRUE(run("data", options));
  const auto published = content("data");
  put("raw/train/pos/902_9.txt", std::string(2'000'000, 'x'));
  wish.cell_limit_bytes = 1'000'000;
  options.overwrite = true;
  options.memory_bytes = 500;  // spills
  ASSERT_FALSE(run("data", options));
  auto left = content("data");
  std::erase_if(left, [](const auto& object) { return object.first.starts_with("_headrace/work/"); });
  EXPECT_EQ(left, published);
}

TEST_F(Prepare, OverwritingRefusesWhatNoPlanWasBegunFor) {
  put("data/train-0123abcd-00000-of-00001.tfrecord", "whose?");
  options.overwrite = true;
  const auto result = run("data", options);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Code::kFailedPrecondition);
  EXPECT_EQ(content("data").size(), 1U);
}

TEST_F(Prepare, AnOverwriteThatDiesAnywhereIsContinuedToTheSameBytes) {
  ASSERT_TRUE(run("whole", options));
  const auto expected = parts("whole");
  PrepareOptions anew = options;
  anew.overwrite = true;
  for (int calls = 1; calls < 12; ++calls) {
    const std::string finished = concat("finished-", calls);
    ASSERT_TRUE(run(finished, options));
    const std::string halfway = concat("halfway-", calls);
    ASSERT_FALSE(run(halfway, options, std::make_shared<DyingStore>(store, 40)));
    for (const std::string& output : {finished, halfway}) {
      ASSERT_FALSE(run(output, anew, std::make_shared<DyingStore>(store, calls)));
      const auto result = run(output, options);
      ASSERT_TRUE(result) << result.error().message;
      ASSERT_EQ(parts(output), expected) << "died at call " << calls;
      check_parts(output);
    }
  }
}

TEST_F(Prepare, AReceiptIsNotBelievedWithoutItsShard) {
  ASSERT_TRUE(run("whole", options));
  ASSERT_FALSE(run("data", options, std::make_shared<DyingStore>(store, 40)));
  int removed = 0;
  for (const auto& [key, crc] : content("data")) {
    if (key.ends_with(".tfrecord.gz")) removed += remove_object(*store, "data/" + key).has_value() ? 1 : 0;
  }
  EXPECT_GT(removed, 0);
  ASSERT_TRUE(run("data", options));
  EXPECT_EQ(content("data"), content("whole"));
}

TEST_F(Prepare, OfTwoProcessesWithOnePlanBothSucceed) {
  const auto both_succeed = [this](std::string_view stage, std::uint64_t memory_bytes) {
    const std::string output = concat("data-", stage, "-", memory_bytes);
    options.memory_bytes = memory_bytes;
    std::string digest;
    const auto overtake = [&](const PrepareState& state) {
      if (state.stage == stage && digest.empty()) digest = run(output, options)->manifest_digest;
    };
    const auto result = run_on("raw", output, options, overtake);
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_TRUE(result->was_published);
    EXPECT_EQ(result->manifest_digest, digest);
    for (const auto& [key, crc] : content(output)) EXPECT_EQ(key.find("/work/"), std::string::npos) << key;
    check_parts(output);
  };
  for (const std::uint64_t memory_bytes : {std::uint64_t{500}, std::uint64_t{64} << 20}) {
    both_succeed("reading", memory_bytes);
    both_succeed("writing", memory_bytes);
  }
}

TEST_F(Prepare, AnInputThatChangedSinceItWasListedIsRefused) {
  const auto plan = plan_of("raw");
  ASSERT_TRUE(plan);
  put("raw/train/pos/900_9.txt", "one more");
  const PlannedPrepare planned{.plan = *plan, .encoders = encoders};
  const auto result = prepare(planned, registry, at("data"), options, actor, [](auto...) {}, {});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(result.error().message, HasSubstr("changed"));
  EXPECT_TRUE(read_chain(at("data"))->is_free());
}

TEST_F(Prepare, DuplicatesAreReportedOrDropped) {
  put("raw/train/pos/900_9.txt", "text number 0 of train");
  wish.duplicates = Duplicates::kReport;
  const auto reported = run("reported", options);
  ASSERT_TRUE(reported);
  EXPECT_EQ(reported->attributes.reasons.at("duplicate content, kept"), 1U);
  EXPECT_EQ(reported->attributes.counts.at("written"), 121U);
  wish.duplicates = Duplicates::kDrop;
  const auto dropped = run("dropped", options);
  ASSERT_TRUE(dropped);
  EXPECT_EQ(dropped->attributes.counts.at("dropped"), 1U);
  EXPECT_EQ(dropped->attributes.counts.at("written"), 120U);
}

TEST_F(Prepare, InvalidUtf8IsRepairedAndCounted) {
  put("raw/test/neg/901_1.txt", "caf\xe9");
  const auto result = run("data", options);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->attributes.reasons.at("text that is not utf-8, replaced"), 1U);
}

TEST_F(Prepare, TasksReadOfWhatTheyContinueTheManifestAndWhatConcernsTheirSlice) {
  ASSERT_TRUE(run("data", options));
  for (int i = 60; i < 80; ++i) put(concat("raw/train/neg/", i, "_7.txt"), "one more");
  put("raw/test/neg/0_9.txt", "the first of all");
  auto plan = continue_plan(at("data"), Continuation::kAppend);
  ASSERT_TRUE(plan) << plan.error().message;
  plan->input = *find_input(at("raw"), InputFormat::kAclImdb, {.objects = 50});
  auto pasts = leave_what_continues(plan->input, *plan->base, at("data"), plan->continuation);
  ASSERT_TRUE(pasts) << pasts.error().message;
  plan->pasts = *std::move(pasts);
  ASSERT_TRUE(share_plan(*plan, at("data"), false, actor));
  const std::uint64_t slices = plan->input.slices.size();
  ASSERT_EQ(slices, 3U);
  const std::string digest = configuration_digest(plan_configuration(*plan));
  for (std::uint64_t task = 0; task < slices + 4; ++task) {
    const auto watched = std::make_shared<WatchedStore>(store);
    const Location output = at("data", watched);
    const auto shared = read_shared_plan(output);
    ASSERT_TRUE(shared) << shared.error().message;
    SpillStore spills(work_folder(output, name_tag(digest, 1)), 0);
    const TaskContext context{shared->plan, digest, encoders, registry, spills, output};
    const Status done =
        PlanTasks(context, {.others = OtherProcesses::kMayJoin, .owned = shared->owned}).execute(task);
    if (!done && done.error().code == Code::kOutOfRange) break;
    ASSERT_TRUE(done) << done.error().message;
    std::erase_if(watched->keys, [](const std::string& key) {
      return std::ranges::none_of(std::array{"/past-", "/inputs", "/report"},
                                  [&](const char* part) { return key.find(part) != std::string::npos; });
    });
    if (task < slices)
      EXPECT_THAT(
          watched->keys,
          ElementsAre(work_folder(at("data"), name_tag(digest, 1)).at(concat("past-0000", task)).key));
    else
      EXPECT_THAT(watched->keys, IsEmpty());
  }
  SpillStore spills(work_folder(at("data"), name_tag(digest, 1)), 0);
  const auto shared = read_shared_plan(at("data"));
  PlanTasks tasks({shared->plan, digest, encoders, registry, spills, at("data")},
                  {.others = OtherProcesses::kMayJoin, .owned = shared->owned});
  const auto result = tasks.publish();
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->attributes.counts.at("in"), 143U);
  EXPECT_EQ(result->attributes.counts.at("written"), 141U);
}

TEST_F(Prepare, BadInputIsNamedAndNothingIsPublished) {
  put("raw/train/pos/902_9.txt", std::string(2'000'000, 'x'));
  wish.cell_limit_bytes = 1'000'000;
  const auto result = run("data", options);
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().message, HasSubstr("train/pos/902_9.txt"));
  EXPECT_THAT(result.error().message, HasSubstr("--max-rejects"));
  EXPECT_TRUE(content("data").empty());
  options.max_rejects.rows = 1;
  const auto allowed = run("data", options);
  ASSERT_TRUE(allowed) << allowed.error().message;
  EXPECT_EQ(allowed->attributes.counts.at("rejected"), 1U);
}

TEST_F(Prepare, TheResultMayNotLieInTheInput) {
  EXPECT_FALSE(check_places(at("raw"), at("raw")));
  EXPECT_FALSE(check_places(at("raw"), at("raw/data")));
  EXPECT_FALSE(check_places(at(""), at("data")));
  EXPECT_TRUE(check_places(at("raw"), at("raw2")));
  EXPECT_TRUE(check_places(at("raw/texts"), at("raw")));
  EXPECT_TRUE(check_places(Location{store, "raw", Url{"memory", "other", "raw"}}, at("raw/data")));
}

TEST_F(Prepare, AnEmptySplitAndASingleClassAreRefused) {
  const auto none = run_on("nothing", "data", options, [](auto...) {});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, Code::kNotFound);
  put("half/train/pos/1_9.txt", "x");
  const auto no_test = run_on("half", "data", options, [](auto...) {});
  ASSERT_FALSE(no_test);
  EXPECT_THAT(no_test.error().message, HasSubstr("the test split"));
  put("half/test/neg/1_1.txt", "y");
  const auto one_class = run_on("half", "data2", options, [](auto...) {});
  ASSERT_FALSE(one_class);
  EXPECT_THAT(one_class.error().message, HasSubstr("only one class, pos"));
}

}  // namespace
}  // namespace headrace
