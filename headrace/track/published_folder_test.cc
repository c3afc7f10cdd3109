#include "headrace/track/published_folder.h"

#include "headrace/base/crc32c.h"
#include "headrace/base/digest.h"
#include "headrace/base/text.h"
#include "headrace/store/layers/forwarding.h"
#include "headrace/store/registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace headrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Fails to tell about the objects whose keys end so.
class UnreadableStore final : public ForwardingStore {
 public:
  UnreadableStore(std::shared_ptr<Store> store, std::string ending)
      : ForwardingStore(std::move(store)), ending_(std::move(ending)) {}
  Result<ObjectInfo> stat(std::string_view key, const CallOptions& options) override {
    if (key.ends_with(ending_)) return Error{Code::kUnavailable, "the network is gone"};
    return inner().stat(key, options);
  }

 private:
  const std::string ending_;
};

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

  // A published folder whose parts `one` and `sub/two` lie below "o2".
  PublishedFolder publish_two() {
    std::filesystem::create_directory(staged.path() + "/sub");
    std::ofstream(staged.path() + "/sub/two") << "2";
    EXPECT_TRUE(publish("one", "p", "o2"));
    return **read_published(folder);
  }
  Status download(const PublishedFolder& published, std::string_view below = "") {
    return download_published(published, below, target());
  }
  std::string target() const { return staged.path() + ".copy"; }
  std::string copied(const std::string& name) const {
    std::ifstream file(target() + "/" + name);
    return file ? std::string(std::istreambuf_iterator<char>(file), {}) : "none";
  }
  void TearDown() override { std::filesystem::remove_all(target()); }

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

TEST_F(PublishFolder, ThePartsHaveTheirKeysBelowTheFolderTheirSizesAndChecksums) {
  const PublishedFolder published = publish_two();
  EXPECT_EQ(published.number, 2U);
  EXPECT_EQ(published.digest, sha256_hex(read_number(folder, 2)->value().data));
  EXPECT_EQ(published.manifest.kind, "thing");
  ASSERT_EQ(published.manifest.parts.size(), 2U);
  const ManifestPart& last = published.manifest.parts[1];
  EXPECT_EQ(published.manifest.parts[0].key, "o2/sub/two");
  EXPECT_EQ(last.key, "o2/file");
  EXPECT_EQ(last.size_bytes, 3U);
  EXPECT_EQ(last.crc32c, crc32c(as_bytes("one")));
  EXPECT_EQ(last.role, "part");
  folder = *stores.open("memory://root/");
  ASSERT_EQ(folder.key, "");
  ASSERT_TRUE(publish("one", "p"));
  EXPECT_EQ((*read_published(folder))->manifest.parts.at(1).key, "file");
}

TEST_F(PublishFolder, WhoeverLostTheFolderIsToldSoWhereItsNamesAreTaken) {
  Ownership stalled = *Ownership::take(folder, *read_chain(folder), {});
  ASSERT_TRUE(publish("two", "p"));
  const auto lost = publish("one", "p", "", stalled);
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().code, Code::kAborted);
  EXPECT_EQ(content(), "two");
}

TEST_F(PublishFolder, ADownloadCopiesThePartsBelowAFolder) {
  PublishedFolder published = publish_two();
  ASSERT_TRUE(write_text(*folder.store, folder.at("o3/file").key, "three"));
  published.manifest.parts.push_back(
      {.key = "o3/file", .size_bytes = 5, .crc32c = crc32c(as_bytes("three"))});
  const Status got = download(published, "o2/");
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(copied("file"), "one");
  EXPECT_EQ(copied("sub/two"), "2");
  EXPECT_FALSE(std::filesystem::exists(target() + "/o3"));
  ASSERT_TRUE(download(published));
  EXPECT_EQ(copied("o2/file"), "one");
  EXPECT_EQ(copied("o3/file"), "three");
  ASSERT_TRUE(download(published, "o3/"));
  EXPECT_EQ(copied("file"), "three") << "it replaces what is there";
}

TEST_F(PublishFolder, AnAlteredPartIsNoDownload) {
  const PublishedFolder published = publish_two();
  for (const char* text : {"onE", "one and more", ""}) {
    ASSERT_TRUE(write_text(*folder.store, folder.at("o2/file").key, text));
    const Status got = download(published);
    ASSERT_FALSE(got) << text;
    EXPECT_EQ(got.error().code, Code::kDataLoss) << text;
    EXPECT_THAT(
        got.error().message,
        HasSubstr(concat("memory://test/folder/o2/file was altered since it was published (",
                         std::string_view(text).size(), " bytes, checksum ", hex32(crc32c(as_bytes(text))),
                         "; published with 3 and ", hex32(crc32c(as_bytes("one"))), ")")));
  }
  // Each of size and checksum is compared.
  PublishedFolder forged = published;
  ASSERT_TRUE(write_text(*folder.store, folder.at("o2/file").key, "one"));
  ASSERT_TRUE(download(forged));
  forged.manifest.parts.back().size_bytes = 2;
  EXPECT_EQ(download(forged).error().code, Code::kDataLoss);
}

TEST_F(PublishFolder, ADownloadOfWhatWasOverwrittenMeanwhileIsToBeRepeated) {
  const PublishedFolder published = publish_two();
  ASSERT_TRUE(Ownership::take(folder, *read_chain(folder), {.action = OwnershipAction::kOverwrite}));
  ASSERT_TRUE(remove_object(*folder.store, folder.at("o2/file").key));
  EXPECT_EQ(download(published).error().code, Code::kDataLoss) << "readers still take it";
  ASSERT_TRUE(Ownership::take(folder, *read_chain(folder), {.action = OwnershipAction::kRemove}));
  const Status got = download(published);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, Code::kAborted);
  EXPECT_THAT(got.error().message, HasSubstr("memory://test/folder was overwritten or removed while"));
  PublishedFolder unreadable = published;
  unreadable.folder.store = std::make_shared<UnreadableStore>(folder.store, "/file");
  EXPECT_EQ(download(unreadable).error().code, Code::kUnavailable) << "another error stays";
  ASSERT_TRUE(write_text(*folder.store, folder.at("_headrace/manifest-00000005").key, "{"));
  EXPECT_EQ(download(published).error().code, Code::kDataLoss) << "nobody knows";
}

TEST_F(PublishFolder, AKeyThatLeadsOutOfTheTargetIsRefused) {
  PublishedFolder published = publish_two();
  ASSERT_TRUE(download(published));
  for (const char* key : {"../out", "o2/../../out", "/out"}) {
    published.manifest.parts.back().key = key;
    const Status got = download(published);
    ASSERT_FALSE(got) << key;
    EXPECT_EQ(got.error().code, Code::kInvalidArgument) << key;
  }
  EXPECT_FALSE(std::filesystem::exists(target() + "/../out"));
}

TEST_F(PublishFolder, ADownloadHasALimitForAllItsParts) {
  constexpr std::uint64_t kLimit = std::uint64_t{16} << 30;
  PublishedFolder published = publish_two();
  published.manifest.parts.back().size_bytes = kLimit;
  const Status larger = download(published);
  ASSERT_FALSE(larger);
  EXPECT_EQ(larger.error().code, Code::kResourceExhausted);
  EXPECT_THAT(larger.error().message, HasSubstr("memory://test/folder is larger than 17.2 GB"));
  EXPECT_EQ(download(published, "o2/f").error().code, Code::kDataLoss) << "this part has the limit";
}

TEST_F(PublishFolder, ATargetThatCannotBeWrittenIsAnErrorOfTheDisk) {
  PublishedFolder published = publish_two();
  for (const std::string& place : {staged.path() + "/file", std::string("/dev/null")}) {
    const Status got = download_published(published, "", place);
    ASSERT_FALSE(got);
    EXPECT_EQ(got.error().code, Code::kResourceExhausted);
    EXPECT_THAT(got.error().message, HasSubstr(place + "/o2/sub/two failed: is the disk full?"));
  }
  // The disk may also be full when the file is closed.
  published.manifest.parts = {{.key = "full", .size_bytes = 1, .crc32c = crc32c(as_bytes("1"))}};
  ASSERT_TRUE(write_text(*folder.store, folder.at("full").key, "1"));
  const Status full = download_published(published, "", "/dev");
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().code, Code::kResourceExhausted);
  EXPECT_THAT(full.error().message, HasSubstr("writing /dev/full failed"));
}

TEST_F(PublishFolder, IsReadAsOneOfItsKind) {
  EXPECT_EQ(*read_published(folder, "thing"), std::nullopt);
  publish_two();
  EXPECT_TRUE(read_published(folder, "thing")->has_value());
  const auto other = read_published(folder, "model");
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, Code::kInvalidArgument);
  EXPECT_EQ(other.error().message, "memory://test/folder is a thing folder, not a model folder");
}

TEST_F(PublishFolder, AVersionIsOpenedAndAManifestFoundByItsNumber) {
  EXPECT_EQ(*open_version(folder, {}), std::nullopt);
  publish_two();
  ASSERT_TRUE(publish("two", "p2", "o4"));
  EXPECT_EQ((*open_version(folder, {}))->number, 4U);
  EXPECT_EQ((*open_version(folder, {.number = 2}))->number, 2U);
  EXPECT_EQ(open_version(folder, {.number = 3}).error().code, Code::kInvalidArgument);
  EXPECT_EQ(open_version(folder, {.number = 9}).error().code, Code::kNotFound);
  EXPECT_EQ((*find_manifest(folder, 2))->number, 2U);
  EXPECT_EQ(*find_manifest(folder, 3), std::nullopt) << "an entry";
  EXPECT_EQ(*find_manifest(folder, 9), std::nullopt);
  ASSERT_TRUE(write_text(*folder.store, folder.at("_headrace/manifest-00000002").key, "{"));
  EXPECT_EQ(find_manifest(folder, 2).error().code, Code::kDataLoss);
  EXPECT_EQ(open_version(folder, {.number = 2}).error().code, Code::kDataLoss);
}

TEST(FolderOfPart, IsWhereThePartLies) {
  const Manifest manifest{.parts = {{.key = "first"}, {.key = "o2/other"}, {.key = "a/o2/third"}}};
  EXPECT_EQ(folder_of_part(manifest, "first"), "");
  EXPECT_EQ(folder_of_part(manifest, "other"), "o2/");
  EXPECT_EQ(folder_of_part(manifest, "third"), "a/o2/");
  EXPECT_EQ(folder_of_part(manifest, "ther"), "");
}

}  // namespace
}  // namespace headrace
