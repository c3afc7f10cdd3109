#include "headrace/store/s3/upload_note.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "headrace/store/scratch_folder_test.h"

namespace headrace {
namespace {

namespace fs = std::filesystem;

auto* const notes_folder =
    static_cast<ScratchFolder*>(testing::AddGlobalTestEnvironment(new ScratchFolder));  // gtest owns it

class Notes : public testing::Test {
 protected:
  std::unique_ptr<UploadNote> take(std::string_view name = "object") {
    return UploadNote::take(folder(), name);
  }
  const std::string path = notes_folder->new_root();
  std::string folder() const { return path + "/uploads"; }
  std::vector<fs::path> files() const {
    std::vector<fs::path> found;
    for (const auto& entry : fs::directory_iterator(folder())) found.push_back(entry.path());
    return found;
  }
};

TEST_F(Notes, TellTheNextRunWhatWasBegun) {
  const BegunUpload begun{"id", "mark"}, later{"another", "longer mark"};
  EXPECT_EQ(take()->read(), std::nullopt);
  ASSERT_TRUE(take()->write(later));
  ASSERT_TRUE(take()->write(begun));
  EXPECT_EQ(take()->read(), begun);
  EXPECT_EQ(take("other object")->read(), std::nullopt);
  take()->remove();
  EXPECT_EQ(take()->read(), std::nullopt);
}

TEST_F(Notes, AreHeldByOneAtATime) {
  auto held = take();
  ASSERT_NE(held, nullptr);
  EXPECT_EQ(take(), nullptr);
  EXPECT_NE(take("other object"), nullptr);
  held.reset();
  EXPECT_NE(take(), nullptr);
}

TEST_F(Notes, ThatAreDamagedSayNothing) {
  ASSERT_TRUE(take()->write({"id", "mark"}));
  for (const char* text :
       {"", "headrace upload 1\n", "headrace upload 1\nid\n", "headrace upload 1\nid\nmark",
        "headrace upload 1\nid\nmark\nmore\n", "headrace upload 2\nid\nmark\n"}) {
    std::ofstream(files().front()) << text;
    EXPECT_EQ(take()->read(), std::nullopt) << text;
  }
  EXPECT_FALSE(take()->write({"two\nlines", "mark"}));
  EXPECT_FALSE(take()->write({"", "mark"}));
  EXPECT_FALSE(take()->write({std::string(5000, 'x'), "mark"}));
}

TEST_F(Notes, ThatNobodyUsesGo) {
  ASSERT_TRUE(take("old")->write({"id", "mark"}));
  const fs::path old = files().front();
  fs::last_write_time(old, fs::file_time_type::clock::now() - std::chrono::hours(24 * 31));
  std::ofstream(folder() + "/mine") << "no note";
  fs::last_write_time(folder() + "/mine", fs::file_time_type::clock::now() - std::chrono::hours(24 * 31));
  const auto held = take("new");
  EXPECT_FALSE(fs::exists(old));
  EXPECT_TRUE(fs::exists(folder() + "/mine"));
}

TEST_F(Notes, AreNoneWhereTheyCannotBe) {
  fs::create_directories(path);
  std::ofstream(path + "/file") << "in the way";
  EXPECT_EQ(UploadNote::take(path + "/file/uploads", "object"), nullptr);
  EXPECT_EQ(UploadNote::take("", "object"), nullptr);
}

}  // namespace
}  // namespace headrace
