#include "headrace/cli/chain_copies.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "headrace/base/crc32c.h"
#include "headrace/base/text.h"
#include "headrace/store/layers/forwarding.h"
#include "headrace/store/memory/memory_store.h"
#include "headrace/store/numbered.h"

namespace headrace {
namespace {

using testing::HasSubstr;

Actor actor(std::string command, std::string run) {
  return {.command = std::move(command),
          .run = std::move(run),
          .host = "node-3",
          .process = 7,
          .time = "t",
          .id = "i"};
}

// Runs something before objects are written.
class BeforeEachWrite : public ForwardingStore {
 public:
  BeforeEachWrite(std::shared_ptr<Store> inner, std::function<void()> run)
      : ForwardingStore(std::move(inner)), run_(std::move(run)) {}
  Result<ObjectInfo> write(std::string_view key, BytesView data, const WriteOptions& options) override {
    run_();
    return ForwardingStore::write(key, data, options);
  }

 private:
  std::function<void()> run_;
};

class ChainCopiesTest : public testing::Test {
 protected:
  Result<TransferTotals> sync(bool removes_others = false, SameObjects same = SameObjects::kKnown,
                              std::function<bool(std::string_view)> selects = {}) {
    FolderTransferOptions options{.same = same, .removes_others = removes_others, .jobs = 1};
    options.selects = std::move(selects);
    options.rank = [](std::string_view name) { return name.find("manifest-") == name.npos ? 0 : 2; };
    options.report = [this](const TransferredObject& object) {
      if (object.step != TransferStep::kSame) done_.push_back(object.name);
    };
    done_.clear();
    ChainCopies chains(from_, to_, options, actor("sync", ""));
    options.publications = &chains;
    return transfer_folder(from_, to_, options);
  }

  static void put(const Location& folder, std::string_view name, std::string_view text) {
    ASSERT_TRUE(write_text(*folder.store, folder.at(name).key, text));
  }
  static std::string get(const Location& folder, std::string_view name) {
    const auto read = read_object(*folder.store, folder.at(name).key, 1 << 20);
    return read ? to_string(read->data) : "nothing";
  }
  static Ownership begin(const Location& folder, OwnershipAction action, const std::string& run) {
    const auto seen = read_chain(folder);
    EXPECT_TRUE(seen);
    auto owner = Ownership::take(folder, *seen, {.action = action, .actor = actor("train", run)});
    EXPECT_TRUE(owner);
    return *owner;
  }
  // Writes the parts, and publishes them.
  static void publish(Ownership& owner, std::initializer_list<std::pair<const char*, const char*>> parts) {
    Manifest manifest{.kind = "checkpoint", .created_by = "r", .plan = "p"};
    for (const auto& [name, text] : parts) {
      put(owner.folder(), name, text);
      manifest.parts.push_back({name, std::string_view(text).size(), crc32c(as_bytes(text)), "variables"});
    }
    const auto published = owner.publish(manifest);
    ASSERT_TRUE(published) << published.error().message;
  }
  static std::uint64_t published_at(const Location& folder) {
    const auto current = read_current_manifest(folder);
    EXPECT_TRUE(current) << current.error().message;
    return current && *current ? (*current)->number : 0;
  }
  static std::map<std::string, std::string> objects_below(const Location& folder) {
    std::map<std::string, std::string> found;
    const std::string prefix = folder_prefix(folder.key);
    const auto objects = list_all(*folder.store, prefix);
    for (const ObjectInfo& object : *objects)
      found[object.key.substr(prefix.size())] = get(folder, object.key.substr(prefix.size()));
    return found;
  }
  void expect_refused(const Result<TransferTotals>& done, Code code, std::string_view message) {
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, code) << done.error().message;
    EXPECT_THAT(done.error().message, HasSubstr(std::string(message)));
  }

  Location from_{make_memory_store("a"), "data", {"memory", "a", "data"}};
  Location to_{make_memory_store("b"), "copy", {"memory", "b", "copy"}};
  std::vector<std::string> done_;
};

TEST_F(ChainCopiesTest, AChainArrivesByteForByteAndASecondTimeNothingIsCopied) {
  Ownership owner = begin(from_.at("run"), OwnershipAction::kBegin, "r-1");
  publish(owner, {{"a", "1"}});
  publish(owner, {{"b", "2"}});
  const auto first = sync();
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_EQ(objects_below(to_), objects_below(from_));
  EXPECT_EQ(done_,
            (std::vector<std::string>{"run/a", "run/b", "run/_headrace/manifest-00000001",
                                      "run/_headrace/manifest-00000002", "run/_headrace/manifest-00000003"}));
  const auto second = sync();
  ASSERT_TRUE(second);
  EXPECT_EQ(second->copied.objects, 0U);
  EXPECT_EQ(second->same.objects, 5U);
  publish(owner, {{"c", "3"}});
  ASSERT_TRUE(sync());
  EXPECT_EQ(objects_below(to_), objects_below(from_));
}

TEST_F(ChainCopiesTest, AnOutputOfItsOwnIsLeftAlone) {
  Ownership owner = begin(from_, OwnershipAction::kBegin, "r-1");
  publish(owner, {{"a", "1"}});
  Ownership other = begin(to_, OwnershipAction::kBegin, "r-2");
  publish(other, {{"a", "other"}});
  const auto before = objects_below(to_);
  expect_refused(sync(), Code::kFailedPrecondition,
                 "is an output of its own, made by headrace train, run r-2 (process 7 on node-3, since t)");
  expect_refused(sync(true), Code::kFailedPrecondition, "headrace rm -r --forget memory://b/copy");
  EXPECT_EQ(objects_below(to_), before);
}

TEST_F(ChainCopiesTest, WhoPublishesMoreAtTheCopyOwnsIt) {
  Ownership owner = begin(from_, OwnershipAction::kBegin, "r-1");
  publish(owner, {{"a", "1"}});
  ASSERT_TRUE(sync());
  begin(to_, OwnershipAction::kTakeOver, "r-2");
  put(from_, "a", "9");
  expect_refused(sync(), Code::kFailedPrecondition, "run r-2");
  EXPECT_EQ(get(to_, "a"), "1");
}

TEST_F(ChainCopiesTest, WhoWorksAtTheCopyLosesItToLaterNumbers) {
  Ownership owner = begin(from_, OwnershipAction::kBegin, "r-1");
  ASSERT_TRUE(sync());
  const auto seen = read_chain(to_);
  Ownership at_copy(to_, 1, 1, 1);
  publish(owner, {{"a", "1"}});
  ASSERT_TRUE(sync());
  const auto lost = at_copy.publish({.kind = "checkpoint", .created_by = "r-2", .plan = "q"});
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().code, Code::kAborted);
}

TEST_F(ChainCopiesTest, WhoBeginsAtTheCopyMeanwhileKeepsIt) {
  Ownership owner = begin(from_, OwnershipAction::kBegin, "r-1");
  publish(owner, {{"a", "1"}});
  const Location inner = to_;
  to_.store = std::make_shared<BeforeEachWrite>(inner.store, [inner] {
    if (list_all(*inner.store, "")->empty()) begin(inner, OwnershipAction::kBegin, "r-2");
  });
  expect_refused(sync(), Code::kAborted, "run r-2");
  EXPECT_EQ(published_at(inner), 0U);
}

TEST_F(ChainCopiesTest, APartThatSomebodyHasCreatedMeanwhileStaysIfItHasTheSameBytes) {
  Ownership owner = begin(from_, OwnershipAction::kBegin, "r-1");
  publish(owner, {{"a", "1"}});
  const Location inner = to_;
  for (const auto& [bytes, is_same] : {std::pair("1", true), std::pair("2", false)}) {
    ASSERT_TRUE(remove_object(*inner.store, inner.at("a").key));
    std::optional<Version> version;
    to_.store = std::make_shared<BeforeEachWrite>(inner.store, [&, text = bytes] {
      if (get(inner, "a") == "nothing") put(inner, "a", text);
      if (!version) version = inner.store->stat(inner.at("a").key, {})->version;
    });
    const auto done = sync();
    EXPECT_TRUE(inner.store->stat(inner.at("a").key, {})->version == version);
    EXPECT_EQ(get(inner, "a"), bytes);
    if (is_same) {
      ASSERT_TRUE(done) << done.error().message;
      EXPECT_EQ(published_at(inner), 2U);
    } else {
      expect_refused(done, Code::kFailedPrecondition, "has other bytes; nothing was replaced");
    }
  }
}

TEST_F(ChainCopiesTest, WhoBeginsAfterATombstoneMeanwhileKeepsTheFolder) {
  Ownership owner = begin(from_, OwnershipAction::kBegin, "r-1");
  publish(owner, {{"a", "1"}});
  begin(to_, OwnershipAction::kBegin, "r-2");
  begin(to_, OwnershipAction::kTakeOver, "r-2");
  begin(to_, OwnershipAction::kRemove, "r-2");
  const Location inner = to_;
  class BeforeEachRead final : public ForwardingStore {
   public:
    BeforeEachRead(std::shared_ptr<Store> store, std::function<void()> run)
        : ForwardingStore(std::move(store)), run_(std::move(run)) {}
    Result<ReadResult> read_into(std::string_view key, MutableBytesView data,
                                 const ReadOptions& options) override {
      run_();
      return ForwardingStore::read_into(key, data, options);
    }

   private:
    std::function<void()> run_;
  };
  to_.store = std::make_shared<BeforeEachRead>(inner.store, [&inner] {
    const auto chain = read_chain(inner);
    if (chain && chain->last == 3) begin(inner, OwnershipAction::kBegin, "r-3");
  });
  expect_refused(sync(), Code::kFailedPrecondition, "made by headrace train, run r-3");
  EXPECT_EQ(get(inner, "a"), "nothing");
}

TEST_F(ChainCopiesTest, ANumberThatIsFreeOnceMoreIsNotWon) {
  Ownership owner = begin(from_, OwnershipAction::kBegin, "r-1");
  publish(owner, {{"a", "1"}});
  ASSERT_TRUE(sync());
  publish(owner, {{"b", "2"}});
  const Location inner = to_;
  bool is_first = true;
  to_.store = std::make_shared<BeforeEachWrite>(inner.store, [&] {
    if (get(inner, "b") == "nothing" || !std::exchange(is_first, false)) return;
    begin(inner, OwnershipAction::kTakeOver, "r-2");
    Ownership later = begin(inner, OwnershipAction::kOverwrite, "r-3");
    publish(later, {{"c", "3"}});
    ASSERT_TRUE(remove_object(*inner.store, inner.at("_headrace/manifest-00000003").key));
  });
  expect_refused(sync(), Code::kAborted, "run r-3");
  EXPECT_FALSE(is_first);
  EXPECT_EQ(published_at(inner), 5U);
  EXPECT_EQ(get(inner, "_headrace/manifest-00000003"), "nothing");
}

TEST_F(ChainCopiesTest, DeleteLeavesPartsOfAManifestThatIsNotSelected) {
  put(from_, "other", "x");
  Ownership owner = begin(to_.at("run"), OwnershipAction::kBegin, "r-1");
  publish(owner, {{"a", "1"}});
  put(to_, "run/unpublished", "2");
  const auto no_chains = [](std::string_view name) { return name.find("_headrace/") == name.npos; };
  expect_refused(sync(true, SameObjects::kKnown, no_chains), Code::kFailedPrecondition,
                 "a manifest that stays at memory://b/copy names it; nothing was removed");
  EXPECT_EQ(get(to_, "run/a"), "1");
  EXPECT_EQ(get(to_, "run/unpublished"), "2");
  const auto no_parts = [&](std::string_view name) { return no_chains(name) && name != "run/a"; };
  ASSERT_TRUE(sync(true, SameObjects::kKnown, no_parts));
  EXPECT_EQ(get(to_, "run/unpublished"), "nothing");
  EXPECT_EQ(published_at(to_.at("run")), 2U);
}

TEST_F(ChainCopiesTest, PartsThatAreStillPublishedKeepTheirBytes) {
  Ownership other = begin(to_.at("run"), OwnershipAction::kBegin, "r-2");
  publish(other, {{"deep/a", "old"}});
  put(from_, "run/deep/a", "new");
  put(from_, "run/notes", "x");
  for (const SameObjects same : {SameObjects::kKnown, SameObjects::kNone}) {
    expect_refused(sync(false, same), Code::kFailedPrecondition, "is part of published data, or will be");
    EXPECT_EQ(get(to_, "run/deep/a"), "old");
  }
  put(from_, "run/deep/a", "old");
  ASSERT_TRUE(sync(false, SameObjects::kNone));
  EXPECT_EQ(get(to_, "run/notes"), "x");
}

TEST_F(ChainCopiesTest, AManifestWhosePartsDidNotArriveIsNotPublished) {
  Ownership owner = begin(from_, OwnershipAction::kBegin, "r-1");
  publish(owner, {{"a", "1"}, {"b", "2"}});
  ASSERT_TRUE(sync());
  publish(owner, {{"c", "3"}});
  ASSERT_TRUE(remove_object(*from_.store, from_.at("c").key));
  expect_refused(sync(), Code::kAborted, "c is not there");
  EXPECT_EQ(published_at(to_), 2U);
  put(from_, "c", "4");
  expect_refused(sync(), Code::kAborted, "c has other bytes than it says");
  EXPECT_EQ(published_at(to_), 2U);
  EXPECT_EQ(get(to_, "_headrace/manifest-00000003"), "nothing");
}

TEST_F(ChainCopiesTest, AnOverwriteThatIsUnderWayArrivesWithWhatIsStillPublished) {
  Ownership owner = begin(from_, OwnershipAction::kBegin, "r-1");
  publish(owner, {{"a", "1"}});
  begin(from_, OwnershipAction::kOverwrite, "r-2");
  ASSERT_TRUE(sync());
  EXPECT_EQ(published_at(to_), 2U);
  EXPECT_EQ(objects_below(to_), objects_below(from_));
}

TEST_F(ChainCopiesTest, ReadersOfTheCopyFindWhatIsPublishedAfterEachStep) {
  Ownership owner = begin(from_, OwnershipAction::kBegin, "r-1");
  publish(owner, {{"a", "1"}});
  ASSERT_TRUE(sync());
  publish(owner, {{"b", "2"}});
  Ownership later = begin(from_, OwnershipAction::kOverwrite, "r-2");
  publish(later, {{"c", "3"}});
  for (const char* superseded : {"_headrace/manifest-00000001", "_headrace/manifest-00000003", "b"})
    ASSERT_TRUE(remove_object(*from_.store, from_.at(superseded).key));
  const Location inner = to_;
  std::vector<std::uint64_t> seen;
  to_.store = std::make_shared<BeforeEachWrite>(inner.store, [&] { seen.push_back(published_at(inner)); });
  const auto done = sync();
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(seen, (std::vector<std::uint64_t>{2, 2, 5}));
  EXPECT_EQ(published_at(inner), 5U);
}

TEST_F(ChainCopiesTest, DeleteRemovesSupersededNumbersAfterPublishing) {
  Ownership owner = begin(from_, OwnershipAction::kBegin, "r-1");
  publish(owner, {{"a", "1"}});
  ASSERT_TRUE(sync());
  publish(owner, {{"b", "2"}});
  ASSERT_TRUE(remove_object(*from_.store, from_.at("_headrace/manifest-00000002").key));
  ASSERT_TRUE(remove_object(*from_.store, from_.at("a").key));
  ASSERT_TRUE(sync());
  EXPECT_EQ(objects_below(to_).size(), 5U) << "nothing is removed unless asked for";
  ASSERT_TRUE(sync(true));
  EXPECT_EQ(done_, (std::vector<std::string>{"_headrace/manifest-00000002", "a"}));
  EXPECT_EQ(objects_below(to_), objects_below(from_));
}

TEST_F(ChainCopiesTest, DeleteOfAFolderLeavesATombstoneThatIsNeverListedAgain) {
  put(from_, "other", "x");
  Ownership owner = begin(to_.at("run"), OwnershipAction::kBegin, "r-1");
  publish(owner, {{"a", "1"}});
  const auto done = sync(true);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(done->removed.objects, 3U);
  EXPECT_EQ(done_, (std::vector<std::string>{"other", "run/_headrace/manifest-00000001",
                                             "run/_headrace/manifest-00000002", "run/a"}));
  const auto chain = read_chain(to_.at("run"));
  ASSERT_TRUE(chain);
  EXPECT_EQ(chain->owner.action, OwnershipAction::kRemove);
  EXPECT_EQ(chain->last, 3U);
  EXPECT_FALSE(owner.publish({.kind = "checkpoint", .created_by = "r", .plan = "p"}));
  const auto again = sync(true);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->removed.objects, 0U);
}

TEST_F(ChainCopiesTest, TombstonesStayWhereTheyAreAndALaterBeginningIsCopied) {
  put(from_, "other", "x");
  Ownership owner = begin(from_, OwnershipAction::kBegin, "r-1");
  publish(owner, {{"a", "1"}});
  ASSERT_TRUE(sync());
  begin(from_, OwnershipAction::kRemove, "r-2");
  for (const char* name : {"_headrace/manifest-00000001", "_headrace/manifest-00000002", "a"})
    ASSERT_TRUE(remove_object(*from_.store, from_.at(name).key));
  ASSERT_TRUE(sync());
  EXPECT_EQ(published_at(to_), 2U) << "a copy is removed only if asked for";
  ASSERT_TRUE(sync(true));
  EXPECT_EQ(published_at(to_), 0U);
  EXPECT_EQ(get(to_, "a"), "nothing");
  ASSERT_TRUE(sync(true));
  EXPECT_EQ(done_, std::vector<std::string>());
  Ownership later = begin(from_, OwnershipAction::kBegin, "r-3");
  publish(later, {{"b", "2"}});
  ASSERT_TRUE(sync(true));
  EXPECT_EQ(published_at(to_), 5U);
  ASSERT_TRUE(sync(true));
  EXPECT_EQ(done_, std::vector<std::string>());
}

TEST_F(ChainCopiesTest, AFolderOfNothingButATombstoneEmptiesNothing) {
  Ownership owner = begin(from_, OwnershipAction::kBegin, "r-1");
  publish(owner, {{"a", "1"}});
  ASSERT_TRUE(sync());
  const auto before = objects_below(to_);
  begin(from_, OwnershipAction::kRemove, "r-2");
  for (const char* name : {"_headrace/manifest-00000001", "_headrace/manifest-00000002", "a"})
    ASSERT_TRUE(remove_object(*from_.store, from_.at(name).key));
  expect_refused(sync(true), Code::kNotFound, "there is nothing to copy");
  EXPECT_EQ(objects_below(to_), before);
}

TEST_F(ChainCopiesTest, ACopyThatWasRemovedIsNotMadeAgainUnlessItsTombstoneIsForgotten) {
  Ownership owner = begin(from_, OwnershipAction::kBegin, "r-1");
  publish(owner, {{"a", "1"}});
  begin(to_, OwnershipAction::kBegin, "r-2");
  begin(to_, OwnershipAction::kRemove, "r-3");
  expect_refused(sync(), Code::kFailedPrecondition, "was removed by headrace train, run r-3");
  EXPECT_EQ(get(to_, "a"), "nothing");
}

}  // namespace
}  // namespace headrace
