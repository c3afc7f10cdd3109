#include "headrace/base/text.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace headrace {
namespace {

TEST(Text, SizesAreReadWithDecimalAndBinaryPrefixes) {
  EXPECT_EQ(parse_size_bytes("300MB"), 300'000'000U);
  EXPECT_EQ(parse_size_bytes("1 GiB"), 1U << 30);
  EXPECT_EQ(parse_size_bytes("64k"), 64'000U);
  EXPECT_EQ(parse_size_bytes("17"), 17U);
  for (const char* wrong : {"", "x", "-1", "5 parsecs", "5ki5", "1e300"})
    EXPECT_FALSE(parse_size_bytes(wrong)) << wrong;
}

TEST(Text, PrintableTextKeepsItsLinesAndCommandsNoTerminal) {
  EXPECT_EQ(printable_text("a\tb\n\x1b[2J\x07gr\xc3\xbc\xc3\x9f\x7f\xff"),
            "a\tb\n [2J gr\xc3\xbc\xc3\x9f \xef\xbf\xbd");
}

TEST(Text, PrintableTextHasNoMarksThatTurnOrBreakALine) {
  // CSI as one character, a line separator, a right-to-left override and an isolate.
  EXPECT_EQ(printable_text("a\xc2\x9b\x32J"), "a 2J");
  EXPECT_EQ(printable_text("a\xe2\x80\xa8\xe2\x80\xaegpj.exe\xe2\x81\xa6"), "a  gpj.exe ");
  EXPECT_EQ(printable_line("a\n\tb", 10), "a  b");
  EXPECT_EQ(printable_text("\xd7\xa9\xd7\x9c \xe2\x80\x8d"), "\xd7\xa9\xd7\x9c \xe2\x80\x8d");
}

TEST(Text, InvalidUtf8BecomesWhatPythonMakesOfIt) {
  const std::string mark = "\xef\xbf\xbd";
  // Expected values: bytes(...).decode("utf-8", errors="replace") of CPython 3.11.
  EXPECT_EQ(replace_invalid_utf8("na\xefve").text, "na" + mark + "ve");
  EXPECT_EQ(replace_invalid_utf8("\xf0\x9f\x98").text, mark);
  EXPECT_EQ(replace_invalid_utf8("\xf0\x80\x80\x80").text, mark + mark + mark + mark);
  EXPECT_EQ(replace_invalid_utf8("\xed\xa0\x80").text, mark + mark + mark);
  EXPECT_EQ(replace_invalid_utf8("\xe2\x82x\xff").text, mark + "x" + mark);
  EXPECT_EQ(replace_invalid_utf8("\xe2\x82x\xff").replaced, 2U);
  EXPECT_EQ(replace_invalid_utf8("gr\xc3\xbc\xc3\x9f").replaced, 0U);
}

TEST(Text, SuggestsTheNameThatWasMeant) {
  const std::vector<std::string> names = {"batch-size", "epochs", "seed"};
  EXPECT_EQ(nearest_name("batchsize", names), "batch-size");
  EXPECT_EQ(nearest_name("epoch", names), "epochs");
  EXPECT_EQ(nearest_name("zzzzzzzz", names), std::nullopt);
}

TEST(Text, NumbersAreReadWhole) {
  EXPECT_EQ(parse_number<int>("-17"), -17);
  for (const char* wrong : {"", "17x", " 17", "99999999999"}) EXPECT_FALSE(parse_number<int>(wrong)) << wrong;
  EXPECT_EQ(zero_padded(7, 5), "00007");
  EXPECT_EQ(concat("a", 1, '/', 2.5), "a1/2.5");
}

}  // namespace
}  // namespace headrace
