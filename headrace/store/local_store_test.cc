#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "headrace/base/text.h"
#include "headrace/store/conformance.h"
#include "headrace/store/file/file_store.h"
#include "headrace/store/memory/memory_store.h"
#include "headrace/store/scratch_folder_test.h"

namespace {
std::atomic<int> syncs = 0;
// Done once, after the next read of a file.
std::function<void()> after_read;
// Below folders of this name there are no files without a name, as on NFS.
constexpr std::string_view kNamesOnly = "/names-only/";
// Entries that can be read of a folder before its disk fails; negative: all.
int readable_entries = -1;
// Everything that is done to files, in order: "sync file", "sync folder", "link", "rename". Null: not kept.
std::vector<std::string>* done = nullptr;
bool disk_fails = false;        // on fsync of a file
bool late_writes_fail = false;  // are reported by close, as over NFS
bool spares_none = false;       // a rename cannot spare what is there, as over NFS
bool loses_answer = false;      // of the next link: the repeated request finds the name taken

bool is_file(int descriptor) {
  struct stat status {};
  return ::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
}
void tell(const char* what) {
  if (done != nullptr) done->emplace_back(what);
}
int answer_of_link(int linked) {
  tell("link");
  if (linked != 0 || !loses_answer) return linked;
  loses_answer = false;
  errno = EEXIST;
  return -1;
}
// A folder of this name cannot be listed, as without the right to search it.
constexpr std::string_view kHidden = "/cannot-be-seen";
}  // namespace

// In place of the C library's, for all of this program.
extern "C" int fsync(int file) {
  ++syncs;
  tell(is_file(file) ? "sync file" : "sync folder");
  if (disk_fails && is_file(file)) {
    errno = EIO;
    return -1;
  }
  return static_cast<int>(syscall(SYS_fsync, file));
}

// ThreadSanitizer's function, if the sanitizer is part of this program: it must see that the number is free.
extern "C" __attribute__((weak)) int __interceptor_close(int file);

extern "C" int close(int file) {
  static const auto next = reinterpret_cast<int (*)(int)>(dlsym(RTLD_NEXT, "close"));
  static const auto real = __interceptor_close != nullptr ? __interceptor_close : next;
  const bool fails = late_writes_fail && is_file(file);
  const int closed = real(file);
  if (!fails) return closed;
  errno = EDQUOT;
  return -1;
}

extern "C" int link(const char* from, const char* to) noexcept {
  return answer_of_link(static_cast<int>(syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0)));
}

extern "C" int linkat(int from_folder, const char* from, int to_folder, const char* to, int flags) noexcept {
  return answer_of_link(static_cast<int>(syscall(SYS_linkat, from_folder, from, to_folder, to, flags)));
}

extern "C" int renameat2(int from_folder, const char* from, int to_folder, const char* to,
                         unsigned flags) noexcept {
  if (spares_none && flags != 0) {
    errno = EINVAL;
    return -1;
  }
  tell("rename");
  return static_cast<int>(syscall(SYS_renameat2, from_folder, from, to_folder, to, flags));
}

extern "C" ssize_t pread(int file, void* to, std::size_t size, off_t offset) {
  const ssize_t count = syscall(SYS_pread64, file, to, size, offset);
  if (after_read) std::exchange(after_read, nullptr)();
  return count;
}

extern "C" dirent* readdir(DIR* directory) {
  static const auto real = reinterpret_cast<dirent* (*)(DIR*)>(dlsym(RTLD_NEXT, "readdir"));
  if (readable_entries == 0) {
    errno = EIO;
    return nullptr;
  }
  if (readable_entries > 0) --readable_entries;
  return real(directory);
}

extern "C" int stat(const char* path, struct stat* status) {
  if (std::string_view(path).ends_with(kHidden)) {
    errno = EACCES;
    return -1;
  }
  return fstatat(AT_FDCWD, path, status, 0);
}

extern "C" int open(const char* path, int flags, ...) {
  const bool is_unnamed = (flags & O_TMPFILE) == O_TMPFILE;
  if (is_unnamed && (std::string(path) + '/').find(kNamesOnly) != std::string::npos) {
    errno = EOPNOTSUPP;
    return -1;
  }
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = is_unnamed || (flags & O_CREAT) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, flags, mode));
}

namespace headrace {
namespace {

auto* const scratch = dynamic_cast<ScratchFolder*>(testing::AddGlobalTestEnvironment(new ScratchFolder));

INSTANTIATE_TEST_SUITE_P(Memory, StoreConformance,
                         testing::Values(DriverUnderTest{"memory", [] { return make_memory_store("test"); }}),
                         driver_name);
INSTANTIATE_TEST_SUITE_P(File, StoreConformance,
                         testing::Values(DriverUnderTest{
                             "file", [] { return make_file_store(scratch->new_root()); }}),
                         driver_name);

INSTANTIATE_TEST_SUITE_P(FileOfNames, StoreConformance,
                         testing::Values(DriverUnderTest{
                             "file_of_names",
                             [] { return make_file_store(scratch->new_root() + std::string(kNamesOnly)); }}),
                         driver_name);

std::vector<std::string> keys_below(Store& store, std::string_view prefix, const ListOptions& options) {
  std::vector<std::string> keys;
  EXPECT_TRUE(store.list(prefix, options, [&](const ObjectInfo& object) {
    keys.push_back(object.key);
    return true;
  }));
  return keys;
}

std::vector<std::string> unfinished_below(Store& store, std::string_view prefix) {
  std::vector<std::string> keys;
  const auto writes = list_all_unfinished(store, prefix);
  EXPECT_TRUE(writes);
  for (const UnfinishedWrite& write : *writes) keys.push_back(write.key);
  return keys;
}

TEST(FileStore, ShowsNeitherUnfinishedWritesNorEmptyFolders) {
  const std::string root = scratch->new_root();
  const auto store = make_file_store(root);
  ASSERT_TRUE(write_text(*store, "object", "x"));
  std::ofstream(root + "/.headrace-write-0123456789abcdef") << "left by a killed process";
  std::filesystem::create_directories(root + "/empty/below");
  const auto objects = list_all(*store, "", {.collapse_folders = true});
  ASSERT_TRUE(objects);
  ASSERT_EQ(objects->size(), 1U);
  EXPECT_EQ(objects->front().key, "object");
}

TEST(FileStore, ListsLinksToFilesAndFollowsNoLinkToAFolder) {
  const std::string root = scratch->new_root();
  const auto store = make_file_store(root);
  ASSERT_TRUE(write_text(*store, "important/file", "x"));
  ASSERT_TRUE(write_text(*store, "d/file", "x"));
  std::filesystem::create_symlink("../important", root + "/d/elsewhere");
  std::filesystem::create_symlink(".", root + "/d/loop");
  std::filesystem::create_symlink("../important/file", root + "/d/linked");
  EXPECT_THAT(keys_below(*store, "d/", {}), testing::ElementsAre("d/file", "d/linked"));
  EXPECT_THAT(keys_below(*store, "d/", {.collapse_folders = true}),
              testing::ElementsAre("d/file", "d/linked"));
  EXPECT_THAT(keys_below(*store, "d/elsewhere/", {}), testing::ElementsAre("d/elsewhere/file"))
      << "the caller names it";
}

TEST(FileStore, AListingThatCannotSeeAllFails) {
  const std::string root = scratch->new_root();
  const auto store = make_file_store(root);
  ASSERT_TRUE(write_text(*store, "a/x", "x"));
  ASSERT_TRUE(write_text(*store, "a/y", "x"));
  const auto error_of = [&] {
    const auto listed = list_all(*store, "a/");
    return listed ? Error{Code::kUnknown, "listed"} : listed.error();
  };
  readable_entries = 3;
  EXPECT_EQ(error_of().code, Code::kDataLoss);
  readable_entries = -1;
  EXPECT_EQ(list_all(*store, "a/")->size(), 2U);

  ASSERT_TRUE(write_text(*store, std::string("a") + std::string(kHidden), "x"));
  EXPECT_EQ(error_of().code, Code::kPermissionDenied);
  std::filesystem::remove(root + "/a" + std::string(kHidden));

  std::filesystem::create_symlink(std::string(300, 'n'), root + "/a/link");
  EXPECT_THAT(error_of().message, testing::HasSubstr("a/link: File name too long"));
}

TEST(FileStore, LinksThatLeadNowhereAreNoObjects) {
  const std::string root = scratch->new_root();
  const auto store = make_file_store(root);
  ASSERT_TRUE(write_text(*store, "a", "x"));
  std::filesystem::create_symlink("nothing", root + "/dangling");
  std::filesystem::create_symlink("circle", root + "/circle");
  EXPECT_THAT(keys_below(*store, "", {}), testing::ElementsAre("a"));
}

TEST(FileStore, AFileThatIsWrittenInPlaceWhileItIsReadIsNotThatVersion) {
  const std::string root = scratch->new_root();
  const auto store = make_file_store(root);
  const auto object = write_text(*store, "a", "before");
  Bytes data(6);
  ASSERT_TRUE(store->read_into("a", data, {.if_version = object->version}));
  after_read = [&] {
    std::ofstream(root + "/a", std::ios::in) << "after!";
    std::filesystem::last_write_time(root + "/a", std::filesystem::file_time_type::clock::now());
  };
  const auto read = store->read_into("a", data, {.if_version = object->version});
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, Code::kFailedPrecondition);
  EXPECT_TRUE(store->read_into("a", data, {}));
}

TEST(FileStore, AWriteThatIsUnderWayHasNoNameToLeaveBehind) {
  const std::string root = scratch->new_root();
  const auto store = make_file_store(root);
  const auto upload = store->start_upload("folder/object", {});
  ASSERT_TRUE(upload);
  ASSERT_TRUE((*upload)->append(Bytes(100'000)));
  const int unnamed = ::open(root.c_str(), O_WRONLY | O_TMPFILE, 0600);  // does this file system have them?
  EXPECT_EQ(std::filesystem::is_empty(root + "/folder"), unnamed >= 0);
  if (unnamed >= 0) ::close(unnamed);
  ASSERT_TRUE((*upload)->commit());
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(root + "/folder"), {}), 1);
}

TEST(FileStore, AWriteThatIsUnderWayIsUnfinishedAndNoObject) {
  const auto store = make_file_store(scratch->new_root() + std::string(kNamesOnly));
  for (const bool only_if_absent : {true, false}) {
    const auto upload = store->start_upload("folder/object", {.only_if_absent = only_if_absent});
    ASSERT_TRUE(upload);
    ASSERT_TRUE((*upload)->append(Bytes(1000)));
    EXPECT_THAT(keys_below(*store, "", {}), testing::IsEmpty());
    EXPECT_THAT(keys_below(*store, "", {.collapse_folders = true}), testing::IsEmpty());
    const auto writes = list_all_unfinished(*store, "fold");
    ASSERT_TRUE(writes);
    ASSERT_EQ(writes->size(), 1U);
    EXPECT_THAT(writes->front().key, testing::StartsWith("folder/.headrace-write-"));
    EXPECT_EQ(writes->front().size_bytes, 1000U);
    EXPECT_TRUE(writes->front().modified);
    EXPECT_THAT(unfinished_below(*store, "elsewhere"), testing::IsEmpty());
    ASSERT_TRUE((*upload)->commit());
    EXPECT_THAT(keys_below(*store, "", {}), testing::ElementsAre("folder/object"));
    EXPECT_THAT(unfinished_below(*store, ""), testing::IsEmpty());
    ASSERT_TRUE(remove_object(*store, "folder/object"));
  }
}

TEST(FileStore, AWriteWhoseFileIsRemovedFails) {
  const auto store = make_file_store(scratch->new_root() + std::string(kNamesOnly));
  const auto upload = store->start_upload("object", {.only_if_absent = true});
  ASSERT_TRUE(upload);
  const auto writes = list_all_unfinished(*store, "");
  ASSERT_EQ(writes->size(), 1U);
  ASSERT_TRUE(store->remove_unfinished(writes->front(), {}));
  ASSERT_TRUE(store->remove_unfinished(writes->front(), {})) << "it is gone, which is what was wanted";
  EXPECT_FALSE((*upload)->commit());
  EXPECT_THAT(unfinished_below(*store, ""), testing::IsEmpty());
}

TEST(FileStore, OnlyWhatItCanHaveWrittenItselfIsUnfinished) {
  const std::string root = scratch->new_root();
  const auto store = make_file_store(root);
  ASSERT_TRUE(write_text(*store, "object", "x"));
  for (const char* name : {"0123456789abcdef", "0123456789abcde", "0123456789abcdefa", "0123456789ABCDEF"})
    std::ofstream(concat(root, "/.headrace-write-", name)) << "left";
  EXPECT_THAT(unfinished_below(*store, ""), testing::ElementsAre(".headrace-write-0123456789abcdef"));
  for (const char* key : {"object", ".headrace-write-0123456789abcde"})
    EXPECT_EQ(store->remove_unfinished({.key = key}, {}).error().code, Code::kInvalidArgument);
  EXPECT_TRUE(store->stat("object", {}));
}

TEST(FileStore, SyncsOnlyWhatIsToLast) {
  const auto store = make_file_store(scratch->new_root());
  syncs = 0;
  ASSERT_TRUE(write_text(*store, "a/b", "x", {.is_durable = false}));
  EXPECT_EQ(syncs.exchange(0), 0);
  ASSERT_TRUE(write_text(*store, "a/c", "x"));
  EXPECT_EQ(syncs, 2) << "the file and its folder";
  ASSERT_TRUE(write_text(*store, "d/b", "x"));
  EXPECT_EQ(syncs, 5) << "and where the folder is new, the one above";
}

// Files without and with names; new objects and replaced ones.
template <typename Check>
void for_each_way_to_write(const Check& check) {
  for (const std::string_view below : {std::string_view("/"), kNamesOnly}) {
    const auto store = make_file_store(scratch->new_root() + std::string(below));
    ASSERT_TRUE(write_text(*store, "old", "before"));
    for (const bool only_if_absent : {true, false}) {
      SCOPED_TRACE(concat(below, only_if_absent ? " new" : " replaced"));
      check(*store, only_if_absent ? "new" : "old", WriteOptions{.only_if_absent = only_if_absent});
    }
  }
}

TEST(FileStore, TheContentIsOnTheDiskBeforeTheObjectIsThere) {
  for_each_way_to_write([](Store& store, const char* key, const WriteOptions& options) {
    std::vector<std::string> steps;
    done = &steps;
    const auto written = write_text(store, key, "content", options);
    done = nullptr;
    ASSERT_TRUE(written);
    ASSERT_GE(steps.size(), 3U);
    EXPECT_EQ(steps.front(), "sync file");
    EXPECT_EQ(steps.back(), "sync folder");
    disk_fails = true;
    const auto failed = write_text(store, std::string(key) + "-2", "content", options);
    disk_fails = false;
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().code, Code::kDataLoss);
    EXPECT_FALSE(store.stat(std::string(key) + "-2", {}));
  });
}

TEST(FileStore, AWriteThatFailsWhenTheFileIsClosedFails) {
  for_each_way_to_write([](Store& store, const char* key, const WriteOptions& options) {
    late_writes_fail = true;
    const auto written = write_text(store, key, "content", options);
    late_writes_fail = false;
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().code, Code::kResourceExhausted);
  });
}

TEST(FileStore, ALinkWhoseAnswerWasLostIsItsOwn) {
  spares_none = true;
  for_each_way_to_write([](Store& store, const char* key, const WriteOptions& options) {
    loses_answer = options.only_if_absent;
    const auto written = write_text(store, key, "content", options);
    ASSERT_TRUE(written) << written.error().message;
    EXPECT_FALSE(loses_answer);
    EXPECT_EQ(as_text(read_object(store, key, 100)->data), "content");
    const auto second = write_text(store, key, "of another", {.only_if_absent = true});
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, Code::kAlreadyExists);
    EXPECT_EQ(as_text(read_object(store, key, 100)->data), "content");
    EXPECT_THAT(unfinished_below(store, ""), testing::IsEmpty());
  });
  spares_none = false;
}

TEST(FileStore, RefusesTheNamesOfUnfinishedWrites) {
  const auto store = make_file_store(scratch->new_root());
  for (const char* key : {".headrace-write-a", "a/.headrace-write-/b"}) {
    const auto written = write_text(*store, key, "x");
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().code, Code::kInvalidArgument);
  }
  EXPECT_TRUE(write_text(*store, "a.headrace-write-b", "x"));
}

TEST(FileStore, WritesDirectlyBelowTheRootOfTheMachine) {
  const auto store = make_file_store("/");
  const std::string key = std::filesystem::path(scratch->path).filename();
  const auto written = write_text(*store, key, "x");
  ASSERT_TRUE(written || written.error().code == Code::kPermissionDenied) << written.error().message;
  EXPECT_TRUE(remove_object(*store, key));
}

TEST(FileStore, SaysWhatToDoWhenAFolderIsAFile) {
  const auto store = make_file_store(scratch->new_root());
  ASSERT_TRUE(write_text(*store, "a", "x"));
  const auto written = write_text(*store, "a/b", "y");
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(written.error().message, testing::HasSubstr("cannot be a folder"));
}

TEST(FileStore, AFolderIsNoObject) {
  const auto store = make_file_store(scratch->new_root());
  ASSERT_TRUE(write_text(*store, "folder/key", "text"));
  Bytes target(1);
  for (const Error& error :
       {store->stat("folder", {}).error(), store->read_into("folder", target, {}).error(),
        store->copy("folder", "other", {}).error()}) {
    EXPECT_EQ(error.code, Code::kNotFound);
    EXPECT_THAT(error.message, testing::HasSubstr("/folder (a folder has that name)"));
  }
}

TEST(FileStore, AStopEndsListingsAndCopies) {
  const auto store = make_file_store(scratch->new_root());
  ASSERT_TRUE(write_text(*store, "key", "text"));
  std::stop_source stop;
  stop.request_stop();
  const CallOptions stopped{.stop = stop.get_token()};
  EXPECT_EQ(list_all(*store, "", {.call = stopped}).error().code, Code::kCancelled);
  EXPECT_EQ(store->copy("key", "other", {.call = stopped}).error().code, Code::kCancelled);
  EXPECT_FALSE(store->stat("other", {}));
}

TEST(FileStore, SaysWhatToDoWhenTooManyFilesAreOpen) {
  const auto store = make_file_store(scratch->new_root());
  ASSERT_TRUE(write_text(*store, "key", "text"));
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{.rlim_cur = 0, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  Bytes target(4);
  const auto read = store->read_into("key", target, {});
  const auto written = write_text(*store, "other", "text");
  const auto listed = list_all(*store, "");
  setrlimit(RLIMIT_NOFILE, &before);
  ASSERT_FALSE(read || written || listed);
  for (const Error& error : {read.error(), written.error(), listed.error()}) {
    EXPECT_EQ(error.code, Code::kResourceExhausted);
    EXPECT_THAT(error.message, testing::HasSubstr("raise the limit of open files (ulimit -n)"));
  }
}

}  // namespace
}  // namespace headrace
