#include "headrace/mlflow/search_targets.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

namespace headrace::mlflow {
namespace {

const std::map<std::string, ColumnValue> kColumns = {{"loss", 0.25},
                                                     {"val loss", 2.0},
                                                     {"a.b/c", 1e-5},
                                                     {"nan", std::nan("")},
                                                     {"lr", std::string("0.1")},
                                                     {"it's", std::string("x")},
                                                     {"team", std::string("Vision-Ü")},
                                                     {"run_id", std::string("r1")},
                                                     {"run_name", std::string("first")},
                                                     {"start_time", 1000.0},
                                                     {"status", std::string("FINISHED")}};

bool holds(std::string_view text) {
  const auto filter = SearchFilter::parse(text, run_target());
  EXPECT_TRUE(filter) << text << ": " << (filter ? "" : filter.error().message);
  return filter && filter->matches([](const SearchColumn& column) -> std::vector<ColumnValue> {
    if (column.entity == Entity::kDataset) return {std::string("train"), std::string("test")};
    const auto found = kColumns.find(column.key);
    return {found == kColumns.end() ? ColumnValue() : found->second};
  });
}

TEST(SearchFilter, PatternsAreFewAndShort) {
  const auto error_of = [](const std::string& text) {
    const auto filter = SearchFilter::parse(text, run_target());
    return filter ? std::string() : filter.error().message;
  };
  std::string clauses = "tags.team LIKE '%'";
  for (int i = 1; i < 16; ++i) clauses += " AND tags.team ILIKE '%'";
  EXPECT_EQ(error_of(clauses), "");
  EXPECT_EQ(error_of(clauses + " AND tags.team LIKE '%'"),
            "the filter has more than 16 clauses with LIKE or ILIKE");
  EXPECT_EQ(error_of("tags.team LIKE '" + std::string(1024, 'a') + "'"), "");
  EXPECT_EQ(error_of("tags.team LIKE '" + std::string(1025, 'a') + "'"),
            "a pattern of LIKE has more than 1024 bytes");
  EXPECT_EQ(error_of("tags.team = '" + std::string(1025, 'a') + "'"), "");
}

TEST(SearchFilter, ClausesHoldAsMlflowSays) {
  for (const char* text : {"",
                           "  ",
                           "metrics.loss < 0.3",
                           "metric.loss<=.25",
                           "metrics.`val loss` = 2",
                           "metrics.\"val loss\" != 3",
                           "metrics.a.b/c > 1e-6",
                           "params.lr = '0.1'",
                           "params.lr = \"0.1\"",
                           "tags.\"it's\" = 'x'",
                           "tags.team LIKE 'Vision-_'",
                           "tags.team like '%'",
                           "tags.team ILIKE 'vISION%'",
                           "tag.none IS NULL",
                           "params.lr IS NOT NULL",
                           "status != 'FAILED'",
                           "attributes.start_time >= 1000",
                           "created > 999.5",
                           "`Run name` = 'first'",
                           "run_id IN ('r0', 'r1')",
                           "run_id NOT IN ('r0',)",
                           "dataset.name = 'test'",
                           "datasets.name IN ('test')",
                           "metrics.loss > 0 AND params.lr = '0.1' and status = 'FINISHED'",
                           "metrics.loss > -1.5E+3"})
    EXPECT_TRUE(holds(text)) << text;
  for (const char* text : {"metrics.loss > 0.25", "metrics.none > 0", "metrics.nan = 1", "params.none != 'x'",
                           "tags.team LIKE 'vision%'", "tags.team LIKE 'Vision-'", "run_id IN ('r0')",
                           "metrics.loss < 1 AND metrics.loss > 1", "dataset.context = 'none'"})
    EXPECT_FALSE(holds(text)) << text;
}

TEST(SearchFilter, AnythingElseIsRefused) {
  for (const char* text : {"metrics.loss",
                           "metrics.loss <",
                           "metrics.loss < 'a'",
                           "metrics.loss < 1 2",
                           "metrics.loss LIKE '1'",
                           "metrics.loss IS NULL",
                           "params.lr < '1'",
                           "params.lr = 1",
                           "params.lr IN ('a')",
                           "params.lr NOT 'a'",
                           "x = 'a'",
                           "unknown.a = 'a'",
                           "dataset.size = 'a'",
                           "a = 'a' OR b = 'b'",
                           "(run_id = 'a')",
                           "run_id IN ()",
                           "run_id IN ('a'",
                           "run_id IN 'a'",
                           "run_id = 'a",
                           "AND run_id = 'a'",
                           "run_id = 'a' AND",
                           "= 'a'",
                           "start_time = 'a'",
                           "metrics.loss = nan",
                           "metrics.loss = inf",
                           "status IS NOT NULL",
                           "`",
                           "metrics."})
    EXPECT_FALSE(SearchFilter::parse(text, run_target())) << text;
  EXPECT_FALSE(SearchFilter::parse("metrics.loss > 1", experiment_target()));
  EXPECT_FALSE(SearchFilter::parse(std::string(100'000, ' '), run_target()));
}

TEST(SearchFilter, OrdersArePlain) {
  const auto order = parse_order("metrics.`val loss` DESC", run_target());
  ASSERT_TRUE(order);
  EXPECT_EQ(order->column.key, "val loss");
  EXPECT_FALSE(order->is_ascending);
  EXPECT_TRUE(parse_order("start_time", run_target())->is_ascending);
  for (const char* text : {"", "metrics.loss UP", "metrics.loss DESC x", "dataset.name", "nothing ASC"})
    EXPECT_FALSE(parse_order(text, run_target())) << text;
}

TEST(SearchFilter, MissingValuesComeLastAndNanBeforeThem) {
  const ColumnValue one = 1.0, two = 2.0, nan = std::nan(""), none;
  for (const bool is_ascending : {true, false}) {
    EXPECT_EQ(value_comes_before(one, two, is_ascending), is_ascending);
    EXPECT_EQ(value_comes_before(two, one, is_ascending), !is_ascending);
    EXPECT_TRUE(value_comes_before(two, nan, is_ascending));
    EXPECT_TRUE(value_comes_before(nan, none, is_ascending));
    EXPECT_FALSE(value_comes_before(none, one, is_ascending));
    EXPECT_FALSE(value_comes_before(nan, nan, is_ascending));
  }
}

TEST(SearchFilter, LikeIsNotExponential) {
  std::string pattern;
  for (int i = 0; i < 100; ++i) pattern += "%a";
  EXPECT_FALSE(matches_like(std::string(5000, 'a') + "b", pattern + "c", false));
  EXPECT_TRUE(matches_like("ü", "_", false));
  EXPECT_TRUE(matches_like("", "%%", false));
  EXPECT_FALSE(matches_like("", "_", false));
}

TEST(SearchFilter, PagesFollowEachOther) {
  const auto first = find_page(5, "", 2);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->end, 2U);
  const auto second = find_page(5, first->next_token, 2);
  ASSERT_TRUE(second);
  EXPECT_EQ(second->begin, 2U);
  const auto third = find_page(5, second->next_token, 2);
  ASSERT_TRUE(third);
  EXPECT_EQ(third->end, 5U);
  EXPECT_EQ(third->next_token, "");
  EXPECT_EQ(find_page(1, first->next_token, 2)->begin, 1U);  // the list has become shorter
  for (const char* token : {"x", "e30=", "bnVsbA==", "eyJvZmZzZXQiOi0xfQ=="})
    EXPECT_FALSE(find_page(5, token, 2)) << token;
}

}  // namespace
}  // namespace headrace::mlflow
