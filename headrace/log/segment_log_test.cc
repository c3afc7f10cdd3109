#include "headrace/log/segment_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <future>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "headrace/base/text.h"
#include "headrace/store/layers/forwarding.h"
#include "headrace/store/memory/memory_store.h"
#include "headrace/store/staging.h"

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

std::optional<std::uint64_t> record_size(BytesView beginning) {
  if (beginning.size() < sizeof(std::uint64_t)) return std::nullopt;
  const auto length = load_little_endian<std::uint64_t>(beginning.data());
  return length < std::uint64_t{1} << 40 ? 16 + length : beginning.size();
}

class FailingStore : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  Result<ObjectInfo> write(std::string_view key, BytesView data, const WriteOptions& options) override {
    on_write();
    if (failure) return *failure;
    if (writes_left == 0) return Error{Code::kUnavailable, "out of reach"};
    if (writes_left) --*writes_left;
    auto written = ForwardingStore::write(key, data, options);
    if (loses_answer) return Error{Code::kUnavailable, "no answer"};
    return written;
  }
  Status list(std::string_view prefix, const ListOptions& options,
              const std::function<bool(const ObjectInfo&)>& visit) override {
    if (failure && fails_lists) return *failure;
    return ForwardingStore::list(prefix, options, visit);
  }
  std::optional<Error> failure;
  bool fails_lists = false;
  std::optional<int> writes_left;
  std::function<void()> on_write = [] {};
  bool loses_answer = false;
};

class SegmentLogTest : public testing::Test {
 protected:
  std::shared_ptr<SegmentLog> open(bool goes_on = false, SegmentLogOptions options = {}) {
    options.segment_header = to_bytes("H:");
    options.record_size = record_size;
    options.now = [this] { return now; };
    auto log = SegmentLog::open(at, goes_on, std::move(options), background);
    EXPECT_TRUE(log);
    now += seconds(1);
    return *std::move(log);
  }
  static Status append(SegmentLog& log, std::string_view text) { return log.append(as_bytes(record(text))); }
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

  // Far ahead of the background's clock, so that postponed work does not run by accident.
  Background::Clock::time_point now = Background::Clock::now() + std::chrono::hours(1);
  std::shared_ptr<FailingStore> store = std::make_shared<FailingStore>(make_memory_store("test"));
  Location at{store, "events", {"memory", "test", "events"}};
  Background background{2};
};

TEST_F(SegmentLogTest, EachFlushIsASegmentThatNeverChanges) {
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

TEST_F(SegmentLogTest, WithAnEndingEverySegmentHasItsNumberBeforeIt) {
  const auto log = open(false, {.ending = ".rec"});
  ASSERT_TRUE(append(*log, "one"));
  EXPECT_EQ(log->waiting_bytes(), record("one").size());
  ASSERT_TRUE(log->flush());
  EXPECT_EQ(log->waiting_bytes(), 0U);
  now += seconds(1);
  ASSERT_TRUE(append(*log, "two"));
  ASSERT_TRUE(log->close());
  ASSERT_TRUE(write_text(*store, "events.000009", "another's, without the ending"));

  const auto more = open(true, {.ending = ".rec"});
  ASSERT_TRUE(append(*more, "three"));
  ASSERT_TRUE(more->close());
  EXPECT_THAT(segments(), ElementsAre("events.000000.rec=one", "events.000001.rec=H:two",
                                      "events.000002.rec=H:three", testing::StartsWith("events.000009=")));

  const auto other = open(false, {.ending = ".rec", .replaces = true});
  ASSERT_TRUE(append(*other, "four"));
  ASSERT_TRUE(other->close());
  EXPECT_THAT(segments(), ElementsAre("events.000000.rec=four", testing::StartsWith("events.000009=")));
}

TEST_F(SegmentLogTest, FlushesSoonAfterAnotherAreOneSegment) {
  const auto log = open();
  for (const char* text : {"a", "b", "c", "d"}) {
    ASSERT_TRUE(append(*log, text));
    ASSERT_TRUE(log->flush());
  }
  EXPECT_THAT(segments(), ElementsAre("events=a"));
  ASSERT_TRUE(log->close());
  EXPECT_THAT(segments(), ElementsAre("events=a", "events.000001=H:bcd"));
}

TEST_F(SegmentLogTest, AFlushThatWasPutOffHappens) {
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

TEST_F(SegmentLogTest, AFlushWritesWholeRecordsOnly) {
  const auto log = open();
  const std::string two = record("one") + record("two");
  ASSERT_TRUE(log->append(as_bytes(two).first(two.size() - 5)));
  ASSERT_TRUE(log->flush());
  EXPECT_THAT(segments(), ElementsAre("events=one"));
  ASSERT_TRUE(log->append(as_bytes(two).last(5)));
  ASSERT_TRUE(log->close());
  EXPECT_THAT(segments(), ElementsAre("events=one", "events.000001=H:two"));
}

TEST_F(SegmentLogTest, BytesThatAreNoRecordsAreWrittenAsTheyAre) {
  const auto log = open();
  ASSERT_TRUE(append(*log, "one"));
  ASSERT_TRUE(log->append(as_bytes("step,loss 1,0.5")));
  ASSERT_TRUE(log->flush());
  EXPECT_THAT(segments(), ElementsAre("events=onestep,loss 1,0.5"));
}

TEST_F(SegmentLogTest, MuchIsWrittenWithoutAFlush) {
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
TEST_F(SegmentLogTest, ALongRunSendsHardlyMoreThanItLogs) {
  const auto log =
      *SegmentLog::open(at, false, {.segment_header = Bytes(40), .now = [this] { return now; }}, background);
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

TEST_F(SegmentLogTest, TwoWritersOfOneNameLoseNothing) {
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

TEST_F(SegmentLogTest, AppendingGoesOnAfterWhatIsThere) {
  for (const char* text : {"a", "b", "c"}) {
    const auto log = open(true);
    ASSERT_TRUE(append(*log, text));
  }
  EXPECT_THAT(segments(), ElementsAre("events=a", "events.000001=H:b", "events.000002=H:c"));
}

TEST_F(SegmentLogTest, ALogThatReplacesLeavesNothingOfTheOneBefore) {
  for (const char* name : {"events", "events.000001", "events.000007", "events.log", "events-2", "eventsx"})
    ASSERT_TRUE(write_text(*store, name, "old"));
  const auto log = open(false, {.replaces = true});
  EXPECT_THAT(segments(), ElementsAre("events-2=old", "events.log=old", "eventsx=old"));
  ASSERT_TRUE(append(*log, "new"));
  ASSERT_TRUE(log->flush());
  now += seconds(30);
  ASSERT_TRUE(append(*log, "more"));
  ASSERT_TRUE(log->close());
  EXPECT_THAT(segments(), ElementsAre("events=new", "events-2=old", "events.000001=H:more", "events.log=old",
                                      "eventsx=old"));
  const auto goes_on = open(true, {.replaces = true});
  EXPECT_EQ(goes_on->size_bytes(), std::string_view("new").size() + std::string_view("H:more").size() + 32);
}

TEST_F(SegmentLogTest, ALogThatReplacesDuringAnOutageReplacesAfterIt) {
  ASSERT_TRUE(write_text(*store, "events", "old"));
  ASSERT_TRUE(write_text(*store, "events.000001", "old"));
  store->fails_lists = true;
  store->failure = Error{Code::kUnavailable, "out of reach"};
  const auto written = open(false, {.replaces = true}), empty = open(false, {.replaces = true});
  EXPECT_FALSE(empty->close());
  ASSERT_TRUE(append(*written, "new"));
  EXPECT_TRUE(written->flush());
  store->failure.reset();
  EXPECT_THAT(segments(), ElementsAre("events=old", "events.000001=old"));
  ASSERT_TRUE(written->close());
  EXPECT_THAT(segments(), ElementsAre("events=new"));
  ASSERT_TRUE(empty->close());
  EXPECT_THAT(segments(), ElementsAre());
  store->failure = Error{Code::kPermissionDenied, "no"};
  EXPECT_FALSE(SegmentLog::open(at, false, {.replaces = true}, background));
}

TEST_F(SegmentLogTest, AnOutageOfTheStoreIsOutlasted) {
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

TEST_F(SegmentLogTest, WhatNoWaitingMendsIsToldAtOnce) {
  const auto log = open();
  store->failure = Error{Code::kPermissionDenied, "may not write"};
  ASSERT_TRUE(append(*log, "a"));
  EXPECT_EQ(log->flush().error().code, Code::kPermissionDenied);
}

TEST_F(SegmentLogTest, AnAnswerThatWasLostWritesNothingTwice) {
  const auto log = open();
  ASSERT_TRUE(append(*log, "a"));
  store->loses_answer = true;
  ASSERT_TRUE(log->flush());
  store->loses_answer = false;
  ASSERT_TRUE(append(*log, "b"));
  ASSERT_TRUE(log->close());
  EXPECT_THAT(segments(), ElementsAre("events=a", "events.000001=H:b"));
}

TEST_F(SegmentLogTest, MuchAtOnceWaitsForTheStore) {
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

TEST_F(SegmentLogTest, WhatIsRefusedLeavesWholeRecords) {
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
  EXPECT_EQ(log->size_bytes(), record("a").size() + others + record("z").size());
}

TEST_F(SegmentLogTest, WhatAWriteThatNobodyWaitedForWasToldTheNextFlushTells) {
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

TEST_F(SegmentLogTest, WhatWaitsForTheStoreIsBounded) {
  const auto log = open();
  store->failure = Error{Code::kUnavailable, "out of reach"};
  ASSERT_TRUE(append(*log, "a"));
  ASSERT_TRUE(log->flush());
  const std::string megabyte(1 << 20, 'x');
  Status status;
  for (int i = 0; i < 100 && status; ++i) status = append(*log, megabyte);
  EXPECT_EQ(status.error().code, Code::kResourceExhausted);
}

// While the store cannot be reached, memory takes one record, and the spool the others.
class SpoolTest : public SegmentLogTest {
 protected:
  std::shared_ptr<SegmentLog> open_spooled(std::uint64_t most_bytes = 1 << 20) {
    return open(false, {.most_held_bytes = 32, .spool = {scratch.path(), most_bytes}});
  }
  // The text of all segments, whatever the cuts between them.
  std::string content() {
    std::string out;
    for (const std::string& segment : segments()) out += segment.substr(segment.find('=') + 1);
    while (out.find("H:") != std::string::npos) out.erase(out.find("H:"), 2);
    return out;
  }

  StagedFolder scratch = *StagedFolder::create(testing::TempDir() + "headrace-spool-test");
};

TEST_F(SpoolTest, HoldsWhatMemoryDoesNotAndGivesItBackInOrder) {
  const auto log = open_spooled();
  store->failure = Error{Code::kUnavailable, "out of reach"};
  ASSERT_TRUE(append(*log, "a"));
  ASSERT_TRUE(log->flush());
  for (const char* text : {"b", "c", "d", "e", "f"}) ASSERT_TRUE(append(*log, text)) << text;
  EXPECT_EQ(segments().size(), 0U);
  store->failure.reset();
  now += seconds(20);
  ASSERT_TRUE(log->flush());
  ASSERT_TRUE(append(*log, "g"));
  ASSERT_TRUE(log->close());
  EXPECT_EQ(content(), "abcdefg");
}

TEST_F(SpoolTest, RecordsThatAreBeingWrittenTakeNoRoomInIt) {
  const auto log = open_spooled(record("a").size());
  store->failure = Error{Code::kUnavailable, "out of reach"};
  ASSERT_TRUE(append(*log, "a"));
  ASSERT_TRUE(log->flush());
  store->failure.reset();
  bool has_appended = false;
  store->on_write = [&] {
    if (std::exchange(has_appended, true)) return;
    EXPECT_TRUE(append(*log, "b"));
    EXPECT_TRUE(append(*log, "c")) << "memory has room for one record, the spool for another";
  };
  now += seconds(20);
  ASSERT_TRUE(log->flush());
  ASSERT_TRUE(log->close());
  EXPECT_EQ(content(), "abc");
}

TEST_F(SpoolTest, ALossIsToldOnceAndTheOthersGoOn) {
  const auto log = open_spooled();
  store->failure = Error{Code::kUnavailable, "out of reach"};
  ASSERT_TRUE(append(*log, "a"));
  ASSERT_TRUE(log->flush());
  for (const char* text : {"b", "c", "d"}) ASSERT_TRUE(append(*log, text));
  std::size_t files = 0;
  for (const auto& file : std::filesystem::recursive_directory_iterator(scratch.path()))
    if (file.path().filename() == "1") files += std::filesystem::remove(file.path());
  ASSERT_EQ(files, 1U);
  store->failure.reset();
  now += seconds(20);
  const Status told = log->flush();
  ASSERT_FALSE(told);
  EXPECT_THAT(told.error().message, testing::HasSubstr("are lost"));
  EXPECT_TRUE(log->flush());
  ASSERT_TRUE(append(*log, "e"));
  EXPECT_TRUE(log->close());
  EXPECT_EQ(content(), "acde");
}

TEST_F(SpoolTest, IsBounded) {
  const auto log = open_spooled(40);
  store->failure = Error{Code::kUnavailable, "out of reach"};
  ASSERT_TRUE(append(*log, "a"));
  ASSERT_TRUE(log->flush());
  Status status;
  int taken = 0;
  for (; taken < 100 && status; ++taken) status = append(*log, "x");
  EXPECT_EQ(status.error().code, Code::kResourceExhausted);
  store->failure.reset();
  ASSERT_TRUE(log->close());
  EXPECT_EQ(content(), "a" + std::string(static_cast<std::size_t>(taken - 1), 'x'));
}

TEST_F(SpoolTest, AnOutageThatComesAgainRepeatsNothing) {
  const auto log = open_spooled();
  store->failure = Error{Code::kUnavailable, "out of reach"};
  ASSERT_TRUE(append(*log, "a"));
  ASSERT_TRUE(log->flush());
  for (const char* text : {"b", "c", "d"}) ASSERT_TRUE(append(*log, text));
  store->failure.reset();
  for (int writes = 1; writes < 3; ++writes) {
    store->writes_left = 1;
    EXPECT_FALSE(log->close());
  }
  store->writes_left.reset();
  ASSERT_TRUE(append(*log, "e"));
  ASSERT_TRUE(log->close());
  EXPECT_EQ(content(), "abcde");
}

TEST_F(SpoolTest, LeavesNoFileBehind) {
  const std::string root = scratch.path() + "/spool";
  {
    const auto log = open(false, {.most_held_bytes = 32, .spool = {root, 1 << 20}});
    store->failure = Error{Code::kUnavailable, "out of reach"};
    ASSERT_TRUE(append(*log, "a"));
    ASSERT_TRUE(log->flush());
    for (const char* text : {"b", "c", "d"}) ASSERT_TRUE(append(*log, text));
    EXPECT_FALSE(std::filesystem::is_empty(root));
  }
  EXPECT_TRUE(std::filesystem::is_empty(root));
}

TEST_F(SegmentLogTest, WithoutFramingEachAppendIsWhole) {
  auto log = *SegmentLog::open(at, false, {.now = [this] { return now; }}, background);
  now += seconds(1);
  ASSERT_TRUE(log->append(as_bytes("a line\n")));
  ASSERT_TRUE(log->flush());
  EXPECT_EQ(as_text(read_object(*store, "events", 100)->data), "a line\n");
}

TEST_F(SegmentLogTest, ClosingIsBoundedInTime) {
  const auto log = open(false, {.close_time = std::chrono::milliseconds(500)});
  store->failure = Error{Code::kUnavailable, "out of reach"};
  ASSERT_TRUE(append(*log, "a"));
  ASSERT_TRUE(log->flush());
  ASSERT_TRUE(append(*log, "b"));
  store->failure.reset();
  store->on_write = [this] { now += seconds(1); };
  EXPECT_EQ(log->close().error().code, Code::kDeadlineExceeded);
  store->on_write = [] {};
  ASSERT_TRUE(log->close());
  EXPECT_THAT(segments(), ElementsAre("events=a", "events.000001=H:b"));
}

// A process that is stalled between two segments for any time, while another takes the log over.
TEST_F(SegmentLogTest, AStalledWriterOverwritesNothing) {
  const auto stalled = open();
  ASSERT_TRUE(append(*stalled, "a"));
  ASSERT_TRUE(stalled->flush());
  ASSERT_TRUE(append(*stalled, "late"));
  const auto other = open(true);
  ASSERT_TRUE(append(*other, "b"));
  ASSERT_TRUE(other->close());
  ASSERT_TRUE(stalled->close());
  EXPECT_THAT(segments(), ElementsAre("events=a", "events.000001=H:b", "events.000002=H:late"));
}

TEST_F(SegmentLogTest, ATimeoutOfTheStoreIsAnOutageToo) {
  const auto log = open();
  store->failure = Error{Code::kDeadlineExceeded, "no answer"};
  ASSERT_TRUE(append(*log, "a"));
  EXPECT_TRUE(log->flush());
  EXPECT_EQ(log->close().error().code, Code::kDeadlineExceeded);
  store->failure.reset();
  EXPECT_TRUE(log->close());
  EXPECT_THAT(segments(), ElementsAre("events=a"));
}

TEST_F(SegmentLogTest, AfterAFailedWriteTheNextOneWaitsTenSeconds) {
  const auto log = open();
  store->failure = Error{Code::kUnavailable, "out of reach"};
  ASSERT_TRUE(append(*log, "a"));
  EXPECT_TRUE(log->flush());
  store->failure.reset();
  ASSERT_TRUE(append(*log, "b"));
  now += SegmentLog::kRetryInterval - std::chrono::milliseconds(1);
  EXPECT_TRUE(log->flush());
  EXPECT_THAT(segments(), ElementsAre());
  now += std::chrono::milliseconds(1);
  EXPECT_TRUE(log->flush());
  EXPECT_THAT(segments(), ElementsAre("events=a", "events.000001=H:b"));
  ASSERT_TRUE(append(*log, "c"));
  now += SegmentLog::kLeastInterval - std::chrono::milliseconds(1);
  EXPECT_TRUE(log->flush());
  EXPECT_EQ(segments().size(), 2U);
  now += std::chrono::milliseconds(1);
  EXPECT_TRUE(log->flush());
  EXPECT_EQ(segments().size(), 3U);
}

TEST_F(SegmentLogTest, GoesOnBehindTheGreatestNumber) {
  for (const char* name : {"events", "events.000007"}) ASSERT_TRUE(write_text(*store, name, "old"));
  const auto log = open(true);
  EXPECT_EQ(log->size_bytes(), 6U);
  ASSERT_TRUE(append(*log, "new"));
  ASSERT_TRUE(log->close());
  EXPECT_THAT(segments(), ElementsAre("events=old", "events.000007=old", "events.000008=H:new"));
}

TEST_F(SegmentLogTest, AnotherWritersLargerSegmentIsNotTakenForItsOwn) {
  const auto first = open(), second = open();
  ASSERT_TRUE(append(*first, "larger"));
  ASSERT_TRUE(append(*second, "b"));
  ASSERT_TRUE(first->close());
  ASSERT_TRUE(second->close());
  EXPECT_THAT(segments(), ElementsAre("events=larger", "events.000001=H:b"));
}

TEST_F(SegmentLogTest, LooksForAFreeNumberAThousandTimes) {
  const auto taken = [&](std::uint64_t number) {
    ASSERT_TRUE(write_text(*store, segment_key("events", number), "taken"));
  };
  for (std::uint64_t number = 0; number < 1'000; ++number) taken(number);
  const auto log = open();
  ASSERT_TRUE(append(*log, "a"));
  ASSERT_TRUE(log->close());
  EXPECT_EQ(segments().size(), 1'001U);
  const auto unlucky = open();
  ASSERT_TRUE(append(*unlucky, "b"));
  EXPECT_EQ(unlucky->close().error().code, Code::kAlreadyExists);
  EXPECT_TRUE(unlucky->close()) << "the next time, it goes on from there";
  EXPECT_EQ(segments().back(), "events.001001=H:b");
}

TEST_F(SegmentLogTest, SegmentsAreRemovedExceptThoseToKeep) {
  for (const char* name : {"events", "events.000001", "events.000002", "events.log"})
    ASSERT_TRUE(write_text(*store, name, "x"));
  const std::vector<std::string> keeps = {"events.000001"};
  ASSERT_TRUE(remove_segments(at, keeps, {}));
  EXPECT_THAT(segments(), ElementsAre("events.000001=x", "events.log=x"));
  ASSERT_TRUE(remove_segments(at, keeps, {})) << "there is nothing left to remove";
  ASSERT_TRUE(remove_segments(at, {}, {}));
  EXPECT_THAT(segments(), ElementsAre("events.log=x"));
  store->fails_lists = true;
  store->failure = Error{Code::kPermissionDenied, "no"};
  EXPECT_EQ(remove_segments(at, {}, {}).error().code, Code::kPermissionDenied);
}

TEST_F(SegmentLogTest, KnowsItsSize) {
  const auto log = open();
  EXPECT_EQ(log->size_bytes(), 0U);
  ASSERT_TRUE(append(*log, "a"));
  EXPECT_EQ(log->size_bytes(), record("a").size());
  ASSERT_TRUE(log->flush());
  ASSERT_TRUE(append(*log, "bc"));
  EXPECT_EQ(log->size_bytes(), record("a").size() + record("bc").size());
}

TEST_F(SegmentLogTest, IsFullFromALimitOnUnlessTheStoreFails) {
  const auto log = *SegmentLog::open(at, false, {.now = [this] { return now; }}, background);
  now += seconds(1);
  ASSERT_TRUE(log->append(Bytes(SegmentLog::kFullBytes - 1)));
  EXPECT_FALSE(log->is_full());
  ASSERT_TRUE(log->make_room());
  EXPECT_EQ(segments().size(), 0U) << "there was room";
  ASSERT_TRUE(log->append(Bytes(1)));
  EXPECT_TRUE(log->is_full());
  store->failure = Error{Code::kUnavailable, "out of reach"};
  EXPECT_TRUE(log->flush());
  ASSERT_TRUE(log->append(Bytes(1)));
  EXPECT_FALSE(log->is_full()) << "waiting would not help";
  store->failure.reset();
  ASSERT_TRUE(log->close());
  EXPECT_FALSE(log->is_full());
}

TEST_F(SegmentLogTest, ASegmentsWorthIsWrittenWithoutAFlush) {
  now = Background::Clock::now() - std::chrono::hours(1);
  const auto log = open();
  ASSERT_TRUE(append(*log, std::string(SegmentLog::kMostSegmentBytes - 16, 'x')));
  const auto deadline = Background::Clock::now() + seconds(30);
  while (list_all(*store, "")->empty() && Background::Clock::now() < deadline)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(list_all(*store, "")->size(), 1U);
}

TEST_F(SegmentLogTest, WritesArePutOffAgainAndAgain) {
  now = Background::Clock::now() - std::chrono::hours(1);
  const auto log = open();
  const auto deadline = Background::Clock::now() + seconds(30);
  for (std::size_t i = 0; i < 4; ++i) {
    ASSERT_TRUE(append(*log, "x"));
    ASSERT_TRUE(log->flush());
    while (segments().size() <= i && Background::Clock::now() < deadline)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ASSERT_EQ(segments().size(), i + 1);
  }
}

TEST_F(SegmentLogTest, AWriteThatWasPutOffForALogThatIsGoneIsNone) {
  now = Background::Clock::now() + std::chrono::milliseconds(20) - SegmentLog::kLeastInterval;
  auto log = open();
  now -= std::chrono::milliseconds(1);
  ASSERT_TRUE(append(*log, "a"));
  ASSERT_TRUE(log->flush());
  log.reset();
  EXPECT_THAT(segments(), ElementsAre("events=a"));
  std::promise<void> later;
  background.add_at(now + std::chrono::milliseconds(20), [&] { later.set_value(); });
  later.get_future().wait();
  EXPECT_THAT(segments(), ElementsAre("events=a"));
}

TEST_F(SegmentLogTest, MemoryTakesAsMuchAsItMayAndNoMore) {
  const std::size_t size = record("a").size();
  const auto log = open(false, {.most_held_bytes = 2 * size});
  store->failure = Error{Code::kUnavailable, "out of reach"};
  ASSERT_TRUE(append(*log, "a"));
  ASSERT_TRUE(log->flush());
  EXPECT_TRUE(append(*log, "b"));
  const Status refused = append(*log, "c");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kResourceExhausted);
  EXPECT_THAT(refused.error().message,
              testing::HasSubstr("34 B of records wait because the store does not accept writes"));
  EXPECT_THAT(refused.error().message, testing::HasSubstr(at.describe()));
  EXPECT_EQ(log->size_bytes(), 2 * size);
  store->failure.reset();
  ASSERT_TRUE(log->close());
  ASSERT_TRUE(append(*log, "d"));
  ASSERT_TRUE(append(*log, "e"));
  ASSERT_TRUE(append(*log, "f")) << "while the store accepts writes, there is no such limit";
  ASSERT_TRUE(log->close());
  EXPECT_THAT(segments(), ElementsAre("events=a", "events.000001=H:b", "events.000002=H:def"));
}

TEST_F(SegmentLogTest, WithoutFramingARefusedAppendIsLeftOutAlone) {
  const auto log =
      *SegmentLog::open(at, false, {.most_held_bytes = 4, .now = [this] { return now; }}, background);
  now += seconds(1);
  store->failure = Error{Code::kUnavailable, "out of reach"};
  ASSERT_TRUE(log->append(as_bytes("ab")));
  ASSERT_TRUE(log->flush());
  ASSERT_TRUE(log->append(as_bytes("c")));
  EXPECT_FALSE(log->append(as_bytes("xyz")));
  EXPECT_TRUE(log->append(as_bytes("d"))) << "there is room for that";
  EXPECT_EQ(log->size_bytes(), 4U);
  store->failure.reset();
  ASSERT_TRUE(log->close());
  EXPECT_THAT(segments(), ElementsAre("events=ab", "events.000001=cd"));
}

TEST_F(SegmentLogTest, WhatIsRefusedMakesItTryTheStoreAgain) {
  now = Background::Clock::now() - std::chrono::hours(1);
  const auto log = open(false, {.most_held_bytes = 20});
  store->failure = Error{Code::kUnavailable, "out of reach"};
  ASSERT_TRUE(append(*log, "a"));
  EXPECT_FALSE(log->close());
  store->failure.reset();
  EXPECT_FALSE(append(*log, "b"));
  const auto deadline = Background::Clock::now() + seconds(30);
  while (segments().empty() && Background::Clock::now() < deadline)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_THAT(segments(), ElementsAre("events=a"));
}

TEST_F(SegmentLogTest, ClosingGoesOnUntilItsTimeHasPassed) {
  const auto log = open(false, {.close_time = seconds(1)});
  store->failure = Error{Code::kUnavailable, "out of reach"};
  ASSERT_TRUE(append(*log, "a"));
  ASSERT_TRUE(log->flush());
  ASSERT_TRUE(append(*log, "b"));
  store->failure.reset();
  store->on_write = [this] { now += seconds(1); };
  EXPECT_TRUE(log->close());
  EXPECT_THAT(segments(), ElementsAre("events=a", "events.000001=H:b"));
}

TEST_F(SegmentLogTest, ClosingTookTooLongOnlyIfSomethingIsLeft) {
  const auto log = open(false, {.close_time = seconds(1)});
  store->failure = Error{Code::kUnavailable, "out of reach"};
  ASSERT_TRUE(append(*log, "a"));
  ASSERT_TRUE(log->flush());
  store->failure.reset();
  store->on_write = [this] { now += seconds(2); };
  EXPECT_TRUE(log->close());
  EXPECT_THAT(segments(), ElementsAre("events=a"));
}

TEST_F(SpoolTest, APartOfARecordStaysInMemory) {
  const auto log = open_spooled();
  store->failure = Error{Code::kUnavailable, "out of reach"};
  ASSERT_TRUE(append(*log, "a"));
  ASSERT_TRUE(log->flush());
  const std::string exact = record("sixteen letters!");  // as large as memory is
  ASSERT_EQ(exact.size(), 32U);
  ASSERT_TRUE(log->append(as_bytes(exact).first(10)));
  ASSERT_TRUE(log->append(as_bytes(exact).subspan(10)));
  const std::string larger = record("seventeen letters");
  ASSERT_TRUE(log->append(as_bytes(larger).first(10)));
  EXPECT_FALSE(log->append(as_bytes(larger).subspan(10))) << "its parts have no room together";
  ASSERT_TRUE(append(*log, "c"));
  store->failure.reset();
  ASSERT_TRUE(log->close());
  EXPECT_EQ(content(), "asixteen letters!c");
}

TEST_F(SpoolTest, TakesASingleByte) {
  const auto log = *SegmentLog::open(
      at, false, {.most_held_bytes = 1, .spool = {scratch.path(), 1 << 20}, .now = [this] { return now; }},
      background);
  now += seconds(1);
  store->failure = Error{Code::kUnavailable, "out of reach"};
  ASSERT_TRUE(log->append(as_bytes("a")));
  ASSERT_TRUE(log->flush());
  for (const char* text : {"b", "c", "d"}) ASSERT_TRUE(log->append(as_bytes(text))) << text;
  store->failure.reset();
  ASSERT_TRUE(log->close());
  EXPECT_EQ(content(), "abcd");
}

TEST_F(SpoolTest, HasRoomAgainOnceTheStoreHasTakenWhatItHeld) {
  const auto log = open_spooled(record("a").size());
  for (int outage = 0; outage < 3; ++outage) {
    store->failure = Error{Code::kUnavailable, "out of reach"};
    ASSERT_TRUE(append(*log, "a"));
    now += seconds(20);
    ASSERT_TRUE(log->flush());
    ASSERT_TRUE(append(*log, "b")) << "the one before goes to the spool";
    EXPECT_FALSE(append(*log, "c"));
    store->failure.reset();
    ASSERT_TRUE(log->close());
  }
  EXPECT_EQ(content(), "ababab");
}

TEST_F(SpoolTest, RecordsThatWereAlteredAreLostAndTheOthersAreWrittenAtOnce) {
  const auto log = open_spooled();
  store->failure = Error{Code::kUnavailable, "out of reach"};
  ASSERT_TRUE(append(*log, "a"));
  ASSERT_TRUE(log->flush());
  for (const char* text : {"b", "c", "d"}) ASSERT_TRUE(append(*log, text));
  for (const auto& file : std::filesystem::recursive_directory_iterator(scratch.path()))
    if (file.path().filename() == "1") std::filesystem::resize_file(file.path(), 3);
  store->failure.reset();
  now += seconds(20);
  const Status told = log->flush();
  ASSERT_FALSE(told);
  EXPECT_EQ(told.error().code, Code::kDataLoss);
  EXPECT_THAT(told.error().message, testing::HasSubstr("spooled records of " + at.describe() + " are lost"));
  EXPECT_THAT(told.error().message, testing::HasSubstr("was altered"));
  EXPECT_EQ(content(), "acd");
}

}  // namespace
}  // namespace headrace
