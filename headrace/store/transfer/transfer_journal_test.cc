#include "headrace/store/transfer/transfer_journal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "headrace/base/text.h"
#include "headrace/store/memory/memory_store.h"
#include "headrace/store/registry.h"

namespace headrace {
namespace {

class TransferJournalTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = (std::filesystem::temp_directory_path() / "headrace-test-XXXXXX").string();
    ASSERT_NE(mkdtemp(folder_.data()), nullptr);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::unique_ptr<TransferJournal> open() {
    auto journal = TransferJournal::open(*stores_.open(folder_ + "/transfers"), from_, to_, kNow);
    EXPECT_TRUE(journal) << journal.error().message;
    return *std::move(journal);
  }
  std::filesystem::path file() const {
    return std::filesystem::directory_iterator(folder_ + "/transfers")->path();
  }
  std::string text() const {
    std::ostringstream out;
    out << std::ifstream(file()).rdbuf();
    return out.str();
  }

  static ObjectInfo object(std::uint64_t size, const std::string& version,
                           std::chrono::seconds age = std::chrono::hours(1)) {
    return {.size_bytes = size, .version = {version}, .modified = kNow - age};
  }

  static inline const auto kNow = std::chrono::system_clock::now();

  std::string folder_;
  StoreRegistry stores_{Environment()};
  Location from_{make_memory_store("a"), "x", {"s3", "a", "x"}};
  Location to_{make_memory_store("b"), "y", {"file", "", "y"}};
};

TEST_F(TransferJournalTest, WritesTheLinesAndTheNameOfTheFormatsPage) {
  const std::string etag = "5d41402abc4b2a76b9719d911017c592";
  open()->add("train-00000-of-00001.tfrecord", object(5, etag), object(5, etag));
  EXPECT_EQ(text(), "4c7d979f96c1ac628c176d94cfb5cedc\n");
  EXPECT_EQ(file().filename(), "b1dff516f13dc413b5b17438a0d318ea");  // s3://a/x, file:///y
}

TEST_F(TransferJournalTest, KnowsFromTheNextOpeningOnWhatWasAddedAndNothingElse) {
  open()->add("n", object(5, "v1"), object(5, "w1"));
  const auto journal = open();
  EXPECT_TRUE(journal->knows("n", object(5, "v1"), object(5, "w1")));
  EXPECT_FALSE(journal->knows("m", object(5, "v1"), object(5, "w1")));
  EXPECT_FALSE(journal->knows("n", object(6, "v1"), object(5, "w1")));
  EXPECT_FALSE(journal->knows("n", object(5, "v2"), object(5, "w1")));
  EXPECT_FALSE(journal->knows("n", object(5, "v1"), object(5, "w2")));
}

TEST_F(TransferJournalTest, IgnoresWhatAKilledProcessOrADamagedDiskLeft) {
  open()->add("n", object(5, "v1"), object(5, "w1"));
  std::ofstream(file(), std::ios::app) << "4c7d979f96c1\n\n" << std::string(100, '\0') << "\nabc";
  open()->add("m", object(5, "v1"), object(5, "w1"));  // on the unfinished line: lost
  open()->add("l", object(5, "v1"), object(5, "w1"));
  const auto journal = open();
  EXPECT_TRUE(journal->knows("n", object(5, "v1"), object(5, "w1")));
  EXPECT_FALSE(journal->knows("m", object(5, "v1"), object(5, "w1")));
  EXPECT_TRUE(journal->knows("l", object(5, "v1"), object(5, "w1")));
}

TEST_F(TransferJournalTest, ForgetsWhatIsNoLongerSeenOnceThatIsMostOfIt) {
  {
    const auto journal = open();
    for (int i = 0; i < 10; ++i) journal->add(concat("n", i), object(5, "v1"), object(5, "w1"));
  }
  {
    const auto journal = open();
    for (int i = 0; i < 5; ++i) EXPECT_TRUE(journal->knows(concat("n", i), object(5, "v1"), object(5, "w1")));
    ASSERT_TRUE(journal->forget_unseen());
  }
  EXPECT_TRUE(open()->knows("n9", object(5, "v1"), object(5, "w1"))) << "not worth while yet";
  {
    const auto journal = open();
    for (int i = 0; i < 2; ++i) EXPECT_TRUE(journal->knows(concat("n", i), object(5, "v1"), object(5, "w1")));
    journal->add("new", object(5, "v1"), object(5, "w1"));
    ASSERT_TRUE(journal->forget_unseen());
  }
  EXPECT_EQ(text().size(), 3 * 33U);
  EXPECT_TRUE(open()->knows("new", object(5, "v1"), object(5, "w1")));
}

TEST_F(TransferJournalTest, AFileThatWasJustWrittenIsNotRemembered) {
  using std::chrono::seconds;
  const auto add = [&](std::string_view name, seconds age_at_from, seconds age_at_to) {
    open()->add(name, object(5, "v1", age_at_from), object(5, "w1", age_at_to));
  };
  const auto knows = [&](std::string_view name) {
    return open()->knows(name, object(5, "v1"), object(5, "w1"));
  };
  add("an ETag needs no time", seconds(0), seconds(4));
  add("young copy", seconds(4), seconds(2));
  open()->add_copy("own copy", object(5, "v1"), object(5, "w1", seconds(0)));
  EXPECT_TRUE(knows("an ETag needs no time"));
  EXPECT_FALSE(knows("young copy"));
  EXPECT_TRUE(knows("own copy"));

  from_.url.scheme = "file";
  add("settled", seconds(3), seconds(3));
  add("young", seconds(2), seconds(4));
  add("from the future", seconds(-100), seconds(4));
  open()->add_copy("young source", object(5, "v1", seconds(2)), object(5, "w1"));
  EXPECT_TRUE(knows("settled"));
  EXPECT_FALSE(knows("young"));
  EXPECT_FALSE(knows("from the future"));
  EXPECT_FALSE(knows("young source"));
}

TEST_F(TransferJournalTest, ALineThatIsKnownIsNotWrittenAgain) {
  for (int i = 0; i < 3; ++i) open()->add("n", object(5, "v1"), object(5, "w1"));
  EXPECT_EQ(text().size(), 33U);
}

TEST_F(TransferJournalTest, WhatWasNotOpenedForNinetyDaysGoes) {
  using std::filesystem::file_time_type;
  open()->add("n", object(5, "v1"), object(5, "w1"));
  const std::filesystem::path used = file(), transfers = folder_ + "/transfers";
  const std::filesystem::path old = transfers / std::string(32, 'a'),
                              recent = transfers / std::string(32, 'b'), foreign = transfers / "notes";
  const auto now = file_time_type::clock::now();
  for (const auto& [path, days] : {std::pair(used, 91), {old, 91}, {recent, 89}, {foreign, 91}}) {
    std::ofstream(path, std::ios::app) << "";
    std::filesystem::last_write_time(path, now - std::chrono::hours(24 * days));
  }
  EXPECT_TRUE(open()->knows("n", object(5, "v1"), object(5, "w1"))) << "opened now";
  EXPECT_TRUE(open()->knows("n", object(5, "v1"), object(5, "w1")));
  EXPECT_FALSE(std::filesystem::exists(old));
  EXPECT_TRUE(std::filesystem::exists(recent));
  EXPECT_TRUE(std::filesystem::exists(foreign));
}

TEST_F(TransferJournalTest, InAFolderThatCannotBeIsAnError) {
  std::ofstream(folder_ + "/transfers") << "a file";
  EXPECT_FALSE(TransferJournal::open(*stores_.open(folder_ + "/transfers"), from_, to_, kNow));
  EXPECT_EQ(TransferJournal::open(*stores_.open("memory://cache"), from_, to_, kNow).error().code,
            Code::kInvalidArgument);
}

TEST_F(TransferJournalTest, WhatIsSeenTwiceCountsOnce) {
  {
    const auto journal = open();
    for (int i = 0; i < 5; ++i) journal->add(concat("n", i), object(5, "v1"), object(5, "w1"));
  }
  const auto journal = open();
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(journal->knows("n3", object(5, "v1"), object(5, "w1")));
    journal->add("n1", object(5, "v1"), object(5, "w1"));
  }
  ASSERT_TRUE(journal->forget_unseen());
  EXPECT_EQ(text().size(), 2 * 33U);
  EXPECT_TRUE(open()->knows("n3", object(5, "v1"), object(5, "w1")));
  EXPECT_TRUE(open()->knows("n1", object(5, "v1"), object(5, "w1")));
}

TEST_F(TransferJournalTest, AFileWithoutATimeIsNotRemembered) {
  ObjectInfo timeless = object(5, "w1");
  timeless.modified.reset();
  open()->add("n", object(5, "v1"), timeless);
  EXPECT_EQ(text(), "");
  ObjectInfo of_s3 = object(5, "v1");
  of_s3.modified.reset();
  open()->add("n", of_s3, object(5, "w1"));
  EXPECT_TRUE(open()->knows("n", of_s3, object(5, "w1")));
}

TEST_F(TransferJournalTest, EachPairOfFoldersHasAJournalOfItsOwn) {
  open()->add("n", object(5, "v1"), object(5, "w1"));
  to_.url.path = "z";
  EXPECT_FALSE(open()->knows("n", object(5, "v1"), object(5, "w1")));
  std::swap(from_, to_);
  EXPECT_FALSE(open()->knows("n", object(5, "v1"), object(5, "w1")));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_ + "/transfers"), {}), 3);
}

TEST_F(TransferJournalTest, NinetyDaysAreNotYetTooOld) {
  open();
  const std::filesystem::path transfers = folder_ + "/transfers", other = transfers / std::string(32, 'f');
  const std::filesystem::path below = transfers / "sub" / std::string(32, 'a');
  std::filesystem::create_directory(transfers / "sub");
  const auto old = std::filesystem::file_time_type::clock::now() - std::chrono::hours(24 * 100);
  for (const std::filesystem::path& path :
       {other, below, transfers / std::string(31, 'a'), transfers / std::string(33, 'a'),
        transfers / std::string(32, 'g')}) {
    std::ofstream(path) << "";
    std::filesystem::last_write_time(path, old);
  }
  open();
  EXPECT_FALSE(std::filesystem::exists(other));
  EXPECT_TRUE(std::filesystem::exists(below)) << "not of this folder";
  for (const std::string& name : {std::string(31, 'a'), std::string(33, 'a'), std::string(32, 'g')})
    EXPECT_TRUE(std::filesystem::exists(transfers / name)) << name;

  std::ofstream(other) << "";
  const auto place = *stores_.open(folder_ + "/transfers");
  const auto modified = *place.store->stat(place.at(std::string(32, 'f')).key, {})->modified;
  const std::chrono::hours limit(24 * 90);
  ASSERT_TRUE(TransferJournal::open(place, from_, to_, modified + limit));
  EXPECT_TRUE(std::filesystem::exists(other));
  ASSERT_TRUE(TransferJournal::open(place, from_, to_, modified + limit + std::chrono::seconds(1)));
  EXPECT_FALSE(std::filesystem::exists(other));
}

TEST_F(TransferJournalTest, AJournalOfAnotherStoreIsRefused) {
  const auto journal = TransferJournal::open(*stores_.open("memory://cache/x"), from_, to_, kNow);
  ASSERT_FALSE(journal);
  EXPECT_THAT(journal.error().message,
              testing::StartsWith("memory://cache/x is not a folder of this machine"));
}

}  // namespace
}  // namespace headrace
