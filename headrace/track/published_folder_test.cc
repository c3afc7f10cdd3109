#include "headrace/track/published_folder.h"
#include "headrace/store/registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace headrace {
namespace {

using testing::HasSubstr;

class PublishFolder : public testing::Test {
 protected:
  PublishFolder()
      : staged(*StagedFolder::create(
            (std::filesystem::temp_directory_path() / "headrace-published-folder-test").string())),
        folder(*stores.open("memory://test/folder")) {}

  Result<std::string> publish(std::string_view text, const std::string& plan) {
    std::ofstream(staged.path() + "/file") << text;
    return publish_folder(staged.path(), folder, "", "file", "part",
                          {.kind = "thing", .created_by = "run", .plan = plan}, 1);
  }
  std::string content() { return to_string(read_object(*folder.store, folder.at("file").key, 100)->data); }

  StoreRegistry stores{Environment{}};
  StagedFolder staged;
  Location folder;
};

TEST_F(PublishFolder, NeverWritesOverWhatIsPublished) {
  const auto first = publish("one", "p");
  ASSERT_TRUE(first) << first.error().message;
  const auto again = publish("two", "p");
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, *first);
  EXPECT_EQ(content(), "one");
  const auto other = publish("two", "another");
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, Code::kAborted);
  EXPECT_EQ(content(), "one");
}

TEST_F(PublishFolder, AManifestIsReadByItsNumberAndItsDamageNamesTheObject) {
  ASSERT_TRUE(publish("one", "p"));
  ASSERT_TRUE(write_text(*folder.store, folder.at("_headrace/manifest-00000002").key, "{"));
  const auto first = read_published(folder, {.number = 1});
  ASSERT_TRUE(first && *first);
  EXPECT_EQ((*first)->manifest.plan, "p");
  EXPECT_FALSE(read_published(folder, {.number = 3})->has_value());
  const auto latest = read_published(folder);
  ASSERT_FALSE(latest);
  EXPECT_EQ(latest.error().code, Code::kDataLoss);
  EXPECT_THAT(latest.error().message, HasSubstr("memory://test/folder/_headrace/manifest-00000002"));
}

TEST_F(PublishFolder, AMissingPartSaysWhatToDo) {
  ASSERT_TRUE(publish("one", "p"));
  ASSERT_TRUE(remove_object(*folder.store, folder.at("file").key));
  const Status got = download_published(**read_published(folder), "", staged.path() + "/copy");
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, Code::kDataLoss);
  EXPECT_THAT(got.error().message, HasSubstr("memory://test/folder/file is missing"));
  EXPECT_THAT(got.error().message, HasSubstr("restore it"));
}

}  // namespace
}  // namespace headrace
