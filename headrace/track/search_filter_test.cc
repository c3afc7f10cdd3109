#include "headrace/track/search_filter.h"

#include <gtest/gtest.h>

namespace headrace {
namespace {

const SearchTarget kTarget = {.text_attributes = {"status"},
                              .number_attributes = {"seconds"},
                              .list_attributes = {},
                              .entities = {Entity::kMetric, Entity::kParam},
                              .compares_params_by_number = true};

bool holds_for_param(std::string_view filter, const std::string& value) {
  const auto parsed = SearchFilter::parse(filter, kTarget);
  EXPECT_TRUE(parsed) << (parsed ? "" : parsed.error().message);
  return parsed && parsed->matches([&](const SearchColumn&) { return std::vector<ColumnValue>{value}; });
}

TEST(SearchFilter, ParamsAreComparedByNumberOrByText) {
  EXPECT_TRUE(holds_for_param("params.lr >= 1e-3", "0.001"));
  EXPECT_FALSE(holds_for_param("params.lr < 1e-3", "0.001"));
  EXPECT_TRUE(holds_for_param("params.lr = 0.1", "1e-1"));
  EXPECT_FALSE(holds_for_param("params.lr = '0.1'", "1e-1"));
  EXPECT_TRUE(holds_for_param("params.lr != 0.2", "1e-1"));
}

TEST(SearchFilter, AParamThatIsNoNumberMatchesNoNumber) {
  for (const char* const value : {"adam", "", "nan", "1e-3 ", "inf"}) {
    EXPECT_FALSE(holds_for_param("params.lr >= 0", value)) << value;
    EXPECT_FALSE(holds_for_param("params.lr != 0", value)) << value;
  }
}

TEST(SearchFilter, ThereAreUpToAHundredClauses) {
  std::string text = "params.lr >= 0";
  for (int i = 1; i < 100; ++i) text += " AND params.lr >= 0";
  EXPECT_TRUE(SearchFilter::parse(text, kTarget));
  const auto refused = SearchFilter::parse(text + " AND params.lr >= 0", kTarget);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kInvalidArgument);
}

TEST(SearchFilter, ANumberIsWantedWhereParamsAreOrdered) {
  EXPECT_FALSE(SearchFilter::parse("params.lr >= 'a'", kTarget));
  EXPECT_FALSE(SearchFilter::parse("params.lr >=", kTarget));
  EXPECT_FALSE(SearchFilter::parse("status > 'a'", kTarget));
}

}  // namespace
}  // namespace headrace
