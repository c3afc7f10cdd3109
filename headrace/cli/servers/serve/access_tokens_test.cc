#include "headrace/cli/servers/serve/access_tokens.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace headrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::string_view kOne = "0123456789abcdef";
constexpr std::string_view kTwo = "fedcba9876543210";

TEST(AccessTokens, AFileSaysWhoMayAskWhat) {
  const auto tokens = parse_tokens("# operators\n0123456789abcdef\n\n  fedcba9876543210\timdb  spam \r\n");
  ASSERT_TRUE(tokens) << tokens.error().message;
  ASSERT_EQ(tokens->size(), 2);
  EXPECT_EQ((*tokens)[0].token, kOne);
  EXPECT_THAT((*tokens)[0].models, IsEmpty());
  EXPECT_THAT((*tokens)[1].models, ElementsAre("imdb", "spam"));
  EXPECT_TRUE((*tokens)[0].allows("anything"));
  EXPECT_TRUE((*tokens)[1].allows("spam"));
  EXPECT_FALSE((*tokens)[1].allows("spa"));
}

TEST(AccessTokens, AWrongLineIsNamedWithoutItsToken) {
  for (const auto& [text, said] : {std::pair{"short\n", "line 1"},
                                   {"\n0123456789abcde\x01 m\n", "line 2"},
                                   {"0123456789abcdef\n0123456789abcdef m\n", "line 2"},
                                   {"# nothing\n", "no token"}}) {
    const auto tokens = parse_tokens(text);
    ASSERT_FALSE(tokens) << text;
    EXPECT_EQ(tokens.error().code, Code::kInvalidArgument);
    EXPECT_THAT(tokens.error().message, HasSubstr(said));
    EXPECT_EQ(tokens.error().message.find("0123"), std::string::npos);
  }
}

class AccessTokensTest : public testing::Test {
 protected:
  AccessTokensTest() { write("0123456789abcdef\nfedcba9876543210 imdb\n"); }
  ~AccessTokensTest() override { std::filesystem::remove(path); }
  void write(std::string_view text) { std::ofstream(path) << text; }
  void open() {
    auto opened = AccessTokens::open(path, std::chrono::milliseconds(0),
                                     [this](const std::string& text) { remarks.push_back(text); });
    ASSERT_TRUE(opened) << opened.error().message;
    tokens = std::move(*opened);
  }
  const std::string path = testing::TempDir() + "headrace-access-tokens";
  std::vector<std::string> remarks;
  std::unique_ptr<AccessTokens> tokens;
};

TEST_F(AccessTokensTest, TokensAreChecked) {
  open();
  EXPECT_TRUE(tokens->check("Bearer 0123456789abcdef", "imdb"));
  EXPECT_TRUE(tokens->check("bearer  fedcba9876543210", "imdb"));
  EXPECT_TRUE(tokens->check("Bearer fedcba9876543210", std::nullopt));
  EXPECT_EQ(tokens->check("Bearer fedcba9876543210", "spam").error().code, Code::kPermissionDenied);
  for (const char* const wrong :
       {"Bearer 0123456789abcdeF", "Bearer", "Bearer ", "Basic 0123456789abcdef", ""})
    EXPECT_EQ(tokens->check(wrong, "imdb").error().code, Code::kUnauthenticated) << wrong;
  EXPECT_EQ(tokens->check(std::nullopt, "imdb").error().code, Code::kUnauthenticated);
}

TEST_F(AccessTokensTest, AChangedFileIsInForceAndAWrongOneIsNot) {
  open();
  write("aaaaaaaaaaaaaaaaaaaaaaaa\n");
  EXPECT_FALSE(tokens->check("Bearer 0123456789abcdef", "imdb"));
  EXPECT_TRUE(tokens->check("Bearer aaaaaaaaaaaaaaaaaaaaaaaa", "imdb"));
  write("no\n");
  EXPECT_TRUE(tokens->check("Bearer aaaaaaaaaaaaaaaaaaaaaaaa", "imdb"));
  std::filesystem::remove(path);
  EXPECT_TRUE(tokens->check("Bearer aaaaaaaaaaaaaaaaaaaaaaaa", "imdb"));
  ASSERT_EQ(remarks.size(), 3);
  EXPECT_THAT(remarks[1], HasSubstr("stay in force"));
}

TEST_F(AccessTokensTest, AFileThatIsNotThereIsAnError) {
  const auto opened = AccessTokens::open(path + "-missing", {}, {});
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, Code::kNotFound);
}

}  // namespace
}  // namespace headrace
