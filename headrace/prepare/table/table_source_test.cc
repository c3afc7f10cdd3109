#include "headrace/prepare/table/table_source.h"

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

std::vector<std::string> read_table(const FilesInMemory& input, const TableOptions& options = {}) {
  return all_rows(*open_table(input.files, options));
}

std::vector<std::string> read_table(std::string_view content, const TableOptions& options = {}) {
  return read_table(FilesInMemory().add("a.csv", content), options);
}

TEST(TableSource, CellsAreNamedByTheHeading) {
  EXPECT_THAT(read_table("a, b \n1,x y\n2,\n"),
              ElementsAre("0:2 a.csv@6 a='1' b='x y'", "0:3 a.csv@12 a='2' b=-"));
  EXPECT_THAT(read_table("a\tb\n1\t2,3\n", {.delimiter = '\t'}), ElementsAre("0:2 a.csv@4 a='1' b='2,3'"));
}

TEST(TableSource, AnotherDelimiterIsNoticedInTheHeader) {
  const auto error_of = [](std::string_view content, const TableOptions& options) {
    const FilesInMemory input = std::move(FilesInMemory().add("a.csv", content));
    const auto row = open_table(input.files, options)->next();
    return row ? std::string() : row.error().message;
  };
  EXPECT_THAT(error_of("a;b\n1;2\n", {}), HasSubstr("\"a;b\": if its columns are separated by \";\""));
  EXPECT_THAT(error_of("a;b\n1;2\n", {}), HasSubstr("--delimiter ';'"));
  EXPECT_THAT(error_of("a\tb\n1\t2\n", {}), HasSubstr("--delimiter 'tab'"));
  EXPECT_THAT(error_of("a,b\n1,2\n", {.delimiter = '\t'}), HasSubstr("give --delimiter 'tab'"));
  EXPECT_EQ(error_of("a;b\n1\n", {.delimiter = ',', .is_certain = true}), "") << "one column of that name";
  EXPECT_THAT(read_table("a;b\n1;2,3\n", {.delimiter = ';', .is_certain = true}),
              ElementsAre("0:2 a.csv@4 a='1' b='2,3'"));
}

TEST(TableSource, ACellWithoutACharacterIsMissingQuotedOrNot) {
  EXPECT_THAT(read_table("a,b,c\n,\"\",\" \"\n"), ElementsAre("0:2 a.csv@6 a=- b=- c=' '"));
}

TEST(TableSource, CellsAreBytesOfAnyEncoding) {
  EXPECT_THAT(read_table(std::string("a\n\xE9\0\n", 5)),
              ElementsAre(std::string("0:2 a.csv@2 a='\xE9\0'", 18)));
}

TEST(TableSource, QuotesAndLineEndsWithinThemAreText) {
  EXPECT_THAT(read_table("a,b\r\n\"1\n\"\"2\"\"\",x\r\ny,z\r\n"),
              ElementsAre("0:2 a.csv@5 a='1\n\"2\"' b='x'", "0:3 a.csv@18 a='y' b='z'"));
}

TEST(TableSource, AByteOrderMarkIsPassedOverButCountsInOffsets) {
  EXPECT_THAT(read_table("\xEF\xBB\xBF\"a\"\n1\n"), ElementsAre("0:2 a.csv@7 a='1'"));
  EXPECT_THAT(read_table("\xEF\xBB"
                         "a\n1\n"),
              ElementsAre("0:2 a.csv@4 \xEF\xBB"
                          "a='1'"));
}

TEST(TableSource, FilesFollowOneAnotherInTheColumnsOfTheFirst) {
  FilesInMemory input;
  input.add("a.csv", "x,y\n1,2\n")
      .add("sub/b.csv", "y,x\n3,4\n")
      .add("c.csv", "x,y\n")
      .add("d.csv", "x,y\n5,6");
  EXPECT_THAT(read_table(input), ElementsAre("0:2 a.csv@4 x='1' y='2'", "1:2 sub/b.csv@4 x='4' y='3'",
                                             "3:2 d.csv@4 x='5' y='6'"));
}

TEST(TableSource, AFileOfOtherColumnsIsAnErrorThatNamesThem) {
  for (const auto& [header, message] : std::vector<std::pair<std::string, std::string>>{
           {"x\n1\n", "memory://test/input/b.csv has no column \"y\""},
           {"x,y,z\n1,2,3\n", "memory://test/input/b.csv has a column 3, \"z\""},
           {"x,a\n1,2\n", "memory://test/input/b.csv has a column 2, \"a\""}}) {
    const auto rows = read_table(FilesInMemory().add("a.csv", "x,y\n1,2\n").add("b.csv", header));
    ASSERT_THAT(rows, SizeIs(2));
    EXPECT_THAT(rows[1], StartsWith("INVALID_ARGUMENT " + message));
  }
}

TEST(TableSource, AnUnusableHeaderIsAnError) {
  for (const auto& [content, message] : std::vector<std::pair<std::string, std::string>>{
           {"", "is empty"},
           {"\n\r\n", "is empty"},
           {"\xEF\xBB\xBF", "is empty"},
           {"a, ,c\n", "without a name for column 2"},
           {"a,b,c,b \n", "names column 4 as column 2, \"b\""},
           {std::string("\xFF\xFE"
                        "a\0,\0b\0\n\0",
                        10),
            "is UTF-16, which is not read: convert it to UTF-8"},
           {std::string("\xFE\xFF\0a\0\n", 6), "is UTF-16"},
           {std::string("a\0,\0b\0\n\0", 8), "zero bytes in its header"},
           {std::string("PK\x03\x04\0\n", 6), "is a spreadsheet workbook or a zip file"},
           {"a,b\r1,2\r3,4\r", "lines that end with CR alone"},
           {"a\r1\r2\r", "lines that end with CR alone"},
           {"a,\"b", "quote that is not closed: row 1 (line 1), column 2"},
           {std::string(kMaxColumns, ',') + "\n", "more than 10000 columns"}}) {
    EXPECT_THAT(
        read_table(content),
        ElementsAre(AllOf(StartsWith("INVALID_ARGUMENT memory://test/input/a.csv"), HasSubstr(message))))
        << content.substr(0, 20);
  }
}

TEST(TableSource, RowsOfAnotherNumberOfCellsAreRejected) {
  EXPECT_THAT(read_table("a,b\n1\n\n1,2,3\n1,2\n"),
              ElementsAre("0:2 a.csv@4 rejected: wrong number of cells: row 2 (line 2): 1 cells, where the "
                          "header has 2",
                          "0:3 a.csv@7 rejected: wrong number of cells: row 3 (line 4): 3 cells, where the "
                          "header has 2",
                          "0:4 a.csv@13 a='1' b='2'"));
  EXPECT_THAT(
      read_table("a\n" + std::string(kMaxColumns, ',') + "\n1\n"),
      ElementsAre("0:2 a.csv@2 rejected: wrong number of cells: row 2 (line 2): more than 10000 cells, "
                  "where the header has 1",
                  "0:3 a.csv@10003 a='1'"));
}

TEST(TableSource, QuotesOutOfPlaceRejectTheirRow) {
  EXPECT_THAT(
      read_table("a,b\nx,\"y\"z\n1,2\n3,\"4\n5,6\n"),
      ElementsAre("0:2 a.csv@4 rejected: text after a closing quote: row 2 (line 2), column 2 (\"b\")",
                  "0:3 a.csv@11 a='1' b='2'",
                  "0:4 a.csv@15 rejected: quote that is not closed: row 4 (line 4), column 2 (\"b\"): the "
                  "9 bytes from its row to the end of the file are lost"));
}

TEST(TableSource, ACellOrRowThatIsTooLargeIsRejectedAndTheNextIsRead) {
  EXPECT_THAT(
      read_table("a,b\n1,12345\n" + std::string(4'000'000, 'x') + ",2\n1,1234\n", {.cell_limit_bytes = 4}),
      ElementsAre("0:2 a.csv@4 rejected: cell larger than the limit: row 2 (line 2), column 2 (\"b\"): 5 "
                  "bytes, at most 4 are read",
                  "0:3 a.csv@12 rejected: row larger than the limit: row 3 (line 3): "
                  "4000003 bytes, at most 16 are read",
                  "0:4 a.csv@4000015 a='1' b='1234'"));
}

TEST(TableSource, GzipIsTakenOff) {
  EXPECT_THAT(read_table(gzipped("a\n1\n") + gzipped("2\n")),
              ElementsAre("0:2 a.csv@2 a='1'", "0:3 a.csv@4 a='2'"));
}

TEST(TableSource, RowsBeforeDamagedCompressionAreReadAndThenItIsAnError) {
  std::string content = "a\n";
  for (int i = 0; i < 200'000; ++i) content += concat(i, "\n");
  const std::string whole = gzipped(content);
  const auto cut = read_table(whole.substr(0, whole.size() - 20));
  EXPECT_THAT(cut.back(),
              AllOf(StartsWith("DATA_LOSS reading memory://test/input/a.csv"), HasSubstr("offset")));
  EXPECT_GT(cut.size(), 100'000U);
  std::string altered = whole;
  altered[altered.size() - 8] ^= 1;  // the checksum
  EXPECT_THAT(read_table(altered).back(), StartsWith("DATA_LOSS reading memory://test/input/a.csv"));
  EXPECT_THAT(read_table(gzipped("a\n1\n").substr(0, 12)),
              ElementsAre(StartsWith("DATA_LOSS reading memory://test/input/a.csv")));
}

TEST(TableSource, AFileThatChangedSinceItWasListedIsAnError) {
  FilesInMemory replaced;
  replaced.add("a.csv", "a\n1\n").add("b.csv", "a\n2\n");
  const auto source = open_table(replaced.files, {});
  ASSERT_TRUE(*source->next());
  ASSERT_TRUE(write_text(*replaced.store, "input/b.csv", "a\n3\n"));
  EXPECT_THAT(all_rows(*source),
              ElementsAre(StartsWith("FAILED_PRECONDITION memory://test/input/b.csv was written")));

  FilesInMemory removed;
  removed.add("a.csv", "a\n1\n");
  ASSERT_TRUE(remove_object(*removed.store, "input/a.csv"));
  EXPECT_THAT(read_table(removed),
              ElementsAre(StartsWith("FAILED_PRECONDITION memory://test/input/a.csv was removed")));
}

// Larger than what is read ahead.
TEST(TableSource, AFileThatChangesWhileItIsReadIsAnError) {
  const std::string content = "a\n1\n" + std::string(6 << 20, '\n');
  FilesInMemory input;
  input.add("a.csv", content);
  const auto source = open_table(input.files, {});
  ASSERT_TRUE(*source->next());
  ASSERT_TRUE(write_text(*input.store, "input/a.csv", content));
  EXPECT_THAT(all_rows(*source), ElementsAre(HasSubstr("memory://test/input/a.csv was written since")));
}

TEST(TableSource, ProgressIsToldInBytesAsStored) {
  FilesInMemory input;
  input.add("a.csv", gzipped("a\n" + std::string(100'000, 'x') + "\n")).add("b.csv", "a\n1\n");
  const auto source = open_table(input.files, {});
  EXPECT_EQ(source->consumed_bytes(), 0U);
  EXPECT_THAT(all_rows(*source), SizeIs(2));
  EXPECT_EQ(source->consumed_bytes(), input.files[0].size_bytes + input.files[1].size_bytes);
  EXPECT_THAT(all_rows(*source), IsEmpty());
}

TEST(TableSource, RowsAreTheSameHoweverTheBytesAreCut) {
  const std::string content =
      "\xEF\xBB\xBF"
      "a,b\r\n1,\"2\n\"\r\n\r\nlong,long,long\r\n,\r\n12345,\r\n1234567890,1234567890\nx,\"y\"z\nq,\"";
  const TableOptions options{.cell_limit_bytes = 4};
  const auto whole = parsed_rows(*make_table_parser(options), content, content.size());
  EXPECT_THAT(whole, SizeIs(7));
  for (std::size_t piece = 1; piece < content.size(); ++piece)
    EXPECT_EQ(parsed_rows(*make_table_parser(options), content, piece), whole) << piece;
}

}  // namespace
}  // namespace headrace
