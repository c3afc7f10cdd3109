#include "headrace/cli/text_table.h"

#include <gmock/gmock.h>

namespace headrace {
namespace {

using testing::ElementsAre;

TEST(TextTable, ColumnsStandBelowEachOther) {
  const std::vector<std::vector<std::string>> rows = {{"run", "a", "longer"}, {"loss", "0.25", ""}};
  EXPECT_THAT(table_lines(rows, Align::kLeft), ElementsAre("run   a     longer", "loss  0.25"));
  EXPECT_THAT(table_lines(rows, Align::kRight), ElementsAre("run      a  longer", "loss  0.25"));
  EXPECT_THAT(table_lines({}, Align::kLeft), ElementsAre());
}

}  // namespace
}  // namespace headrace
