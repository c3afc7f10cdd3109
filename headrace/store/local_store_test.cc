#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "headrace/store/conformance.h"
#include "headrace/store/file/file_store.h"
#include "headrace/store/memory/memory_store.h"

namespace headrace {
namespace {

// A folder that all tests of this program share and that goes when it ends.
class ScratchFolder final : public testing::Environment {
 public:
  void SetUp() override {
    path = (std::filesystem::temp_directory_path() / "headrace-test-XXXXXX").string();
    ASSERT_NE(mkdtemp(path.data()), nullptr);
  }
  void TearDown() override { std::filesystem::remove_all(path); }
  std::string new_root() { return path + "/" + std::to_string(++roots_); }

  std::string path;

 private:
  int roots_ = 0;
};
auto* const scratch = dynamic_cast<ScratchFolder*>(testing::AddGlobalTestEnvironment(new ScratchFolder));

INSTANTIATE_TEST_SUITE_P(Memory, StoreConformance,
                         testing::Values(DriverUnderTest{"memory", [] { return make_memory_store("test"); }}),
                         driver_name);
INSTANTIATE_TEST_SUITE_P(File, StoreConformance,
                         testing::Values(DriverUnderTest{
                             "file", [] { return make_file_store(scratch->new_root()); }}),
                         driver_name);

std::vector<std::string> keys_below(Store& store, std::string_view prefix, const ListOptions& options) {
  std::vector<std::string> keys;
  EXPECT_TRUE(store.list(prefix, options, [&](const ObjectInfo& object) {
    keys.push_back(object.key);
    return true;
  }));
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

}  // namespace
}  // namespace headrace
