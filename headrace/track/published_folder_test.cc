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

  // Takes the folder over each time.
  Result<Published> publish(std::string_view text, const std::string& plan, std::string_view below = "") {
    HEADRACE_TRY(Ownership owner, Ownership::take(folder, *read_chain(folder), {}));
    return publish(text, plan, below, owner);
  }
  Result<Published> publish(std::string_view text, const std::string& plan, std::string_view below,
                            Ownership& owner) {
    std::ofstream(staged.path() + "/file") << text;
    return publish_folder(staged.path(), owner, below, "file", "part",
                          {.kind = "thing", .created_by = "run", .plan = plan});
  }
  std::string content() { return to_string(read_object(*folder.store, folder.at("file").key, 100)->data); }

  StoreRegistry stores{Environment{}};
  StagedFolder staged;
  Location folder;
};

TEST_F(PublishFolder, NeverWritesOverWhatIsThere) {
  const auto first = publish("one", "p");
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_EQ(first->number, 2U);
  const auto again = publish("two", "p");
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, Code::kAlreadyExists);
  EXPECT_EQ(content(), "one");
}

TEST_F(PublishFolder, OfWhoeverLostTheFolderNothingIsPublished) {
  Ownership stalled = *Ownership::take(folder, *read_chain(folder), {});
  ASSERT_TRUE(publish("two", "p", "o2"));
  const auto lost = publish("one", "p", "", stalled);
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().code, Code::kAborted);
  const auto published = read_published(folder);
  ASSERT_TRUE(published && *published);
  EXPECT_EQ(folder_of_part((*published)->manifest, "file"), "o2/");
}

TEST_F(PublishFolder, AManifestIsReadByItsNumberAndItsDamageNamesTheObject) {
  ASSERT_TRUE(publish("one", "p"));
  ASSERT_TRUE(write_text(*folder.store, folder.at("_headrace/manifest-00000003").key, "{"));
  const auto first = read_published(folder, {.number = 2});
  ASSERT_TRUE(first && *first);
  EXPECT_EQ((*first)->manifest.plan, "p");
  EXPECT_FALSE(read_published(folder, {.number = 4})->has_value());
  EXPECT_EQ(read_published(folder, {.number = 1}).error().code, Code::kInvalidArgument) << "an entry";
  const auto latest = read_published(folder);
  ASSERT_FALSE(latest);
  EXPECT_EQ(latest.error().code, Code::kDataLoss);
  EXPECT_THAT(latest.error().message, HasSubstr("memory://test/folder/_headrace/manifest-00000003"));
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
