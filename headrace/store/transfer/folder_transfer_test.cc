#include "headrace/store/transfer/folder_transfer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "headrace/base/text.h"
#include "headrace/store/layers/forwarding.h"
#include "headrace/store/memory/memory_store.h"
#include "headrace/store/registry.h"
#include "headrace/store/transfer/folder_pair.h"

namespace headrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// Two stores of their own, and a journal's folder.
class FolderTransferTest : public testing::Test {
 protected:
  void SetUp() override {
    cache_ = (std::filesystem::temp_directory_path() / "headrace-test-XXXXXX").string();
    ASSERT_NE(mkdtemp(cache_.data()), nullptr);
  }
  void TearDown() override { std::filesystem::remove_all(cache_); }

  void put(const Location& folder, std::initializer_list<std::pair<const char*, const char*>> objects) {
    for (const auto& [name, text] : objects)
      ASSERT_TRUE(write_text(*folder.store, folder.at(name).key, text));
  }
  static std::map<std::string, std::string> objects_below(const Location& folder) {
    std::map<std::string, std::string> found;
    const std::string prefix = folder_prefix(folder.key);
    const auto objects = list_all(*folder.store, prefix);
    for (const ObjectInfo& object : *objects)
      found[object.key.substr(prefix.size())] =
          to_string(read_object(*folder.store, object.key, 1 << 20)->data);
    return found;
  }

  // With a journal that was opened just now, as by a process of its own.
  Result<TransferTotals> transfer(FolderTransferOptions options) {
    const auto journal =
        TransferJournal::open(*stores_.open(cache_), from_, to_, std::chrono::system_clock::now());
    options.journal = journal->get();
    reported_.clear();
    options.report = [this](const TransferredObject& object) {
      const char* steps[] = {"copied ", "same ", "removed "};
      reported_.push_back(steps[static_cast<int>(object.step)] + object.name);
    };
    return transfer_folder(from_, to_, options);
  }

  std::string cache_;
  StoreRegistry stores_{Environment()};
  Location from_{make_memory_store("a"), "data", {"memory", "a", "data"}};
  Location to_{make_memory_store("b"), "copy", {"memory", "b", "copy"}};
  std::vector<std::string> reported_;
};

TEST_F(FolderTransferTest, CopiesEveryNameAndNothingBeside) {
  put(from_, {{"a", "1"}, {"b/c", "2"}, {"b/d/e", ""}});
  ASSERT_TRUE(write_text(*from_.store, "database", "other"));
  const auto totals = transfer({});
  ASSERT_TRUE(totals) << totals.error().message;
  EXPECT_EQ(objects_below(to_), objects_below(from_));
  EXPECT_EQ(totals->copied.objects, 3U);
  EXPECT_EQ(totals->copied.bytes, 2U);
  EXPECT_THAT(*list_all(*to_.store, ""), SizeIs(3));
}

TEST_F(FolderTransferTest, OfHigherRankComesLastAndGoesFirst) {
  const auto rank = [](std::string_view name) {
    return name.starts_with("m") ? 2 : name.starts_with("l") ? 1 : 0;
  };
  put(from_, {{"a", "1"}, {"late", "2"}, {"manifest", "3"}, {"z", "4"}});
  ASSERT_TRUE(transfer({.jobs = 1, .rank = rank}));
  EXPECT_THAT(reported_, ElementsAre("copied a", "copied z", "copied late", "copied manifest"));
  ASSERT_TRUE(remove_object(*from_.store, "data/a"));
  ASSERT_TRUE(remove_object(*from_.store, "data/manifest"));
  ASSERT_TRUE(transfer({.same = SameObjects::kKnown, .removes_others = true, .jobs = 1, .rank = rank}));
  EXPECT_THAT(reported_, ElementsAre("same late", "same z", "removed manifest", "removed a"));
  EXPECT_EQ(objects_below(to_), objects_below(from_));
}

TEST_F(FolderTransferTest, ASecondRunCopiesAndReadsNothing) {
  put(from_, {{"a", "1"}, {"b", "2"}});
  ASSERT_TRUE(transfer({}));
  class Unreadable final : public ForwardingStore {
   public:
    using ForwardingStore::ForwardingStore;
    Result<ReadResult> read_into(std::string_view key, MutableBytesView, const ReadOptions&) override {
      return Error{Code::kInternal, concat("reading ", key)};
    }
  };
  from_.store = std::make_shared<Unreadable>(from_.store);
  const auto totals = transfer({.same = SameObjects::kKnown});
  ASSERT_TRUE(totals) << totals.error().message;
  EXPECT_THAT(reported_, ElementsAre("same a", "same b"));
  EXPECT_FALSE(transfer({.same = SameObjects::kByReading})) << "which reads whatever is known";
}

TEST_F(FolderTransferTest, AnObjectOfTheSameSizeIsCopiedUnlessItIsTheSame) {
  put(from_, {{"changed", "1"}, {"equal", "2"}, {"longer", "33"}, {"missing", "4"}});
  put(to_, {{"changed", "0"}, {"equal", "2"}, {"longer", "3"}});
  for (const SameObjects same : {SameObjects::kKnown, SameObjects::kByReading}) {
    ASSERT_TRUE(transfer({.same = same, .is_dry_run = true, .jobs = 1}));
    EXPECT_THAT(reported_, ElementsAre("copied changed", "same equal", "copied longer", "copied missing"));
  }
  ASSERT_TRUE(transfer({.same = SameObjects::kKnown}));
  EXPECT_EQ(objects_below(to_), objects_below(from_));
  put(from_, {{"equal", "5"}});
  put(to_, {{"changed", "6"}});
  ASSERT_TRUE(transfer({.same = SameObjects::kKnown, .jobs = 1}));
  EXPECT_THAT(reported_, ElementsAre("same longer", "same missing", "copied changed", "copied equal"));
  EXPECT_EQ(objects_below(to_), objects_below(from_));
}

TEST_F(FolderTransferTest, ADryRunChangesNothing) {
  put(from_, {{"a", "1"}});
  put(to_, {{"b", "2"}});
  const auto totals = transfer({.same = SameObjects::kKnown, .removes_others = true, .is_dry_run = true});
  ASSERT_TRUE(totals);
  EXPECT_EQ(totals->copied.objects, 1U);
  EXPECT_EQ(totals->removed.objects, 1U);
  EXPECT_THAT(objects_below(to_), ElementsAre(std::pair("b", "2")));
}

TEST_F(FolderTransferTest, WhatIsNotSelectedIsNeitherCopiedNorRemoved) {
  put(from_, {{"a.txt", "1"}, {"b.bin", "2"}});
  put(to_, {{"c.txt", "3"}, {"d.bin", "4"}});
  ASSERT_TRUE(transfer(
      {.removes_others = true, .selects = [](std::string_view name) { return name.ends_with(".txt"); }}));
  EXPECT_THAT(objects_below(to_), ElementsAre(std::pair("a.txt", "1"), std::pair("d.bin", "4")));
}

TEST_F(FolderTransferTest, ARefusedRemovalRemovesNothing) {
  put(from_, {{"a", "1"}});
  put(to_, {{"b", "22"}});
  const auto done =
      transfer({.removes_others = true, .confirm_removal = [](const TransferCount& count) -> Status {
                  EXPECT_EQ(count.objects, 1U);
                  EXPECT_EQ(count.bytes, 2U);
                  return Error{Code::kCancelled, "no"};
                }});
  EXPECT_EQ(done.error().message, "no");
  EXPECT_EQ(objects_below(to_).count("b"), 1U);
}

TEST_F(FolderTransferTest, AfterAFailureGoesOnWhereItWas) {
  class Full final : public ForwardingStore {
   public:
    using ForwardingStore::ForwardingStore;
    Result<ObjectInfo> write(std::string_view key, BytesView data, const WriteOptions& options) override {
      if (key.ends_with("c")) return Error{Code::kResourceExhausted, concat("writing ", key, ": full")};
      return inner().write(key, data, options);
    }
  };
  put(from_, {{"a", "1"}, {"b", "2"}, {"c", "3"}, {"d", "4"}});
  const std::shared_ptr<Store> roomy = to_.store;
  to_.store = std::make_shared<Full>(roomy);
  const auto failed = transfer({.jobs = 1});
  ASSERT_FALSE(failed);
  EXPECT_THAT(failed.error().message, HasSubstr("copy/c: full"));
  to_.store = roomy;
  ASSERT_TRUE(transfer({.same = SameObjects::kKnown, .jobs = 1}));
  EXPECT_THAT(reported_, ElementsAre("same a", "same b", "copied c", "copied d"));
}

TEST_F(FolderTransferTest, FoldersThatLieInOneAnotherAreRefused) {
  put(from_, {{"a", "1"}, {"data/a", "2"}});
  const Location inner = from_.at("inner"), outer{from_.store, "", {"memory", "a", ""}};
  EXPECT_EQ(transfer_folder(from_, inner, {}).error().code, Code::kInvalidArgument);
  EXPECT_EQ(transfer_folder(from_, from_, {}).error().code, Code::kInvalidArgument);
  EXPECT_EQ(transfer_folder(from_, outer, {}).error().code, Code::kInvalidArgument);
  EXPECT_TRUE(transfer_folder(from_.at("data"), outer, {}));
  EXPECT_EQ(transfer_folder(from_.at("data"), outer, {.removes_others = true}).error().code,
            Code::kInvalidArgument);
}

TEST_F(FolderTransferTest, OfNothingIsNotFound) {
  put(to_, {{"a", "1"}});
  EXPECT_EQ(transfer({.removes_others = true}).error().code, Code::kNotFound);
  EXPECT_THAT(objects_below(to_), SizeIs(1)) << "a mistyped FROM does not empty TO";
}

TEST_F(FolderTransferTest, AStopEndsIt) {
  put(from_, {{"a", "1"}});
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(transfer({.call = {.stop = stop.get_token()}}).error().code, Code::kCancelled);
  EXPECT_THAT(objects_below(to_), IsEmpty());
}

TEST_F(FolderTransferTest, AFolderPairHasEachNameOnceInOrder) {
  put(from_, {{"a.b", "1"}, {"a-b", "1"}, {"a/x", "1"}, {"c", "1"}});
  put(to_, {{"0", "1"}, {"a-b", "1"}, {"d", "1"}});
  std::vector<std::string> seen;
  ASSERT_TRUE(list_folder_pair(from_, to_, {}, [&](ObjectPair&& pair) {
    seen.push_back(concat(pair.name, pair.at_from ? " from" : "", pair.at_to ? " to" : ""));
    return pair.name != "d";
  }));
  EXPECT_THAT(seen, ElementsAre("0 to", "a-b from to", "a.b from", "a/x from", "c from", "d to"));
}

TEST_F(FolderTransferTest, FoldersThatLieInOneAnotherByALinkAreRefused) {
  std::filesystem::create_directories(cache_ + "/outer/inner");
  std::filesystem::create_directory_symlink("outer/inner", cache_ + "/link");
  const Location outer = *stores_.open(cache_ + "/outer"), link = *stores_.open(cache_ + "/link");
  put(link, {{"a", "1"}});
  for (const auto& [from, to] : {std::pair(outer, link), std::pair(link, outer)}) {
    const auto done = transfer_folder(from, to, {});
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, Code::kInvalidArgument);
    EXPECT_THAT(done.error().message,
                testing::StartsWith(concat(link.describe(), " lies in ", outer.describe(), " by a link")));
  }
  EXPECT_TRUE(transfer_folder(link, *stores_.open(cache_ + "/other"), {}));
}

TEST_F(FolderTransferTest, TellsItsProgress) {
  put(from_, {{"a", "12"}, {"b", "3"}, {"c", "456"}});
  put(to_, {{"b", "3"}});
  std::vector<TransferProgress> told;
  ASSERT_TRUE(transfer({.same = SameObjects::kByReading,
                        .jobs = 1,
                        .progress = [&](const TransferProgress& now) { told.push_back(now); }}));
  ASSERT_THAT(told, testing::Not(IsEmpty()));
  for (const TransferProgress& now : told) {
    EXPECT_EQ(now.total.objects, 3U);
    EXPECT_EQ(now.total.bytes, 6U);
  }
  EXPECT_EQ(told.back().done.objects, 3U);
  EXPECT_EQ(told.back().done.bytes, 6U);
}

// Objects named "part…" belong to what is published, which is the object "list".
class ListedParts final : public Publications {
 public:
  bool take(ObjectPair& pair) override {
    if (pair.name != "list") return false;
    found = std::move(pair);
    return true;
  }
  Status check() override { return happens("check"), fails_at_check; }
  Result<bool> has_any() override { return found.at_from.has_value(); }
  Result<bool> is_part(std::string_view name, bool) override { return name.starts_with("part"); }
  void copied(std::string_view name, std::optional<std::uint32_t>) override {
    const std::lock_guard lock(mutex);
    happened.push_back(concat("copied ", name));
  }
  Status publish(const std::function<void(const TransferredObject&)>& report) override {
    happens("publish");
    report({TransferStep::kCopied, "list", 4});
    return {};
  }
  Result<std::vector<TransferredObject>> superfluous() override {
    std::vector<TransferredObject> lists;
    if (!found.at_from && found.at_to) lists.push_back({TransferStep::kRemoved, "list", 4});
    return lists;
  }
  Result<bool> must_stay(std::string_view name) override { return name == stays; }
  Status before_removal() override { return happens("before removal"), fails_before_removal; }

  ObjectPair found;
  std::string stays;
  Status fails_at_check;
  Status fails_before_removal;
  std::mutex mutex;
  std::vector<std::string> happened;

 private:
  void happens(const char* what) {
    const std::lock_guard lock(mutex);
    happened.emplace_back(what);
  }
};

TEST_F(FolderTransferTest, APartOfWhatIsPublishedIsCreatedOrStays) {
  put(from_, {{"list", "from"}, {"other", "new"}, {"part-0", "0"}, {"part-1", "1"}});
  put(to_, {{"other", "old"}, {"part-1", "1"}});
  const auto before = to_.store->stat("copy/part-1", {});
  ListedParts parts;
  const auto done = transfer({.jobs = 1, .publications = &parts});
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_THAT(reported_, ElementsAre("copied other", "copied part-0", "same part-1", "copied list"));
  EXPECT_THAT(parts.happened, ElementsAre("check", "copied other", "copied part-0", "publish"));
  EXPECT_EQ(done->copied.objects, 3U);
  EXPECT_EQ(done->same.objects, 1U);
  EXPECT_EQ(done->same.bytes, 1U);
  EXPECT_EQ(to_.store->stat("copy/part-1", {})->version, before->version);
  EXPECT_EQ(objects_below(to_),
            (std::map<std::string, std::string>{{"other", "new"}, {"part-0", "0"}, {"part-1", "1"}}));

  put(from_, {{"part-1", "2"}});
  const auto differs = transfer({.jobs = 1, .publications = &parts});
  ASSERT_FALSE(differs);
  EXPECT_EQ(differs.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(differs.error().message, HasSubstr("memory://b/copy/part-1 is part of published data"));
  EXPECT_THAT(differs.error().message, HasSubstr("memory://a/data/part-1 has other bytes"));
  EXPECT_EQ(transfer({.only_if_absent = true, .jobs = 1, .publications = &parts}).error().code,
            Code::kAlreadyExists);
  EXPECT_EQ(objects_below(to_)["part-1"], "1");
}

// Somebody else creates each object just before it is written.
class OvertakingStore final : public ForwardingStore {
 public:
  OvertakingStore(std::shared_ptr<Store> store, std::string text)
      : ForwardingStore(std::move(store)), text_(std::move(text)) {}
  Result<ObjectInfo> write(std::string_view key, BytesView data, const WriteOptions& options) override {
    EXPECT_TRUE(write_text(inner(), key, text_));
    return inner().write(key, data, options);
  }

 private:
  const std::string text_;
};

TEST_F(FolderTransferTest, APartThatSomebodyElseCreatesMeanwhileMayStayIfItIsTheSame) {
  put(from_, {{"part", "mine"}});
  ListedParts parts;
  for (const std::string text : {"mine", "else"}) {
    to_.store = std::make_shared<OvertakingStore>(make_memory_store("b"), text);
    const auto done = transfer({.publications = &parts});
    EXPECT_EQ(done.has_value(), text == "mine");
    if (!done) {
      EXPECT_EQ(done.error().code, Code::kFailedPrecondition);
    }
    EXPECT_EQ(objects_below(to_)["part"], text);
  }
  to_.store = std::make_shared<OvertakingStore>(make_memory_store("b"), "mine");
  EXPECT_EQ(transfer({.only_if_absent = true, .publications = &parts}).error().code, Code::kAlreadyExists);
}

TEST_F(FolderTransferTest, APublicationAloneIsSomethingToCopy) {
  put(from_, {{"list", "from"}});
  ListedParts parts;
  EXPECT_TRUE(transfer({.publications = &parts}));
  EXPECT_THAT(reported_, ElementsAre("copied list"));
  ListedParts refused;
  refused.fails_at_check = Error{Code::kDataLoss, "damaged"};
  put(from_, {{"z", "1"}});
  EXPECT_EQ(transfer({.publications = &refused}).error().code, Code::kDataLoss);
  EXPECT_THAT(objects_below(to_), IsEmpty());
}

TEST_F(FolderTransferTest, WhatIsPublishedIsRemovedBeforeItsPartsOrStaysWhole) {
  put(from_, {{"a", "1"}});
  put(to_, {{"list", "to"}, {"part", "1"}});
  FolderTransferOptions options{.removes_others = true, .jobs = 1};
  options.rank = [](std::string_view name) { return name == "list" ? 2 : 0; };
  std::uint64_t asked_for_objects = 0;
  options.confirm_removal = [&](const TransferCount& count) {
    asked_for_objects = count.objects;
    return Status();
  };
  ListedParts keeping;
  keeping.stays = "part";
  options.publications = &keeping;
  const auto kept = transfer(options);
  ASSERT_FALSE(kept);
  EXPECT_EQ(kept.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(kept.error().message, HasSubstr("memory://b/copy/part is not below memory://a/data, but"));
  ListedParts refused;
  refused.fails_before_removal = Error{Code::kAborted, "another came"};
  options.publications = &refused;
  EXPECT_EQ(transfer(options).error().code, Code::kAborted);
  EXPECT_THAT(objects_below(to_), SizeIs(3));

  ListedParts removing;
  options.publications = &removing;
  options.is_dry_run = true;
  ASSERT_TRUE(transfer(options));
  EXPECT_THAT(removing.happened, testing::Not(testing::Contains("before removal")));
  EXPECT_THAT(objects_below(to_), SizeIs(3));
  options.is_dry_run = false;
  asked_for_objects = 0;
  const auto done = transfer(options);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_THAT(reported_, ElementsAre("copied a", "copied list", "removed list", "removed part"));
  EXPECT_EQ(asked_for_objects, 2U);
  EXPECT_EQ(done->removed.objects, 2U);
  EXPECT_EQ(done->removed.bytes, 5U);
  EXPECT_EQ(objects_below(to_), (std::map<std::string, std::string>{{"a", "1"}}));
}

// Runs an action before it says that an object is a part; notes the questions and reports that it gets.
class MeddlingParts final : public Publications {
 public:
  bool take(ObjectPair&) override { return false; }
  Status check() override { return {}; }
  Result<bool> has_any() override { return false; }
  Result<bool> is_part(std::string_view name, bool is_there) override {
    asked.push_back(concat(name, is_there ? " is there" : " is new"));
    if (meddle) meddle();
    return true;
  }
  void copied(std::string_view, std::optional<std::uint32_t> crc32c) override { checksum = crc32c; }
  Status publish(const std::function<void(const TransferredObject&)>& report) override {
    report({TransferStep::kCopied, "list", 4, 0x12345678});
    return {};
  }
  Result<std::vector<TransferredObject>> superfluous() override { return std::vector<TransferredObject>(); }
  Result<bool> must_stay(std::string_view) override { return false; }
  Status before_removal() override {
    ++removals;
    return {};
  }

  std::function<void()> meddle;
  std::vector<std::string> asked;
  std::optional<std::uint32_t> checksum;
  int removals = 0;
};

TEST_F(FolderTransferTest, APartIsComparedAsBothAreNow) {
  put(from_, {{"part", "old"}});
  put(to_, {{"part", "other"}});
  MeddlingParts parts;
  parts.meddle = [&] {
    put(from_, {{"part", "now"}});
    put(to_, {{"part", "now"}});
  };
  const auto done = transfer({.publications = &parts});
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_THAT(parts.asked, ElementsAre("part is there"));
  EXPECT_THAT(reported_, ElementsAre("same part", "copied list"));
}

TEST_F(FolderTransferTest, APartThatIsRemovedMeanwhileIsCopied) {
  put(from_, {{"new", "2"}, {"part", "1"}});
  put(to_, {{"part", "other"}});
  MeddlingParts parts;
  parts.meddle = [&] { EXPECT_TRUE(remove_object(*to_.store, "copy/part")); };
  std::vector<std::optional<std::uint32_t>> checksums;
  const auto done = transfer_folder(
      from_, to_, {.jobs = 1, .publications = &parts, .report = [&](const TransferredObject& object) {
                     checksums.push_back(object.crc32c);
                   }});
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_THAT(parts.asked, ElementsAre("new is new", "part is there"));
  EXPECT_EQ(objects_below(to_), objects_below(from_));
  EXPECT_EQ(parts.checksum, 0x90f599e3U) << "of \"1\"";
  ASSERT_EQ(checksums.size(), 3U);
  EXPECT_EQ(checksums[1], 0x90f599e3U);
  EXPECT_EQ(checksums[2], 0x12345678U);
}

TEST_F(FolderTransferTest, APartThatComesAndGoesIsGivenUp) {
  class Flickering final : public ForwardingStore {
   public:
    using ForwardingStore::ForwardingStore;
    Result<ObjectInfo> write(std::string_view, BytesView, const WriteOptions& options) override {
      EXPECT_TRUE(options.only_if_absent);
      calls += 'w';
      return Error{Code::kAlreadyExists, "it is there"};
    }
    Result<ObjectInfo> stat(std::string_view, const CallOptions&) override {
      calls += 's';
      return Error{Code::kNotFound, "it is not there"};
    }
    std::string calls;
  };
  put(from_, {{"part", "1"}});
  const auto flickering = std::make_shared<Flickering>(to_.store);
  to_.store = flickering;
  MeddlingParts parts;
  const auto done = transfer({.publications = &parts});
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().message, "it is there");
  EXPECT_EQ(flickering->calls, "wswsw");
}

TEST_F(FolderTransferTest, WhatWasFoundTheSameIsNotReadAgain) {
  class Unreadable final : public ForwardingStore {
   public:
    using ForwardingStore::ForwardingStore;
    Result<ReadResult> read_into(std::string_view key, MutableBytesView, const ReadOptions&) override {
      return Error{Code::kInternal, concat("reading ", key)};
    }
  };
  put(from_, {{"a", "1"}});
  put(to_, {{"a", "1"}});
  ASSERT_TRUE(transfer({.same = SameObjects::kByReading}));
  EXPECT_THAT(reported_, ElementsAre("same a"));
  from_.store = std::make_shared<Unreadable>(from_.store);
  const auto totals = transfer({.same = SameObjects::kKnown});
  ASSERT_TRUE(totals) << totals.error().message;
  EXPECT_EQ(totals->same.objects, 1U);
  EXPECT_EQ(totals->same.bytes, 1U);
  const auto unread = transfer({.same = SameObjects::kByReading});
  ASSERT_FALSE(unread);
  EXPECT_EQ(unread.error().message, "reading data/a");
}

TEST_F(FolderTransferTest, NobodyIsAskedAboutARemovalThatDoesNotHappen) {
  put(from_, {{"a", "1"}});
  MeddlingParts parts;
  FolderTransferOptions options{.removes_others = true, .publications = &parts};
  options.confirm_removal = [](const TransferCount&) -> Status { return Error{Code::kCancelled, "asked"}; };
  EXPECT_TRUE(transfer(options)) << "nothing is superfluous";
  EXPECT_EQ(parts.removals, 0);
  put(to_, {{"b", "2"}});
  options.is_dry_run = true;
  EXPECT_TRUE(transfer(options));
  EXPECT_THAT(reported_, testing::Contains("removed b"));
  EXPECT_EQ(parts.removals, 0);
  options.is_dry_run = false;
  EXPECT_EQ(transfer(options).error().message, "asked");
  EXPECT_EQ(parts.removals, 0);
  options.confirm_removal = nullptr;
  EXPECT_TRUE(transfer(options));
  EXPECT_EQ(parts.removals, 1);
}

TEST_F(FolderTransferTest, NothingIsRemovedForWantOfWhatLiesBehindALink) {
  std::filesystem::create_directories(cache_ + "/from");
  std::filesystem::create_directories(cache_ + "/elsewhere");
  const Location from = *stores_.open(cache_ + "/from");
  put(from, {{"a", "1"}});
  put(*stores_.open(cache_ + "/elsewhere"), {{"b", "2"}});
  std::filesystem::create_directory_symlink(cache_ + "/elsewhere", cache_ + "/from/sub");
  put(to_, {{"sub/b", "2"}});
  const auto done = transfer_folder(from, to_, {.removes_others = true});
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(done.error().message, HasSubstr("/from/sub is a symbolic link"));
  EXPECT_EQ(objects_below(to_).count("sub/b"), 1U);
}

}  // namespace
}  // namespace headrace
