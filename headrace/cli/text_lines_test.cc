#include "headrace/cli/text_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <string>
#include <thread>
#include <vector>

namespace headrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// `lines` reads whatever is written to `input`.
class TextLinesTest : public testing::Test {
 protected:
  TextLinesTest() { EXPECT_EQ(pipe(ends_.data()), 0); }
  ~TextLinesTest() override {
    end();
    close(ends_[0]);
  }
  void write_text(std::string_view text) {
    ASSERT_EQ(::write(ends_[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  void end() {
    if (ends_[1] >= 0) close(ends_[1]);
    ends_[1] = -1;
  }
  TextLines lines() const { return {ends_[0], stop.get_token()}; }

  std::stop_source stop;

 private:
  std::array<int, 2> ends_{};
};

std::vector<std::string> value_of(Result<std::vector<std::string>> result) {
  EXPECT_TRUE(result) << result.error().message;
  return result ? *std::move(result) : std::vector<std::string>();
}

TEST_F(TextLinesTest, EndsLinesAtEitherNewlineAndTheLastOneAtTheEnd) {
  write_text("a\r\n\nb\rc\nlast");
  end();
  TextLines read = lines();
  EXPECT_THAT(value_of(read.next()), ElementsAre("a", "", "b\rc"));
  EXPECT_THAT(value_of(read.next()), ElementsAre("last"));
  EXPECT_TRUE(value_of(read.next()).empty());
}

TEST_F(TextLinesTest, GivesWhatIsThereWithoutWaitingForMore) {
  write_text("one\ntwo\nhal");
  TextLines read = lines();
  EXPECT_THAT(value_of(read.next()), ElementsAre("one", "two"));
  write_text("f\n");
  EXPECT_THAT(value_of(read.next()), ElementsAre("half"));
}

TEST_F(TextLinesTest, GivesABoundedNumberAtOnce) {
  for (std::size_t i = 0; i < TextLines::kLinesAtOnce + 3; ++i) write_text("x\n");
  end();
  TextLines read = lines();
  EXPECT_EQ(value_of(read.next()).size(), TextLines::kLinesAtOnce);
  EXPECT_EQ(value_of(read.next()).size(), 3);
}

TEST_F(TextLinesTest, RefusesALineBeyondTheLimitAndNamesIt) {
  std::jthread writer([this] {
    write_text("short\n");
    const std::string piece(1 << 16, 'x');
    for (std::size_t sent = 0; sent <= TextLines::kLineLimitBytes; sent += piece.size()) write_text(piece);
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
