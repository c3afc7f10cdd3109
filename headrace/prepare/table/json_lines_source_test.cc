#include "headrace/prepare/table/json_lines_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "headrace/prepare/table/rows_test.h"

namespace headrace {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

std::vector<std::string> read_lines(const FilesInMemory& input,
                                    std::uint64_t cell_limit_bytes = kCellLimitBytes) {
  return all_rows(*open_json_lines(input.files, cell_limit_bytes));
}

std::vector<std::string> read_lines(std::string_view content,
                                    std::uint64_t cell_limit_bytes = kCellLimitBytes) {
  return read_lines(FilesInMemory().add("a", content), cell_limit_bytes);
}

// The row of a file with one line.
std::string line_row(std::string_view line, std::uint64_t cell_limit_bytes = kCellLimitBytes) {
  const auto rows = read_lines(line, cell_limit_bytes);
  return rows.size() == 1 ? rows[0] : concat(rows.size(), " rows");
}

TEST(JsonLinesSource, EachKindOfValueHasItsKindOfCell) {
  EXPECT_EQ(line_row(R"({"t": "x", "i": -17, "f": 1.5, "e": 1e2, "y": true, "n": false, "m": null})"),
            "0:1 a@0 t='x' i=i[-17] f=f[1.5] e=f[100] y=i[1] n=i[0] m=-");
  EXPECT_EQ(line_row(R"({"i": [1, -2 ,3], "f": [1, 2.5], "one": [7], "none": [], "space": [ ]})"),
            "0:1 a@0 i=i[1 -2 3] f=f[1 2.5] one=i[7] none=i[] space=i[]");
  EXPECT_EQ(line_row(R"({"l": [1, "]\"", null], "o": {"k" : [{}]}, "b": [true], "n": [[1]]})"),
            R"(0:1 a@0 l='[1, "]\"", null]' o='{"k" : [{}]}' b='[true]' n='[[1]]')");
  EXPECT_EQ(line_row(" { } \r"), "0:1 a@0");
}

TEST(JsonLinesSource, AListOfNothingButTextsIsAListOfThem) {
  EXPECT_EQ(line_row(R"({"t": ["x"], "u": [ "a" ,"", "c, ]" ], "e": ["\u00e9\"\\", "\\"], "n": 1})"),
            "0:1 a@0 t=b['x'] u=b['a' '' 'c, ]'] e=b['\u00e9\"\\' '\\'] n=i[1]");
  EXPECT_EQ(
      line_row(R"({"m": ["x", 1], "n": ["x", ["y"]], "o": ["x", null], "p": [["x"]], "q": {"x": "y"}})"),
      R"(0:1 a@0 m='["x", 1]' n='["x", ["y"]]' o='["x", null]' p='[["x"]]' q='{"x": "y"}')");
  EXPECT_EQ(line_row(R"({"a":["12","3"]})", 11), "0:1 a@0 a=b['12' '3']");
  EXPECT_EQ(
      line_row(R"({"a":["12","3"]})", 10),
      "0:1 a@0 rejected: cell larger than the limit: line 1: column \"a\": 11 bytes, at most 10 are read");
  const std::string ten = R"(["","","","","","","","","",""])";  // 40 bytes in a cell
  EXPECT_EQ(
      line_row(concat(R"({"a":)", ten, R"(,"b":)", ten, R"(,"c":)", ten, R"(,"d":)", ten, R"(,"e":[""]})"),
               40),
      "0:1 a@0 rejected: row larger than the limit: line 1: numbers and lists of more than 160 bytes");
}

TEST(JsonLinesSource, EscapesAreDecodedInTextsAndKeys) {
  EXPECT_EQ(line_row(R"({"a\"\u00e9": "\ud83d\ude00\n\\", "b": "", "c": "plain"})"),
            "0:1 a@0 a\"\u00e9='\U0001F600\n\\' b='' c='plain'");
}

TEST(JsonLinesSource, LinesOfWhiteSpaceArePassedOverButCount) {
  EXPECT_THAT(read_lines("\n{\"a\":1}\r\n \t\r\n\n{\"a\":2}"),
              ElementsAre("0:2 a@1 a=i[1]", "0:5 a@15 a=i[2]"));
  EXPECT_THAT(read_lines(""), IsEmpty());
  EXPECT_THAT(read_lines("\n\n"), IsEmpty());
}

TEST(JsonLinesSource, AByteOrderMarkIsPassedOver) {
  EXPECT_THAT(read_lines("\xEF\xBB\xBF{\"a\":1}\n\xEF\xBB\xBF\n\xEF\xBB\xBF{\"a\":2}\n"),
              ElementsAre("0:1 a@0 a=i[1]", "0:3 a@15 a=i[2]"));
}

TEST(JsonLinesSource, Utf16IsAnErrorThatSaysSo) {
  EXPECT_THAT(read_lines(std::string("\xFF\xFE{\0\n\0", 6)),
              ElementsAre(HasSubstr("a is UTF-16, which is not read: convert it to UTF-8")));
}

TEST(JsonLinesSource, FilesFollowOneAnotherAndGzipIsTakenOff) {
  EXPECT_THAT(
      read_lines(
          FilesInMemory().add("x/a", "{\"a\":1}").add("b", "").add("c", gzipped("{\"c\":2}\n{\"d\":3}"))),
      ElementsAre("0:1 x/a@0 a=i[1]", "2:1 c@0 c=i[2]", "2:2 c@8 d=i[3]"));
}

TEST(JsonLinesSource, NumbersAreExactOrTheNearestOrRejected) {
  EXPECT_EQ(line_row(R"({"a":[9223372036854775807,-9223372036854775808,-0]})"),
            "0:1 a@0 a=i[9223372036854775807 -9223372036854775808 0]");
  EXPECT_EQ(line_row(R"({"a":[0.1,3.4028235e38,1e-40,1e-60,-1e-400,9223372036854775808]})"),
            "0:1 a@0 a=f[0.1 3.4028235e+38 1e-40 0 -0 9.223372e+18]");
  EXPECT_EQ(line_row(R"({"a":9223372036854775808})"),
            "0:1 a@0 rejected: number too large: line 1: column \"a\": 9223372036854775808 as int64");
  EXPECT_EQ(line_row(R"({"a":[1.5,1e39]})"),
            "0:1 a@0 rejected: number too large: line 1: column \"a\": 1e39 as float32");
  EXPECT_THAT(line_row(R"({"a":1e999})"), StartsWith("0:1 a@0 rejected: number too large: line 1: "));
}

TEST(JsonLinesSource, WhatIsNoObjectIsRejected) {
  for (const std::string_view line : {"[1]", "1", "\"a\"", "null"})
    EXPECT_EQ(line_row(line), concat("0:1 a@0 rejected: not a JSON object: line 1: ", line));
}

TEST(JsonLinesSource, WhatIsNotJsonIsRejectedWithThePlaceAndTheNextLineIsRead) {
  const auto rows = read_lines("{\"a\":1}\n{\"a\" 1}\n{\"a\":2}\n");
  ASSERT_THAT(rows, SizeIs(3));
  EXPECT_THAT(rows[1],
              AllOf(StartsWith("0:2 a@8 rejected: not JSON: line 2: column 6: "), HasSubstr("expected ':'")));
  EXPECT_EQ(rows[2], "0:3 a@16 a=i[2]");
}

TEST(JsonLinesSource, HostileLinesAreRejected) {
  using namespace std::string_literals;
  for (const std::string& line : {"{"s,
                                  "{\"a\""s,
                                  "{\"a\":"s,
                                  "{\"a\":1"s,
                                  "{\"a\":1}}"s,
                                  "{\"a\":1} {}"s,
                                  "{\"a\":1}\0{"s,
                                  "{\"a\":1,}"s,
                                  "\0{}"s,
                                  "{\"a\":\"\xff\"}"s,
                                  "{\"\xff\":1}"s,
                                  "{\"a\":\"\\ud800\"}"s,
                                  "{\"a\":\"\t\"}"s,
                                  "{\"a\":\"x"s,
                                  "{\"a\":\"\\"s,
                                  "{\"a\":01}"s,
                                  "{\"a\":NaN}"s,
                                  "{a:1}"s,
                                  "}"s,
                                  "{\"a\":[1,]}"s,
                                  "{\"a\":[1 2]}"s,
                                  "\xEF\xBB{}"s}) {
    EXPECT_THAT(line_row(line), StartsWith("0:1 a@0 rejected: not JSON")) << line;
  }
}

TEST(JsonLinesSource, WhatAMessageQuotesIsPrintable) {
  const std::string rejected = line_row("{\"a\x01\xff\x7f\x1b[31m\":}");
  for (const char c : rejected) EXPECT_TRUE(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f) << rejected;
  EXPECT_TRUE(is_valid_utf8(rejected));
  EXPECT_LT(line_row("{\"a\":" + std::string(10'000, 'x') + "}").size(), 300U);
}

TEST(JsonLinesSource, DeepNestingIsRejected) {
  EXPECT_EQ(line_row("{\"a\":" + std::string(63, '[') + std::string(63, ']') + "}"),
            "0:1 a@0 a='" + std::string(63, '[') + std::string(63, ']') + "'");
  for (const std::size_t depth : {64, 1'000'000}) {
    EXPECT_THAT(read_lines("{\"a\":" + std::string(depth, '[') + std::string(depth, ']') + "}\n{\"a\":1}"),
                ElementsAre("0:1 a@0 rejected: JSON that nests too deep: line 1: deeper than 64 levels",
                            HasSubstr("a=i[1]")));
  }
}

TEST(JsonLinesSource, ARepeatedKeyIsRejectedHoweverItIsWritten) {
  EXPECT_EQ(line_row(R"({"a":1,"b":2,"a":1})"), "0:1 a@0 rejected: repeated key: line 1: column \"a\"");
  EXPECT_EQ(line_row(R"({"a":1,"\u0061":1})"), "0:1 a@0 rejected: repeated key: line 1: column \"a\"");
}

TEST(JsonLinesSource, WhatIsTooLargeIsRejectedAndTheNextLineIsRead) {
  EXPECT_EQ(
      line_row(R"({"a":"12345"})", 4),
      "0:1 a@0 rejected: cell larger than the limit: line 1: column \"a\": 5 bytes, at most 4 are read");
  EXPECT_EQ(line_row(R"({"a":"1234"})", 4), "0:1 a@0 a='1234'");
  EXPECT_THAT(line_row(R"({"a":[1,2,3,4,5,6,7,8]})", 60), HasSubstr("cell larger than the limit"));
  EXPECT_THAT(line_row(R"({"a":[[1,2,3,4,5]]})", 9), HasSubstr("cell larger than the limit"));
  EXPECT_THAT(line_row(R"({"a":1,"b":2,"c":3,"d":4,"e":5})", 8),
              HasSubstr("row larger than the limit: line 1: numbers"));
  EXPECT_THAT(read_lines("{\"a\":\"" + std::string(4'000'000, 'x') + "\"}\n{\"a\":1}", 8),
              ElementsAre("0:1 a@0 rejected: row larger than the limit: line 1: at most 32 bytes are read",
                          "0:2 a@4000009 a=i[1]"));
}

TEST(JsonLinesSource, TooManyColumnsAreRejected) {
  std::string line = "{\"0\":0";
  for (std::size_t i = 1; i < kMaxColumns; ++i) line += concat(",\"", i, "\":0");
  EXPECT_THAT(line_row(line + "}"), HasSubstr("9999=i[0]"));
  EXPECT_EQ(line_row(line + ",\"x\":0}"), "0:1 a@0 rejected: too many columns: line 1: more than 10000");
}

TEST(JsonLinesSource, AFileThatIsCutOrChangedIsAnError) {
  const std::string whole = gzipped("{\"a\":1}\n");
  EXPECT_THAT(read_lines(whole.substr(0, whole.size() - 1)).back(),
              StartsWith("DATA_LOSS reading memory://test/input/a"));
  FilesInMemory input;
  input.add("a", "{\"a\":1}\n");
  ASSERT_TRUE(write_text(*input.store, "input/a", "{\"a\":2}\n"));
  EXPECT_THAT(read_lines(input), ElementsAre(StartsWith("FAILED_PRECONDITION")));
}

TEST(JsonLinesSource, RowsAreTheSameHoweverTheBytesAreCut) {
  const std::string content =
      "\xEF\xBB\xBF{\"a\":1}\r\n\n{\"a\":[1,2.5],\"b\":\"x\\n\"}\n   \nno\n{\"long\":\"long long long long "
      "long\"}\n{}";
  const auto whole = parsed_rows(*make_json_lines_parser(8), content, content.size());
  EXPECT_THAT(whole, SizeIs(5));
  for (std::size_t piece = 1; piece < content.size(); ++piece)
    EXPECT_EQ(parsed_rows(*make_json_lines_parser(8), content, piece), whole) << piece;
}

}  // namespace
}  // namespace headrace
