#include "headrace/codec/csv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "headrace/base/text.h"

namespace headrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

struct Row {
  std::vector<std::string> cells;
  std::uint64_t number = 0, line = 0, offset_bytes = 0;
  CsvProblem problem = CsvProblem::kNone;
  std::size_t problem_cell = 0;

  bool operator==(const Row&) const = default;
};

std::vector<Row> read_pieces(std::string_view text, const std::vector<std::size_t>& sizes,
                             const CsvOptions& options = {}) {
  CsvReader reader(options);
  std::vector<Row> rows;
  const auto take = [&] {
    while (const auto row = reader.next()) {
      rows.push_back({{row->cells.begin(), row->cells.end()},
                      row->number,
                      row->line,
                      row->offset_bytes,
                      row->problem,
                      row->problem_cell});
    }
  };
  for (std::size_t size : sizes) {
    size = std::min(size, text.size());
    reader.feed(as_bytes(text.substr(0, size)));
    text.remove_prefix(size);
    take();
  }
  reader.feed(as_bytes(text));
  reader.finish();
  take();
  EXPECT_FALSE(reader.next());
  return rows;
}

std::vector<Row> read(std::string_view text, const CsvOptions& options = {}) {
  return read_pieces(text, {}, options);
}

std::vector<std::vector<std::string>> cells(std::string_view text, const CsvOptions& options = {}) {
  std::vector<std::vector<std::string>> out;
  for (Row& row : read(text, options)) out.push_back(std::move(row.cells));
  return out;
}

TEST(Csv, CellsAndRows) {
  EXPECT_THAT(cells("a,b\n1,22\n"), ElementsAre(ElementsAre("a", "b"), ElementsAre("1", "22")));
  EXPECT_THAT(cells("a,b\r\n1,22\r\n"), ElementsAre(ElementsAre("a", "b"), ElementsAre("1", "22")));
  EXPECT_THAT(cells("a\tb,c", {.delimiter = '\t'}), ElementsAre(ElementsAre("a", "b,c")));
}

TEST(Csv, EmptyCellsAreCells) {
  EXPECT_THAT(cells(",\n,,x\n"), ElementsAre(ElementsAre("", ""), ElementsAre("", "", "x")));
  EXPECT_THAT(cells("a,"), ElementsAre(ElementsAre("a", "")));
}

TEST(Csv, TheLastLineNeedsNoEnd) {
  EXPECT_THAT(cells("a\nb"), ElementsAre(ElementsAre("a"), ElementsAre("b")));
}

TEST(Csv, LinesWithoutAByteArePassedOver) {
  EXPECT_THAT(cells("\n\r\na\n\n\"\"\n\n"), ElementsAre(ElementsAre("a"), ElementsAre("")));
  EXPECT_THAT(cells(""), IsEmpty());
}

TEST(Csv, QuotesKeepWhatIsBetweenThem) {
  EXPECT_THAT(cells("\"a,b\",\"c\r\nd\",\"\"\"e\"\"\"\n"),
              ElementsAre(ElementsAre("a,b", "c\r\nd", "\"e\"")));
  EXPECT_THAT(cells("\"\",\"\"\"\"\r\nx\n"), ElementsAre(ElementsAre("", "\""), ElementsAre("x")));
}

TEST(Csv, AQuoteWithinACellIsACharacter) {
  EXPECT_THAT(cells("5\" disk,x\n a \"b\" ,c\n"),
              ElementsAre(ElementsAre("5\" disk", "x"), ElementsAre(" a \"b\" ", "c")));
}

TEST(Csv, TextAfterAQuoteIsToldAndTheNextRowIsRead) {
  const auto rows = read("x,\"a\"b\"c\",d\ny,z,w\n");
  ASSERT_THAT(rows, SizeIs(2));
  EXPECT_EQ(rows[0].problem, CsvProblem::kTextAfterQuote);
  EXPECT_EQ(rows[0].problem_cell, 1U);
  EXPECT_EQ(rows[1], (Row{{"y", "z", "w"}, 2, 2, 12}));
}

TEST(Csv, AQuoteThatIsNotClosedIsTold) {
  const auto rows = read("a,b\n1,\"2\n3,4\n");
  ASSERT_THAT(rows, SizeIs(2));
  EXPECT_EQ(rows[1].problem, CsvProblem::kQuoteNotClosed);
  EXPECT_EQ(rows[1].problem_cell, 1U);
  EXPECT_EQ(rows[1].line, 2U);
}

TEST(Csv, PlacesAreToldByRowLineAndByte) {
  const auto rows = read("a,b\n\n\"1\n2\",x\r\nlast\n");
  ASSERT_THAT(rows, SizeIs(3));
  EXPECT_EQ(rows[1], (Row{{"1\n2", "x"}, 2, 3, 5}));
  EXPECT_EQ(rows[2], (Row{{"last"}, 3, 5, 14}));
}

TEST(Csv, ARowThatIsTooLargeIsToldAndPassedOver) {
  const std::string large(1'000, 'x');
  for (const std::string& row :
       {concat("a,", large), concat("a,\"", large, "\n", large, "\",\n,\"\n\""), concat("a,", large, ",")}) {
    const std::string text = concat("head\n", row, "\nb,c\n");
    for (const std::size_t piece : {std::size_t{10}, std::size_t{97}, text.size()}) {
      const auto rows =
          read_pieces(text, std::vector<std::size_t>(text.size() / piece, piece), {.max_row_bytes = 100});
      SCOPED_TRACE(concat(row.substr(0, 10), " by ", piece));
      ASSERT_GE(rows.size(), 3U);
      EXPECT_EQ(rows[1].problem, CsvProblem::kRowTooLarge);
      EXPECT_THAT(rows[1].cells, IsEmpty());
      EXPECT_EQ(rows[1].offset_bytes, 5U);
      EXPECT_EQ(rows.back().cells, (std::vector<std::string>{"b", "c"}));
    }
  }
}

TEST(Csv, TooManyCellsAreTold) {
  const auto rows = read("a,b,c,d\ne,f\n", {.max_cells = 2});
  ASSERT_THAT(rows, SizeIs(2));
  EXPECT_EQ(rows[0].problem, CsvProblem::kTooManyCells);
  EXPECT_EQ(rows[0].problem_cell, 2U);
  EXPECT_THAT(rows[0].cells, ElementsAre("a", "b"));
  EXPECT_EQ(rows[1].problem, CsvProblem::kNone);
}

std::string written(const std::vector<std::vector<std::string>>& table, std::mt19937& random) {
  std::string text;
  for (const auto& row : table) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      const bool needs_quotes =
          row[i].find_first_of("\",\r\n") != row[i].npos || (row.size() == 1 && row[i].empty());
      std::string cell = row[i];
      if (needs_quotes || random() % 4 == 0) {
        std::string quoted = "\"";
        for (const char c : cell) quoted += c == '"' ? "\"\"" : std::string(1, c);
        cell = quoted + "\"";
      }
      text += (i == 0 ? "" : ",") + cell;
    }
    text += random() % 2 == 0 ? "\n" : "\r\n";
  }
  return text;
}

// Whatever is written is read back, in pieces of any size.
TEST(Csv, WhatWasWrittenIsRead) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    std::vector<std::vector<std::string>> table(random() % 8);
    for (auto& row : table) {
      row.resize(1 + random() % 5);
      for (auto& cell : row) {
        for (auto size = random() % 2 == 0 ? random() % 6 : random() % 60; size > 0; --size)
          cell += "\",\r\n ab"[random() % 7];
      }
    }
    const std::string text = written(table, random);
    const auto rows = read(text);
    ASSERT_EQ(rows.size(), table.size()) << text;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      ASSERT_EQ(rows[i].cells, table[i]) << text;
      ASSERT_EQ(rows[i].problem, CsvProblem::kNone) << text;
    }
    std::vector<std::size_t> sizes;
    for (std::size_t size = 0; size < text.size(); size += sizes.back()) sizes.push_back(1 + random() % 20);
    ASSERT_EQ(read_pieces(text, sizes), rows) << text;
  }
}

}  // namespace
}  // namespace headrace
