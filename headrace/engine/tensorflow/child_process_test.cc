#include "headrace/engine/tensorflow/child_process.h"

#include <thread>

namespace headrace {
namespace {

std::vector<std::string> shell(const std::string& script) { return {"/bin/sh", "-c", script}; }

TEST(RunChild, ReturnsOutputErrorsAndStatus) {
  const auto child = run_child(shell("echo out; echo $WHAT >&2; exit 3"), {{"WHAT", "err"}}, {});
  ASSERT_TRUE(child);
  EXPECT_EQ(child->output, "out\n");
  EXPECT_EQ(child->error_tail, "err\n");
  EXPECT_EQ(child->exit_status, 3);
}

TEST(RunChild, PassesNothingThatItWasNotGiven) {
  const auto child = run_child({"/usr/bin/env"}, {{"ONLY", "this"}}, {});
  ASSERT_TRUE(child);
  EXPECT_EQ(child->output, "ONLY=this\n");
}

TEST(RunChild, ASignalIsReportedAsAShellWould) {
  const auto child = run_child(shell("kill -TERM $$"), {}, {});
  ASSERT_TRUE(child);
  EXPECT_EQ(child->exit_status, 128 + 15);
}

TEST(RunChild, KeepsTheEndOfLongErrors) {
  const auto child = run_child(shell("head -c 200000 /dev/zero | tr '\\0' x >&2; echo last >&2"),
                               {{"PATH", "/usr/bin:/bin"}}, {.error_tail_bytes = 100});
  ASSERT_TRUE(child);
  EXPECT_EQ(child->error_tail, std::string(95, 'x') + "last\n");
}

TEST(RunChild, StopsAProgramAndItsChildrenAtTheDeadline) {
  const auto child = run_child(shell("sleep 1000 & sleep 1000"), {{"PATH", "/usr/bin:/bin"}},
                               {.deadline = std::chrono::milliseconds(50)});
  ASSERT_FALSE(child);
  EXPECT_EQ(child.error().code, Code::kDeadlineExceeded);
}

TEST(RunChild, StopsWhenAsked) {
  std::stop_source source;
  source.request_stop();
  const auto child =
      run_child(shell("exec sleep 1000"), {{"PATH", "/usr/bin:/bin"}}, {.stop = source.get_token()});
  ASSERT_FALSE(child);
  EXPECT_EQ(child.error().code, Code::kCancelled);
}

TEST(RunChild, BoundsTheOutput) {
  const auto child =
      run_child(shell("exec cat /dev/zero"), {{"PATH", "/usr/bin:/bin"}}, {.output_bytes_max = 10'000});
  ASSERT_FALSE(child);
  EXPECT_EQ(child.error().code, Code::kResourceExhausted);
}

TEST(RunChild, AProgramThatIsNotThereIsNotFound) {
  const auto child = run_child({"/no/such/program"}, {}, {});
  ASSERT_FALSE(child);
  EXPECT_EQ(child.error().code, Code::kNotFound);
  EXPECT_THAT(child.error().message, testing::HasSubstr("/no/such/program"));
}

}  // namespace
}  // namespace headrace
