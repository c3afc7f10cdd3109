// Beyond the conformance suite: the system's errors, and what lies in the folders.

#include "headrace/store/file/file_store.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "headrace/base/text.h"
#include "headrace/store/file/sequential_writer.h"
#include "headrace/store/memory/memory_store.h"

namespace {

// Which calls of the system fail, how often, and with which number.
struct Fault {
  int number = 0;
  int times = 0;
  int calls = 0;  // made, whether they failed or not

  bool strikes() {
    ++calls;
    if (times == 0) return false;
    --times;
    errno = number;
    return true;
  }
};
struct Faults {
  Fault opens, makes, unlinks, reads, preads, writes, file_syncs, folder_syncs;
  bool knows_unnamed = true;  // files without a name
};
Faults faults;
std::string struck_folder;  // only calls below it, if they name a path

bool is_struck(const char* path) {
  return !struck_folder.empty() && std::string_view(path).starts_with(struck_folder);
}

}  // namespace

// These replace the C library's functions in the whole program.
extern "C" int open(const char* path, int flags, ...) {
  const bool is_unnamed = (flags & O_TMPFILE) == O_TMPFILE;
  if (is_struck(path)) {
    if (faults.opens.strikes()) return -1;
    if (is_unnamed && !faults.knows_unnamed) {
      errno = EOPNOTSUPP;
      return -1;
    }
  }
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = is_unnamed || (flags & O_CREAT) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, flags, mode));
}

extern "C" int mkdir(const char* path, mode_t mode) noexcept {
  if (is_struck(path) && faults.makes.strikes()) return -1;
  return static_cast<int>(syscall(SYS_mkdirat, AT_FDCWD, path, mode));
}

extern "C" int unlink(const char* path) noexcept {
  if (is_struck(path) && faults.unlinks.strikes()) return -1;
  return static_cast<int>(syscall(SYS_unlinkat, AT_FDCWD, path, 0));
}

extern "C" ssize_t read(int file, void* to, std::size_t size) {
  if (!struck_folder.empty() && faults.reads.strikes()) return -1;
  return syscall(SYS_read, file, to, size);
}

extern "C" ssize_t pread(int file, void* to, std::size_t size, off_t offset) {
  if (!struck_folder.empty() && faults.preads.strikes()) return -1;
  return syscall(SYS_pread64, file, to, size, offset);
}

extern "C" ssize_t write(int file, const void* from, std::size_t size) {
  if (!struck_folder.empty() && faults.writes.strikes()) return -1;
  return syscall(SYS_write, file, from, size);
}

extern "C" int fsync(int file) {
  struct stat status {};
  const bool is_file = ::fstat(file, &status) == 0 && S_ISREG(status.st_mode);
  if (!struck_folder.empty() && (is_file ? faults.file_syncs : faults.folder_syncs).strikes()) return -1;
  return static_cast<int>(syscall(SYS_fsync, file));
}

namespace headrace {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

class FileStoreTest : public testing::Test {
 protected:
  void SetUp() override {
    root_ = (fs::temp_directory_path() / "headrace-file-test-XXXXXX").string();
    ASSERT_NE(mkdtemp(root_.data()), nullptr);
    struck_folder = root_;
    store_ = make_file_store(root_);
  }
  void TearDown() override {
    faults = {};
    struck_folder.clear();
    fs::remove_all(root_);
  }

  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::recursive_directory_iterator(root_))
      names.push_back(entry.path().lexically_relative(root_).string());
    std::sort(names.begin(), names.end());
    return names;
  }
  std::string text_of(std::string_view key) const {
    const auto read = read_object(*store_, key, 1 << 24);
    return read ? to_string(read->data) : read.error().message;
  }
  static std::vector<std::string> keys(Store& store, std::string_view prefix, const ListOptions& options) {
    std::vector<std::string> keys;
    const auto objects = list_all(store, prefix, options);
    EXPECT_TRUE(objects);
    for (const ObjectInfo& object : *objects) keys.push_back(object.key);
    return keys;
  }

  std::string root_;
  std::unique_ptr<Store> store_;
};

TEST_F(FileStoreTest, CopiesObjectsOfAnySizeToTheLastByte) {
  for (const std::size_t size : {0UL, 1UL, 2UL, 1000UL, (4UL << 20) - 1, 4UL << 20, (4UL << 20) + 1}) {
    Bytes data(size, std::byte{7});
    if (size > 0) data.back() = std::byte{9};
    ASSERT_TRUE(store_->write("from", data, {}));
    const auto copied = store_->copy("from", "to", {});
    ASSERT_TRUE(copied) << copied.error().message;
    EXPECT_EQ(copied->size_bytes, size);
    const auto read = read_object(*store_, "to", 16 << 20);
    ASSERT_TRUE(read);
    EXPECT_TRUE(read->data == data) << size;
  }
}

TEST_F(FileStoreTest, SaysWhatToDoAboutEachErrorOfTheSystem) {
  ASSERT_TRUE(write_text(*store_, "a", "x"));
  const std::string permissions = "; check the permissions of the file and of the folders above it",
                    space = "; free some space, then run the same command again",
                    files = "; raise the limit of open files (ulimit -n)",
                    folder = "; a key cannot be a folder of another key";
  for (const auto& [number, code, advice] : std::vector<std::tuple<int, Code, std::string>>{
           {EEXIST, Code::kAlreadyExists, ""},
           {EACCES, Code::kPermissionDenied, permissions},
           {EPERM, Code::kPermissionDenied, permissions},
           {EROFS, Code::kPermissionDenied, "; the file system is mounted read-only"},
           {ENOSPC, Code::kResourceExhausted, space},
           {EDQUOT, Code::kResourceExhausted, space},
           {EFBIG, Code::kResourceExhausted,
            "; raise the limit of file sizes (ulimit -f), or use another file system"},
           {EMFILE, Code::kResourceExhausted, files},
           {ENFILE, Code::kResourceExhausted, files},
           {EISDIR, Code::kFailedPrecondition, folder},
           {ENOTEMPTY, Code::kFailedPrecondition, folder},
           {EIO, Code::kDataLoss, "; the disk reports an error"},
           {ENODEV, Code::kUnknown, ""}}) {
    faults.opens = {.number = number, .times = 1};
    Bytes target(1);
    const auto read = store_->read_into("a", target, {});
    ASSERT_FALSE(read) << number;
    EXPECT_EQ(read.error().code, code) << number;
    EXPECT_EQ(read.error().message, concat("reading file://", root_, "/a: ", std::strerror(number), advice));
    EXPECT_TRUE(store_->read_into("a", target, {}));
  }
  for (const int number : {ENOENT, ENOTDIR}) {
    faults.opens = {.number = number, .times = 1};
    const auto copied = store_->copy("a", "b", {});
    ASSERT_FALSE(copied);
    EXPECT_EQ(copied.error().code, Code::kNotFound);
    EXPECT_EQ(copied.error().message, concat("there is no object file://", root_, "/a"));
  }
}

TEST_F(FileStoreTest, TriesAgainWhereItsFolderWasRemovedOrItsNameTaken) {
  for (const int number : {ENOENT, EEXIST}) {
    faults.opens = {.number = number, .times = 4};  // two of each attempt: without a name, and with one
    EXPECT_TRUE(write_text(*store_, "folder/a", "x", {.is_durable = false})) << number;
    EXPECT_EQ(faults.opens.times, 0);
    faults.opens = {.number = number, .times = 6};
    const auto written = write_text(*store_, "folder/b", "x", {.is_durable = false});
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().code, number == ENOENT ? Code::kNotFound : Code::kAlreadyExists);
    EXPECT_EQ(faults.opens.calls, 6);
  }
  faults.opens = {.number = ENOSPC, .times = 2};
  const auto full = write_text(*store_, "folder/b", "x", {.is_durable = false});
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().code, Code::kResourceExhausted);
  EXPECT_THAT(full.error().message, StartsWith(concat("writing file://", root_, "/folder/b: ")));
  EXPECT_EQ(faults.opens.calls, 2) << "which another attempt would not mend";
}

TEST_F(FileStoreTest, AFolderThatCannotBeMadeIsAnError) {
  faults.makes = {.number = EACCES, .times = 1};
  const auto written = write_text(*store_, "folder/a", "x");
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, Code::kPermissionDenied);
  EXPECT_THAT(written.error().message, StartsWith(concat("writing file://", root_, "/folder/a: ")));
  faults.makes = {.number = ENOENT, .times = 1};
  EXPECT_TRUE(write_text(*store_, "b/c/d/e", "x")) << "those above it are made first";
  EXPECT_EQ(text_of("b/c/d/e"), "x");
  const auto below = write_text(*store_, "b/c/d/e/f/g", "x");
  ASSERT_FALSE(below);
  EXPECT_EQ(below.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(below.error().message, EndsWith("Not a directory; a key cannot be a folder of another key"));
}

TEST_F(FileStoreTest, WhatIsToLastIsSyncedOrTheWriteFails) {
  faults.folder_syncs = {.number = EIO, .times = 1};
  const auto made = write_text(*store_, "folder/a", "x");
  ASSERT_FALSE(made) << "the folder may not last";
  EXPECT_EQ(made.error().code, Code::kDataLoss);
  EXPECT_FALSE(fs::exists(root_ + "/folder/a"));
  faults.folder_syncs = {.number = EIO, .times = 1};
  EXPECT_EQ(write_text(*store_, "b", "x").error().code, Code::kDataLoss) << "the name may not last";
  faults.file_syncs = {.number = ENOSPC, .times = 1};
  EXPECT_EQ(write_text(*store_, "c", "x").error().code, Code::kResourceExhausted);
  EXPECT_EQ(store_->stat("c", {}).error().code, Code::kNotFound);
  faults = {};
  ASSERT_TRUE(write_text(*store_, "d/e/f", "x", {.is_durable = false}));
  EXPECT_EQ(faults.file_syncs.calls + faults.folder_syncs.calls, 0);
  ASSERT_TRUE(write_text(*store_, "g/h/i", "x"));
  EXPECT_EQ(faults.file_syncs.calls, 1);
  EXPECT_EQ(faults.folder_syncs.calls, 3) << "of g, of h and of i";
}

TEST_F(FileStoreTest, OnlyAnEmptyFolderGivesWayToAnObject) {
  for (const bool knows_unnamed : {true, false}) {
    faults.knows_unnamed = knows_unnamed;
    for (const bool only_if_absent : {true, false}) {
      const WriteOptions options{.only_if_absent = only_if_absent};
      fs::create_directories(root_ + "/empty");
      fs::create_directories(root_ + "/full/below");
      ASSERT_TRUE(write_text(*store_, "empty", "object", options));
      EXPECT_EQ(text_of("empty"), "object");
      const auto refused = write_text(*store_, "full", "object", options);
      ASSERT_FALSE(refused);
      EXPECT_EQ(refused.error().code, Code::kFailedPrecondition);
      EXPECT_THAT(refused.error().message, StartsWith(concat("writing file://", root_, "/full: ")));
      EXPECT_TRUE(fs::exists(root_ + "/full/below"));
      EXPECT_THAT(names(), ElementsAre("empty", "full", "full/below")) << "and nothing is left";
      fs::remove(root_ + "/empty");
    }
  }
}

TEST_F(FileStoreTest, AWriteThatEndsWithoutCommitLeavesNothing) {
  for (const bool knows_unnamed : {true, false}) {
    faults.knows_unnamed = knows_unnamed;
    ASSERT_TRUE(write_text(*store_, "a", "before"));
    for (const bool only_if_absent : {true, false}) {
      auto upload = store_->start_upload("a", {.only_if_absent = only_if_absent});
      ASSERT_TRUE(upload);
      ASSERT_TRUE((*upload)->append(as_bytes("after")));
      if (!knows_unnamed) {
        EXPECT_EQ(names().size(), 2U);
      }
      upload->reset();
      EXPECT_THAT(names(), ElementsAre("a"));
      EXPECT_EQ(text_of("a"), "before");
    }
    const auto refused = write_text(*store_, "a", "after", {.only_if_absent = true});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::kAlreadyExists);
    EXPECT_EQ(refused.error().message, concat("file://", root_, "/a already exists"));
    EXPECT_THAT(names(), ElementsAre("a"));
    ASSERT_TRUE(write_text(*store_, "a", "after"));
    EXPECT_EQ(text_of("a"), "after");
    EXPECT_THAT(names(), ElementsAre("a"));
  }
}

TEST_F(FileStoreTest, RemovesKeyAfterKeyUntilOneFails) {
  for (const char* key : {"a", "b", "c", "d/e"}) ASSERT_TRUE(write_text(*store_, key, "x"));
  faults.unlinks = {.number = EACCES};
  const std::vector<std::string> keys = {"a", "d", "a/x", "b", "c"};
  ASSERT_TRUE(store_->remove_many({keys.data(), 3}, {})) << "a folder, and nothing, are not objects";
  EXPECT_EQ(store_->stat("d/e", {})->size_bytes, 1U);
  faults.unlinks.times = 1;
  const Status removed = store_->remove_many(std::span(keys).subspan(3), {});
  ASSERT_FALSE(removed);
  EXPECT_EQ(removed.error().code, Code::kPermissionDenied);
  EXPECT_THAT(removed.error().message, StartsWith(concat("removing file://", root_, "/b: ")));
  EXPECT_THAT(names(), ElementsAre("b", "c", "d", "d/e"));
  const std::string outside = "../c";
  EXPECT_EQ(store_->remove_many({&outside, 1}, {}).error().code, Code::kInvalidArgument);
}

TEST_F(FileStoreTest, InterruptedCallsAreMadeAgainAndFailedOnesAreErrors) {
  const std::string text(5 << 20, 'x');
  ASSERT_TRUE(write_text(*store_, "a", text));
  faults.preads = faults.reads = faults.writes = {.number = EINTR, .times = 2};
  EXPECT_TRUE(text_of("a") == text);
  ASSERT_TRUE(store_->copy("a", "b", {}));
  EXPECT_TRUE(text_of("b") == text);
  EXPECT_EQ(faults.preads.times + faults.reads.times + faults.writes.times, 0);
  faults.reads = {.number = EIO, .times = 1};
  const auto copied = store_->copy("a", "c", {});
  ASSERT_FALSE(copied);
  EXPECT_EQ(copied.error().code, Code::kDataLoss);
  EXPECT_THAT(copied.error().message, StartsWith(concat("reading file://", root_, "/a: ")));
  faults.preads = {.number = EIO, .times = 1};
  Bytes target(1);
  EXPECT_EQ(store_->read_into("a", target, {}).error().code, Code::kDataLoss);
  faults.writes = {.number = ENOSPC, .times = 1};
  const auto written = write_text(*store_, "c", "x");
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, Code::kResourceExhausted);
  EXPECT_THAT(written.error().message, StartsWith(concat("writing file://", root_, "/c: ")));
  EXPECT_THAT(names(), ElementsAre("a", "b"));
}

TEST_F(FileStoreTest, AStopEndsEachCallAndSaysWhich) {
  ASSERT_TRUE(write_text(*store_, "f/a", "x"));
  std::stop_source stop;
  const CallOptions call{.stop = stop.get_token()};
  const auto upload = store_->start_upload("f/b", {.call = call});
  stop.request_stop();
  Bytes target(1);
  const std::string place = concat("file://", root_, "/f");
  const auto expect = [&](const Error& error, const std::string& message) {
    EXPECT_EQ(error.code, Code::kCancelled) << message;
    EXPECT_EQ(error.message, message);
  };
  expect(store_->read_into("f/a", target, {.call = call}).error(),
         concat("reading ", place, "/a was stopped"));
  expect((*upload)->append(as_bytes("x")).error(), concat("writing ", place, "/b was stopped"));
  expect(store_->copy("f/a", "f/c", {.call = call}).error(), concat("copying ", place, "/a was stopped"));
  expect(list_all(*store_, "f/", {.call = call}).error(), concat("listing ", place, " was stopped"));
  expect(list_all_unfinished(*store_, "f/", call).error(), concat("listing ", place, " was stopped"));
  EXPECT_THAT(names(), ElementsAre("f", "f/a"));
}

TEST_F(FileStoreTest, SaysWhyItRefuses) {
  const ObjectInfo object = *write_text(*store_, "f/a", "hello");
  const std::string place = concat("file://", root_, "/f");
  Bytes target(2);
  EXPECT_EQ(store_->read_into("f/a", target, {.offset_bytes = 5})->bytes_read, 0U);
  EXPECT_EQ(store_->read_into("f/a", target, {.offset_bytes = 4})->bytes_read, 1U);
  EXPECT_EQ(store_->read_into("f/a", target, {.offset_bytes = 6}).error().message,
            concat("offset 6 lies past the end of ", place, "/a, which has 5 bytes"));
  EXPECT_EQ(write_text(*store_, "f/a", "x", {.if_version = object.version}).error().message,
            concat("writing ", place, "/a: a file store cannot replace only one version (if_version)"));
  EXPECT_EQ(store_->read_into("f/a", target, {.if_version = Version{"1"}}).error().message,
            concat(place, "/a was changed since it was last looked at"));
  EXPECT_EQ(store_->stat("f", {}).error().message,
            concat("there is no object ", place, " (a folder has that name)"));
  EXPECT_EQ(store_->read_into("f", target, {}).error().message,
            concat("there is no object ", place, " (a folder has that name)"));
  EXPECT_EQ(store_->stat("f/a/b", {}).error().message, concat("there is no object ", place, "/a/b"));
  EXPECT_THAT(write_text(*store_, "f/.headrace-write-1", "x").error().message,
              HasSubstr("names that begin with .headrace-write- are reserved for unfinished writes"));
  EXPECT_EQ(store_->remove_unfinished({.key = "f/a"}, {}).error().message,
            concat(place, "/a is not an unfinished write"));
  const auto listed = list_all(*store_, std::string(300, 'n') + "/");
  ASSERT_FALSE(listed);
  EXPECT_THAT(listed.error().message, StartsWith(concat("listing ", root_, "/nnn")));
}

TEST_F(FileStoreTest, TellsSizeTimeAndVersionOfEachObject) {
  const ObjectInfo written = *write_text(*store_, "a", "hello");
  const auto old = std::chrono::system_clock::time_point(std::chrono::seconds(1'000'000'000));
  const timespec times[2] = {{.tv_sec = 1'000'000'000, .tv_nsec = 7},
                             {.tv_sec = 1'000'000'000, .tv_nsec = 7}};
  ASSERT_EQ(::utimensat(AT_FDCWD, (root_ + "/a").c_str(), times, 0), 0);
  const ObjectInfo touched = *store_->stat("a", {});
  EXPECT_EQ(touched.key, "a");
  EXPECT_EQ(touched.size_bytes, 5U);
  EXPECT_EQ(touched.modified, old);
  EXPECT_NE(touched.version, written.version);
  EXPECT_THAT(touched.version.token, HasSubstr("-5-1000000000.7-"));
  const ObjectInfo listed = list_all(*store_, "")->front();
  EXPECT_EQ(listed.version, touched.version);
  EXPECT_EQ(listed.modified, old);
  EXPECT_EQ(listed.size_bytes, 5U);
  Bytes target(5);
  EXPECT_EQ(store_->read_into("a", target, {})->object.version, touched.version);
  const ObjectInfo again = *write_text(*store_, "a", "hello");
  EXPECT_EQ(store_->stat("a", {})->version, again.version);
  EXPECT_NE(again.version, touched.version);
  const Capabilities can = store_->capabilities();
  EXPECT_TRUE(can.atomic_if_absent && can.strong_list && can.latest_only);
  EXPECT_FALSE(can.atomic_if_version || can.server_side_copy || can.keeps_ranges);
}

TEST_F(FileStoreTest, FilesAndFoldersHaveThePermissionsThatTheUmaskLeaves) {
  for (const bool knows_unnamed : {true, false}) {
    faults.knows_unnamed = knows_unnamed;
    const mode_t before = ::umask(0);
    const auto written = write_text(*store_, "folder/a", "x");
    ::umask(before);
    ASSERT_TRUE(written);
    EXPECT_EQ(fs::status(root_ + "/folder").permissions(), fs::perms::all);
    EXPECT_EQ(fs::status(root_ + "/folder/a").permissions(), static_cast<fs::perms>(0666));
    fs::remove_all(root_ + "/folder");
  }
}

TEST_F(FileStoreTest, ARootMayEndInSlashes) {
  const auto store = make_file_store(root_ + "//");
  ASSERT_TRUE(write_text(*store, "a", "x"));
  EXPECT_EQ(store->describe("a"), concat("file://", root_, "/a"));
  EXPECT_EQ(make_file_store("/")->describe("a"), "file:///a");
  EXPECT_EQ(text_of("a"), "x");
}

TEST_F(FileStoreTest, ListsAsAStoreInMemoryDoes) {
  const auto memory = make_memory_store("test");
  const std::vector<std::string> all = {"a.txt",   "a/1", "a/2",     "a/b/1",   "a/b/2", "a/b.c",
                                        "a/c/d/e", "a0",  "b",       "c/d/e/f", "c/d/g", "c0/x",
                                        "d-e/1",   "d/1", "d/e/f/g", "d/e/h",   "d0"};
  for (const std::string& key : all) {
    ASSERT_TRUE(write_text(*store_, key, "x", {.is_durable = false}));
    ASSERT_TRUE(write_text(*memory, key, "x"));
  }
  std::vector<std::string> afters = all;
  for (const char* after : {"", "a", "a/", "a/b", "a/b/", "a/b/1x", "c", "c/", "c/d/e", "d/", "d/e/", "z"})
    afters.emplace_back(after);
  for (const char* prefix :
       {"", "a", "a/", "a/b", "a/b/", "a/c/d", "c/d/e/f", "c/d", "d", "d/e", "b/", "x"}) {
    for (const std::string& after : afters) {
      for (const bool collapse_folders : {true, false}) {
        const ListOptions options{.after = after, .collapse_folders = collapse_folders};
        EXPECT_EQ(keys(*store_, prefix, options), keys(*memory, prefix, options))
            << prefix << " after " << after << (collapse_folders ? " collapsed" : "");
      }
    }
  }
}

TEST_F(FileStoreTest, ListsOnlyFilesAndTheFoldersThatHoldThem) {
  for (const char* folder : {"empty/below", "deep/er", ".headrace-write-folder", "only-unfinished"})
    fs::create_directories(root_ + "/" + folder);
  for (const char* file : {"deep/er/file", ".headrace-write-folder/file", "file",
                           "only-unfinished/.headrace-write-0123456789abcdef", ".headrace-write-notes"})
    std::ofstream(root_ + "/" + file) << "x";
  ASSERT_EQ(::mkfifo((root_ + "/pipe").c_str(), 0600), 0);
  fs::create_symlink("pipe", root_ + "/link-to-pipe");
  EXPECT_THAT(keys(*store_, "", {}), ElementsAre("deep/er/file", "file"));
  EXPECT_THAT(keys(*store_, "", {.collapse_folders = true}), ElementsAre("deep/", "file"));
  EXPECT_THAT(keys(*store_, "file/", {}), IsEmpty());
  EXPECT_THAT(keys(*store_, "none/below/", {}), IsEmpty());
  std::vector<std::string> unfinished;
  ASSERT_TRUE(write_text(*store_, "z", "x"));
  fs::rename(root_ + "/z", root_ + "/deep/.headrace-write-00000000000000ff");
  const auto first = [&](const UnfinishedWrite& write) {
    unfinished.push_back(write.key);
    EXPECT_EQ(write.size_bytes, 1U);
    EXPECT_TRUE(write.modified);
    return false;
  };
  ASSERT_TRUE(store_->list_unfinished("", {}, first));
  EXPECT_THAT(unfinished, ElementsAre("deep/.headrace-write-00000000000000ff"));
  EXPECT_EQ(list_all_unfinished(*store_, "")->size(), 2U);
  EXPECT_EQ(list_all_unfinished(*store_, "only")->size(), 1U);
}

TEST_F(FileStoreTest, AWriterGoesOnWithoutDirectWritesWhereOneIsRefused) {
  Bytes data((1 << 20) + (9 << 20) + 77);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::byte>(i * 2654435761U >> 24);
  for (const auto& [number, times] : {std::pair(EINVAL, 1), {EINTR, 2}}) {
    const FileDescriptor file(::open((root_ + "/a").c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    ASSERT_TRUE(file.is_open());
    SequentialWriter writer(file, true);
    ASSERT_TRUE(writer.append(BytesView(data).first(2 << 20)));
    faults.writes = {.number = number, .times = times};
    ASSERT_TRUE(writer.append(BytesView(data).subspan(2 << 20)) && writer.finish());
    EXPECT_EQ(faults.writes.times, 0);
    EXPECT_TRUE(text_of("a") == as_text(data));
  }
}

TEST_F(FileStoreTest, AWriterThatHasFailedWritesNothingMore) {
  for (const bool is_large : {false, true}) {
    const FileDescriptor file(::open((root_ + "/a").c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    SequentialWriter writer(file, is_large);
    if (is_large) {
      ASSERT_TRUE(writer.append(Bytes(2 << 20)));
    }
    faults.writes = {.number = EIO, .times = 1};
    EXPECT_FALSE(writer.append(Bytes(5 << 20)));
    EXPECT_EQ(errno, EIO);
    const int calls = faults.writes.calls;
    errno = 0;
    EXPECT_FALSE(writer.append(as_bytes("more")));
    EXPECT_EQ(errno, EIO);
    errno = 0;
    EXPECT_FALSE(writer.finish());
    EXPECT_EQ(errno, EIO);
    EXPECT_EQ(faults.writes.calls, calls);
    EXPECT_TRUE(writer.append({})) << "of nothing";
  }
}

}  // namespace
}  // namespace headrace
