#include "headrace/track/console_log.h"

#include <gmock/gmock.h>

#include <atomic>
#include <thread>

#include "headrace/base/text.h"
#include "headrace/store/layers/forwarding.h"
#include "headrace/store/memory/memory_store.h"

namespace headrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Refuses writes while it is away.
class AwayStore final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  Result<ObjectInfo> write(std::string_view key, BytesView data, const WriteOptions& options) override {
    ++writes;
    if (is_away) return Error{Code::kUnavailable, "away"};
    return ForwardingStore::write(key, data, options);
  }
  bool is_away = false;
  std::atomic<int> writes = 0;
};

class ConsoleLogTest : public testing::Test {
 protected:
  std::shared_ptr<ConsoleLog> open(ConsoleLogOptions options = {}) {
    options.wall_clock = [] { return std::chrono::system_clock::time_point(std::chrono::seconds(5)); };
    return ConsoleLog::open(folder_, "r", options, background_);
  }
  std::vector<ConsolePiece> pieces() {
    auto read = read_console(folder_);
    EXPECT_TRUE(read);
    return read ? *read : std::vector<ConsolePiece>();
  }
  std::vector<std::string> texts() {
    std::vector<std::string> all;
    for (const ConsolePiece& piece : pieces()) {
      for (const ConsoleLine& line : piece.lines) all.push_back(line.text);
    }
    return all;
  }

  Background background_{1};
  std::shared_ptr<AwayStore> store_ = std::make_shared<AwayStore>(make_memory_store("b"));
  Location folder_{store_, "console", {.scheme = "memory", .authority = "b", .path = "console"}};
};

TEST_F(ConsoleLogTest, KeepsLinesOfBothStreamsInTheOrderOfTheirEnds) {
  const auto log = open();
  log->add(ConsoleStream::kOutput, "epo");
  log->add(ConsoleStream::kError, "warning\n");
  log->add(ConsoleStream::kOutput, "ch 1\n\nrest");
  ASSERT_TRUE(log->close());
  log->add(ConsoleStream::kOutput, "too late\n");
  EXPECT_THAT(texts(), ElementsAre("warning", "epoch 1", "", "rest"));
  ASSERT_EQ(pieces().size(), 1U);
  EXPECT_EQ(pieces()[0].lines[0].stream, ConsoleStream::kError);
  EXPECT_EQ(pieces()[0].lines[1].time_ms, 5000);
}

TEST_F(ConsoleLogTest, NothingPrintedIsNothingWritten) {
  ASSERT_TRUE(open()->close());
  EXPECT_THAT(pieces(), IsEmpty());
}

TEST_F(ConsoleLogTest, ALineThatWasWrittenOverIsItsLastText) {
  const auto log = open();
  for (int step = 0; step < 1000; ++step) log->add(ConsoleStream::kOutput, concat("\rstep ", step));
  log->add(ConsoleStream::kOutput, "\r\n10%\b\b\b20%\nred: \x1b[31mno\x1b[0m\r\nbad \xff\n");
  log->add(ConsoleStream::kOutput, "first\r");
  log->add(ConsoleStream::kOutput, "second\n");
  ASSERT_TRUE(log->close());
  EXPECT_THAT(texts(), ElementsAre("step 999", "20%", "red: no", "bad \xef\xbf\xbd", "second"));
}

TEST_F(ConsoleLogTest, ALongLineIsCutAndSaysSo) {
  const auto log = open({.line_bytes = 4});
  log->add(ConsoleStream::kOutput, "abcdef");
  log->add(ConsoleStream::kOutput, "gh\nok\n");
  ASSERT_TRUE(log->close());
  EXPECT_THAT(texts(), ElementsAre("abcd", "ok"));
  EXPECT_EQ(pieces()[0].left_out_bytes, 4U);
}

TEST_F(ConsoleLogTest, OfTooMuchTheBeginningAndTheEndAreKept) {
  const auto log = open({.head_bytes = 4 * 37, .tail_bytes = 2 * 37, .piece_bytes = 2 * 37});
  for (int i = 10; i < 20; ++i) log->add(ConsoleStream::kOutput, concat("line", i, "\n"));
  ASSERT_TRUE(log->close());
  EXPECT_THAT(texts(), ElementsAre("line10", "line11", "line12", "line19"));
  const auto all = pieces();
  EXPECT_EQ(all.back().left_out_bytes, 6U * 7);
  EXPECT_EQ(all.front().left_out_bytes, 0U);
}

TEST_F(ConsoleLogTest, APieceIsWrittenWhileTheRunGoesOn) {
  const auto log = open({.first_interval = std::chrono::milliseconds(0)});
  log->add(ConsoleStream::kOutput, "one\n");
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (texts().empty() && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  EXPECT_THAT(texts(), ElementsAre("one"));
  log->add(ConsoleStream::kOutput, "two\n");
  ASSERT_TRUE(log->close());
  EXPECT_THAT(texts(), ElementsAre("one", "two"));
}

// docs/reference/run-requests.md
TEST_F(ConsoleLogTest, PiecesComeEverMoreSeldom) {
  constexpr std::chrono::milliseconds kMost{16};
  const auto begin = std::chrono::steady_clock::now();
  const auto log = open({.first_interval = std::chrono::milliseconds(1), .most_interval = kMost});
  for (int pieces = 0; pieces < 7; pieces = store_->writes) {
    log->add(ConsoleStream::kOutput, "line\n");
    std::this_thread::yield();
  }
  ASSERT_TRUE(log->close());
  const auto intervals = (std::chrono::steady_clock::now() - begin) / kMost;
  EXPECT_LE(store_->writes, intervals + 4 + 2) << "four before the longest interval";
}

TEST_F(ConsoleLogTest, LinesWaitForAStoreThatIsAway) {
  const auto log = open();
  store_->is_away = true;
  log->add(ConsoleStream::kOutput, "one\n");
  EXPECT_EQ(log->close().error().code, Code::kUnavailable);
  store_->is_away = false;
  ASSERT_TRUE(log->close());
  EXPECT_THAT(texts(), ElementsAre("one"));
}

}  // namespace
}  // namespace headrace
