#include "headrace/store/s3/credentials/aws_profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "headrace/base/text.h"

namespace headrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

auto section(std::string_view text) { return parse_aws_section(text, "a").value(); }

TEST(AwsSection, HoldsTheSettingsOfItsNameAlone) {
  EXPECT_THAT(section("x = 0\n[b]\nx = 1\n[a]\ny = 2\n[b]\nz = 3\n"), ElementsAre(Pair("y", "2")));
  EXPECT_THAT(section("[a]\ny = 2\n[b\nz = 3\n"), ElementsAre(Pair("y", "2")))
      << "b begins, though ill-formed";
  EXPECT_THAT(section("[a]"), IsEmpty());
  EXPECT_FALSE(parse_aws_section("", "a"));
  EXPECT_FALSE(parse_aws_section("[b]\n[a\nx = 1\n", "a"));
}

TEST(AwsSection, OfTheSameNameAddsToTheFirst) {
  EXPECT_THAT(section("[a]\nx = 1\ny = 1\n[b]\n[a]\ny = 2\n"), ElementsAre(Pair("x", "1"), Pair("y", "2")));
}

TEST(AwsSection, MayHaveWhiteSpaceInItsName) {
  for (const char* text :
       {"[profile x]", "[ profile x ]", "[profile  x]", "[profile\tx]", "[profile \t x] # c"})
    EXPECT_TRUE(parse_aws_section(text, "profile x")) << text;
  EXPECT_FALSE(parse_aws_section("[profilex]", "profile x"));
}

TEST(AwsSection, LinesThatAreCommentsOrNoSettingAreSkipped) {
  EXPECT_THAT(section("[a]\n# b = 1\n; c = 1\n#d=1\n;e=1\n  # f = 1\n\nnothing\ng#=1\nh;=1\n"),
              ElementsAre(Pair("g#", "1"), Pair("h;", "1")));
}

TEST(AwsSection, ACommentEndsAValueAfterWhiteSpaceOnly) {
  EXPECT_THAT(section("[a]\nb = 1 # x ; y\nc = 1 ; x # y\nd = 1#x;y\ne = 1=2\n"),
              ElementsAre(Pair("b", "1"), Pair("c", "1"), Pair("d", "1#x;y"), Pair("e", "1=2")));
}

TEST(AwsSection, NamesAreInLowerCase) {
  EXPECT_THAT(section("[a]\n Region=Eu\n"), ElementsAre(Pair("region", "Eu")));
}

TEST(AwsSection, IndentedLinesBelongToASettingWithoutAValue) {
  EXPECT_THAT(
      section("[a]\ns3 =\n x = 1\n\ty = 2\nz = 3\n w = 4\n"),
      ElementsAre(Pair("s3", ""), Pair("s3.x", "1"), Pair("s3.y", "2"), Pair("w", "4"), Pair("z", "3")));
  EXPECT_THAT(section("[a]\ns3 =\n[a]\n x = 1\n"), ElementsAre(Pair("s3", ""), Pair("x", "1")))
      << "not across sections";
}

TEST(AwsProfile, ASettingWithoutAValueIsNone) {
  const AwsProfile profile{.name = "x", .found_in = "", .settings = {{"a", "1"}, {"b", ""}}};
  EXPECT_EQ(profile.get("a"), "1");
  EXPECT_EQ(profile.get("b"), std::nullopt);
  EXPECT_EQ(profile.get("c"), std::nullopt);
}

TEST(AwsProfile, IsTheOneThatAwsProfileNames) {
  EXPECT_EQ(selected_aws_profile({}), "default");
  EXPECT_EQ(selected_aws_profile({.variables = {{"AWS_PROFILE", "x"}}}), "x");
}

class AwsFiles : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(home + "/.aws"); }
  void TearDown() override { std::filesystem::remove_all(home); }
  std::string write(const std::string& name, std::string_view text) const {
    std::ofstream(home + "/.aws/" + name) << text;
    return home + "/.aws/" + name;
  }
  const std::string home = testing::TempDir() + "headrace-" + hex64(random_name_bits());
  Environment environment{.variables = {{"HOME", home}}};
};

TEST_F(AwsFiles, AreReadBothAndThoseOfCredentialsTakePrecedence) {
  const std::string config = write("config", "[profile x]\na = 1\nb = 1\n[x]\nc = 1\n");
  const std::string credentials = write("credentials", "[x]\nb = 2\n[profile x]\nd = 2\n");
  const AwsProfile profile = read_aws_profile(environment, "x");
  EXPECT_EQ(profile.name, "x");
  EXPECT_EQ(profile.found_in, concat(config, " and ", credentials));
  EXPECT_THAT(profile.settings, ElementsAre(Pair("a", "1"), Pair("b", "2")));
}

TEST_F(AwsFiles, MayLieElsewhere) {
  write("config", "[default]\na = 1\n");
  write("credentials", "[default]\nb = 1\n");
  environment.variables["AWS_CONFIG_FILE"] = write("other-config", "[default]\na = 2\n");
  environment.variables["AWS_SHARED_CREDENTIALS_FILE"] = write("other-credentials", "[default]\nb = 2\n");
  EXPECT_THAT(read_aws_profile(environment, "default").settings, ElementsAre(Pair("a", "2"), Pair("b", "2")));
}

TEST_F(AwsFiles, ThatAreMissingCountAsEmpty) {
  EXPECT_EQ(read_aws_profile(environment, "default").found_in, "");
  EXPECT_EQ(read_aws_profile({}, "default").found_in, "") << "without a home";
  const std::string config = write("config", "[default]\na = 1\n");
  EXPECT_EQ(read_aws_profile(environment, "default").found_in, config);
}

}  // namespace
}  // namespace headrace
