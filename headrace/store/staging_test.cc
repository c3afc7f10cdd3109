#include "headrace/store/staging.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "headrace/base/crc32c.h"
#include "headrace/base/text.h"
#include "headrace/store/layers/forwarding.h"
#include "headrace/store/memory/memory_store.h"

namespace {
std::atomic<int> pretended_user = -1;
}  // namespace

// In place of the C library's, for all of this program.
extern "C" uid_t geteuid() noexcept {
  return pretended_user < 0 ? static_cast<uid_t>(syscall(SYS_geteuid)) : static_cast<uid_t>(pretended_user);
}

namespace headrace {
namespace {

namespace fs = std::filesystem;

class Staging : public testing::Test {
 protected:
  void SetUp() override {
    root_ = (fs::temp_directory_path() / "headrace-staging-test-XXXXXX").string();
    ASSERT_NE(mkdtemp(root_.data()), nullptr);
  }
  void TearDown() override { fs::remove_all(root_); }

  std::size_t entries() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(root_), fs::directory_iterator()));
  }
  void write_file(const std::string& name, const std::string& text) const {
    fs::create_directories((fs::path(root_) / name).parent_path());
    std::ofstream(fs::path(root_) / name) << text;
  }
  std::string read_file(const std::string& name) const {
    std::ostringstream text;
    text << std::ifstream(fs::path(root_) / name).rdbuf();
    return text.str();
  }

  std::string root_;
};

TEST_F(Staging, AFolderIsThereUntilItsOwnerGoes) {
  {
    auto folder = StagedFolder::create(root_);
    ASSERT_TRUE(folder);
    std::ofstream(folder->path() + "/file") << "x";
    StagedFolder moved = std::move(*folder);
    EXPECT_TRUE(fs::exists(moved.path() + "/file"));
    EXPECT_EQ(fs::status(moved.path()).permissions(), fs::perms::owner_all);
  }
  EXPECT_EQ(entries(), 0U);
}

TEST_F(Staging, WhatAKilledProcessLeftIsRemovedAndWhatALivingOneHasStays) {
  auto living = StagedFolder::create(root_);
  ASSERT_TRUE(living);
  const pid_t child = fork();
  if (child == 0) {
    const auto abandoned = StagedFolder::create(root_);
    if (abandoned) std::ofstream(abandoned->path() + "/file") << "x";
    raise(SIGKILL);
  }
  int state = 0;
  ASSERT_EQ(waitpid(child, &state, 0), child);
  ASSERT_TRUE(WIFSIGNALED(state));
  EXPECT_EQ(entries(), 4U);  // two folders, two locks
  const auto next = StagedFolder::create(root_);
  ASSERT_TRUE(next);
  EXPECT_EQ(entries(), 4U);
  EXPECT_TRUE(fs::exists(living->path()));
  EXPECT_TRUE(fs::exists(next->path()));
}

TEST_F(Staging, ARootIsMadeForThisUserAlone) {
  const std::string root = root_ + "/a/b/";
  ASSERT_TRUE(StagedFolder::create(root));
  EXPECT_EQ(fs::status(root).permissions(), fs::perms::owner_all);
  EXPECT_EQ(temporary_folder({.variables = {{"TMPDIR", "/scratch"}}}),
            concat("/scratch/headrace-", geteuid()));
}

TEST_F(Staging, ARootThatOthersCanChangeIsRefused) {
  fs::create_directory(root_ + "/shared");
  fs::permissions(root_ + "/shared", fs::perms::all);
  fs::create_directory_symlink("/tmp", root_ + "/link");
  write_file("file", "x");
  for (const char* name : {"/shared", "/link", "/link/", "/file"}) {
    const auto folder = StagedFolder::create(root_ + name);
    ASSERT_FALSE(folder) << name;
    EXPECT_EQ(folder.error().code, Code::kPermissionDenied);
    EXPECT_THAT(folder.error().message, testing::HasSubstr("chmod go-w"));
  }
}

TEST_F(Staging, FilesOfOtherNamesAreLeftAlone) {
  write_file("mine.lock", "x");
  ASSERT_TRUE(StagedFolder::create(root_));
  EXPECT_EQ(entries(), 1U);
}

TEST_F(Staging, AFolderComesBackAsItWent) {
  const std::string large(9'000'001, 'w');  // more than two pieces
  write_file("model/variables/data", large);
  write_file("model/empty", "");
  write_file("model/saved_model.pb", "graph");
  const auto store = make_memory_store("test");
  const auto sent = upload_folder(root_ + "/model", *store, "runs/1", "saved_model.pb");
  ASSERT_TRUE(sent);
  const std::vector<StagedFile> expected = {{"runs/1/empty", 0, 0},
                                            {"runs/1/variables/data", large.size(), crc32c(as_bytes(large))},
                                            {"runs/1/saved_model.pb", 5, crc32c(as_bytes("graph"))}};
  EXPECT_EQ(*sent, expected);

  ASSERT_TRUE(write_text(*store, "runs/10/other", "x"));
  fs::create_directories(root_ + "/back");
  const auto received = download_folder(*store, "runs/1", root_ + "/back");
  ASSERT_TRUE(received);
  EXPECT_THAT(*received, testing::UnorderedElementsAreArray(expected));
  EXPECT_EQ(read_file("back/variables/data"), large);
  EXPECT_EQ(read_file("back/empty"), "");
  EXPECT_EQ(read_file("back/saved_model.pb"), "graph");
  EXPECT_FALSE(fs::exists(root_ + "/back/other"));
}

TEST_F(Staging, AFolderOfAnotherUserIsRefused) {
  const std::string folder = root_ + "/of-another";
  ASSERT_TRUE(StagedFolder::create(folder));
  pretended_user = static_cast<int>(geteuid()) + 1;
  const auto refused = StagedFolder::create(folder);
  pretended_user = -1;
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kPermissionDenied);
  EXPECT_THAT(refused.error().message, testing::HasSubstr("only this user can write to"));
}

// Replaces an object when a part of it has been read.
class ReplacingStore final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  Result<ReadResult> read_into(std::string_view key, MutableBytesView target,
                               const ReadOptions& options) override {
    auto read = inner().read_into(key, target, options);
    if (++reads_ == 1) {
      EXPECT_TRUE(write_text(inner(), key, std::string(10 << 20, 'b')));
    }
    return read;
  }

 private:
  int reads_ = 0;
};

TEST_F(Staging, AnObjectThatIsReplacedMeanwhileIsNeverMixed) {
  ReplacingStore store(make_memory_store("test"));
  ASSERT_TRUE(write_text(store, "a/1", std::string(10 << 20, 'a')));
  const auto received = download_folder(store, "a", root_, {.threads = 1});
  ASSERT_FALSE(received);
  EXPECT_EQ(received.error().code, Code::kFailedPrecondition);
  const auto again = download_folder(store, "a", root_);
  ASSERT_TRUE(again);
  EXPECT_EQ(read_file("1"), std::string(10 << 20, 'b'));
}

TEST_F(Staging, AFolderOverTheLimitIsNotCopied) {
  const auto store = make_memory_store("test");
  ASSERT_TRUE(write_text(*store, "a/1", "12345"));
  ASSERT_TRUE(write_text(*store, "a/2", "12345"));
  const auto received = download_folder(*store, "a", root_, {.limit_bytes = 9});
  ASSERT_FALSE(received);
  EXPECT_EQ(received.error().code, Code::kResourceExhausted);
  EXPECT_EQ(entries(), 0U);
}

TEST_F(Staging, AnEmptyFolderIsNotFound) {
  const auto store = make_memory_store("test");
  const auto received = download_folder(*store, "nothing", root_);
  ASSERT_FALSE(received);
  EXPECT_EQ(received.error().code, Code::kNotFound);
  EXPECT_THAT(received.error().message, testing::HasSubstr("memory://test/nothing"));
}

TEST_F(Staging, LinksAndAMissingLastFileAreRefusedBeforeAnythingIsWritten) {
  const auto store = make_memory_store("test");
  write_file("model/a", "x");
  const auto no_last = upload_folder(root_ + "/model", *store, "m", "saved_model.pb");
  ASSERT_FALSE(no_last);
  EXPECT_EQ(no_last.error().code, Code::kNotFound);
  fs::create_symlink("/etc/passwd", root_ + "/model/b");
  const auto linked = upload_folder(root_ + "/model", *store, "m");
  ASSERT_FALSE(linked);
  EXPECT_EQ(linked.error().code, Code::kInvalidArgument);
  EXPECT_TRUE(list_all(*store, "")->empty());
}

TEST_F(Staging, AnObjectThatIsThereStopsAnUploadThatMustCreate) {
  const auto store = make_memory_store("test");
  write_file("model/a", "new");
  ASSERT_TRUE(write_text(*store, "m/a", "old"));
  const auto sent = upload_folder(root_ + "/model", *store, "m", "", {.only_if_absent = true});
  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().code, Code::kAlreadyExists);
}

}  // namespace
}  // namespace headrace
