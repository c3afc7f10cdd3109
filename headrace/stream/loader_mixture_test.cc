#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "headrace/stream/small_dataset_test.h"

namespace headrace {
namespace {

using testing::HasSubstr;

// Sources at data, b and c, whose records are numbered from 0, 1,000 and 2,000.
class LoaderMixtureTest : public LoaderTest {
 protected:
  std::vector<LoaderSource> sources(std::uint64_t a, std::uint64_t b, std::uint64_t c) {
    publish({a / 2 + 1, a - a / 2 - 1}, 7, true, "data", 0);
    publish({b}, 0, true, "b", 1000);
    publish({c}, 5, true, "c", 2000);
    return {{.dataset = open(), .weight = 0.5},
            {.dataset = open(CorruptionPolicy::kFail, "b"), .weight = 0.3},
            {.dataset = open(CorruptionPolicy::kFail, "c"), .weight = 0.2}};
  }
};

std::vector<std::vector<std::int64_t>> batches_of(const std::vector<LoaderSource>& sources,
                                                  const LoaderOptions& options) {
  auto loader = BatchLoader::create(sources, options);
  EXPECT_TRUE(loader) << loader.error().message;
  return loader ? drain(**loader) : std::vector<std::vector<std::int64_t>>{};
}

TEST_F(LoaderMixtureTest, GivesEachSourceItsShareAndGoesThroughItInEpochs) {
  LoaderOptions with = options();
  with.epochs = 3;
  with.threads = 2;
  const auto batches = batches_of(sources(100, 40, 3), with);
  ASSERT_EQ(batches.size(), 3U * 8U);  // ⌊143 / 16⌋ an epoch
  std::map<std::int64_t, std::vector<std::int64_t>> ids;
  for (const auto& batch : batches) {
    for (const std::int64_t id : batch) ids[id / 1000].push_back(id);
  }
  EXPECT_NEAR(static_cast<double>(ids[0].size()), 24 * 16 * 0.5, 2);
  EXPECT_NEAR(static_cast<double>(ids[1].size()), 24 * 16 * 0.3, 2);
  EXPECT_NEAR(static_cast<double>(ids[2].size()), 24 * 16 * 0.2, 2);
  // Every record of a source occurs once before any record occurs again.
  for (const auto& [source, count] : std::map<std::int64_t, std::size_t>{{0, 100}, {1, 40}, {2, 3}}) {
    for (std::size_t begin = 0; begin + count <= ids[source].size(); begin += count) {
      const auto first = ids[source].begin() + static_cast<std::ptrdiff_t>(begin);
      EXPECT_EQ(std::set(first, first + static_cast<std::ptrdiff_t>(count)).size(), count);
    }
  }
}

TEST_F(LoaderMixtureTest, ResumesAtAnyBatchAtAnyWorldSize) {
  const auto from = sources(60, 30, 9);
  LoaderOptions with = options();
  with.epochs = 2;
  with.threads = 2;
  const auto expected = batches_of(from, with);
  auto whole = BatchLoader::create(from, with);
  ASSERT_TRUE(whole);
  for (std::uint64_t start = 0; start < expected.size(); ++start) {
    const std::string state = (*whole)->state(start / 6, start % 6);
    EXPECT_LT(state.size(), 1000U);
    const auto position = parse_loader_state(state, from, with);
    ASSERT_TRUE(position) << position.error().message;
    EXPECT_EQ(batches_of_ranks(from, with, *position, 1 + start % 5),
              std::vector(expected.begin() + static_cast<std::ptrdiff_t>(start), expected.end()))
        << "from " << start;
  }
}

TEST_F(LoaderMixtureTest, ASourceOfOneRecordFillsItsShare) {
  publish({1}, 0, false, "b", 1000);
  publish({500}, 7, true);
  const std::vector<LoaderSource> from = {{.dataset = open(CorruptionPolicy::kFail, "b"), .weight = 9},
                                          {.dataset = open(), .weight = 1}};
  for (const auto& batch : batches_of(from, options()))
    EXPECT_NEAR(static_cast<double>(std::count(batch.begin(), batch.end(), 1000)), 14.4, 1);
}

TEST_F(LoaderMixtureTest, StatesOfOtherWeightsAreRefused) {
  auto from = sources(60, 30, 9);
  const std::string state = (*BatchLoader::create(from, options()))->state(0, 1);
  from[0].weight = 0.6;
  EXPECT_EQ(parse_loader_state(state, from, options()).error().code, Code::kFailedPrecondition);
  from[0].weight = 0;
  EXPECT_THAT(BatchLoader::create(from, options()).error().message, HasSubstr("is not above 0"));
}

}  // namespace
}  // namespace headrace
