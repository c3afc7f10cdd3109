#include "headrace/filesystem/file_system.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "headrace/base/text.h"
#include "headrace/store/memory/memory_store.h"
#include "headrace/store/registry.h"

namespace headrace {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

class FileSystemTest : public testing::Test {
 protected:
  Status write(std::string_view path, std::string_view text) {
    HEADRACE_TRY(const auto file, files.open_for_writing(path));
    HEADRACE_CHECK(file->append(as_bytes(text)));
    return file->close();
  }
  std::string read(std::string_view path) {
    const auto file = files.open_for_reading(path);
    if (!file) return std::string(code_name(file.error().code));
    Bytes data((*file)->size_bytes());
    EXPECT_EQ(*(*file)->read(0, data), data.size());
    return to_string(data);
  }
  std::vector<std::string> objects() {
    std::vector<std::string> keys;
    const auto all = list_all(*stores.open("memory://m")->store, "");
    for (const ObjectInfo& object : *all) keys.push_back(object.key);
    return keys;
  }
  template <typename T>
  static std::string code(const T& outcome) {
    return std::string(outcome ? "OK" : code_name(outcome.error().code));
  }
  bool is_folder(std::string_view path) {
    const auto info = files.stat(path);
    return info && info->is_folder;
  }

  StoreRegistry stores{Environment{}};
  FileSystem files{{.open = [this](std::string_view url) { return stores.open(url); },
                    .segment_header = [] { return to_bytes("H"); }}};
};

TEST_F(FileSystemTest, PathsAreCleaned) {
  EXPECT_EQ(FileSystem::clean("s3://b//a/./c//"), "s3://b/a/c");
  EXPECT_EQ(FileSystem::clean("s3://b"), "s3://b");
  EXPECT_EQ(FileSystem::clean("s3://b/"), "s3://b");
  EXPECT_EQ(FileSystem::clean("file:///a//b"), "file:///a/b");
  EXPECT_EQ(FileSystem::clean("igfs:///"), "igfs:///");
  EXPECT_EQ(FileSystem::clean("igfs://a/"), "igfs://a");
}

TEST_F(FileSystemTest, StoresWithoutAHostAndThoseWithANameHaveARoot) {
  for (const Url& root : {Url{"igfs", "", ""}, Url{"ignite", "host:1/name", ""}}) {
    stores.put(root, make_memory_store("shared"));
    const std::string text = root.text(), below = text.ends_with('/') ? text : text + "/";
    ASSERT_TRUE(files.create_folder(below + "made"));
    ASSERT_TRUE(write(below + "a/b", "text"));
    EXPECT_TRUE(is_folder(text)) << text;
    EXPECT_THAT(*files.children(text), ElementsAre("a", "made"));
    EXPECT_THAT(*files.matches(below + "*"), ElementsAre(below + "a", below + "made"));
    EXPECT_THAT(*files.matches(below + "*/b"), ElementsAre(below + "a/b"));
  }
  EXPECT_EQ(code(files.stat("ignite://host:1")), "INVALID_ARGUMENT");
}

TEST_F(FileSystemTest, AFileIsThereOnceItIsClosed) {
  const auto file = files.open_for_writing("memory://m/a/b");
  ASSERT_TRUE(file);
  ASSERT_TRUE((*file)->append(as_bytes("text")));
  ASSERT_TRUE((*file)->flush());
  EXPECT_EQ(code(files.open_for_reading("memory://m/a/b")), "NOT_FOUND");
  ASSERT_TRUE((*file)->close());
  ASSERT_TRUE((*file)->close());
  EXPECT_EQ(files.stat("memory://m/a/b")->size_bytes, 4U);
  EXPECT_EQ(read("memory://m//a/b"), "text");
  EXPECT_TRUE(is_folder("memory://m/a"));
  EXPECT_TRUE(is_folder("memory://m"));
}

TEST_F(FileSystemTest, AFileThatIsBeingWrittenHasItsSizeSoFar) {
  auto file = files.open_for_writing("memory://m/a/b");
  ASSERT_TRUE(file);
  for (const std::uint64_t size : {4U, 8U}) {
    ASSERT_TRUE((*file)->append(as_bytes("text")));
    const auto info = files.stat("memory://m/a/b");
    ASSERT_TRUE(info);
    EXPECT_EQ(info->size_bytes, size);
  }
  EXPECT_EQ(code(files.remove_file("memory://m/a/b")), "NOT_FOUND");
  ASSERT_TRUE((*file)->close());
  EXPECT_EQ((*file)->size_bytes(), 8U);

  const auto again = files.open_for_writing("memory://m/a/b");
  ASSERT_TRUE((*again)->append(as_bytes("new")));
  EXPECT_EQ(files.stat("memory://m/a/b")->size_bytes, 8U) << "the file that is there counts";
}

TEST_F(FileSystemTest, AnEventFileWithoutDataIsThereOnceItIsClosed) {
  const std::string name = "memory://m/events.out.tfevents.1";
  ASSERT_TRUE((*files.open_for_writing(name))->close());
  EXPECT_EQ(read(name), "");
  ASSERT_TRUE((*files.open_for_appending(name))->close());
  EXPECT_THAT(objects(), ElementsAre("events.out.tfevents.1"));
  ASSERT_TRUE(write(name, "events"));
  ASSERT_TRUE((*files.open_for_writing(name))->close());
  EXPECT_EQ(read(name), "") << "it replaces what was there";
}

TEST_F(FileSystemTest, AFileThatNobodyClosesIsFinishedAllTheSame) {
  {
    const auto file = files.open_for_writing("memory://m/a");
    ASSERT_TRUE((*file)->append(as_bytes("text")));
  }
  EXPECT_EQ(read("memory://m/a"), "text");
}

TEST_F(FileSystemTest, LargeFilesAreSentMeanwhile) {
  const std::string megabyte(1 << 20, 'x');
  const auto file = files.open_for_writing("memory://m/a");
  for (int i = 0; i < 40; ++i) ASSERT_TRUE((*file)->append(as_bytes(megabyte)));
  EXPECT_EQ((*file)->size_bytes(), 40U << 20);
  ASSERT_TRUE((*file)->close());
  EXPECT_EQ(read("memory://m/a").size(), 40U << 20);
}

TEST_F(FileSystemTest, AppendingWritesTheWholeAnew) {
  ASSERT_TRUE(write("memory://m/a", "one"));
  {
    const auto file = files.open_for_appending("memory://m/a");
    EXPECT_EQ((*file)->size_bytes(), 3U);
    ASSERT_TRUE((*file)->append(as_bytes(" two")));
  }
  EXPECT_EQ(read("memory://m/a"), "one two");
  const auto fresh = files.open_for_appending("memory://m/b");
  ASSERT_TRUE((*fresh)->append(as_bytes("new")));
  ASSERT_TRUE((*fresh)->close());
  EXPECT_EQ(read("memory://m/b"), "new");
}

TEST_F(FileSystemTest, FoldersThatWereCreatedAreThereForThisProcess) {
  EXPECT_EQ(code(files.create_folder("memory://m/a/b")), "OK");
  EXPECT_EQ(code(files.create_folder("memory://m/a")), "ALREADY_EXISTS");
  EXPECT_EQ(code(files.create_folders("memory://m/x/y/z")), "OK");
  EXPECT_EQ(code(files.create_folders("memory://m/x/y/z")), "OK");
  EXPECT_TRUE(is_folder("memory://m/x/y"));
  EXPECT_THAT(*files.children("memory://m"), ElementsAre("a", "x"));
  EXPECT_THAT(*files.children("memory://m/a"), ElementsAre("b"));
  EXPECT_EQ(code(files.remove_folder("memory://m/a")), "FAILED_PRECONDITION");
  EXPECT_EQ(code(files.remove_folder("memory://m/a/b")), "OK");
  EXPECT_EQ(code(files.remove_folder("memory://m/a")), "OK");
  EXPECT_EQ(code(files.remove_folder("memory://m/a")), "NOT_FOUND");
  EXPECT_THAT(objects(), ElementsAre());
}

TEST_F(FileSystemTest, FilesAndFoldersAreToldApart) {
  ASSERT_TRUE(write("memory://m/a/b", "text"));
  EXPECT_EQ(code(files.remove_file("memory://m/a")), "FAILED_PRECONDITION");
  EXPECT_EQ(code(files.remove_folder("memory://m/a")), "FAILED_PRECONDITION");
  EXPECT_EQ(code(files.remove_folder("memory://m/a/b")), "FAILED_PRECONDITION");
  EXPECT_EQ(code(files.children("memory://m/a/b")), "FAILED_PRECONDITION");
  EXPECT_EQ(code(files.create_folder("memory://m/a/b/c")), "FAILED_PRECONDITION");
  EXPECT_EQ(code(files.children("memory://m/none")), "NOT_FOUND");
  EXPECT_EQ(code(files.remove_file("memory://m/none")), "NOT_FOUND");
  EXPECT_EQ(code(files.remove_all("memory://m/none")), "NOT_FOUND");
  EXPECT_EQ(code(files.open_for_reading("memory://m/none")), "NOT_FOUND");
  EXPECT_EQ(code(files.open_for_reading("memory://m/a")), "NOT_FOUND");
  EXPECT_EQ(code(files.open_for_writing("memory://m/a/../b")), "INVALID_ARGUMENT");
  EXPECT_EQ(code(files.open_for_writing("memory://m")), "INVALID_ARGUMENT");
  EXPECT_EQ(code(files.stat("nothing://m/a")), "INVALID_ARGUMENT");
}

TEST_F(FileSystemTest, AFolderOutlivesItsLastFile) {
  ASSERT_TRUE(write("memory://m/a/b", "text"));
  ASSERT_TRUE(files.remove_file("memory://m/a/b"));
  EXPECT_TRUE(is_folder("memory://m/a"));
  EXPECT_TRUE(files.remove_folder("memory://m/a"));
  EXPECT_FALSE(is_folder("memory://m/a"));
}

TEST_F(FileSystemTest, RemoveAllTakesWhatLiesBelow) {
  for (const char* name : {"a/b", "a/c/d", "ab"}) ASSERT_TRUE(write(concat("memory://m/", name), "x"));
  ASSERT_TRUE(files.create_folders("memory://m/a/e/f"));
  ASSERT_TRUE(files.remove_all("memory://m/a"));
  EXPECT_THAT(objects(), ElementsAre("ab"));
  EXPECT_FALSE(is_folder("memory://m/a/e"));
}

TEST_F(FileSystemTest, PatternsFindFilesAndFolders) {
  for (const char* name : {"a/1.txt", "a/2.txt", "a/c/3.txt", "b.txt"})
    ASSERT_TRUE(write(concat("memory://m/", name), "x"));
  ASSERT_TRUE(files.create_folders("memory://m/a/new"));
  EXPECT_THAT(*files.matches("memory://m/a/*.txt"), ElementsAre("memory://m/a/1.txt", "memory://m/a/2.txt"));
  EXPECT_THAT(*files.matches("memory://m/a/[a-n]*"), ElementsAre("memory://m/a/c", "memory://m/a/new"));
  EXPECT_THAT(*files.matches("memory://m/*/c/*"), ElementsAre("memory://m/a/c/3.txt"));
  EXPECT_THAT(*files.matches("memory://m/none*"), ElementsAre());
}

TEST_F(FileSystemTest, RenameMovesFilesAndFolders) {
  ASSERT_TRUE(write("memory://m/a", "new"));
  ASSERT_TRUE(write("memory://m/b", "old"));
  ASSERT_TRUE(files.rename("memory://m/a", "memory://m/b"));
  EXPECT_EQ(read("memory://m/b"), "new");
  EXPECT_EQ(code(files.rename("memory://m/a", "memory://m/c")), "NOT_FOUND");
  for (const char* name : {"d/1", "d/e/2"}) ASSERT_TRUE(write(concat("memory://m/", name), name));
  EXPECT_EQ(code(files.rename("memory://m/d", "memory://m/d/e/f")), "INVALID_ARGUMENT");
  EXPECT_EQ(code(files.rename("memory://m/b", "memory://m/d")), "FAILED_PRECONDITION");
  ASSERT_TRUE(write("memory://m/g/3", "x"));
  EXPECT_EQ(code(files.rename("memory://m/d", "memory://m/g")), "FAILED_PRECONDITION");
  EXPECT_EQ(code(files.rename("memory://m/d", "memory://m/b")), "FAILED_PRECONDITION");
  ASSERT_TRUE(files.rename("memory://m/d", "memory://m/h"));
  EXPECT_THAT(objects(), ElementsAre("b", "g/3", "h/1", "h/e/2"));
  EXPECT_EQ(read("memory://m/h/e/2"), "d/e/2");
  ASSERT_TRUE(files.rename("memory://m/b", "memory://other/b"));
  EXPECT_EQ(read("memory://other/b"), "new");
  ASSERT_TRUE(files.copy("memory://other/b", "memory://m/b"));
  EXPECT_EQ(read("memory://m/b"), "new");
}

TEST_F(FileSystemTest, ACheckpointIsWrittenUnderItsOwnNameAndSeenWhenRenamed) {
  const std::string data(20 << 20, 'x'), part = "memory://m/c.part-00000-of-00001";
  ASSERT_TRUE(write(part + ".data-00000-of-00001.tempstate1", data));
  ASSERT_TRUE(files.rename(part + ".data-00000-of-00001.tempstate1", part + ".data-00000-of-00001"));
  ASSERT_TRUE(write(part + ".index.tempstate2", "parts"));
  ASSERT_TRUE(files.rename(part + ".index.tempstate2", part + ".index"));
  EXPECT_THAT(objects(), ElementsAre());
  EXPECT_EQ(read(part + ".index"), "parts");
  EXPECT_EQ(files.stat(part + ".data-00000-of-00001")->size_bytes, data.size());
  EXPECT_EQ(code(files.open_for_reading(part + ".data-00000-of-00001")), "FAILED_PRECONDITION");
  EXPECT_EQ(code(files.rename(part + ".data-00000-of-00001", "memory://m/x")), "FAILED_PRECONDITION");
  ASSERT_TRUE(files.rename(part + ".data-00000-of-00001", "memory://m/c.data-00000-of-00001"));
  ASSERT_TRUE(files.remove_file(part + ".index"));
  EXPECT_EQ(code(files.remove_file(part + ".index")), "NOT_FOUND");
  ASSERT_TRUE(write("memory://m/c.index.tempstate3", "merged"));
  ASSERT_TRUE(files.rename("memory://m/c.index.tempstate3", "memory://m/c.index"));
  EXPECT_THAT(objects(), ElementsAre("c.data-00000-of-00001", "c.index"));
  EXPECT_EQ(read("memory://m/c.data-00000-of-00001"), data);
  EXPECT_EQ(read("memory://m/c.index"), "merged");
}

TEST_F(FileSystemTest, ASmallTemporaryFileMayGetAnyName) {
  ASSERT_TRUE(write("memory://m/a.tempstate1", "text"));
  ASSERT_TRUE(files.copy("memory://m/a.tempstate1", "memory://m/c"));
  ASSERT_TRUE(files.rename("memory://m/a.tempstate1", "memory://m/b"));
  EXPECT_EQ(read("memory://m/b"), "text");
  EXPECT_EQ(read("memory://m/c"), "text");
  EXPECT_THAT(objects(), ElementsAre("b", "c"));
}

TEST_F(FileSystemTest, BeyondABoundTemporaryFilesAreObjects) {
  for (std::size_t i = 0; i <= HeldFiles::kMost; ++i)
    ASSERT_TRUE(write(concat("memory://m/a.tempstate", i), concat("text", i)));
  EXPECT_THAT(objects(), ElementsAre(concat("a.tempstate", HeldFiles::kMost)));
  for (std::size_t i = 0; i <= HeldFiles::kMost; ++i) {
    ASSERT_TRUE(files.rename(concat("memory://m/a.tempstate", i), concat("memory://m/b", i)));
    EXPECT_EQ(read(concat("memory://m/b", i)), concat("text", i));
  }
}

TEST_F(FileSystemTest, ATemporaryFileMayBeAppendedTo) {
  ASSERT_TRUE(write("memory://m/a.tempstate1", "one"));
  {
    const auto file = files.open_for_appending("memory://m/a.tempstate1");
    ASSERT_TRUE((*file)->append(as_bytes(" two")));
  }
  ASSERT_TRUE(files.rename("memory://m/a.tempstate1", "memory://m/a"));
  EXPECT_EQ(read("memory://m/a"), "one two");
}

TEST_F(FileSystemTest, AFolderIsNotMadeBelowAFile) {
  ASSERT_TRUE(write("memory://m/a", "text"));
  EXPECT_EQ(code(files.create_folders("memory://m/a/b/c")), "FAILED_PRECONDITION");
  EXPECT_EQ(files.stat("memory://m/a")->size_bytes, 4U);
  ASSERT_TRUE(files.create_folders("memory://m/b"));
  EXPECT_EQ(code(files.copy("memory://m/a", "memory://m/b")), "FAILED_PRECONDITION");
}

TEST_F(FileSystemTest, AFolderThatIsRenamedTakesItsEmptyFoldersAlong) {
  ASSERT_TRUE(files.create_folders("memory://m/a/b/c"));
  ASSERT_TRUE(write("memory://m/a/d", "text"));
  ASSERT_TRUE(files.rename("memory://m/a", "memory://m/e"));
  EXPECT_TRUE(is_folder("memory://m/e/b/c"));
  EXPECT_FALSE(is_folder("memory://m/a"));
}

TEST_F(FileSystemTest, AnOpenEventFileIsThereBeforeItsFirstSegment) {
  const std::string name = "memory://m/logs/events.out.tfevents.1";
  {
    const auto log = files.open_for_writing(name);
    ASSERT_TRUE((*log)->append(as_bytes("one")));
    EXPECT_EQ(files.stat(name)->size_bytes, 3U);
  }
  EXPECT_EQ(read(name), "one");
  {
    const auto log = files.open_for_appending(name);
    ASSERT_TRUE((*log)->append(as_bytes("two")));
  }
  EXPECT_EQ(read(name + ".000001"), "Htwo");
}

TEST_F(FileSystemTest, AnEventFileThatIsWrittenAnewLosesItsOldContent) {
  const std::string name = "memory://m/logs/events.out.tfevents.1";
  const auto make_log = [&] {
    ASSERT_TRUE(write(name, "one"));
    const auto log = files.open_for_appending(name);
    ASSERT_TRUE((*log)->append(as_bytes("two")));
    ASSERT_TRUE((*log)->close());
    EXPECT_THAT(*files.children("memory://m/logs"), SizeIs(2));
  };
  make_log();
  ASSERT_TRUE(write(name, "new"));
  EXPECT_EQ(read(name), "new");
  EXPECT_THAT(*files.children("memory://m/logs"), SizeIs(1));
  make_log();
  ASSERT_TRUE(write("memory://m/other", "copied"));
  ASSERT_TRUE(files.copy("memory://m/other", name));
  EXPECT_EQ(read(name), "copied");
  EXPECT_THAT(*files.children("memory://m/logs"), SizeIs(1));
  make_log();
  ASSERT_TRUE(files.rename("memory://m/other", name));
  EXPECT_EQ(read(name), "copied");
  EXPECT_THAT(*files.children("memory://m/logs"), SizeIs(1));
}

TEST_F(FileSystemTest, ALogThatIsCopiedFileByFileInOrderIsWhole) {
  const std::string name = "memory://m/logs/events.out.tfevents.1",
                    copy = "memory://m/copy/events.out.tfevents.1";
  ASSERT_TRUE(write(name, "one"));
  ASSERT_TRUE(write(name + ".000001", "two"));
  for (int time = 0; time < 2; ++time) {
    for (const char* segment : {"", ".000001"}) ASSERT_TRUE(files.copy(name + segment, copy + segment));
    EXPECT_EQ(read(copy) + read(copy + ".000001"), "onetwo");
  }
}

}  // namespace
}  // namespace headrace
