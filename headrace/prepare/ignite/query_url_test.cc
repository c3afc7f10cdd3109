#include "headrace/prepare/ignite/query_url.h"

#include <gmock/gmock.h>

#include "headrace/base/text.h"

namespace headrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Result<IgniteQueryUrl> parse(std::string_view text) {
  HEADRACE_TRY(const Url url, parse_url(text, "", {.takes_query = true}));
  return parse_ignite_query_url(url);
}

TEST(IgniteQueryUrl, NamesATable) {
  const auto url = parse("ignite-sql://a:1,b/reviews_2?schema=films&order_by=ID, PART&page_rows=9");
  ASSERT_TRUE(url) << url.error().message;
  EXPECT_EQ(url->hosts, "a:1,b");
  EXPECT_EQ(url->table, "REVIEWS_2");
  EXPECT_EQ(url->statement, "SELECT * FROM \"REVIEWS_2\"");
  EXPECT_EQ(url->schema, "films");
  EXPECT_THAT(url->order_by, ElementsAre("ID", "PART"));
  EXPECT_EQ(url->page_rows, 9);
  EXPECT_EQ(parse("ignite-sql://a/\"Re views\"")->table, "Re views");
  EXPECT_EQ(parse("ignite-sql://a/T")->schema, "PUBLIC");
}

TEST(IgniteQueryUrl, HasAStatementAsItIsOrWithEscapes) {
  EXPECT_EQ(parse("ignite-sql://a/?query=SELECT a+b FROM T WHERE c >= 1 ; ;")->statement,
            "SELECT a+b FROM T WHERE c >= 1");
  EXPECT_EQ(parse("ignite-sql://a?query=SELECT%20*%20FROM T WHERE N LIKE 'A%25%26'&order_by=N")->statement,
            "SELECT * FROM T WHERE N LIKE 'A%&'");
}

TEST(IgniteQueryUrl, RefusesWhatItDoesNotUnderstand) {
  const auto complaint = [](std::string_view text) {
    const auto url = parse(text);
    return url ? "none" : url.error().message;
  };
  EXPECT_THAT(complaint("ignite-sql://a/"), HasSubstr("neither a table nor a query"));
  EXPECT_THAT(complaint("ignite-sql://a/T?query=SELECT 1"), HasSubstr("a table and a query"));
  EXPECT_THAT(complaint("ignite-sql://a/T?user=ann"), HasSubstr("HEADRACE_IGNITE_USER"));
  EXPECT_THAT(complaint("ignite-sql://a/T?schema=A&schema=B"), HasSubstr("schema twice"));
  EXPECT_THAT(complaint("ignite-sql://a/?query=SELECT 1 WHERE A LIKE 'x%'"), HasSubstr("write % as %25"));
  EXPECT_THAT(complaint("ignite-sql://a/?query=%2"), HasSubstr("%25"));
  EXPECT_THAT(complaint("ignite-sql://a/?query=%ff"), HasSubstr("not UTF-8"));
  EXPECT_THAT(complaint("ignite-sql://a/T?page_rows=0"), HasSubstr("page_rows"));
  EXPECT_THAT(complaint("ignite-sql://a/T?order_by="), HasSubstr("empty column"));
  EXPECT_THAT(complaint("ignite-sql://a/a b"), HasSubstr("double quotes"));
  EXPECT_THAT(complaint("ignite-sql://a/T; DROP TABLE U"), HasSubstr("double quotes"));
  EXPECT_THAT(complaint("ignite-sql://a/\"T\"\""), HasSubstr("double quotes"));
}

TEST(IgniteQueryUrl, NeverRepeatsASecret) {
  const auto url = parse("ignite-sql://a/T?password=secret");
  ASSERT_FALSE(url);
  EXPECT_THAT(url.error().message, testing::Not(HasSubstr("secret")));
}

TEST(QuotedIdentifier, EndsWhereItsTextEnds) { EXPECT_EQ(quoted_identifier("a\"b"), "\"a\"\"b\""); }

}  // namespace
}  // namespace headrace
