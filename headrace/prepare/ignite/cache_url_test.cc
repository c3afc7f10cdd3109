#include "headrace/prepare/ignite/cache_url.h"

#include <gmock/gmock.h>

namespace headrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Result<IgniteCacheUrl> parse_cache(std::string_view text) {
  HEADRACE_TRY(const Url url, parse_url(text, "", {.takes_query = true}));
  return parse_ignite_cache_url(url);
}

TEST(IgniteCacheUrl, NamesACacheAndTheCellsOfItsRows) {
  const auto url = parse_cache("ignite-cache://a:1,b/My cache/2?columns=val.TEXT, val.meta%2edata");
  ASSERT_TRUE(url) << url.error().message;
  EXPECT_EQ(url->hosts, "a:1,b");
  EXPECT_EQ(url->cache, "My cache/2");
  EXPECT_THAT(url->columns, ElementsAre("val.TEXT", "val.meta.data"));
  EXPECT_THAT(parse_cache("ignite-cache://a/C")->columns, ElementsAre());
}

TEST(IgniteCacheUrl, RefusesWhatItDoesNotUnderstand) {
  const auto complaint = [](std::string_view text) {
    const auto url = parse_cache(text);
    return url ? "none" : url.error().message;
  };
  EXPECT_THAT(complaint("ignite-cache://a/"), HasSubstr("names no cache"));
  EXPECT_THAT(complaint("ignite-cache://a/C?columns=a,,b"), HasSubstr("empty column in columns"));
  EXPECT_THAT(complaint("ignite-cache://a/C?type=T"), HasSubstr("the known parameters are columns"));
  EXPECT_THAT(complaint("ignite-cache://a/C?password=secret"), HasSubstr("HEADRACE_IGNITE_USER"));
  EXPECT_THAT(complaint("ignite-cache://a/C?password=secret"), testing::Not(HasSubstr("secret")));
}

TEST(IgniteCacheTarget, NamesTheTypeOfItsValues) {
  EXPECT_EQ(parse_ignite_cache_target("ignite-cache://a/Answers")->type, "Answers");
  const auto target = parse_ignite_cache_target("ignite-cache://a:1/C?type=films.Answer");
  ASSERT_TRUE(target) << target.error().message;
  EXPECT_EQ(target->hosts, "a:1");
  EXPECT_EQ(target->cache, "C");
  EXPECT_EQ(target->type, "films.Answer");
  EXPECT_FALSE(parse_ignite_cache_target("ignite-cache://a/C?columns=val"));
}

}  // namespace
}  // namespace headrace
