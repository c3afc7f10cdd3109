#include "headrace/train/export.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "headrace/base/crc32c.h"
#include "headrace/base/digest.h"
#include "headrace/base/json.h"
#include "headrace/store/numbered.h"
#include "headrace/store/registry.h"
#include "headrace/track/published_folder.h"

namespace headrace {
namespace {

class NamedModel : public testing::Test {
 protected:
  NamedModel() : root(*stores.open("memory://test")) {}

  // The export of a run, and its digest.
  std::pair<Location, std::string> exported(const std::string& run, const std::string& graph = "a graph") {
    Manifest manifest{.kind = "saved_model", .created_by = run, .plan = "p"};
    manifest.parts = {
        {.key = "saved_model.pb", .size_bytes = graph.size(), .crc32c = crc32c(as_bytes(graph))}};
    const std::string text = serialize_manifest(manifest);
    EXPECT_TRUE(write_text(*root.store, run + "/export/saved_model.pb", graph));
    EXPECT_TRUE(write_text(*root.store, run + "/export/_headrace/manifest-00000001", text));
    return {root.at(run + "/export"), sha256_hex(as_bytes(text))};
  }

  Result<NamedVersion> publish(const std::string& run) {
    const auto [folder, digest] = exported(run);
    return publish_named_model(root, "imdb", folder, digest, "r");
  }
  // The version that the last entry of the alias log names.
  std::uint64_t latest() {
    const auto entry = read_latest(*root.store, "models/imdb/_headrace/aliases-", 1'000);
    return parse_json(as_text((*entry)->data))->get<std::uint64_t>("version");
  }
  // Every object of the named model, with its version.
  std::map<std::string, std::string> objects() {
    std::map<std::string, std::string> out;
    const auto found = list_all(*root.store, "models/");
    for (const ObjectInfo& object : *found) out[object.key] = object.version.token;
    return out;
  }
  std::uint64_t aliases() {
    return latest_number(*root.store, "models/imdb/_headrace/aliases-")->value_or(0);
  }

  StoreRegistry stores{Environment{}};
  Location root;
};

TEST_F(NamedModel, EachExportIsOneVersionAndOneAlias) {
  EXPECT_EQ(publish("first")->version, 1U);
  EXPECT_EQ(publish("first")->version, 1U);
  EXPECT_EQ(aliases(), 1U);
  EXPECT_EQ(publish("second")->version, 2U);
  EXPECT_EQ(aliases(), 2U);
}

TEST_F(NamedModel, AnOlderRunThatIsRepeatedChangesNothing) {
  for (const char* digest : {"first", "second", "third"}) ASSERT_TRUE(publish(digest));
  const auto before = objects();
  EXPECT_EQ(publish("first")->version, 1U);
  EXPECT_EQ(publish("second")->version, 2U);
  EXPECT_EQ(objects(), before);
  EXPECT_EQ(latest(), 3U);
}

TEST_F(NamedModel, AVersionThatWasRemovedIsPublishedAgain) {
  ASSERT_TRUE(publish("first"));
  const Location version = root.at("models/imdb/1");
  ASSERT_TRUE(Ownership::take(version, *read_chain(version), {.action = OwnershipAction::kRemove}));
  std::vector<std::string> removed;
  for (const auto& [key, token] : objects()) {
    if (!key.ends_with("manifest-00000002")) removed.push_back(key);
  }
  ASSERT_TRUE(root.store->remove_many(removed, {}));
  EXPECT_EQ(publish("first")->version, 1U);
  const auto published = read_published(version, "saved_model");
  ASSERT_TRUE(published && *published);
  EXPECT_EQ((*published)->number, 3U);
}

TEST_F(NamedModel, ASlowPublisherDoesNotMoveTheAliasBack) {
  ASSERT_TRUE(publish("slow"));
  ASSERT_TRUE(remove_object(*root.store, "models/imdb/_headrace/aliases-00000001"));
  ASSERT_TRUE(remove_object(*root.store, "models/imdb/1/_headrace/manifest-00000001"));
  ASSERT_TRUE(publish("fast"));
  EXPECT_EQ(publish("slow")->version, 1U);
  EXPECT_TRUE(root.store->stat("models/imdb/1/_headrace/manifest-00000001", {}));
  EXPECT_EQ(aliases(), 1U);
  EXPECT_EQ(latest(), 2U);
}

TEST_F(NamedModel, AliasesOfOtherNamesDoNotHideTheLatest) {
  ASSERT_TRUE(publish("first"));
  ASSERT_TRUE(publish("second"));
  ASSERT_TRUE(write_text(*root.store, "models/imdb/_headrace/aliases-00000003",
                         R"({"alias":"best","by":"r","version":1})"));
  ASSERT_TRUE(publish("first"));
  EXPECT_EQ(aliases(), 3U);
  ASSERT_TRUE(publish("third"));
  EXPECT_EQ(aliases(), 4U);
  EXPECT_EQ(latest(), 3U);
}

TEST_F(NamedModel, TheAliasOfAProcessThatDiedBeforeWritingItIsWritten) {
  ASSERT_TRUE(publish("first"));
  ASSERT_TRUE(remove_object(*root.store, "models/imdb/_headrace/aliases-00000001"));
  const auto again = publish("first");
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->version, 1U);
  EXPECT_EQ(aliases(), 1U);
}

TEST_F(NamedModel, AnExportThatWasOverwrittenGetsNoName) {
  const auto [folder, digest] = exported("run");
  exported("run", "of another configuration");
  const auto named = publish_named_model(root, "imdb", folder, digest, "r");
  ASSERT_FALSE(named);
  EXPECT_EQ(named.error().code, Code::kAborted);
  EXPECT_TRUE(objects().empty());
}

}  // namespace
}  // namespace headrace
