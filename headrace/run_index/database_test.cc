#include "headrace/run_index/database.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>

namespace headrace {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kTable = "CREATE TABLE t (name TEXT PRIMARY KEY, value REAL)";

class DatabaseTest : public testing::Test {
 protected:
  DatabaseTest() : folder_(fs::temp_directory_path() / ("headrace-database-" + name())) {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~DatabaseTest() override { fs::remove_all(folder_); }

  static std::string name() { return testing::UnitTest::GetInstance()->current_test_info()->name(); }
  std::string path() const { return folder_ / "a.sqlite"; }
  Result<Database> open(std::int64_t version = 1) {
    return Database::open(path(), kTable, version, failure_);
  }

  const fs::path folder_;
  DatabaseFailure failure_ = DatabaseFailure::kNone;
};

TEST_F(DatabaseTest, KeepsAnyTextAndAnyNumber) {
  using namespace std::string_literals;
  const std::string strange = "a\0\xff'; DROP TABLE t; --\n"s;
  const double infinity = std::numeric_limits<double>::infinity();
  {
    auto database = open();
    ASSERT_TRUE(database);
    ASSERT_TRUE(database->run({"INSERT INTO t VALUES (?, ?)", {strange, infinity}}));
    ASSERT_TRUE(database->run({"INSERT INTO t VALUES (?, ?)", {std::string("nan"), std::nan("")}}));
  }
  auto database = open();
  ASSERT_TRUE(database);
  const auto rows = database->rows({"SELECT name, value FROM t ORDER BY name"});
  ASSERT_TRUE(rows);
  ASSERT_EQ(rows->size(), 2U);
  EXPECT_EQ((*rows)[0][0], SqlValue(strange));
  EXPECT_EQ((*rows)[0][1], SqlValue(infinity));
  EXPECT_EQ((*rows)[1][1], SqlValue());
}

TEST_F(DatabaseTest, AFileOfAnotherVersionIsDamaged) {
  ASSERT_TRUE(open(1));
  EXPECT_FALSE(open(2));
  EXPECT_EQ(failure_, DatabaseFailure::kDamaged);
}

TEST_F(DatabaseTest, AnImpossibleStatementIsNoDamage) {
  for (const bool is_checked : {true, false}) {
    auto database = open();
    ASSERT_TRUE(database);
    std::string text = "SELECT 1 FROM t WHERE 1";
    for (int i = 0; i < 2000; ++i) text += " AND value < 1";
    EXPECT_FALSE(is_checked ? database->check({text}) : database->run({text}));
    EXPECT_EQ(database->failure(), DatabaseFailure::kUnusable);
  }
}

TEST_F(DatabaseTest, AFileThatIsNoneIsDamaged) {
  std::ofstream(path()) << std::string(5000, 'x');
  EXPECT_FALSE(open());
  EXPECT_EQ(failure_, DatabaseFailure::kDamaged);
}

TEST_F(DatabaseTest, AFolderInItsPlaceIsUnusable) {
  fs::create_directories(path());
  EXPECT_FALSE(open());
  EXPECT_EQ(failure_, DatabaseFailure::kUnusable);
}

TEST_F(DatabaseTest, ATransactionThatIsNotCommittedLeavesNothing) {
  auto database = open();
  ASSERT_TRUE(database);
  ASSERT_TRUE(database->begin());
  ASSERT_TRUE(database->run({"INSERT INTO t VALUES ('a', 1)"}));
  ASSERT_TRUE(database->begin());
  ASSERT_TRUE(database->commit());
  EXPECT_EQ(database->rows({"SELECT 1 FROM t"})->size(), 0U);
}

TEST_F(DatabaseTest, AnotherWriterThatHoldsItsLockMakesItUnusableAndReadersGoOn) {
  auto holder = open();
  ASSERT_TRUE(holder);
  ASSERT_TRUE(holder->begin());
  auto other = open();
  ASSERT_TRUE(other);
  EXPECT_TRUE(other->rows({"SELECT 1 FROM t"}));
  EXPECT_FALSE(other->begin());
  EXPECT_EQ(other->failure(), DatabaseFailure::kBusy);
  ASSERT_TRUE(holder->run({"INSERT INTO t VALUES ('a', 1)"}));
  auto copy = Database::open_copy(path(), kTable, 1, failure_);
  ASSERT_TRUE(copy) << copy.error().message;
  EXPECT_EQ(copy->rows({"SELECT 1 FROM t"})->size(), 0U);  // it was not committed
  EXPECT_TRUE(copy->begin());
}

TEST_F(DatabaseTest, PatternsMatchAsInFiltersOfMlflow) {
  auto database = open();
  ASSERT_TRUE(database);
  const auto matches = [&](std::string text, std::string pattern, bool ignores_case) {
    const auto rows = database->rows(
        {"SELECT matches_like(?, ?, ?)", {std::move(text), std::move(pattern), std::int64_t{ignores_case}}});
    return rows && rows->at(0).at(0) == SqlValue(std::int64_t{1});
  };
  EXPECT_TRUE(matches("Vision", "V%n", false));
  EXPECT_FALSE(matches("vision", "V%n", false));
  EXPECT_TRUE(matches("vision", "V%n", true));
}

}  // namespace
}  // namespace headrace
