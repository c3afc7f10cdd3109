#include "headrace/prepare/map/row_frame.h"

#include <gtest/gtest.h>

#include <string>

#include "headrace/prepare/table/rows_test.h"

namespace headrace {
namespace {

using Lines = std::vector<std::string>;

Cell bytes(std::string_view text) { return {.kind = CellKind::kBytes, .data = as_bytes(text)}; }

Lines rows_of(RowFrame frame) {
  Lines lines;
  while (frame.rows_left() > 0) {
    const RowFrame::Row row = frame.next();
    std::string line = concat(static_cast<int>(row.verdict));
    for (const NamedCell& cell : row.cells) line += concat(" ", cell.name, "=", cell_text(cell.cell));
    lines.push_back(line);
  }
  return lines;
}

// Two rows, as docs/formats/mapped-rows.md shows them.
Bytes example() {
  RowFrameBuilder builder;
  builder.begin_row();
  builder.add_cell("name", bytes("Zo"), true);
  const Bytes seven = to_bytes(std::string_view("\7\0\0\0\0\0\0\0", 8));
  builder.add_cell("age", {.kind = CellKind::kInt64s, .data = seven}, false);
  builder.begin_row();
  builder.add_cell("name", {}, false);
  const BytesView frame = builder.finish();
  return {frame.begin(), frame.end()};
}

TEST(RowFrame, HasTheRowsThatWereAdded) {
  const Bytes bytes_of_frame = example();  // which the rows borrow from
  const auto frame = RowFrame::parse(bytes_of_frame);
  ASSERT_TRUE(frame);
  EXPECT_EQ(rows_of(*frame), (Lines{"0 name='Zo' age=i[7]", "0 name=-"}));
}

TEST(RowFrame, IsAsTheFormatShowsIt) {
  const std::string_view expected(
      "\2\0\0\0\2\0\0\0\3\0\0\0"   // rows, names, cells
      "\0\0"                       // verdicts
      "\2\0\0\0\1\0\0\0"           // cells of each row
      "\4\0\0\0\3\0\0\0"           // sizes of names
      "\0\0\0\0\1\0\0\0\0\0\0\0"   // names of cells
      "\6\4\0"                     // kinds
      "\2\0\0\0\10\0\0\0\0\0\0\0"  // sizes of cells
      "nameage"
      "Zo\7\0\0\0\0\0\0\0",
      74);
  EXPECT_EQ(as_text(example()), expected);
}

TEST(RowFrame, ListsOfTextsAndOfBytesAreToldApartAndReadAsLists) {
  Bytes list;
  append_byte_string(list, as_bytes("hi"));
  append_byte_string(list, {});
  RowFrameBuilder builder;
  builder.begin_row();
  builder.add_cell("a", {.kind = CellKind::kByteStrings, .data = list}, true);
  builder.add_cell("b", {.kind = CellKind::kByteStrings, .data = list}, false);
  Bytes bytes_of_frame = to_bytes(as_text(builder.finish()));
  EXPECT_NE(as_text(bytes_of_frame).find("\7\5"), std::string_view::npos);
  const auto frame = RowFrame::parse(bytes_of_frame);
  ASSERT_TRUE(frame);
  EXPECT_EQ(rows_of(*frame), (Lines{"0 a=b['hi' ''] b=b['hi' '']"}));
  bytes_of_frame[bytes_of_frame.size() - 4] = std::byte{1};  // the size of the last text of b
  EXPECT_FALSE(RowFrame::parse(bytes_of_frame));
}

TEST(RowFrame, RowsOfDifferentColumnsKeepTheirNames) {
  RowFrameBuilder builder;
  for (const std::string_view names : {"ab", "ba", "cb", ""}) {
    builder.begin_row();
    for (std::size_t i = 0; i < names.size(); ++i)
      builder.add_cell(names.substr(i, 1), bytes(names.substr(i, 1)), false);
  }
  const auto frame = RowFrame::parse(builder.finish());
  ASSERT_TRUE(frame);
  EXPECT_EQ(rows_of(*frame), (Lines{"0 a='a' b='b'", "0 b='b' a='a'", "0 c='c' b='b'", "0"}));
}

TEST(RowFrame, WhatIsCutOffOrLeftOverIsDamaged) {
  Bytes frame = example();
  for (std::size_t size = 0; size < frame.size(); ++size) {
    const auto cut = RowFrame::parse(BytesView(frame).first(size));
    ASSERT_FALSE(cut) << size;
    EXPECT_EQ(cut.error().code, Code::kDataLoss);
  }
  frame.push_back(std::byte{0});
  EXPECT_FALSE(RowFrame::parse(frame));
}

TEST(RowFrame, NoAlteredByteLeadsOutsideOfTheFrame) {
  const Bytes original = example();
  std::size_t refused = 0;
  for (std::size_t place = 0; place < original.size(); ++place) {
    for (const int value : {1, 0x7f, 0xff}) {
      Bytes frame = original;
      frame[place] = static_cast<std::byte>(value);
      const auto parsed = RowFrame::parse(frame);
      refused += parsed ? 0 : 1;
      if (parsed) rows_of(*parsed);
    }
  }
  EXPECT_GT(refused, original.size());
}

}  // namespace
}  // namespace headrace
