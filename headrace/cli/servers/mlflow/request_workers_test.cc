#include "headrace/cli/servers/mlflow/request_workers.h"

#include <gtest/gtest.h>

#include <chrono>
#include <new>
#include <thread>

namespace headrace {
namespace {

TEST(RequestWorkers, WorkThatThrowsGivesItsPlaceBack) {
  RequestWorkers workers(1, 0);
  ASSERT_TRUE(workers.add([] { throw std::bad_alloc(); }));
  std::atomic<bool> is_done = false;
  bool is_taken = false;
  for (int i = 0; i < 1000 && !is_taken; ++i) {
    is_taken = workers.add([&] { is_done = true; });
    if (!is_taken) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  ASSERT_TRUE(is_taken);
  for (int i = 0; i < 1000 && !is_done; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_TRUE(is_done);
}

}  // namespace
}  // namespace headrace
