#include "headrace/store/staging.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "headrace/base/crc32c.h"
#include "headrace/base/text.h"
#include "headrace/store/layers/forwarding.h"
#include "headrace/store/memory/memory_store.h"
#include "headrace/store/noting_store_test.h"

namespace {
std::atomic<int> pretended_user = -1;
// Making a folder whose path begins so fails, unless the number is 0.
std::atomic<int> mkdir_error = 0;
std::string refused_folder;
// So many locks seem to be held by others.
std::atomic<int> held_locks = 0;
// So many reads of files fail in this way.
std::atomic<int> failing_reads = 0, read_error = 0;
}  // namespace

// In place of the C library's, for all of this program.
extern "C" uid_t geteuid() noexcept {
  return pretended_user < 0 ? static_cast<uid_t>(syscall(SYS_geteuid)) : static_cast<uid_t>(pretended_user);
}

// The name in C++ is another's: `struct flock`.
extern "C" int lock_file(int file, int operation) noexcept __asm__("flock");
extern "C" int lock_file(int file, int operation) noexcept {
  if (held_locks > 0) {
    --held_locks;
    errno = EWOULDBLOCK;
    return -1;
  }
  return static_cast<int>(syscall(SYS_flock, file, operation));
}

extern "C" ssize_t read(int file, void* to, std::size_t size) {
  if (failing_reads > 0) {
    --failing_reads;
    errno = read_error;
    return -1;
  }
  return syscall(SYS_read, file, to, size);
}

extern "C" int mkdir(const char* path, mode_t mode) noexcept {
  if (mkdir_error != 0 && std::string_view(path).starts_with(refused_folder)) {
    errno = mkdir_error;
    return -1;
  }
  return static_cast<int>(syscall(SYS_mkdirat, AT_FDCWD, path, mode));
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

std::size_t open_files() {
  return static_cast<std::size_t>(
      std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator()));
}

TEST_F(Staging, AFolderHoldsItsLockAndGivesItBack) {
  const std::size_t before = open_files();
  {
    const auto folder = StagedFolder::create(root_);
    ASSERT_TRUE(folder);
    EXPECT_EQ(open_files(), before + 1);
    EXPECT_THAT(folder->path(), testing::MatchesRegex(root_ + "/headrace-staged-[0-9a-f]+"));
    EXPECT_TRUE(fs::exists(folder->path() + ".lock"));
  }
  EXPECT_EQ(open_files(), before);
  EXPECT_EQ(entries(), 0U);
}

TEST_F(Staging, AFolderThatIsMovedOverAnotherGoesInItsPlace) {
  {
    auto kept = StagedFolder::create(root_);
    const std::string first = kept->path();
    {
      auto other = StagedFolder::create(root_);
      const std::string second = other->path();
      *kept = std::move(*other);
      EXPECT_EQ(kept->path(), second);
      EXPECT_TRUE(fs::exists(second) && fs::exists(second + ".lock"));
    }
    EXPECT_FALSE(fs::exists(first) || fs::exists(first + ".lock"));
    EXPECT_TRUE(fs::exists(kept->path()));
    ASSERT_TRUE(StagedFolder::create(root_));
    EXPECT_TRUE(fs::exists(kept->path())) << "its lock is still held";
  }
  EXPECT_EQ(entries(), 0U);
}

TEST_F(Staging, OnlyALockThatNobodyHoldsGivesAFolderAway) {
  fs::create_directories(root_ + "/headrace-staged-left");
  write_file("headrace-staged-left.lock", "");
  fs::create_directories(root_ + "/headrace-staged-without-a-lock");
  write_file("headrace-staged-notes.txt", "x");
  write_file("headrace-staged-lonely.lock", "");
  write_file("other.lock", "");
  fs::create_directories(root_ + "/other");
  ASSERT_TRUE(StagedFolder::create(root_));
  EXPECT_FALSE(fs::exists(root_ + "/headrace-staged-left"));
  EXPECT_FALSE(fs::exists(root_ + "/headrace-staged-left.lock"));
  EXPECT_FALSE(fs::exists(root_ + "/headrace-staged-lonely.lock"));
  EXPECT_TRUE(fs::exists(root_ + "/headrace-staged-without-a-lock"));
  EXPECT_TRUE(fs::exists(root_ + "/headrace-staged-notes.txt"));
  EXPECT_TRUE(fs::exists(root_ + "/other") && fs::exists(root_ + "/other.lock"));
}

TEST_F(Staging, AFolderThatCannotBeMadeSaysWhy) {
  for (const auto& [number, code] : {std::pair(ENOSPC, Code::kResourceExhausted),
                                     {EDQUOT, Code::kResourceExhausted},
                                     {EMFILE, Code::kResourceExhausted},
                                     {ENOENT, Code::kNotFound},
                                     {EROFS, Code::kPermissionDenied},
                                     {EACCES, Code::kPermissionDenied}}) {
    for (const bool is_root : {true, false}) {
      mkdir_error = number;
      refused_folder = is_root ? root_ + "/new" : root_ + "/headrace-staged-";
      const auto folder = StagedFolder::create(is_root ? root_ + "/new" : root_);
      mkdir_error = 0;
      ASSERT_FALSE(folder);
      EXPECT_EQ(folder.error().code, code) << number;
      EXPECT_THAT(folder.error().message, testing::StartsWith("making the folder " + refused_folder));
      EXPECT_THAT(folder.error().message, testing::EndsWith(std::string(": ") + std::strerror(number)));
      EXPECT_FALSE(fs::exists(root_ + "/new"));
    }
  }
  write_file("file", "x");
  const auto below = StagedFolder::create(root_ + "/file/a/b");
  ASSERT_FALSE(below);
  EXPECT_EQ(below.error().code, Code::kPermissionDenied);
  EXPECT_THAT(below.error().message, testing::StartsWith("making the folder " + root_ + "/file/a: "));
}

TEST_F(Staging, ALockThatCannotBeMadeSaysWhy) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{.rlim_cur = 0, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  const auto folder = StagedFolder::create(root_);
  setrlimit(RLIMIT_NOFILE, &before);
  ASSERT_FALSE(folder);
  EXPECT_EQ(folder.error().code, Code::kResourceExhausted);
  EXPECT_THAT(folder.error().message, testing::StartsWith("creating " + root_ + "/headrace-staged-"));
}

TEST_F(Staging, ARootThatOnlyTheGroupOrOnlyOthersCanChangeIsRefused) {
  fs::create_directory(root_ + "/root");
  for (const auto& [perms, is_private] : {std::pair(fs::perms::group_write, false),
                                          {fs::perms::others_write, false},
                                          {fs::perms::group_read | fs::perms::others_exec, true}}) {
    fs::permissions(root_ + "/root", fs::perms::owner_all | perms);
    EXPECT_EQ(StagedFolder::create(root_ + "/root").has_value(), is_private);
  }
  EXPECT_EQ(temporary_folder({}), concat("/tmp/headrace-", geteuid()));
}

TEST_F(Staging, ADownloadReplacesFilesAndFollowsNoLinks) {
  const auto store = make_memory_store("test");
  ASSERT_TRUE(write_text(*store, "a/b/1", "new"));
  write_file("b/1", "longer than before");
  ASSERT_TRUE(download_folder(*store, "a", root_));
  EXPECT_EQ(read_file("b/1"), "new");
  fs::remove(root_ + "/b/1");
  write_file("elsewhere", "kept");
  fs::create_symlink(root_ + "/elsewhere", root_ + "/b/1");
  const auto linked = download_folder(*store, "a", root_);
  ASSERT_FALSE(linked);
  EXPECT_THAT(linked.error().message, testing::StartsWith("creating " + root_ + "/b/1: "));
  EXPECT_EQ(read_file("elsewhere"), "kept");
  fs::remove_all(root_ + "/b");
  write_file("b", "a file");
  const auto below = download_folder(*store, "a", root_);
  ASSERT_FALSE(below);
  EXPECT_THAT(below.error().message, testing::StartsWith("making the folder " + root_ + "/b: "));
}

TEST_F(Staging, ADownloadReadsOneVersionInPiecesUpToItsLimit) {
  constexpr std::size_t kPiece = 4 << 20;
  NotingStore store(make_memory_store("test"));
  const std::string large = std::string(kPiece, 'a') + "bc";
  ASSERT_TRUE(write_text(store, "a/1", large, {.call = noted_call()}));
  ASSERT_TRUE(write_text(store, "a/2", std::string(kPiece, 'd'), {.call = noted_call()}));
  ASSERT_TRUE(write_text(store, "a/3", "", {.call = noted_call()}));
  store.forget();
  DownloadOptions options{.limit_bytes = 2 * kPiece + 2, .threads = 1, .call = noted_call()};
  const auto received = download_folder(store, "a", root_, options);
  ASSERT_TRUE(received);
  EXPECT_EQ(*received, (std::vector<StagedFile>{{"a/1", kPiece + 2, crc32c(as_bytes(large))},
                                                {"a/2", kPiece, crc32c(as_bytes(std::string(kPiece, 'd')))},
                                                {"a/3", 0, 0}}));
  EXPECT_THAT(store.calls(), testing::ElementsAre("list a/", "read a/1 0+4194304", "read a/1 4194304+2",
                                                  "read a/2 0+4194304"));
  EXPECT_TRUE(read_file("1") == large);
  EXPECT_EQ(fs::status(root_ + "/1").permissions(), fs::perms::owner_read | fs::perms::owner_write);
  options.limit_bytes -= 1;
  const auto refused = download_folder(store, "a", root_, options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kResourceExhausted);
  EXPECT_THAT(refused.error().message,
              testing::StartsWith("memory://test/a holds 8.4 MB; the limit is 8.4 MB"));
}

TEST_F(Staging, AKeyThatWouldLeaveTheFolderIsRefused) {
  class Climbing final : public ForwardingStore {
   public:
    using ForwardingStore::ForwardingStore;
    Status list(std::string_view, const ListOptions&,
                const std::function<bool(const ObjectInfo&)>& visit) override {
      visit({.key = "a/../../b", .size_bytes = 0});
      return {};
    }
  } store(make_memory_store("test"));
  const auto received = download_folder(store, "a", root_ + "/x");
  ASSERT_FALSE(received);
  EXPECT_EQ(received.error().code, Code::kInvalidArgument);
  EXPECT_EQ(entries(), 0U);
}

TEST_F(Staging, FilesAreSentInTheOrderOfTheirNames) {
  constexpr std::size_t kPiece = 4 << 20;
  NotingStore store(make_memory_store("test"));
  for (const char* name : {"m/9", "m/10", "m/b/c", "m/b/a", "m/a"}) write_file(name, "x");
  write_file("m/c", std::string(kPiece, 'x'));
  write_file("m/d", std::string(kPiece - 1, 'x'));
  const auto sent = upload_folder(root_ + "/m", store, "t", "10", {.call = noted_call()});
  ASSERT_TRUE(sent);
  EXPECT_THAT(store.calls(),
              testing::ElementsAre("write t/9", "write t/a", "write t/b/a", "write t/b/c", "start_upload t/c",
                                   "append t/c", "append t/c", "commit t/c", "write t/d", "write t/10"));
  EXPECT_EQ(sent->size(), 7U);
  EXPECT_EQ((*sent)[4], (StagedFile{"t/c", kPiece, crc32c(as_bytes(std::string(kPiece, 'x')))}));
  EXPECT_EQ(store.stat("t/c", noted_call())->size_bytes, kPiece);
  store.forget();
  ASSERT_TRUE(upload_folder(root_ + "/m/b", store, "", "", {.call = noted_call()}));
  EXPECT_THAT(store.calls(), testing::ElementsAre("write a", "write c"));
}

TEST_F(Staging, AnUploadSaysWhatItCannotSend) {
  const auto store = make_memory_store("test");
  const auto missing = upload_folder(root_ + "/none", *store, "t");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Code::kNotFound);
  EXPECT_THAT(missing.error().message, testing::StartsWith("listing " + root_ + "/none: "));
  write_file("m/a\xff", "x");
  const auto unnamed = upload_folder(root_ + "/m", *store, "t");
  ASSERT_FALSE(unnamed);
  EXPECT_EQ(unnamed.error().code, Code::kInvalidArgument);
  EXPECT_TRUE(list_all(*store, "")->empty());
  write_file("n/a", std::string(5 << 20, 'x'));
  ASSERT_TRUE(write_text(*store, "t/a", "old"));
  EXPECT_EQ(upload_folder(root_ + "/n", *store, "t", "", {.only_if_absent = true}).error().code,
            Code::kAlreadyExists);
  const auto no_last = upload_folder(root_ + "/n", *store, "t", "b");
  EXPECT_EQ(no_last.error().message, concat("there is no b in ", root_, "/n"));
}

TEST_F(Staging, AReadThatIsInterruptedIsMadeAgain) {
  const auto store = make_memory_store("test");
  write_file("m/a", "text");
  read_error = EINTR, failing_reads = 2;
  ASSERT_TRUE(upload_folder(root_ + "/m", *store, "t"));
  EXPECT_EQ(failing_reads, 0);
  EXPECT_EQ(as_text(read_object(*store, "t/a", 4)->data), "text");
  read_error = EIO, failing_reads = 1;
  const auto sent = upload_folder(root_ + "/m", *store, "t");
  ASSERT_FALSE(sent);
  EXPECT_THAT(sent.error().message, testing::StartsWith("reading " + root_ + "/m/a: "));
}

TEST_F(Staging, AnotherNameIsTakenWhereOthersHoldTheLock) {
  held_locks = 15;
  const auto folder = StagedFolder::create(root_ + "/a");
  EXPECT_TRUE(folder);
  EXPECT_EQ(held_locks, 0);
  held_locks = 16;
  const auto none = StagedFolder::create(root_ + "/b");
  ASSERT_FALSE(none);
  EXPECT_EQ(held_locks, 0);
  EXPECT_EQ(none.error().code, Code::kUnavailable);
  EXPECT_EQ(none.error().message, concat("making a temporary folder in ", root_, "/b: no free name"));
}

}  // namespace
}  // namespace headrace
