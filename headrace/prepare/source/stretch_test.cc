#include "headrace/prepare/source/stretch.h"

#include <gtest/gtest.h>

#include <vector>

#include "headrace/prepare/source/source_test.h"

namespace headrace {
namespace {

class Stretch : public SourceTest {
 protected:
  // The ids' rows in these bytes; "none" where they cannot be told.
  std::vector<std::string> rows(std::string_view text, std::uint64_t offset, std::uint64_t size,
                                InputFormat format = InputFormat::kCsv) {
    put("file", text);
    const auto input = find("file", format);
    if (!input) return {input.error().message};
    const auto source =
        open_stretch(*input, input->slices[0].files[0], offset, size, stores_, kCellLimitBytes);
    if (!source) return {source.error().message};
    if (*source == nullptr) return {"none"};
    std::vector<std::string> first_cells;
    while (true) {
      const auto row = (*source)->next();
      if (!row) return {row.error().message};
      if (!*row) return first_cells;
      first_cells.emplace_back(as_text((*row)->cells[0].cell.data));
    }
  }
};

using Rows = std::vector<std::string>;

TEST_F(Stretch, HasTheRowsThatLieWhollyInIt) {
  constexpr std::string_view kTable = "name,n\na,1\nb,2\nc,3\nd,4";
  EXPECT_EQ(rows(kTable, 8, 9), Rows({"b"})) << "from the middle of a to the middle of c";
  EXPECT_EQ(rows(kTable, 12, 100), Rows({"c", "d"})) << "up to the end, without a newline there";
  EXPECT_EQ(rows(kTable, 12, 2), Rows());
  EXPECT_EQ(rows("{\"a\":\"x\"}\n{\"a\":\"y\"}\n{\"a\":\"z\"}\n", 3, 22, InputFormat::kJsonLines),
            Rows({"y"}));
}

TEST_F(Stretch, IsNoneWhereNobodyKnowsWhereARowBegins) {
  EXPECT_EQ(rows("name,n\n\"a\nb\",1\nc,2\n", 9, 100), Rows({"none"})) << "in quotes, a newline ends no row";
  EXPECT_EQ(rows("\"name\n\",n\na,1\nb,2\n", 12, 100), Rows({"none"}));
  EXPECT_EQ(rows(std::string_view("\x1f\x8b\n0\n1\n2\n"), 4, 100), Rows({"none"}));
}

TEST_F(Stretch, OfAFileThatHasChangedIsAnError) {
  put("file", std::string_view("n\n1\n2\n3\n"));
  const auto input = find("file", InputFormat::kCsv);
  ASSERT_TRUE(input) << input.error().message;
  put("file", std::string_view("n\n4\n5\n6\n"));
  const auto source = open_stretch(*input, input->slices[0].files[0], 3, 4, stores_, kCellLimitBytes);
  ASSERT_FALSE(source);
  EXPECT_EQ(source.error().code, Code::kFailedPrecondition);
}

}  // namespace
}  // namespace headrace
