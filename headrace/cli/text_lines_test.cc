#include "headrace/cli/text_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "headrace/os/pipe_test.h"

namespace headrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// `lines` reads whatever is sent.
class TextLinesTest : public PipeTest {
 protected:
  TextLines lines() const { return {descriptor(), stop.get_token()}; }
};

std::vector<std::string> value_of(Result<std::vector<std::string>> result) {
  EXPECT_TRUE(result) << result.error().message;
  return result ? *std::move(result) : std::vector<std::string>();
}

TEST_F(TextLinesTest, EndsLinesAtEitherNewlineAndTheLastOneAtTheEnd) {
  send("a\r\n\nb\rc\nlast");
  end();
  TextLines read = lines();
  EXPECT_THAT(value_of(read.next()), ElementsAre("a", "", "b\rc"));
  EXPECT_THAT(value_of(read.next()), ElementsAre("last"));
  EXPECT_TRUE(value_of(read.next()).empty());
}

TEST_F(TextLinesTest, GivesWhatIsThereWithoutWaitingForMore) {
  send("one\ntwo\nhal");
  TextLines read = lines();
  EXPECT_THAT(value_of(read.next()), ElementsAre("one", "two"));
  send("f\n");
  EXPECT_THAT(value_of(read.next()), ElementsAre("half"));
}

TEST_F(TextLinesTest, GivesABoundedNumberAtOnce) {
  for (std::size_t i = 0; i < TextLines::kLinesAtOnce + 3; ++i) send("x\n");
  end();
  TextLines read = lines();
  EXPECT_EQ(value_of(read.next()).size(), TextLines::kLinesAtOnce);
  EXPECT_EQ(value_of(read.next()).size(), 3);
}

TEST_F(TextLinesTest, RefusesALineBeyondTheLimitAndNamesIt) {
  std::jthread writer([this] {
    send("short\n");
    const std::string piece(1 << 16, 'x');
    for (std::size_t sent = 0; sent <= TextLines::kLineLimitBytes; sent += piece.size()) send(piece);
  });
  TextLines read = lines();
  EXPECT_THAT(value_of(read.next()), ElementsAre("short"));
  const auto result = read.next();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Code::kResourceExhausted);
  EXPECT_THAT(result.error().message, HasSubstr("line 2 of standard input"));
}

TEST_F(TextLinesTest, StopsWaitingWhenItIsStopped) {
  TextLines read = lines();
  stop.request_stop();
  const auto result = read.next();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Code::kCancelled);
}

}  // namespace
}  // namespace headrace
