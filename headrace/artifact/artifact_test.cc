#include "headrace/artifact/artifact.h"

#include <gmock/gmock.h>

#include "headrace/artifact/content.h"
#include "headrace/artifact/fetch.h"
#include "headrace/artifact/verify_artifact.h"
#include "headrace/base/crc32c.h"
#include "headrace/base/text.h"
#include "headrace/record/manifest.h"
#include "headrace/store/layers/metered.h"
#include "headrace/store/memory/memory_store.h"
#include "headrace/store/numbered.h"

namespace headrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::chrono::system_clock::time_point kNow{};

class ArtifactTest : public testing::Test {
 protected:
  ArtifactTest() { stores.put({"memory", "test", ""}, root.store); }

  void put(std::string_view key, std::string_view text) {
    ASSERT_TRUE(write_text(*root.store, root.at(key).key, text));
  }
  std::string get(std::string_view key) {
    return to_string(read_object(*root.store, root.at(key).key, 1 << 20)->data);
  }
  ArtifactDraft draft(std::string_view name = "cats", std::string_view type = "dataset") {
    return *ArtifactDraft::make(name, type);
  }
  ArtifactVersion log(const ArtifactDraft& artifact) {
    const auto version = log_artifact(root, artifact, "run-1", kNow);
    EXPECT_TRUE(version) << version.error().message;
    return *version;
  }
  std::vector<std::string> problems(std::string_view name, std::uint64_t number) {
    ArtifactVerifier verifier(stores, root, {});
    EXPECT_TRUE(verifier.verify(name, number));
    EXPECT_TRUE(verifier.verify_aliases(name));
    std::vector<std::string> out;
    for (const BadEntry& bad : verifier.bad()) out.push_back(concat(bad.path, ": ", bad.problem));
    return out;
  }
  std::size_t contents() { return list_all(*root.store, "_headrace/artifacts/content/")->size(); }

  Location root{std::shared_ptr<Store>(make_memory_store("test")), "", {"memory", "test", ""}};
  StoreRegistry stores{Environment{}};
};

TEST_F(ArtifactTest, AReferenceKeepsUrlVersionAndSizeAndReadsNothing) {
  put("raw/a.jpg", "aaaa");
  put("raw/deep/b.jpg", "bb");
  put("raw/_headrace/runs/v2/x/start", "a record");
  put("raw/_headrace/mlflow/runs/x/00000001", "a state");
  const auto metrics = std::make_shared<StoreMetrics>();
  ArtifactDraft cats = draft();
  ASSERT_TRUE(cats.add_reference(make_metered(root.at("raw"), metrics)));
  EXPECT_EQ(metrics->of(StoreOperation::kRead).moved_bytes, 0U);
  const ArtifactVersion version = log(cats);
  EXPECT_EQ(version.number, 1U);
  EXPECT_EQ(version.count, 2U);
  EXPECT_EQ(version.size_bytes, 6U);
  EXPECT_THAT(version.sources, ElementsAre("memory://test/raw"));
  const auto entries = *read_entries(root, version);
  ASSERT_THAT(entries, SizeIs(2));
  EXPECT_EQ(entries[0].path, "a.jpg");
  EXPECT_EQ(entries[0].url, "memory://test/raw/a.jpg");
  EXPECT_EQ(entries[0].version, root.store->stat("raw/a.jpg", {})->version.token);
  EXPECT_EQ(entries[1].path, "deep/b.jpg");
}

TEST_F(ArtifactTest, ContentIsKeptOnce) {
  put("files/a", "same");
  put("files/b", "same");
  ArtifactDraft cats = draft();
  ASSERT_TRUE(cats.add_folder(root.at("files"), "in"));
  const ArtifactVersion version = log(cats);
  EXPECT_EQ(contents(), 2U) << "one content, and the list of entries";
  ArtifactDraft dogs = draft("dogs");
  ASSERT_TRUE(dogs.add_file(root.at("files/a"), "other"));
  log(dogs);
  EXPECT_EQ(contents(), 3U) << "another list of entries";
  const auto entries = *read_entries(root, version);
  ASSERT_TRUE(fetch_entries(stores, root, entries, root.at("copy"), {}));
  EXPECT_EQ(get("copy/in/a"), "same");
  EXPECT_EQ(get("copy/in/b"), "same");
}

TEST_F(ArtifactTest, TheSameIsNoNewVersionAndAnythingElseIsOne) {
  put("a", "1");
  const auto with = [&](std::string_view metadata) {
    auto artifact = *ArtifactDraft::make("cats", "dataset", "all of them", metadata);
    EXPECT_TRUE(artifact.add_file(root.at("a")));
    return artifact;
  };
  const ArtifactVersion first = log(with("{}"));
  EXPECT_EQ(log(with("{}")).digest, first.digest);
  EXPECT_EQ(log(with(R"({"license":"mit"})")).number, 2U);
  put("a", "2");
  EXPECT_EQ(log(with(R"({"license":"mit"})")).number, 3U);
  put("a", "1");
  EXPECT_EQ(log(with("{}")).number, 4U) << "the first one is not the latest";
  EXPECT_EQ(read_artifact_version(root, "cats", 2)->metadata["license"], "mit");
  ArtifactDraft model = draft("cats", "model");
  ASSERT_TRUE(model.add_file(root.at("a")));
  EXPECT_EQ(log_artifact(root, model, "r", kNow).error().code, Code::kFailedPrecondition);
}

TEST_F(ArtifactTest, AVersionIsFoundByAliasNumberAndName) {
  for (const char* text : {"1", "2", "3"}) {
    put("a", text);
    ArtifactDraft cats = draft();
    ASSERT_TRUE(cats.add_file(root.at("a")));
    log(cats);
  }
  ASSERT_TRUE(point_artifact_alias(root, "cats", "stable", 2, "run-1"));
  const auto number = [&](std::string_view reference) { return find_artifact(root, reference)->number; };
  EXPECT_EQ(number("cats"), 3U);
  EXPECT_EQ(number("cats:latest"), 3U);
  EXPECT_EQ(number("cats:v1"), 1U);
  EXPECT_EQ(number("cats:stable"), 2U);
  EXPECT_THAT(find_artifact(root, "cats:best").error().message, HasSubstr("it has latest, stable"));
  EXPECT_EQ(find_artifact(root, "cats:v4").error().code, Code::kNotFound);
  EXPECT_EQ(find_artifact(root, "dogs").error().code, Code::kNotFound);
  for (const char* text : {"s3://a/b", "a/b", "", ":latest", "cats:", "cats:a:b", "cats:12"})
    EXPECT_EQ(find_artifact(root, text).error().code, Code::kInvalidArgument) << text;
  for (const char* alias : {"latest", "v3", "12"})
    EXPECT_EQ(point_artifact_alias(root, "cats", alias, 1, "r").error().code, Code::kInvalidArgument);
  EXPECT_THAT(*list_artifacts(root), ElementsAre("cats"));
}

TEST_F(ArtifactTest, ReferencesThatChangedOrAreGoneAreTold) {
  for (int i = 0; i < 40; ++i) put(concat("raw/", zero_padded(static_cast<std::uint64_t>(i), 2)), "four");
  for (int i = 0; i < 3000; ++i) put(concat("raw/07-", i), "not wanted");
  ArtifactDraft cats = draft();
  for (int i = 0; i < 40; ++i)
    ASSERT_TRUE(cats.add_reference(root.at(concat("raw/", zero_padded(static_cast<std::uint64_t>(i), 2)))));
  log(cats);
  EXPECT_THAT(problems("cats", 1), IsEmpty());
  put("raw/03", "three");
  ASSERT_TRUE(remove_object(*root.store, "raw/39"));
  ASSERT_TRUE(remove_object(*root.store, "raw/08"));
  put("raw/09", "nine");
  EXPECT_THAT(problems("cats", 1),
              ElementsAre("03: has changed: it had 4 bytes, and has 5", "08: is gone",
                          HasSubstr("09: has changed: it had the version"), "39: is gone"));
  const auto entries = *read_entries(root, *find_artifact(root, "cats"));
  EXPECT_EQ(fetch_entries(stores, root, std::span(entries).subspan(3, 1), root.at("copy"), {}).error().code,
            Code::kFailedPrecondition);
  EXPECT_EQ(fetch_entries(stores, root, std::span(entries).subspan(8, 1), root.at("copy"), {}).error().code,
            Code::kNotFound);
  EXPECT_TRUE(fetch_entries(stores, root, std::span(entries).subspan(10, 1), root.at("copy"), {}));
}

TEST_F(ArtifactTest, AnObjectWithSeveralPathsIsComparedForEachOfThem) {
  ArtifactDraft cats = draft();
  for (const char* key : {"raw/1", "raw/2", "raw/3"}) {
    put(key, "four");
    for (const char* folder : {"x", "y", "z"})
      ASSERT_TRUE(cats.add_reference(root.at(key), concat(folder, "/", key)));
  }
  log(cats);
  EXPECT_THAT(problems("cats", 1), IsEmpty());
  ASSERT_TRUE(remove_object(*root.store, "raw/2"));
  EXPECT_THAT(problems("cats", 1), ElementsAre("x/raw/2: is gone", "y/raw/2: is gone", "z/raw/2: is gone"));
}

// Every bit of every object that is kept.
TEST_F(ArtifactTest, VerifyFindsEveryFlippedBit) {
  put("files/a", "some text");
  ArtifactDraft cats = draft();
  ASSERT_TRUE(cats.add_folder(root.at("files")));
  log(cats);
  ASSERT_TRUE(point_artifact_alias(root, "cats", "stable", 1, "run-1"));
  ASSERT_THAT(problems("cats", 1), IsEmpty());
  const auto objects = *list_all(*root.store, "_headrace/artifacts/");
  ASSERT_THAT(objects, SizeIs(4));
  for (const ObjectInfo& object : objects) {
    const std::string good = get(object.key);
    for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
      std::string text = good;
      text[bit / 8] = static_cast<char>(text[bit / 8] ^ (1 << (bit % 8)));
      put(object.key, text);
      const bool is_seal = object.key.find("aliases-") != std::string::npos &&
                           bit / 8 >= good.find("zz_crc32c") && bit / 8 < good.find("zz_crc32c") + 9;
      if (is_seal) continue;  // the entry is whole, and counts as one without a checksum
      EXPECT_THAT(problems("cats", 1), SizeIs(1)) << object.key << " " << bit;
    }
    put(object.key, good);
  }
}

TEST_F(ArtifactTest, AContentThatIsCutOffIsKeptAgain) {
  put("files/a", "some text");
  ArtifactDraft cats = draft();
  ASSERT_TRUE(cats.add_folder(root.at("files")));
  log(cats);
  const auto firsts = *list_all(*root.store, "_headrace/artifacts/content/");
  for (const ObjectInfo& object : firsts) {
    put(object.key, get(object.key).substr(1));
    EXPECT_THAT(problems("cats", 1), SizeIs(1));
    EXPECT_EQ(log(cats).number, 1U);
    EXPECT_THAT(problems("cats", 1), IsEmpty());
  }
  const auto entries = *read_entries(root, *find_artifact(root, "cats"));
  EXPECT_EQ(find_content(root, entries[0].sha256, 9, {})->key, content_copy(root, entries[0].sha256, 2).key);
  ASSERT_TRUE(fetch_entries(stores, root, entries, root.at("copy"), {}));
  EXPECT_EQ(get("copy/a"), "some text");
}

TEST_F(ArtifactTest, WhereACopyWasAlteredTheNextOneIsRead) {
  put("files/a", "some text");
  ArtifactDraft cats = draft();
  ASSERT_TRUE(cats.add_folder(root.at("files")));
  const ArtifactVersion version = log(cats);
  const auto entries = *read_entries(root, version);
  for (const std::string& sha256 : {entries[0].sha256, version.entries}) {
    const std::string first = content_copy(root, sha256, 1).key;
    const std::string good = get(first);
    put(first, std::string(good.size(), 'x'));
    ArtifactVerifier verifier(stores, root, {});
    ASSERT_TRUE(verifier.verify("cats", 1));
    ASSERT_THAT(verifier.bad(), SizeIs(1));
    EXPECT_THAT(verifier.bad()[0].problem,
                testing::AllOf(HasSubstr(concat(sha256, ".1 was altered")), HasSubstr("remove it")));
    put(content_copy(root, sha256, 2).key, good);
    EXPECT_THAT(problems("cats", 1), IsEmpty());
    ASSERT_TRUE(fetch_entries(stores, root, *read_entries(root, version), root.at(sha256), {}));
    EXPECT_EQ(get(concat(sha256, "/a")), "some text");
  }
}

TEST_F(ArtifactTest, APublishedFolderIsItsManifestAndParts) {
  put("data/part-1", "one");
  put("data/leftover", "x");
  Manifest manifest{.kind = "dataset", .created_by = "r", .plan = "p"};
  manifest.parts = {{.key = "part-1", .size_bytes = 3, .crc32c = crc32c(as_bytes("one")), .role = "shard"}};
  ASSERT_TRUE(create_numbered(*root.store, root.at("data/_headrace/manifest-").key, 1,
                              as_bytes(serialize_manifest(manifest))));
  ArtifactDraft cats = draft();
  ASSERT_TRUE(cats.add_reference(root.at("data"), "reviews"));
  const auto entries = *read_entries(root, log(cats));
  ASSERT_THAT(entries, SizeIs(2));
  EXPECT_EQ(entries[0].path, "reviews/_headrace/manifest-00000001");
  EXPECT_EQ(entries[1].crc32c, crc32c(as_bytes("one")));
  put("data/part-1", "other");
  EXPECT_EQ(draft().add_reference(root.at("data")).error().code, Code::kDataLoss);
}

TEST_F(ArtifactTest, PathsThatCannotLieInOneFolderAreRefused) {
  put("a", "1");
  ArtifactDraft cats = draft();
  ASSERT_TRUE(cats.add_file(root.at("a"), "x/y"));
  for (const char* path : {"x/y", "x", "x/y/z", "../x", "x//z"})
    EXPECT_EQ(cats.add_file(root.at("a"), path).error().code, Code::kInvalidArgument) << path;
  EXPECT_TRUE(cats.add_file(root.at("a"), "x/yz"));
  EXPECT_EQ(cats.add_reference(root.at("none")).error().code, Code::kNotFound);
  put("token=hunter2", "1");
  EXPECT_THAT(cats.add_reference(root.at("token=hunter2")).error().message,
              testing::AllOf(HasSubstr("secret"), testing::Not(HasSubstr("hunter2"))));
  EXPECT_EQ(log_artifact(root, draft(), "r", kNow).error().code, Code::kFailedPrecondition) << "empty";
}

TEST_F(ArtifactTest, AnAddThatFailsHalfWayAddsNothing) {
  put("files/a", "1");
  put("files/b", "2");
  put("refs/a", "3");
  put("refs/token=hunter2", "4");
  ArtifactDraft cats = draft();
  ASSERT_TRUE(cats.add_file(root.at("files/b"), "in/b"));
  EXPECT_EQ(cats.add_folder(root.at("files"), "in").error().code, Code::kInvalidArgument);
  EXPECT_EQ(cats.add_reference(root.at("refs"), "refs").error().code, Code::kInvalidArgument);
  Manifest manifest{.kind = "dataset", .created_by = "r", .plan = "p"};
  manifest.parts = {{.key = "a", .size_bytes = 1, .crc32c = crc32c(as_bytes("1")), .role = "shard"},
                    {.key = "lost", .size_bytes = 1, .crc32c = crc32c(as_bytes("1")), .role = "shard"}};
  ASSERT_TRUE(create_numbered(*root.store, root.at("files/_headrace/manifest-").key, 1,
                              as_bytes(serialize_manifest(manifest))));
  EXPECT_EQ(cats.add_reference(root.at("files"), "published").error().code, Code::kDataLoss);
  EXPECT_EQ(cats.size(), 1U);
  EXPECT_THAT(cats.sources(), IsEmpty());
  EXPECT_TRUE(cats.add_file(root.at("files/a"), "in/a")) << "no path is taken by what failed";
}

TEST_F(ArtifactTest, MetadataComeBackAsTheyWereGivenOrAreRefused) {
  const auto refusal = [](std::string_view metadata) {
    const auto made = ArtifactDraft::make("cats", "dataset", "", metadata);
    if (made) return std::string("none");
    EXPECT_EQ(made.error().code, Code::kInvalidArgument) << metadata;
    return made.error().message;
  };
  EXPECT_THAT(refusal(R"({"pad_token":"[PAD]"})"), HasSubstr("metadata.pad_token seems"));
  EXPECT_THAT(refusal(R"({"a":1,"b":{"list":["x","api_key=hunter2"]}})"),
              testing::AllOf(HasSubstr("metadata.b.list[1] seems"), testing::Not(HasSubstr("hunter2"))));
  EXPECT_THAT(refusal(R"({"password":{"of":["x"]}})"), HasSubstr("metadata.password.of[0] seems"));
  const char* kept = R"({"pad_token_id":0,"tokens":17,"url":"https://host/cats"})";
  auto artifact = *ArtifactDraft::make("cats", "dataset", "", kept);
  put("a", "1");
  ASSERT_TRUE(artifact.add_file(root.at("a")));
  log(artifact);
  EXPECT_EQ(find_artifact(root, "cats")->metadata.dump(), kept);
}

TEST_F(ArtifactTest, AFileThatChangesBeforeItIsLoggedIsNoVersion) {
  put("a", "1");
  ArtifactDraft cats = draft();
  ASSERT_TRUE(cats.add_file(root.at("a")));
  put("a", "2");
  EXPECT_EQ(log_artifact(root, cats, "r", kNow).error().code, Code::kFailedPrecondition);
  EXPECT_THAT(*artifact_numbers(root, "cats"), IsEmpty());
}

TEST_F(ArtifactTest, ManySourcesAreTheirDeepestFolder) {
  ArtifactDraft cats = draft();
  for (int i = 0; i < 100; ++i) {
    put(concat("raw/images/", i), "x");
    ASSERT_TRUE(cats.add_reference(root.at(concat("raw/images/", i))));
  }
  EXPECT_THAT(log(cats).sources, ElementsAre("memory://test/raw/images"));
}

TEST_F(ArtifactTest, AHundredThousandReferencesAreListedNotAskedFor) {
  constexpr std::size_t kMany = 100'000;
  for (std::size_t i = 0; i < kMany; ++i) put(concat("raw/", i), "x");
  const auto metrics = std::make_shared<StoreMetrics>();
  const Location metered = make_metered(root, metrics);
  stores.put({"memory", "test", ""}, metered.store);
  ArtifactDraft cats = draft();
  ASSERT_TRUE(cats.add_reference(metered.at("raw")));
  EXPECT_EQ(log(cats).count, kMany);
  put("raw/77777", "changed");
  EXPECT_THAT(problems("cats", 1), SizeIs(1));
  EXPECT_LT(metrics->of(StoreOperation::kStat).calls, 10U);
}

}  // namespace
}  // namespace headrace
