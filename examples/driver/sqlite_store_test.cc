#include "sqlite_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <filesystem>
#include <fstream>
#include <stop_token>
#include <string>
#include <thread>

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
  return make_sqlite_store(path, "test", std::chrono::seconds(30));
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
  const auto refused = open_at(file)->stat("a", {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kDataLoss);
  EXPECT_THAT(refused.error().message, testing::HasSubstr(file));
}

TEST(SqliteStore, ReadingMakesNoFile) {
  const std::string file = new_file();
  const auto store = open_at(file);
  EXPECT_EQ(store->stat("a", {}).error().code, Code::kNotFound);
  EXPECT_TRUE(list_all(*store, "")->empty());
  ASSERT_TRUE(remove_object(*store, "a"));
  EXPECT_FALSE(std::filesystem::exists(file));
  ASSERT_TRUE(write_text(*open_at(file), "a", "of another"));
  EXPECT_EQ(as_text(read_object(*store, "a", 100)->data), "of another");
}

TEST(SqliteStore, AStoppedCallWaitsForNobody) {
  const std::string file = new_file();
  const auto store = open_at(file);
  ASSERT_TRUE(write_text(*store, "a", "first"));
  sqlite3* other = nullptr;
  ASSERT_EQ(sqlite3_open(file.c_str(), &other), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(other, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr), SQLITE_OK);
  std::stop_source stop;
  std::jthread stopper([&] { stop.request_stop(); });
  const auto stopped = write_text(*store, "a", "second", {.call = {.stop = stop.get_token()}});
  EXPECT_EQ(stopped.error().code, Code::kCancelled);
  sqlite3_close_v2(other);
  EXPECT_TRUE(write_text(*store, "a", "third"));
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
