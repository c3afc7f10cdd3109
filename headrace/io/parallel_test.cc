#include "headrace/io/parallel.h"

#include <atomic>

namespace headrace {
namespace {

TEST(ParallelFor, VisitsEveryIndexOnce) {
  for (int threads : {0, 1, 2, 7}) {
    std::vector<std::atomic<int>> visits(100);
    ASSERT_TRUE(parallel_for(threads, visits.size(), [&](std::size_t i) {
      ++visits[i];
      return Status{};
    }));
    for (const auto& count : visits) EXPECT_EQ(count, 1);
  }
}

TEST(ParallelFor, ReturnsTheErrorOfTheLowestIndexAndStops) {
  std::atomic<int> started{0};
  const Status status = parallel_for(4, 100'000, [&](std::size_t i) -> Status {
    ++started;
    if (i == 10 || i == 11) return Error{Code::kDataLoss, std::to_string(i)};
    return {};
  });
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message, "10");
  EXPECT_LT(started, 100'000);
}

}  // namespace
}  // namespace headrace
