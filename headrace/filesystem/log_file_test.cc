#include "headrace/filesystem/log_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "headrace/base/text.h"
#include "headrace/store/layers/forwarding.h"
#include "headrace/store/memory/memory_store.h"

namespace headrace {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;

// Framed as a record is; the log looks at lengths only.
std::string record(std::string_view text) {
  std::string out(8, '\0');
  store_little_endian(reinterpret_cast<std::byte*>(out.data()), static_cast<std::uint64_t>(text.size()));
  return concat(out, "LLLL", text, "DDDD");
}

class FailingStore : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  Result<ObjectInfo> write(std::string_view key, BytesView data, const WriteOptions& options) override {
    if (failure) return *failure;
    auto written = ForwardingStore::write(key, data, options);
    if (loses_answer) return Error{Code::kUnavailable, "no answer"};
    return written;
  }
  std::optional<Error> failure;
  bool loses_answer = false;
};

class LogFileTest : public testing::Test {
 protected:
  std::shared_ptr<LogFile> open(bool goes_on = false) {
    auto log = LogFile::open(at, goes_on, {.segment_header = to_bytes("H:"), .now = [this] { return now; }},
                             background);
    EXPECT_TRUE(log);
    now += seconds(1);
    return *std::move(log);
  }
  static Status append(LogFile& log, std::string_view text) { return log.append(as_bytes(record(text))); }
  // The texts of all segments, in the order of their names, without framing.
  std::vector<std::string> segments() {
    std::vector<std::string> out;
    const auto objects = list_all(*store, "");
    for (const ObjectInfo& object : *objects) {
      const auto read = read_object(*store, object.key, 100 << 20);
      std::string text = to_string(read->data);
      std::erase(text, 'L'), std::erase(text, 'D'), std::erase_if(text, [](char c) { return c < ' '; });
      out.push_back(concat(object.key, "=", text.substr(0, 20)));
    }
    return out;
  }

  // Far ahead of the background's clock: what is put off does not happen by the way.
  Background::Clock::time_point now = Background::Clock::now() + std::chrono::hours(1);
  std::shared_ptr<FailingStore> store = std::make_shared<FailingStore>(make_memory_store("test"));
  Location at{store, "events", {"memory", "test", "events"}};
  Background background{2};
};

TEST_F(LogFileTest, EachFlushIsASegmentThatNeverChanges) {
  const auto log = open();
  EXPECT_TRUE(log->flush());
  EXPECT_THAT(segments(), ElementsAre());
  ASSERT_TRUE(append(*log, "one"));
  ASSERT_TRUE(log->flush());
  now += seconds(30);
  ASSERT_TRUE(append(*log, "two"));
  ASSERT_TRUE(append(*log, "three"));
  ASSERT_TRUE(log->flush());
  ASSERT_TRUE(log->flush());
  EXPECT_THAT(segments(), ElementsAre("events=one", "events.000001=H:twothree"));
}

TEST_F(LogFileTest, FlushesSoonAfterAnotherAreOneSegment) {
  const auto log = open();
  for (const char* text : {"a", "b", "c", "d"}) {
    ASSERT_TRUE(append(*log, text));
    ASSERT_TRUE(log->flush());
  }
  EXPECT_THAT(segments(), ElementsAre("events=a"));
  ASSERT_TRUE(log->close());
  EXPECT_THAT(segments(), ElementsAre("events=a", "events.000001=H:bcd"));
}

TEST_F(LogFileTest, AFlushThatWasPutOffHappens) {
  const auto began = Background::Clock::now();
  now = began - seconds(1);
  const auto log = open();
  ASSERT_TRUE(append(*log, "a"));
  ASSERT_TRUE(log->flush());
  ASSERT_TRUE(append(*log, "b"));
  ASSERT_TRUE(log->flush());
  const auto deadline = began + seconds(30);
  while (segments().size() < 2 && Background::Clock::now() < deadline)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_THAT(segments(), ElementsAre("events=a", "events.000001=H:b"));
}

TEST_F(LogFileTest, AFlushWritesWholeRecordsOnly) {
  const auto log = open();
  const std::string two = record("one") + record("two");
  ASSERT_TRUE(log->append(as_bytes(two).first(two.size() - 5)));
  ASSERT_TRUE(log->flush());
  EXPECT_THAT(segments(), ElementsAre("events=one"));
  ASSERT_TRUE(log->append(as_bytes(two).last(5)));
  ASSERT_TRUE(log->close());
  EXPECT_THAT(segments(), ElementsAre("events=one", "events.000001=H:two"));
}

TEST_F(LogFileTest, MuchIsWrittenWithoutAFlush) {
  now = Background::Clock::now() - seconds(1);
  const auto log = open();
  const std::string megabyte(1 << 20, 'x');
  for (int i = 0; i < 9; ++i) ASSERT_TRUE(append(*log, megabyte));
  const auto deadline = now + seconds(30);
  while (segments().empty() && Background::Clock::now() < deadline)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(segments().size(), 1U);
}

// A scalar a second, as hr.summary writes it, for twelve hours, flushed each half minute.
TEST_F(LogFileTest, ALongRunSendsHardlyMoreThanItLogs) {
  const auto log =
      *LogFile::open(at, false, {.segment_header = Bytes(40), .now = [this] { return now; }}, background);
  const std::string scalar = record(std::string(35, 'x'));
  std::uint64_t logged = 0;
  for (int second = 0; second < 12 * 3600; ++second) {
    now += seconds(1);
    ASSERT_TRUE(log->append(as_bytes(scalar)));
    logged += scalar.size();
    if (second % 30 != 0) continue;
    ASSERT_TRUE(log->flush());
  }
  ASSERT_TRUE(log->close());
  std::uint64_t sent = 0;
  const auto objects = list_all(*store, "");
  for (const ObjectInfo& object : *objects) sent += object.size_bytes;
  EXPECT_EQ(objects->size(), 1'441U);
  EXPECT_LE(static_cast<double>(sent), 1.05 * static_cast<double>(logged));
}

TEST_F(LogFileTest, TwoWritersOfOneNameLoseNothing) {
  const auto first = open(), second = open();
  ASSERT_TRUE(append(*first, "a"));
  ASSERT_TRUE(append(*second, "b"));
  ASSERT_TRUE(first->flush());
  ASSERT_TRUE(second->flush());
  now += seconds(2);
  ASSERT_TRUE(append(*first, "c"));
  ASSERT_TRUE(first->close());
  EXPECT_THAT(segments(), ElementsAre("events=a", "events.000001=H:b", "events.000002=H:c"));
}

TEST_F(LogFileTest, AppendingGoesOnAfterWhatIsThere) {
  for (const char* text : {"a", "b", "c"}) {
    const auto log = open(true);
    ASSERT_TRUE(append(*log, text));
  }
  EXPECT_THAT(segments(), ElementsAre("events=a", "events.000001=H:b", "events.000002=H:c"));
}

TEST_F(LogFileTest, AnOutageOfTheStoreIsOutlasted) {
  const auto log = open();
  store->failure = Error{Code::kUnavailable, "out of reach"};
  ASSERT_TRUE(append(*log, "a"));
  EXPECT_TRUE(log->flush());
  ASSERT_TRUE(append(*log, "b"));
  EXPECT_FALSE(log->close());
  store->failure.reset();
  EXPECT_TRUE(log->close());
  EXPECT_THAT(segments(), ElementsAre("events=a", "events.000001=H:b"));
}

TEST_F(LogFileTest, WhatNoWaitingMendsIsToldAtOnce) {
  const auto log = open();
  store->failure = Error{Code::kPermissionDenied, "may not write"};
  ASSERT_TRUE(append(*log, "a"));
  EXPECT_EQ(log->flush().error().code, Code::kPermissionDenied);
}

TEST_F(LogFileTest, AnAnswerThatWasLostWritesNothingTwice) {
  const auto log = open();
  ASSERT_TRUE(append(*log, "a"));
  store->loses_answer = true;
  ASSERT_TRUE(log->flush());
  store->loses_answer = false;
  ASSERT_TRUE(append(*log, "b"));
  ASSERT_TRUE(log->close());
  EXPECT_THAT(segments(), ElementsAre("events=a", "events.000001=H:b"));
}

TEST_F(LogFileTest, MuchAtOnceWaitsForTheStore) {
  const auto log = open();
  const std::string large(70 << 20, 'x');
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(append(*log, large));
    EXPECT_TRUE(log->is_full());
    ASSERT_TRUE(log->make_room());
    EXPECT_FALSE(log->is_full());
  }
  ASSERT_TRUE(log->close());
  std::uint64_t sent = 0;
  const auto objects = list_all(*store, "");
  for (const ObjectInfo& object : *objects) sent += object.size_bytes;
  EXPECT_GE(sent, std::uint64_t{280} << 20);
}

TEST_F(LogFileTest, WhatIsRefusedLeavesWholeRecords) {
  const auto log = open();
  store->failure = Error{Code::kUnavailable, "out of reach"};
  ASSERT_TRUE(append(*log, "a"));
  ASSERT_TRUE(log->flush());
  const std::string text = record(std::string(1 << 20, 'x'));
  bool is_refused = false;
  while (!is_refused) {  // as TensorFlow does: the frame's parts one by one, whatever comes of them
    is_refused |= !log->append(as_bytes(text).first(12));
    is_refused |= !log->append(as_bytes(text).subspan(12, text.size() - 16));
    is_refused |= !log->append(as_bytes(text).last(4));
  }
  store->failure.reset();
  ASSERT_TRUE(append(*log, "z"));
  ASSERT_TRUE(log->close());
  const auto rest = read_object(*store, "events.000001", 100 << 20);
  ASSERT_TRUE(rest);
  EXPECT_TRUE(as_text(rest->data).ends_with(record("z")));
  const std::size_t others = rest->data.size() - record("z").size() - 2;  // and the header
  EXPECT_EQ(others % text.size(), 0U);
  EXPECT_GT(others, 50 * text.size());
}

TEST_F(LogFileTest, WhatAWriteThatNobodyWaitedForWasToldTheNextFlushTells) {
  now = Background::Clock::now() - seconds(1);
  const auto log = open();
  store->failure = Error{Code::kPermissionDenied, "may not write"};
  ASSERT_TRUE(append(*log, "a"));
  now -= seconds(1);
  ASSERT_TRUE(log->flush()) << "is put off";
  const auto deadline = Background::Clock::now() + seconds(30);
  Status status;
  while (status && Background::Clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    status = log->flush();
  }
  EXPECT_EQ(status.error().code, Code::kPermissionDenied);
  EXPECT_TRUE(log->flush()) << "it is told once";
}

TEST_F(LogFileTest, WhatWaitsForTheStoreIsBounded) {
  const auto log = open();
  store->failure = Error{Code::kUnavailable, "out of reach"};
  ASSERT_TRUE(append(*log, "a"));
  ASSERT_TRUE(log->flush());
  const std::string megabyte(1 << 20, 'x');
  Status status;
  for (int i = 0; i < 100 && status; ++i) status = append(*log, megabyte);
  EXPECT_EQ(status.error().code, Code::kResourceExhausted);
}

}  // namespace
}  // namespace headrace
