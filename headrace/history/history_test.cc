#include "headrace/history/history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "headrace/store/memory/memory_store.h"

namespace headrace {
namespace {

RunPart part_with(std::vector<RunSeries> series, std::string ended) {
  RunPart part{.name = "", .start = {}};
  if (ended.empty()) {
    part.so_far.series = std::move(series);
  } else {
    part.end = RunEnd{};
    part.end->ended = std::move(ended);
    part.end->series = std::move(series);
  }
  return part;
}

TEST(History, MediaHoldNoMetricsAndAFolderCountsOnce) {
  RunRecord run;
  run.parts.push_back(part_with({{"keras", "memory://b/logs", "event_files"},
                                 {"media", "memory://b/media", "event_files"},
                                 {"metrics", "memory://b/segments", "metric_segments"}},
                                "1970-01-01T00:00:01.125Z"));
  run.parts.push_back(part_with({{"keras", "memory://b/logs", "event_files"}}, "1970-01-01T00:00:05.000Z"));
  const std::vector<RunEventFolder> folders = event_folders_of(run);
  ASSERT_EQ(folders.size(), 1U);
  EXPECT_EQ(folders[0].series.url, "memory://b/logs");
  EXPECT_EQ(folders[0].until_us, 6'000'000);
}

TEST(History, AFolderOfARunThatGoesOnHasNoEnd) {
  RunRecord run;
  run.parts.push_back(part_with({{"keras", "memory://b/logs", "event_files"}}, "1970-01-01T00:00:01.000Z"));
  run.parts.push_back(part_with({{"keras", "memory://b/logs", "event_files"}}, ""));
  EXPECT_EQ(event_folders_of(run)[0].until_us, std::nullopt);
}

TEST(History, AnErrorOfAPlaceIsTheErrorOfTheHistory) {
  RunRecord run;
  run.parts.push_back(part_with({{"metrics", "memory://b/segments", "metric_segments"}}, ""));
  const HistorySource source{.open = [](const std::string& url) -> Result<Location> {
    return Error{Code::kUnavailable, url};
  }};
  const auto metrics = metrics_of(run, source);
  ASSERT_FALSE(metrics);
  EXPECT_EQ(metrics.error().message, "memory://b/segments");
  EXPECT_TRUE(metrics_of(run, source, {.reads_segments = false}));
}

}  // namespace
}  // namespace headrace
