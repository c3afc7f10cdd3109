#include "headrace/prepare/map/mapped_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "headrace/prepare/source/source_test.h"
#include "headrace/prepare/table/rows_test.h"

namespace headrace {
namespace {

namespace fs = std::filesystem;

// Answers with a frame without rows, after its size, and then repeats every question as its answer.
constexpr std::string_view kReady = R"(printf '\014\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0')";
constexpr std::string_view kEcho = "exec cat <&1";

class MappedSourceTest : public SourceTest {
 protected:
  MappedSourceTest() { fs::create_directories(folder_); }
  ~MappedSourceTest() override { fs::remove_all(folder_); }

  // Runs a script in place of Python. The script records that it was started.
  std::unique_ptr<MapPool> pool(std::string_view script) {
    const fs::path program = folder_ / "python";
    std::ofstream(program) << "#!/bin/sh\necho x >> " << (folder_ / "started").string() << "\n"
                           << script << "\n";
    fs::permissions(program, fs::perms::owner_all);
    return std::make_unique<MapPool>(MapProgram{.interpreter = program.string(),
                                                .package_folder = folder_.string(),
                                                .function = "m:f",
                                                .cell_limit_bytes = kCellLimitBytes},
                                     Environment{}, stop_.get_token());
  }
  std::size_t started() const {
    std::ifstream file(folder_ / "started");
    return static_cast<std::size_t>(std::count(std::istreambuf_iterator<char>(file), {}, 'x'));
  }

  Input table(std::size_t rows) {
    std::string text = "a,b\n";
    for (std::size_t i = 0; i < rows; ++i)
      text += concat("\"value ", i, "\"", i % 7 == 3 ? "" : ",", i, "\n");
    put("t.csv", text);
    return *find("t.csv", InputFormat::kCsv);
  }
  RowsRead read(const Input& input, MapPool* map) {
    auto source = *open_slice(input, input.slices[0], stores_);
    if (map != nullptr) source = map_rows(std::move(source), input.format, stores_, *map);
    return read_rows(*source, stores_);
  }

  const fs::path folder_ = fs::path(testing::TempDir()) / concat("mapped-", random_name_bits());
  std::stop_source stop_;
};

TEST_F(MappedSourceTest, RowsThatAreAnsweredAsTheyAreStayInTheirOrderBetweenThoseThatAreRejected) {
  const Input input = table(1000);
  const auto map = pool(concat(kReady, "\n", kEcho));
  const RowsRead mapped = read(input, map.get());
  ASSERT_TRUE(mapped.status) << mapped.status.error().message;
  EXPECT_EQ(mapped.rows, read(input, nullptr).rows);
  EXPECT_EQ(mapped.rows.size(), 1000);
  EXPECT_EQ(mapped.consumed_bytes, input.size_bytes);
  EXPECT_EQ(started(), 1);
}

TEST_F(MappedSourceTest, WhatRowsReferToIsReadBeforeAndWhatIsGoneIsRejected) {
  put("pets/cat/1.jpg", "meow");
  put("pets/dog/2.jpg", "bark");
  const Input input = *find("pets", InputFormat::kImageFolder);
  const auto map = pool(concat(kReady, "\n", kEcho));
  const RowsRead mapped = read(input, map.get());
  ASSERT_TRUE(mapped.status) << mapped.status.error().message;
  EXPECT_EQ(mapped.references, 0);
  EXPECT_EQ(mapped.rows, read(input, nullptr).rows);
}

TEST_F(MappedSourceTest, AProcessThatDiesCostsTheRowThatItWasAskedAboutAlone) {
  const auto map = pool(concat(kReady, "\nhead -c 4 <&1 >/dev/null; exit 3"));
  const RowsRead mapped = read(table(3), map.get());
  ASSERT_TRUE(mapped.status) << mapped.status.error().message;
  const std::string what = " rejected: map's process died: exit status 3";
  EXPECT_EQ(mapped.rows,
            (Lines{concat("t.csv@4", what), concat("t.csv@16", what), concat("t.csv@28", what)}));
  EXPECT_EQ(started(), 4) << "for all of them, and for each";
}

TEST_F(MappedSourceTest, AnswersThatAreNoneAreLikeAProcessThatDies) {
  const auto map = pool(concat(kReady, "\nyes zzzz"));
  const RowsRead mapped = read(table(1), map.get());
  ASSERT_EQ(mapped.rows.size(), 1);
  EXPECT_THAT(mapped.rows[0], testing::HasSubstr("map's process died: it was ended: the program sent"));
}

TEST_F(MappedSourceTest, AFunctionThatCannotBeLoadedEndsReading) {
  // One row, of verdict 2, with the text "why".
  const auto map =
      pool(R"(printf '\041\0\0\0\1\0\0\0\1\0\0\0\1\0\0\0\2\1\0\0\0\0\0\0\0\0\0\0\0\6\3\0\0\0why')");
  const RowsRead mapped = read(table(1), map.get());
  ASSERT_FALSE(mapped.status);
  EXPECT_EQ(mapped.status.error().code, Code::kInvalidArgument);
  EXPECT_EQ(mapped.status.error().message, "the map m:f: why");
}

TEST_F(MappedSourceTest, AProcessThatEndsBeforeItIsReadyEndsReading) {
  const RowsRead mapped = read(table(1), pool("exit 7").get());
  ASSERT_FALSE(mapped.status);
  EXPECT_EQ(mapped.status.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(mapped.status.error().message, testing::HasSubstr("did not load it (exit status 7)"));
}

TEST_F(MappedSourceTest, StoppingEndsWaitingForAnAnswer) {
  const auto map = pool(concat(kReady, "\nsleep 1000"));
  std::thread stopper([&] { stop_.request_stop(); });
  const RowsRead mapped = read(table(1), map.get());
  stopper.join();
  ASSERT_FALSE(mapped.status);
  EXPECT_EQ(mapped.status.error().code, Code::kCancelled);
}

TEST_F(MappedSourceTest, SlicesThatAreReadAtOnceShareTheProcesses) {
  const Input input = table(300);
  const auto map = pool(concat(kReady, "\n", kEcho));
  const Lines expected = read(input, nullptr).rows;
  std::vector<std::jthread> threads;
  std::vector<Lines> rows(4);
  for (Lines& own : rows) {
    threads.emplace_back([&] {
      for (int round = 0; round < 5; ++round) own = read(input, map.get()).rows;
    });
  }
  threads.clear();
  for (const Lines& own : rows) EXPECT_EQ(own, expected);
  EXPECT_LE(started(), 4);
}

}  // namespace
}  // namespace headrace
