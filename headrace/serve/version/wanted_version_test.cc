#include "headrace/serve/version/wanted_version.h"

#include <gmock/gmock.h>

#include "headrace/store/memory/memory_store.h"

namespace headrace {
namespace {

using testing::HasSubstr;

WantedVersion version_with(const std::vector<std::string>& names, std::uint64_t size_bytes = 1) {
  WantedVersion version{.number = 3,
                        .folder = {std::shared_ptr<Store>(make_memory_store("m")), "model", {}},
                        .digest = std::string(64, 'a')};
  for (const std::string& name : names)
    version.files.push_back({.name = name, .key = "model/" + name, .size_bytes = size_bytes, .crc32c = 1});
  return version;
}

TEST(WantedVersion, HasItsFilesInOrderAndTheirSize) {
  const auto version = checked_version(version_with({"variables/b", "saved_model.pb", "variables-a"}, 7));
  ASSERT_TRUE(version) << version.error().message;
  EXPECT_EQ((*version)->files[0].name, "saved_model.pb");
  EXPECT_EQ((*version)->size_bytes, 21U);
}

TEST(WantedVersion, NamesThatLeadElsewhereAreRefused) {
  const std::string zero("variables/a\0b", 13);
  for (const std::string& name :
       {std::string("../x"), std::string("/etc/x"), std::string("variables/../../x"),
        std::string("variables//x"), std::string("variables/./x"), std::string(""), zero,
        std::string("variables/"), std::string("saved_model.pb"), std::string("saved_model.pb/x")}) {
    const auto version = checked_version(version_with({"saved_model.pb", "saved_model.pb-other", name}));
    ASSERT_FALSE(version) << name;
    EXPECT_EQ(version.error().code, Code::kInvalidArgument) << name;
    EXPECT_THAT(version.error().message, HasSubstr("version 3 in memory://m/model cannot be served"));
  }
}

TEST(WantedVersion, WithoutAGraphOrADigestIsRefused) {
  EXPECT_EQ(checked_version(version_with({"variables/a"})).error().code, Code::kInvalidArgument);
  for (const std::string& digest : {std::string(), std::string(64, 'A'), std::string(63, 'a'),
                                    std::string(61, 'a') + "../", std::string(65, 'a')}) {
    WantedVersion version = version_with({"saved_model.pb"});
    version.digest = digest;
    EXPECT_FALSE(checked_version(version)) << digest;
  }
}

TEST(WantedVersion, SizesAreSummedWithoutOverflow) {
  EXPECT_TRUE(checked_version(version_with({"saved_model.pb"}, kMostVersionBytes)));
  for (const std::uint64_t size_bytes : {kMostVersionBytes, std::uint64_t{1} << 63, ~std::uint64_t{0}}) {
    const auto version = checked_version(version_with({"saved_model.pb", "variables/a"}, size_bytes));
    ASSERT_FALSE(version);
    EXPECT_EQ(version.error().code, Code::kResourceExhausted);
  }
}

TEST(WantedVersion, TooManyFilesAreRefused) {
  WantedVersion version = version_with({"saved_model.pb"});
  for (std::size_t i = 0; i < kMostVersionFiles; ++i)
    version.files.push_back({.name = "variables/" + std::to_string(i), .key = "k"});
  EXPECT_EQ(checked_version(std::move(version)).error().code, Code::kResourceExhausted);
}

TEST(WantedVersion, APolicyWantsOneToThirtyTwo) {
  using Choice = VersionPolicy::Choice;
  EXPECT_TRUE(check_policy({}));
  EXPECT_TRUE(check_policy({.choice = Choice::kAll}));
  EXPECT_TRUE(check_policy({.choice = Choice::kLatest, .latest = kMostWantedVersions}));
  EXPECT_TRUE(check_policy({.choice = Choice::kNumbers, .numbers = {0, 7}}));
  EXPECT_FALSE(check_policy({.choice = Choice::kLatest, .latest = 0}));
  EXPECT_FALSE(check_policy({.choice = Choice::kLatest, .latest = kMostWantedVersions + 1}));
  EXPECT_FALSE(check_policy({.choice = Choice::kNumbers}));
}

}  // namespace
}  // namespace headrace
