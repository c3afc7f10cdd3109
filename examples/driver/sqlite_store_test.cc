#include "sqlite_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "headrace/base/text.h"
#include "headrace/store/conformance.h"
#include "headrace/store/driver.h"
#include "headrace/store/scratch_folder_test.h"

namespace headrace {

extern const StoreDriver kSqliteDriver;

namespace {

auto* const scratch =
    static_cast<ScratchFolder*>(testing::AddGlobalTestEnvironment(new ScratchFolder));  // gtest owns it

std::unique_ptr<Store> open_at(const std::string& path) {
  auto store = open_sqlite_store(path, "test", std::chrono::seconds(30));
  return store ? *std::move(store) : nullptr;
}

std::string new_file() {
  const std::string folder = scratch->new_root();
  std::filesystem::create_directories(folder);
  return folder + "/objects.sqlite";
}

INSTANTIATE_TEST_SUITE_P(Sqlite, StoreConformance,
                         testing::Values(DriverUnderTest{"sqlite", [] { return open_at(new_file()); }}),
                         driver_name);

TEST(SqliteStore, TwoThatHaveTheFileOpenSeeEachOthersWrites) {
  const std::string file = new_file();
  const auto one = open_at(file);
  const auto other = open_at(file);
  const auto written = write_text(*one, "a/b", "hello");
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_EQ(as_text(read_object(*other, "a/b", 100)->data), "hello");
  EXPECT_EQ(write_text(*other, "a/b", "again", {.only_if_absent = true}).error().code, Code::kAlreadyExists);
  ASSERT_TRUE(remove_object(*other, "a/b"));
  EXPECT_NE(write_text(*one, "a/b", "hello")->version, written->version) << "no version is given twice";
}

TEST(SqliteStore, AnotherKindOfFileIsRefused) {
  const std::string file = new_file();
  std::ofstream(file) << std::string(4096, 'x');
  const auto refused = open_sqlite_store(file, "test", std::chrono::seconds(1));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kDataLoss);
  EXPECT_THAT(refused.error().message, testing::HasSubstr(file));
}

TEST(SqliteDriver, SaysWhichVariableIsMissing) {
  const auto url = *parse_url("sqlite://name/a", "/");
  const auto refused = kSqliteDriver.open(url, {});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, testing::HasSubstr("HEADRACE_SQLITE_FOLDER"));
  const Environment wrong{
      .variables = {{"HEADRACE_SQLITE_FOLDER", "/tmp"}, {"HEADRACE_SQLITE_BUSY_TIMEOUT", "soon"}}};
  EXPECT_THAT(kSqliteDriver.open(url, wrong).error().message,
              testing::HasSubstr("HEADRACE_SQLITE_BUSY_TIMEOUT"));
}

}  // namespace
}  // namespace headrace
