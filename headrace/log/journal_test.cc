#include "headrace/log/journal.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "headrace/base/text.h"
#include "headrace/log/full_disk_test.h"
#include "headrace/os/lock_file.h"
#include "headrace/store/scratch_folder_test.h"

namespace headrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

ScratchFolder& journal_scratch = *static_cast<ScratchFolder*>(
    testing::AddGlobalTestEnvironment(new ScratchFolder));  // NOLINT: gtest owns it

class JournalTest : public testing::Test {
 protected:
  Journal create(const std::string& name) {
    auto journal = Journal::create(concat(state, "/", name), to_bytes("head"));
    EXPECT_TRUE(journal) << journal.error().message;
    return *std::move(journal);
  }
  // Head and other payloads, or the code of the error.
  static std::vector<std::string> content(const std::string& path) {
    const auto file = read_journal_file(path);
    if (!file) return {code_name(file.error().code)};
    const auto payloads = journal_payloads(*file, path);
    if (!payloads) return {code_name(payloads.error().code)};
    std::vector<std::string> texts = {to_string(payloads->head)};
    for (const BytesView payload : payloads->others) texts.push_back(to_string(payload));
    return texts;
  }
  static std::string code_name(Code code) { return concat("code ", static_cast<int>(code)); }
  static void change(const std::string& path, std::size_t size, std::optional<std::size_t> flipped = {}) {
    auto file = *read_journal_file(path);
    file.resize(size);
    if (flipped) file[*flipped] ^= std::byte{1};
    std::filesystem::resize_file(path, 0);
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(file.data()), static_cast<std::streamsize>(file.size()));
  }

  std::vector<LeftJournal> left() const {
    std::vector<LeftJournal> journals;
    visit_left_journals(state, [&](const LeftJournal& journal) { journals.push_back(journal); });
    return journals;
  }
  std::vector<std::string> folders() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(state))
      names.push_back(entry.path().filename().string());
    return names;
  }
  // Leaves the folder as a process that was killed while it made or removed the folder.
  void leave_folder(const std::string& name, const std::vector<std::string>& files) const {
    std::filesystem::create_directories(concat(state, "/", name));
    for (const std::string& file : files) std::ofstream(concat(state, "/", name, "/", file)) << "x";
  }

  const std::string state = concat(journal_scratch.new_root(), "/state");
};

TEST_F(JournalTest, EachFileHasTheHeadAndItsPayloads) {
  Journal journal = create("a");
  ASSERT_TRUE(journal.append(as_bytes("one")));
  ASSERT_TRUE(journal.append(as_bytes("")));
  EXPECT_EQ(journal.file_bytes(), 3 * 8 + 4 + 3U);
  EXPECT_EQ(journal.end_file(), 0U);
  ASSERT_TRUE(journal.append(as_bytes("two")));
  EXPECT_EQ(journal.end_file(), 1U);
  EXPECT_THAT(content(journal.path(0)), ElementsAre("head", "one", ""));
  EXPECT_THAT(content(journal.path(1)), ElementsAre("head", "two"));
  EXPECT_EQ(journal.size_bytes(0) + journal.size_bytes(1), journal.held_bytes());
  journal.remove(0);
  EXPECT_EQ(journal.size_bytes(1), journal.held_bytes());
  EXPECT_FALSE(std::filesystem::exists(journal.path(0)));
  journal.remove_all();
  EXPECT_FALSE(std::filesystem::exists(journal.folder()));
}

TEST_F(JournalTest, AFrameThatIsCutOffOrDamagedEndsItsFile) {
  Journal journal = create("a");
  for (const char* text : {"one", "two", "three"}) ASSERT_TRUE(journal.append(as_bytes(text)));
  const std::string path = journal.path(journal.end_file());
  const std::size_t second = 12 + 11;
  change(path, second + 11 + 12);
  EXPECT_THAT(content(path), ElementsAre("head", "one", "two"));
  for (std::size_t at = second; at < second + 11; ++at) {
    change(path, second + 11, at);
    EXPECT_THAT(content(path), ElementsAre("head", "one")) << at;
    change(path, second + 11, at);
  }
  change(path, 11);
  EXPECT_THAT(content(path), ElementsAre(code_name(Code::kOutOfRange)));
  change(path, 0);
  EXPECT_THAT(content(path), ElementsAre(code_name(Code::kOutOfRange)));
  EXPECT_THAT(content(concat(path, "0")), ElementsAre(code_name(Code::kNotFound)));
}

TEST_F(JournalTest, AFileWithoutItsHeadIsNone) {
  Journal journal = create("a");
  ASSERT_TRUE(journal.append(as_bytes("one")));
  const std::string path = journal.path(journal.end_file());
  change(path, 12 + 11, 9);
  EXPECT_THAT(content(path), ElementsAre(code_name(Code::kDataLoss)));
}

TEST_F(JournalTest, AFolderIsLeftOnceItsWriterIsGone) {
  {
    Journal journal = create("b");
    ASSERT_TRUE(journal.append(as_bytes("one")));
    journal.end_file();
    ASSERT_TRUE(journal.append(as_bytes("two")));
    EXPECT_THAT(left(), IsEmpty());
    EXPECT_FALSE(is_writer_gone(journal.folder()));
    const auto second = Journal::create(journal.folder(), {});
    EXPECT_EQ(second.error().code, Code::kAlreadyExists);
  }
  EXPECT_TRUE(is_writer_gone(concat(state, "/b")));
  create("a");
  const auto journals = left();
  ASSERT_EQ(journals.size(), 2U);
  EXPECT_EQ(journals[0].folder, concat(state, "/a"));
  EXPECT_THAT(journals[0].numbers, IsEmpty());
  EXPECT_THAT(journals[1].numbers, ElementsAre(0, 1));
}

TEST_F(JournalTest, AVisitorHoldsTheLockOfOneFolderAtATime) {
  for (const char* name : {"a", "b"}) create(name);
  std::vector<std::string> visited;
  visit_left_journals(state, [&](const LeftJournal& journal) {
    visited.push_back(journal.folder);
    EXPECT_FALSE(is_writer_gone(journal.folder)) << "others are kept away";
    const std::string other = concat(state, journal.folder.ends_with("a") ? "/b" : "/a");
    EXPECT_TRUE(is_writer_gone(other)) << "thousands of folders would take all files a process may open";
  });
  EXPECT_THAT(visited, ElementsAre(concat(state, "/a"), concat(state, "/b")));
}

TEST_F(JournalTest, WhatAKillLeavesOfFoldersThatWereBeingMadeOrRemovedGoes) {
  leave_folder(".removed-a", {"lock", "000000"});
  leave_folder(".removed-b", {"000001"});
  leave_folder(".0-c", {"lock"});
  leave_folder(".1-d", {});
  std::ofstream(concat(state, "/.a-file")) << "of somebody else";
  EXPECT_THAT(left(), IsEmpty());
  EXPECT_THAT(folders(), ElementsAre(".a-file"));
}

TEST_F(JournalTest, AFolderIsMadeAndRemovedBesideWhatAKillHasLeft) {
  leave_folder(".0-a", {"lock"});
  leave_folder(".removed-a", {"000007"});
  Journal journal = create("a");
  ASSERT_TRUE(journal.append(as_bytes("one")));
  journal.remove_all();
  EXPECT_THAT(left(), IsEmpty());
  EXPECT_THAT(folders(), IsEmpty());
}

TEST_F(JournalTest, AFolderThatIsBeingMadeIsLeftToItsWriter) {
  leave_folder(".0-a", {"lock"});
  const FileDescriptor maker = open_locked(concat(state, "/.0-a/lock"), O_RDWR);
  EXPECT_THAT(left(), IsEmpty());
  EXPECT_THAT(folders(), ElementsAre(".0-a"));
  const Journal other = create("a");  // another process of the same name makes its own
  EXPECT_FALSE(is_writer_gone(concat(state, "/a")));
}

TEST_F(JournalTest, WritersThatBeginWhileOthersLookForWhatIsLeftAllGetTheirFolder) {
  std::atomic<bool> ends = false;
  std::thread looks([&] {
    while (!ends) EXPECT_THAT(left(), IsEmpty());
  });
  for (int i = 0; i < 300; ++i) {
    auto journal = Journal::create(concat(state, "/a"), to_bytes("head"));
    EXPECT_TRUE(journal) << journal.error().message;
    if (!journal) break;
    EXPECT_TRUE(journal->append(as_bytes("one")));
    EXPECT_TRUE(std::filesystem::exists(journal->path(0)));
    journal->remove_all();
  }
  ends = true;
  looks.join();
  EXPECT_THAT(left(), IsEmpty());
  EXPECT_THAT(folders(), IsEmpty());
}

TEST_F(JournalTest, AFileThatCannotBeReadNowIsNotTakenForOneThatIsGone) {
  Journal journal = create("a");
  ASSERT_TRUE(journal.append(as_bytes("one")));
  {
    const NoMoreFiles none;
    EXPECT_THAT(content(journal.path(0)), ElementsAre(code_name(Code::kUnavailable)));
  }
  EXPECT_THAT(content(journal.path(0)), ElementsAre("head", "one"));
}

TEST_F(JournalTest, NumbersBeginWhereTheyAreToldTo) {
  auto journal = Journal::create(concat(state, "/a"), {}, 7);
  ASSERT_TRUE(journal);
  ASSERT_TRUE(journal->append(as_bytes("one")));
  EXPECT_EQ(journal->end_file(), 7U);
  EXPECT_EQ(journal->number(), 8U);
  EXPECT_EQ(journal->path(7), concat(state, "/a/000007"));
}

TEST_F(JournalTest, AFullDiskRefusesAPayloadAndHarmsNoOther) {
  Journal journal = create("a");
  {
    const FullDisk full(5);
    EXPECT_EQ(journal.append(as_bytes("before the head fits")).error().code, Code::kResourceExhausted);
  }
  {
    const FullDisk full(30);
    ASSERT_TRUE(journal.append(as_bytes("one")));
    const Status refused = journal.append(as_bytes("does not fit"));
    EXPECT_EQ(refused.error().code, Code::kResourceExhausted);
    EXPECT_THAT(refused.error().message, testing::HasSubstr(journal.path(0)));
  }
  ASSERT_TRUE(journal.append(as_bytes("two")));
  EXPECT_EQ(journal.held_bytes(), std::filesystem::file_size(journal.path(0)));
  EXPECT_THAT(content(journal.path(0)), ElementsAre("head", "one", "two"));
}

}  // namespace
}  // namespace headrace
