#include "headrace/model/named_model.h"

#include <gmock/gmock.h>

#include "headrace/base/text.h"
#include "headrace/store/layers/forwarding.h"
#include "headrace/store/layers/metered.h"
#include "headrace/store/memory/memory_store.h"
#include "headrace/store/numbered.h"

namespace headrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

std::uint64_t calls_in(const StoreMetrics& metrics) {
  std::uint64_t calls = 0;
  for (std::size_t i = 0; i < kStoreOperations; ++i)
    calls += metrics.of(static_cast<StoreOperation>(i)).calls;
  return calls;
}

class NamedModel : public testing::Test {
 protected:
  NamedModel() { location.store = std::shared_ptr<Store>(make_memory_store("out")); }

  void write_entry(std::uint64_t number, std::string_view text) {
    ASSERT_TRUE(create_numbered(*location.store, "models/m/_headrace/aliases-", number, as_bytes(text)));
  }

  Location model() const { return named_model_folder(location, "m"); }

  Location location;
};

TEST_F(NamedModel, NamesAreCheckedForWhatStoresAndUrlsTake) {
  for (const char* name : {"imdb", "9-a_b.c", "A"}) EXPECT_TRUE(check_model_name(name)) << name;
  for (const char* name : {"", ".", "..", "a/b", "_x", "-x", "a b", "n\xc3\xa9"})
    EXPECT_FALSE(check_model_name(name)) << name;
  EXPECT_FALSE(check_model_name(std::string(129, 'a')));
}

TEST_F(NamedModel, AnExportIsOneVersion) {
  EXPECT_EQ(*take_version(model(), "s3://b/a", "d1"), 1U);
  EXPECT_EQ(*take_version(model(), "s3://b/a", "d2"), 2U);
  EXPECT_EQ(*take_version(model(), "s3://b/c", "d1"), 3U);
  EXPECT_EQ(*take_version(model(), "s3://b/a", "d1"), 1U);
  EXPECT_THAT(*taken_versions(model()), ElementsAre(1, 2, 3));
}

TEST_F(NamedModel, AliasesAreReadFromTheirLastEntry) {
  Aliases writer(model());
  for (std::uint64_t version = 1; version <= 50; ++version)
    ASSERT_TRUE(writer.point(version % 2 == 0 ? "stable" : "latest", version, "r"));
  const auto metrics = std::make_shared<StoreMetrics>();
  Aliases reader(make_metered(model(), metrics));
  EXPECT_TRUE(*reader.refresh());
  EXPECT_EQ(calls_in(*metrics), 3U);
  EXPECT_THAT(reader.versions(), ElementsAre(Pair("latest", 49), Pair("stable", 50)));
  EXPECT_EQ(reader.version_of("latest"), 49U);
  EXPECT_EQ(reader.version_of("other"), std::nullopt);
}

TEST_F(NamedModel, APollThatFindsNothingIsOneRequest) {
  Aliases writer(model());
  for (std::uint64_t version = 1; version <= 50; ++version) ASSERT_TRUE(writer.point("latest", version, "r"));
  const auto metrics = std::make_shared<StoreMetrics>();
  Aliases reader(make_metered(model(), metrics));
  ASSERT_TRUE(*reader.refresh());
  const std::uint64_t before = calls_in(*metrics);
  EXPECT_FALSE(*reader.refresh());
  EXPECT_EQ(calls_in(*metrics), before + 1);
  ASSERT_TRUE(writer.point("latest", 51, "r"));
  EXPECT_TRUE(*reader.refresh());
  EXPECT_EQ(reader.version_of("latest"), 51U);
}

TEST_F(NamedModel, WhoHasNotReadTheLastEntryCannotAppend) {
  Aliases one(model());
  Aliases other(model());
  ASSERT_FALSE(*one.refresh());
  ASSERT_FALSE(*other.refresh());
  ASSERT_TRUE(one.point("latest", 1, "r"));
  EXPECT_EQ(other.point("stable", 7, "r").error().code, Code::kAlreadyExists);
  EXPECT_EQ(other.version_of("stable"), std::nullopt);
  EXPECT_TRUE(*other.refresh());
  ASSERT_TRUE(other.point("stable", 7, "r"));
  EXPECT_TRUE(*one.refresh());
  EXPECT_THAT(one.versions(), ElementsAre(Pair("latest", 1), Pair("stable", 7)));
}

TEST_F(NamedModel, EntriesThatNameOneAliasAloneAreRead) {
  write_entry(1, R"({"alias":"best","by":"r","version":1})");
  write_entry(2, R"({"alias":"latest","by":"r","version":2})");
  write_entry(3, R"({"alias":"best","by":"r","version":2})");
  Aliases reader(model());
  ASSERT_TRUE(*reader.refresh());
  EXPECT_THAT(reader.versions(), ElementsAre(Pair("best", 2), Pair("latest", 2)));
  ASSERT_TRUE(advance_latest(model(), 3, "r"));
  write_entry(5, R"({"alias":"best","by":"r","version":3})");
  Aliases later(model());
  ASSERT_TRUE(*later.refresh());
  EXPECT_THAT(later.versions(), ElementsAre(Pair("best", 3), Pair("latest", 3)));
  ASSERT_TRUE(*reader.refresh());
  EXPECT_EQ(reader.versions(), later.versions());
}

TEST_F(NamedModel, LatestOnlyAdvances) {
  ASSERT_TRUE(advance_latest(model(), 3, "r"));
  ASSERT_TRUE(advance_latest(model(), 2, "r"));
  Aliases reader(model());
  ASSERT_TRUE(*reader.refresh());
  EXPECT_EQ(reader.version_of(kLatestAlias), 3U);
}

TEST_F(NamedModel, AnAliasIsPointedWhereItIsAsked) {
  ASSERT_TRUE(advance_latest(model(), 3, "r"));
  ASSERT_TRUE(point_alias(model(), "stable", 2, "r"));
  ASSERT_TRUE(point_alias(model(), "stable", 1, "r"));
  ASSERT_TRUE(point_alias(model(), "stable", 1, "r"));  // no entry more
  Aliases reader(model());
  ASSERT_TRUE(*reader.refresh());
  EXPECT_THAT(reader.versions(), ElementsAre(Pair("latest", 3), Pair("stable", 1)));
  EXPECT_EQ(*latest_number(*location.store, "models/m/_headrace/aliases-"), 3U);
  for (const char* alias : {"latest", "12", "", "a/b", "-x"})
    EXPECT_EQ(point_alias(model(), alias, 1, "r").error().code, Code::kInvalidArgument) << alias;
}

TEST_F(NamedModel, ModelsAndTheSourcesOfVersionsAreListed) {
  EXPECT_THAT(*list_named_models(location), ElementsAre());
  ASSERT_TRUE(take_version(model(), "s3://b/a", "d1"));
  ASSERT_TRUE(take_version(named_model_folder(location, "a"), "s3://b/c", "d2"));
  EXPECT_THAT(*list_named_models(location), ElementsAre("a", "m"));
  EXPECT_EQ(read_version_source(model(), 1)->export_url, "s3://b/a");
  EXPECT_EQ(read_version_source(model(), 1)->export_digest, "d1");
  EXPECT_EQ(read_version_source(model(), 2).error().code, Code::kNotFound);
}

TEST_F(NamedModel, ADamagedEntryIsNamedAndTheAliasesStay) {
  ASSERT_TRUE(advance_latest(model(), 1, "r"));
  Aliases reader(model());
  ASSERT_TRUE(*reader.refresh());
  write_entry(2, R"({"alias":"latest","version":"two"})");
  const auto read = reader.refresh();
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, Code::kDataLoss);
  EXPECT_THAT(read.error().message, HasSubstr("entry 2 of the aliases of"));
  EXPECT_EQ(reader.version_of("latest"), 1U);
}

TEST_F(NamedModel, AChangeIsToldThoughReadingFailedAfterIt) {
  Aliases reader(model());
  ASSERT_FALSE(*reader.refresh());
  write_entry(1, R"({"alias":"latest","by":"r","version":1})");
  write_entry(2, "damaged");
  EXPECT_FALSE(reader.refresh());
  ASSERT_TRUE(remove_object(*location.store, "models/m/_headrace/aliases-00000002"));
  EXPECT_TRUE(*reader.refresh());
  EXPECT_FALSE(*reader.refresh());
}

// Appends an entry of somebody else before the first write.
class Overtaken final : public ForwardingStore {
 public:
  Overtaken(std::shared_ptr<Store> store, std::function<void()> first)
      : ForwardingStore(std::move(store)), first_(std::move(first)) {}
  Result<ObjectInfo> write(std::string_view key, BytesView data, const WriteOptions& options) override {
    if (first_) std::exchange(first_, nullptr)();
    return ForwardingStore::write(key, data, options);
  }

 private:
  std::function<void()> first_;
};

TEST_F(NamedModel, AStalledCallDoesNotUndoWhatSomebodyElseHasSet) {
  ASSERT_TRUE(point_alias(model(), "stable", 1, "r"));
  const auto point_overtaken = [&](std::string_view other, std::uint64_t version) {
    Location stalled = model();
    stalled.store = std::make_shared<Overtaken>(
        location.store, [&, other, version] { ASSERT_TRUE(point_alias(model(), other, version, "other")); });
    return point_alias(stalled, "stable", 2, "r");
  };
  const Status lost = point_overtaken("stable", 3);
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().code, Code::kAborted);
  EXPECT_THAT(lost.error().message, HasSubstr("to version 3 in the meantime"));
  EXPECT_TRUE(point_overtaken("fresh", 7)) << "another alias is nobody's loss";
  Aliases reader(model());
  ASSERT_TRUE(*reader.refresh());
  EXPECT_THAT(reader.versions(), ElementsAre(Pair("fresh", 7), Pair("stable", 2)));
}

}  // namespace
}  // namespace headrace
