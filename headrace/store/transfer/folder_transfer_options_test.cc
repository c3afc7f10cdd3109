// Which options a transfer of a folder follows, and the calls that it makes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "headrace/base/text.h"
#include "headrace/store/memory/memory_store.h"
#include "headrace/store/noting_store_test.h"
#include "headrace/store/registry.h"
#include "headrace/store/transfer/folder_transfer.h"

namespace headrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class TransferOptionsTest : public testing::Test {
 protected:
  void SetUp() override {
    cache_ = (std::filesystem::temp_directory_path() / "headrace-test-XXXXXX").string();
    ASSERT_NE(mkdtemp(cache_.data()), nullptr);
    for (const char* name : {"a", "b"}) put(from_, name, name);
  }
  void TearDown() override { std::filesystem::remove_all(cache_); }

  static void put(const Location& folder, std::string_view name, std::string_view text) {
    ASSERT_TRUE(write_text(*folder.store, folder.at(name).key, text, {.call = noted_call()}));
  }
  static std::string text_at(const Location& folder, std::string_view name) {
    const auto read = read_object(*folder.store, folder.at(name).key, 1 << 24, noted_call());
    return read ? to_string(read->data) : "none";
  }
  static std::vector<std::string> names_below(const Location& folder) {
    std::vector<std::string> names;
    const auto objects = list_all(*folder.store, folder_prefix(folder.key), {.call = noted_call()});
    for (const ObjectInfo& object : *objects) names.push_back(object.key.substr(folder.key.size() + 1));
    return names;
  }
  std::unique_ptr<TransferJournal> journal() {
    auto opened = TransferJournal::open(*stores_.open(cache_), from_, to_, std::chrono::system_clock::now());
    EXPECT_TRUE(opened);
    return *std::move(opened);
  }
  Result<TransferTotals> transfer(FolderTransferOptions options) {
    if (options.call.deadline == CallOptions().deadline) options.call.deadline = noted_call().deadline;
    from_calls_->forget();
    to_calls_->forget();
    return transfer_folder(from_, to_, options);
  }

  std::string cache_;
  StoreRegistry stores_{Environment()};
  const std::shared_ptr<NotingStore> from_calls_ = std::make_shared<NotingStore>(make_memory_store("a"));
  const std::shared_ptr<NotingStore> to_calls_ = std::make_shared<NotingStore>(make_memory_store("b"));
  Location from_{from_calls_, "data", {"memory", "a", "data"}};
  Location to_{to_calls_, "copy", {"memory", "b", "copy"}};
};

TEST_F(TransferOptionsTest, ListsTheTargetOnlyIfThatIsNeeded) {
  ASSERT_TRUE(transfer({.jobs = 1}));
  EXPECT_THAT(from_calls_->calls(), ElementsAre("list data/", "read data/a 0+1", "read data/b 0+1"));
  EXPECT_THAT(to_calls_->calls(), ElementsAre("write copy/a", "write copy/b"));
  ASSERT_TRUE(transfer({.removes_others = true, .jobs = 1}));
  EXPECT_THAT(to_calls_->calls(), ElementsAre("list copy/", "write copy/a", "write copy/b"));
  ASSERT_TRUE(transfer({.same = SameObjects::kByReading, .jobs = 1}));
  EXPECT_THAT(to_calls_->calls(), ElementsAre("list copy/", "read copy/a 0+1", "read copy/b 0+1"));
  ASSERT_TRUE(transfer({.verify = true, .jobs = 1}));
  EXPECT_THAT(to_calls_->calls(),
              ElementsAre("write copy/a", "read copy/a 0+1", "write copy/b", "read copy/b 0+1"));
}

TEST_F(TransferOptionsTest, OnlyIfAbsentReplacesNothing) {
  put(to_, "b", "before");
  const auto done = transfer({.only_if_absent = true, .jobs = 1});
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Code::kAlreadyExists);
  EXPECT_EQ(text_at(to_, "b"), "before");
  EXPECT_EQ(text_at(to_, "a"), "a");
}

TEST_F(TransferOptionsTest, WhetherAnUploadIsContinuedFollowsFromSame) {
  class Starting final : public ForwardingStore {
   public:
    using ForwardingStore::ForwardingStore;
    Result<ObjectInfo> write(std::string_view key, BytesView data, const WriteOptions& options) override {
      resumes = options.resumes;
      return inner().write(key, data, options);
    }
    bool resumes = false;
  };
  const auto starting = std::make_shared<Starting>(to_.store);
  to_.store = starting;
  for (const SameObjects same : {SameObjects::kKnown, SameObjects::kNone, SameObjects::kByReading}) {
    put(to_, "a", "longer");
    ASSERT_TRUE(transfer({.same = same, .jobs = 1}));
    EXPECT_EQ(starting->resumes, same != SameObjects::kNone);
  }
}

TEST_F(TransferOptionsTest, ReportsEachObjectWithItsSizeAndChecksum) {
  put(to_, "b", "b");
  put(to_, "c", "ccc");
  std::vector<TransferredObject> reported;
  const auto totals =
      transfer({.same = SameObjects::kByReading,
                .removes_others = true,
                .jobs = 1,
                .report = [&](const TransferredObject& object) { reported.push_back(object); }});
  ASSERT_TRUE(totals);
  ASSERT_EQ(reported.size(), 3U);
  EXPECT_EQ(reported[0].step, TransferStep::kCopied);
  EXPECT_EQ(reported[0].name, "a");
  EXPECT_EQ(reported[0].size_bytes, 1U);
  EXPECT_EQ(reported[0].crc32c, 0xc1d04330U);  // of "a"
  EXPECT_EQ(reported[1].step, TransferStep::kSame);
  EXPECT_EQ(reported[1].size_bytes, 1U);
  EXPECT_EQ(reported[1].crc32c, std::nullopt);
  EXPECT_EQ(reported[2].step, TransferStep::kRemoved);
  EXPECT_EQ(reported[2].size_bytes, 3U);
  EXPECT_EQ(totals->copied.objects, 1U);
  EXPECT_EQ(totals->copied.bytes, 1U);
  EXPECT_EQ(totals->same.objects, 1U);
  EXPECT_EQ(totals->same.bytes, 1U);
  EXPECT_EQ(totals->removed.objects, 1U);
  EXPECT_EQ(totals->removed.bytes, 3U);
}

TEST_F(TransferOptionsTest, RanksOutsideOfTheirRangeAreTheNearest) {
  std::vector<std::string> copied;
  put(from_, "c", "c");
  put(from_, "d", "d");
  const std::map<std::string, int, std::less<>> ranks = {{"a", 7}, {"b", 1}, {"c", 2}, {"d", -3}};
  ASSERT_TRUE(transfer({.jobs = 1,
                        .rank = [&](std::string_view name) { return ranks.find(name)->second; },
                        .report = [&](const TransferredObject& object) { copied.push_back(object.name); }}));
  EXPECT_THAT(copied, ElementsAre("d", "b", "a", "c"));
}

TEST_F(TransferOptionsTest, LargeObjectsComeAfterSmallOnes) {
  std::vector<std::string> copied;
  put(from_, "a", std::string(kPieceBytes + 1, 'x'));
  put(from_, "c", std::string(kPieceBytes, 'x'));
  ASSERT_TRUE(transfer(
      {.jobs = 1, .report = [&](const TransferredObject& object) { copied.push_back(object.name); }}));
  EXPECT_THAT(copied, ElementsAre("b", "c", "a"));
  EXPECT_EQ(text_at(to_, "a"), text_at(from_, "a"));
}

TEST_F(TransferOptionsTest, ANamePrefixLimitsBothSides) {
  put(from_, "sub/x", "x");
  put(to_, "sub/y", "y");
  put(to_, "other", "o");
  ASSERT_TRUE(transfer({.removes_others = true, .name_prefix = "sub/"}));
  EXPECT_THAT(names_below(to_), ElementsAre("other", "sub/x"));
  const auto none = transfer({.name_prefix = "nothing"});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, Code::kNotFound);
  EXPECT_EQ(none.error().message, "there is nothing to copy below memory://a/data");
}

TEST_F(TransferOptionsTest, ManyObjectsAreRemovedAThousandAtATime) {
  for (int i = 0; i < 1001; ++i) put(to_, concat("z", zero_padded(static_cast<std::uint64_t>(i), 4)), "");
  ASSERT_TRUE(transfer({.removes_others = true, .jobs = 1}));
  EXPECT_THAT(to_calls_->calls(), ElementsAre("list copy/", "write copy/a", "write copy/b",
                                              "remove copy/z0000", "remove copy/z1000"));
  EXPECT_THAT(names_below(to_), ElementsAre("a", "b"));
}

TEST_F(TransferOptionsTest, AStopEndsTheRemoval) {
  put(to_, "z", "z");
  std::stop_source stop;
  FolderTransferOptions options{.removes_others = true, .call = {.stop = stop.get_token()}};
  options.confirm_removal = [&](const TransferCount&) {
    stop.request_stop();
    return Status();
  };
  const auto done = transfer(options);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Code::kCancelled);
  EXPECT_EQ(done.error().message, "removing below memory://b/copy was stopped");
  EXPECT_EQ(text_at(to_, "z"), "z");
}

TEST_F(TransferOptionsTest, AStopEndsTheCopiesBeforeTheNext) {
  std::stop_source stop;
  const auto done =
      transfer({.jobs = 1, .call = {.stop = stop.get_token()}, .report = [&](const TransferredObject&) {
                  stop.request_stop();
                }});
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Code::kCancelled);
  EXPECT_EQ(done.error().message, "copying memory://a/data was stopped");
  EXPECT_THAT(names_below(to_), ElementsAre("a"));
}

// Replaces or removes an object before it is read.
class MeddlingStore final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  Result<ReadResult> read_into(std::string_view key, MutableBytesView target,
                               const ReadOptions& options) override {
    if (const auto once = std::exchange(meddle, nullptr)) once(inner());
    return inner().read_into(key, target, options);
  }
  std::function<void(Store&)> meddle;
};

TEST_F(TransferOptionsTest, WhatChangesWhileItIsComparedIsCopied) {
  for (const bool is_removed : {true, false}) {
    put(to_, "a", "a");
    put(to_, "b", "b");
    const auto meddling = std::make_shared<MeddlingStore>(to_calls_);
    meddling->meddle = [&](Store& store) {
      if (is_removed) {
        EXPECT_TRUE(remove_object(store, "copy/a", noted_call()));
      } else {
        EXPECT_TRUE(write_text(store, "copy/a", "?", {.call = noted_call()}));
      }
    };
    to_.store = meddling;
    const auto done = transfer({.same = SameObjects::kByReading, .jobs = 1});
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(done->copied.objects, 1U);
    EXPECT_EQ(text_at(to_, "a"), "a");
  }
}

TEST_F(TransferOptionsTest, TheJournalForgetsOnlyWhatAWholeRunHasNotSeen) {
  const auto bytes_of_journal = [&] {
    return std::filesystem::file_size(std::filesystem::directory_iterator(cache_)->path());
  };
  const auto run = [&](FolderTransferOptions options) {
    const auto opened = journal();
    options.journal = opened.get();
    ASSERT_TRUE(transfer(options));
  };
  for (const char* name : {"c", "d", "e"}) put(from_, name, name);
  run({.same = SameObjects::kKnown});
  EXPECT_EQ(bytes_of_journal(), 5 * 33U);
  for (const char* name : {"data/b", "data/c", "data/d", "data/e"})
    ASSERT_TRUE(remove_object(*from_.store, name, noted_call()));
  run({.same = SameObjects::kKnown, .name_prefix = "a"});
  run({.same = SameObjects::kKnown, .selects = [](std::string_view) { return true; }});
  EXPECT_EQ(bytes_of_journal(), 5 * 33U) << "parts of the folder were seen";
  run({.same = SameObjects::kNone});
  EXPECT_EQ(bytes_of_journal(), 6 * 33U) << "nothing was looked up";
  run({.same = SameObjects::kKnown});
  EXPECT_EQ(bytes_of_journal(), 33U);
}

TEST_F(TransferOptionsTest, SaysHowTheFoldersOverlap) {
  const auto message = [](const Location& from, const Location& to, const FolderTransferOptions& options) {
    const auto done = transfer_folder(from, to, options);
    return done ? std::string("done") : done.error().message;
  };
  const FolderTransferOptions options{.call = noted_call()};
  const Location root{from_.store, "", {"memory", "a", ""}};
  EXPECT_THAT(message(from_, from_.at("b"), options),
              HasSubstr("memory://a/data/b lies in memory://a/data: the copy would contain itself"));
  FolderTransferOptions mirror = options;
  mirror.removes_others = true;
  EXPECT_THAT(message(from_, root, mirror),
              HasSubstr("memory://a/data lies in memory://a, where everything"));
  put(from_, "data/x", "x");
  EXPECT_THAT(message(from_, root, options),
              HasSubstr("copying memory://a/data to memory://a would replace objects of the source by those "
                        "below memory://a/data/data"));
  EXPECT_EQ(message(from_, {from_.store, "database", {"memory", "a", "database"}}, options), "done");
}

TEST_F(TransferOptionsTest, WhatIsRemovedAtOnceIsOfOneRank) {
  for (const char* name : {"k", "l", "m", "n"}) put(to_, name, "");
  ASSERT_TRUE(transfer({.removes_others = true, .jobs = 1, .rank = [](std::string_view name) {
                          return name == "l" ? 1 : name == "m" ? 2 : 0;
                        }}));
  EXPECT_THAT(to_calls_->calls(), ElementsAre("list copy/", "write copy/a", "write copy/b", "remove copy/m",
                                              "remove copy/l", "remove copy/k"));
  EXPECT_THAT(names_below(to_), ElementsAre("a", "b"));
}

}  // namespace
}  // namespace headrace
