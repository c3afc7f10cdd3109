#include "headrace/page/html.h"

#include <gmock/gmock.h>

#include "headrace/base/text.h"

namespace headrace {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Html, EscapesMarkupQuotesControlsAndWhatIsNoText) {
  EXPECT_EQ(html_escaped("a<b>&\"'c"), "a&lt;b&gt;&amp;&quot;&#39;c");
  EXPECT_EQ(html_escaped(std::string_view("\0\x1b\xff", 3)), "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
}

TEST(Html, EmbedsPicturesAsBase64) {
  for (const auto& [bytes, expected] : {std::pair("M", "TQ=="), {"Ma", "TWE="}, {"Man", "TWFu"}})
    EXPECT_THAT(html_jpeg(as_bytes(bytes), "x"), HasSubstr(expected));
}

TEST(Html, WritesNumbersForPeople) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1'234'567), "1,234,567");
  EXPECT_EQ(shortened(-1234), "-1,234");
  EXPECT_EQ(shortened(0.123456789), "0.12346");
  EXPECT_EQ(three_digits(0.123456789), "0.123");
  EXPECT_EQ(three_digits(-0.0009996), "-0.001");
  EXPECT_EQ(three_digits(123'456), "123,000");
  EXPECT_EQ(three_digits(0), "0");
  EXPECT_EQ(percentage(0.1234), "12.3 %");
}

TEST(Html, DrawsAHistogramOfNothing) {
  EXPECT_THAT(html_histogram({}, "nothing"), HasSubstr("</svg>"));
  EXPECT_THAT(html_histogram({0, 0}, "nothing"), Not(HasSubstr("<rect")));
}

TEST(Html, BeginsATextWithoutCuttingACharacter) {
  EXPECT_EQ(beginning_of("short", 5), "short");
  EXPECT_EQ(beginning_of("shorter", 5), "short…");
  EXPECT_EQ(beginning_of("né", 2), "n…");
  EXPECT_EQ(beginning_of("a\nb", 3), printable_line("a\nb", 3));
  EXPECT_THAT(beginning_of(std::string(100, '\x80'), 10), testing::EndsWith("…"));
}

TEST(Html, ADocumentForbidsScriptsAndEscapesItsTitle) {
  const std::string page = html_document("<script>", "<p>a</p>");
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
  EXPECT_THAT(page, HasSubstr("<title>&lt;script&gt;</title>"));
  EXPECT_THAT(page, HasSubstr("<p>a</p>"));
}

TEST(Html, ShowsTheFirstFiftyWarnings) {
  EXPECT_EQ(html_warnings({}), "");
  const std::string many = html_warnings(std::vector<std::string>(60, "a & b"));
  EXPECT_THAT(many, HasSubstr("a &amp; b"));
  EXPECT_THAT(many, HasSubstr("and 10 more"));
}

}  // namespace
}  // namespace headrace
