#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "headrace/base/text.h"
#include "headrace/log/full_disk_test.h"
#include "headrace/log/recover_segments.h"
#include "headrace/log/segment_log.h"
#include "headrace/store/layers/forwarding.h"
#include "headrace/store/memory/memory_store.h"
#include "headrace/store/scratch_folder_test.h"

namespace headrace {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

ScratchFolder& segment_scratch = *static_cast<ScratchFolder*>(
    testing::AddGlobalTestEnvironment(new ScratchFolder));  // NOLINT: gtest owns it

// The store as one process sees it. Once the process is killed, before or after one of its calls, none of its
// calls reaches the store.
class ProcessStore : public ForwardingStore {
 public:
  explicit ProcessStore(std::shared_ptr<Store> store, int calls = 1'000'000, bool makes_last = false)
      : ForwardingStore(std::move(store)), calls_(calls), makes_last_(makes_last) {}
  Result<ObjectInfo> write(std::string_view key, BytesView data, const WriteOptions& options) override {
    if (on_write) on_write(options.call);
    return call<Result<ObjectInfo>>([&] { return ForwardingStore::write(key, data, options); });
  }
  Result<ObjectInfo> stat(std::string_view key, const CallOptions& options) override {
    return call<Result<ObjectInfo>>([&] { return ForwardingStore::stat(key, options); });
  }
  Result<ReadResult> read_into(std::string_view key, MutableBytesView target,
                               const ReadOptions& options) override {
    return call<Result<ReadResult>>([&] { return ForwardingStore::read_into(key, target, options); });
  }
  Status list(std::string_view prefix, const ListOptions& options,
              const std::function<bool(const ObjectInfo&)>& visit) override {
    return call<Status>([&] { return ForwardingStore::list(prefix, options, visit); });
  }
  bool was_killed() const { return calls_ < 0; }
  void kill() { calls_ = -1; }
  void go_on() { calls_ = 1'000'000; }
  std::function<void(const CallOptions&)> on_write;

 private:
  template <typename Answer, typename Call>
  Answer call(Call&& made) {
    const int left = calls_.load();
    if (left >= 0) --calls_;
    if (left > 0) return made();
    if (left == 0 && makes_last_) static_cast<void>(made());
    return Error{Code::kUnavailable, "killed"};
  }
  std::atomic<int> calls_;
  const bool makes_last_;
};

class SegmentJournalTest : public testing::Test {
 protected:
  using Records = std::vector<std::string>;

  std::shared_ptr<ProcessStore> process(int calls = 1'000'000, bool makes_last = false) {
    return std::make_shared<ProcessStore>(store, calls, makes_last);
  }
  static Location log_in(std::shared_ptr<Store> store) {
    return {std::move(store), "log", {"memory", "test", "log"}};
  }
  std::shared_ptr<SegmentLog> open(std::shared_ptr<Store> at, const std::string& name = "a",
                                   SegmentLogOptions options = {}) {
    options.segment_header = to_bytes("H:");
    options.journal.folder = concat(state, "/", name);
    options.now = [this] { return now.load(); };
    auto log = SegmentLog::open(log_in(std::move(at)), false, std::move(options), background);
    EXPECT_TRUE(log) << log.error().message;
    now = now.load() + seconds(1);
    return *std::move(log);
  }
  Status append(SegmentLog& log, const std::string& record) {
    Status appended = log.append(as_bytes(concat(record, ";")));
    if (appended) appended_.push_back(record);
    return appended;
  }
  std::vector<RecoveredSegments> recover(const std::shared_ptr<Store>& at) const {
    return recover_segments(state,
                            [&](const std::string& url) -> Result<Location> {
                              const std::string key = url.substr(std::string_view("memory://test/").size());
                              return Location{at, key, {"memory", "test", key}};
                            },
                            {});
  }
  // All without an error; recovers nothing a second time.
  void recover_all() {
    for (const RecoveredSegments& log : recover(process()))
      ASSERT_TRUE(log.status) << log.status.error().message;
    EXPECT_THAT(recover(process()), IsEmpty());
    EXPECT_TRUE(std::filesystem::is_empty(state));
  }
  // The records of all segments, in the order of their names.
  Records records() const {
    Records found;
    const auto objects = list_all(*store, "log");
    for (const ObjectInfo& object : *objects) {
      std::string text = to_string(read_object(*store, object.key, 100 << 20)->data);
      if (object.key != "log") {
        EXPECT_TRUE(text.starts_with("H:")) << object.key;
        text.erase(0, 2);
      }
      for (std::size_t end = text.find(';'); end != std::string::npos; end = text.find(';')) {
        found.push_back(text.substr(0, end));
        text.erase(0, end + 1);
      }
      EXPECT_EQ(text, "") << object.key << " ends with a whole record";
    }
    return found;
  }
  std::string file(const std::string& name, std::uint64_t number) const {
    return journal_path(concat(state, "/", name), number);
  }
  // Writes three segments. Returns whether the writer was killed meanwhile; appending never fails.
  bool is_killed_writing(const std::shared_ptr<ProcessStore>& at) {
    const auto log = open(at);
    for (const char* record : {"1", "2", "3", "4", "5", "6"}) {
      EXPECT_TRUE(append(*log, record));
      if (appended_.size() % 2 == 1) continue;
      static_cast<void>(log->flush());
      now = now.load() + seconds(30);
    }
    static_cast<void>(log->close());
    const bool was_killed = at->was_killed();
    at->kill();
    return was_killed;
  }
  void begin_anew() {
    store = make_memory_store("test");
    std::filesystem::remove_all(state);
    appended_.clear();
  }

  const std::string state = segment_scratch.new_root();
  // Far ahead of the background's clock, so that postponed work does not run by accident.
  std::atomic<Background::Clock::time_point> now = Background::Clock::now() + std::chrono::hours(1);
  std::shared_ptr<Store> store = make_memory_store("test");
  Background background{2};
  Records appended_;
};

TEST_F(SegmentJournalTest, WhereverAWriterAndThenWhoRecoversAreKilledEachRecordIsThereOnce) {
  for (const bool makes_last : {false, true}) {
    bool is_writer_killed = true;
    for (int calls = 0; is_writer_killed; ++calls) {
      bool is_recovery_killed = true;
      for (int recovery_calls = 0; is_recovery_killed; ++recovery_calls) {
        SCOPED_TRACE(concat(calls, " calls, ", recovery_calls, " to recover, ", makes_last));
        begin_anew();
        is_writer_killed = is_killed_writing(process(calls, makes_last));
        const auto first = process(recovery_calls, makes_last);
        recover(first);
        is_recovery_killed = first->was_killed();
        recover_all();
        ASSERT_THAT(records(), testing::UnorderedElementsAreArray(appended_));
        ASSERT_EQ(appended_.size(), 6U);
      }
      ASSERT_TRUE(is_writer_killed || calls >= 3) << "a call for each segment";
      ASSERT_LT(calls, 100);
    }
  }
}

TEST_F(SegmentJournalTest, ALateRequestOfAKilledWriterWritesNothingTwice) {
  for (const bool is_before : {true, false}) {
    begin_anew();
    const auto writer = process(0);
    {
      const auto log = open(writer);
      ASSERT_TRUE(append(*log, "1"));
      ASSERT_FALSE(log->close());
    }
    const auto arrive = [&] {
      return store->write("log", as_bytes("1;"), {.only_if_absent = true}).has_value();
    };
    const auto recovering = process();
    if (is_before) recovering->on_write = [&](const CallOptions&) { EXPECT_TRUE(arrive()); };
    const auto recovered = recover(recovering);
    ASSERT_EQ(recovered.size(), 1U);
    EXPECT_TRUE(recovered[0].status);
    EXPECT_EQ(recovered[0].segments, is_before ? 0U : 1U);
    if (!is_before) {
      EXPECT_FALSE(arrive());
    }
    EXPECT_THAT(records(), ElementsAre("1"));
  }
}

TEST_F(SegmentJournalTest, SeveralThatRecoverAtOnceWriteEachRecordOnce) {
  const auto writer = process(0);
  for (int i = 0; i < 50; ++i) {
    const auto log = open(writer, concat("journal-", i));
    ASSERT_TRUE(append(*log, concat(i)));
  }
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) threads.emplace_back([&] { recover(process()); });
  }
  recover_all();
  EXPECT_THAT(records(), testing::UnorderedElementsAreArray(appended_));
}

TEST_F(SegmentJournalTest, AJournalThatIsRecoveredWhileItsWriterBeginsIsNotTaken) {
  std::jthread recovers([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) EXPECT_THAT(recover(process()), IsEmpty());
  });
  for (int i = 0; i < 100; ++i) {
    const auto log = open(process(), concat("journal-", i));
    ASSERT_TRUE(append(*log, concat(i)));
    ASSERT_TRUE(log->close());
  }
  recovers.request_stop();
  recovers.join();
  EXPECT_THAT(records(), testing::UnorderedElementsAreArray(appended_));
}

TEST_F(SegmentJournalTest, AStalledWriterIsLeftAloneAndGoesOn) {
  const auto log = open(process());
  ASSERT_TRUE(append(*log, "1"));
  EXPECT_THAT(recover(process()), IsEmpty());
  ASSERT_TRUE(append(*log, "2"));
  ASSERT_TRUE(log->close());
  EXPECT_THAT(records(), ElementsAre("1", "2"));
  EXPECT_TRUE(std::filesystem::is_empty(state));
}

TEST_F(SegmentJournalTest, TwoWritersOfOneNameOfWhichOneIsKilledLoseNothing) {
  const auto other = open(process(), "other");
  const auto writer = process(1, true);  // its segment is there, and its answer is not
  {
    const auto log = open(writer);
    ASSERT_TRUE(append(*other, "1"));
    ASSERT_TRUE(other->flush());
    ASSERT_TRUE(append(*log, "2"));
    ASSERT_FALSE(log->close());
  }
  ASSERT_TRUE(append(*other, "3"));
  ASSERT_TRUE(other->close());
  recover_all();
  EXPECT_THAT(records(), testing::UnorderedElementsAreArray(appended_));
}

TEST_F(SegmentJournalTest, RecoveryTellsWhatItHasWritten) {
  {
    const auto log = open(process(0));
    ASSERT_TRUE(append(*log, "12345"));
  }
  const auto recovered = recover(process());
  ASSERT_EQ(recovered.size(), 1U);
  EXPECT_EQ(recovered[0].url, "memory://test/log");
  EXPECT_EQ(recovered[0].folder, concat(state, "/a"));
  EXPECT_EQ(recovered[0].segments, 1U);
  EXPECT_EQ(recovered[0].size_bytes, 6U);
}

TEST_F(SegmentJournalTest, AnOutageLeavesTheJournalAndSaysWhatToDo) {
  const auto at = process(0);
  auto log = open(at);
  ASSERT_TRUE(append(*log, "1"));
  const Status closed = log->close();
  EXPECT_EQ(closed.error().code, Code::kUnavailable);
  EXPECT_THAT(closed.error().message, HasSubstr(concat(state, "/a")));
  EXPECT_THAT(closed.error().message, HasSubstr("headrace runs recover"));
  EXPECT_THAT(recover(process()), IsEmpty()) << "the writer still has it";
  log.reset();
  recover_all();
  EXPECT_THAT(records(), ElementsAre("1"));
}

TEST_F(SegmentJournalTest, ClosingWaitsNoLongerThanItIsTold) {
  const auto at = process();
  std::vector<std::chrono::milliseconds> deadlines;
  at->on_write = [&](const CallOptions& call) {
    deadlines.push_back(call.deadline);
    now = now.load() + seconds(2);
  };
  const auto log = open(at, "a", {.most_held_bytes = 10});
  for (const char* record : {"is in file 0", "is in file 1", "is in file 2"})
    ASSERT_TRUE(append(*log, record));
  const Status closed = log->close(seconds(3));
  EXPECT_EQ(closed.error().code, Code::kDeadlineExceeded);
  EXPECT_THAT(closed.error().message, HasSubstr("headrace runs recover"));
  EXPECT_THAT(deadlines, ElementsAre(seconds(3), seconds(1)));
  ASSERT_TRUE(log->close(seconds(0)));
  EXPECT_EQ(records(), appended_);
}

TEST_F(SegmentJournalTest, WhatClosingHasLeftIsNotTriedAgainAtTheEnd) {
  const auto at = process(0);
  auto log = open(at);
  ASSERT_TRUE(append(*log, "1"));
  ASSERT_FALSE(log->close(seconds(0)));
  bool is_tried = false;
  at->on_write = [&](const CallOptions&) { is_tried = true; };
  log.reset();
  EXPECT_FALSE(is_tried) << "the end of a program would wait for the store";
  recover_all();
  EXPECT_THAT(records(), ElementsAre("1"));
}

TEST_F(SegmentJournalTest, AStoreThatDoesNotAnswerTakesOneThread) {
  now = Background::Clock::now();
  const auto at = process();
  std::atomic<bool> is_asked = false;
  std::atomic<bool> answers = false;
  at->on_write = [&](const CallOptions&) {
    is_asked = true;
    is_asked.notify_all();
    answers.wait(false);
  };
  const auto log = open(at);
  const std::string large(SegmentLog::kMostSegmentBytes, 'x');
  ASSERT_TRUE(append(*log, large));
  is_asked.wait(false);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(append(*log, large));
  std::promise<void> journal_is_written;
  background.add([&] { journal_is_written.set_value(); });
  EXPECT_EQ(journal_is_written.get_future().wait_for(seconds(60)), std::future_status::ready);
  answers = true;
  answers.notify_all();
  const auto deadline = Background::Clock::now() + seconds(60);
  while (log->waiting_bytes() > 0 && Background::Clock::now() < deadline)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(records(), appended_) << "they are written without another call";
}

TEST_F(SegmentJournalTest, FilesThatCannotBeReadNowAreReadLater) {
  const auto at = process(0);
  const auto log = open(at, "a", {.most_held_bytes = 10});
  ASSERT_TRUE(append(*log, "is in file 0"));
  ASSERT_TRUE(append(*log, "is in file 1"));
  at->go_on();
  {
    const NoMoreFiles none;
    EXPECT_EQ(log->close().error().code, Code::kUnavailable);
  }
  ASSERT_TRUE(log->close());
  EXPECT_EQ(records(), appended_);
}

TEST_F(SegmentJournalTest, AfterClosingItTakesMoreIntoAnotherJournal) {
  const auto log = open(process());
  ASSERT_TRUE(append(*log, "1"));
  ASSERT_TRUE(log->close());
  EXPECT_FALSE(std::filesystem::exists(concat(state, "/a")));
  ASSERT_TRUE(append(*log, "2"));
  EXPECT_TRUE(std::filesystem::exists(file("a", 1)));
  ASSERT_TRUE(log->close());
  EXPECT_THAT(records(), ElementsAre("1", "2"));
}

TEST_F(SegmentJournalTest, WhatMemoryDoesNotHoldIsReadFromItsFiles) {
  const auto at = process(0);
  const auto log = open(at, "a", {.most_held_bytes = 100});
  ASSERT_TRUE(append(*log, "1"));
  ASSERT_FALSE(log->close());
  for (int i = 2; i < 60; ++i) {
    ASSERT_TRUE(append(*log, concat(std::string(18, 'x'), i)));
    ASSERT_LE(log->waiting_bytes(), 100U);
  }
  at->go_on();
  ASSERT_TRUE(log->close());
  EXPECT_EQ(records(), appended_);
}

TEST_F(SegmentJournalTest, ASlowStoreHoldsUpNobody) {
  const auto log = open(process(), "a", {.most_held_bytes = 100});
  for (int i = 0; i < 60; ++i) {
    ASSERT_TRUE(append(*log, concat(std::string(18, 'x'), i)));
    ASSERT_LE(log->waiting_bytes(), 100U);
  }
  EXPECT_THAT(records(), IsEmpty());
  ASSERT_TRUE(log->close());
  EXPECT_EQ(records(), appended_);
  const auto large = open(process(), "large");
  ASSERT_TRUE(append(*large, std::string(SegmentLog::kFullBytes, 'x')));
  EXPECT_FALSE(large->is_full());
}

TEST_F(SegmentJournalTest, FilesThatWereAlteredAreToldAndTheOthersAreWritten) {
  const auto at = process(0);
  const auto log = open(at, "a", {.most_held_bytes = 10});
  ASSERT_TRUE(append(*log, "12345678"));
  ASSERT_FALSE(log->close());
  ASSERT_TRUE(append(*log, "is in file 1"));
  ASSERT_TRUE(append(*log, "is in file 2"));
  std::filesystem::resize_file(file("a", 1), 3);
  at->go_on();
  const Status closed = log->close();
  EXPECT_THAT(closed.error().message, HasSubstr("are lost"));
  EXPECT_TRUE(log->close());
  EXPECT_THAT(records(), ElementsAre("12345678", "is in file 2"));
  EXPECT_TRUE(std::filesystem::is_empty(state));
}

TEST_F(SegmentJournalTest, AJournalIsBoundedAndHasRoomAgain) {
  const auto at = process(0);
  const auto log = open(at, "a", {.journal = {.most_bytes = 200}});
  Status refused;
  for (int i = 0; refused && i < 100; ++i) refused = append(*log, "0123456789");
  EXPECT_EQ(refused.error().code, Code::kResourceExhausted);
  EXPECT_THAT(refused.error().message, HasSubstr("headrace doctor"));
  EXPECT_LT(std::filesystem::file_size(file("a", 0)), 250U);
  at->go_on();
  ASSERT_TRUE(log->flush());
  ASSERT_TRUE(append(*log, "after it"));
  ASSERT_TRUE(log->close());
  EXPECT_EQ(records(), appended_);
}

TEST_F(SegmentJournalTest, AFullDiskRefusesRecordsAndKeepsTheOthers) {
  {
    const auto log = open(process(0));
    ASSERT_TRUE(append(*log, "1"));
    {
      const FullDisk full(std::filesystem::file_size(file("a", 0)) + 4);
      EXPECT_EQ(append(*log, "2").error().code, Code::kResourceExhausted);
    }
    ASSERT_TRUE(append(*log, "3"));
  }
  recover_all();
  EXPECT_THAT(records(), ElementsAre("1", "3"));
}

TEST_F(SegmentJournalTest, AFrameThatIsCutOffEndsItsFile) {
  {
    const auto log = open(process(0));
    ASSERT_TRUE(append(*log, "1"));
    ASSERT_TRUE(append(*log, "2"));
  }
  std::filesystem::resize_file(file("a", 0), std::filesystem::file_size(file("a", 0)) - 1);
  recover_all();
  EXPECT_THAT(records(), ElementsAre("1"));
}

TEST_F(SegmentJournalTest, AFileThatHasLostItsEndIsNotWrittenBesideItsSegment) {
  {
    const auto log = open(process(1, true));
    ASSERT_TRUE(append(*log, "0"));
    ASSERT_TRUE(log->flush());
    now = now.load() + seconds(30);
    ASSERT_TRUE(append(*log, "1"));
    ASSERT_TRUE(append(*log, "2"));
    ASSERT_FALSE(log->close());
  }
  std::filesystem::resize_file(file("a", 1), std::filesystem::file_size(file("a", 1)) - 1);
  recover_all();
  EXPECT_THAT(records(), ElementsAre("0", "1", "2"));
}

TEST_F(SegmentJournalTest, AFileWithoutItsBeginningStaysAndTheOthersAreWritten) {
  {
    const auto log = open(process(0), "a", {.most_held_bytes = 4});
    ASSERT_TRUE(append(*log, "1"));
    ASSERT_FALSE(log->close());
    for (const char* record : {"22", "33", "44"}) ASSERT_TRUE(append(*log, record));
  }
  std::ofstream(file("a", 1), std::ios::binary | std::ios::in).seekp(9).put('?');
  const auto recovered = recover(process());
  ASSERT_EQ(recovered.size(), 1U);
  EXPECT_EQ(recovered[0].status.error().code, Code::kDataLoss);
  EXPECT_THAT(recovered[0].status.error().message, HasSubstr(file("a", 1)));
  EXPECT_TRUE(std::filesystem::exists(file("a", 1)));
  EXPECT_FALSE(std::filesystem::exists(file("a", 2)));
  EXPECT_THAT(records(), ElementsAre("1", "33", "44"));
}

TEST_F(SegmentJournalTest, ALogWhoseOwnerWasRemovedStaysOnThisMachine) {
  const SegmentLogOptions options{.journal = {.owner = "memory://test/runs/r"}};
  {
    const auto log = open(process(0), "a", options);
    ASSERT_TRUE(append(*log, "1"));
  }
  ASSERT_TRUE(write_text(*store, "runs/r2/start", "another run"));
  const auto recovered = recover(process());
  ASSERT_EQ(recovered.size(), 1U);
  EXPECT_EQ(recovered[0].status.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(recovered[0].status.error().message, HasSubstr("was removed"));
  EXPECT_THAT(records(), IsEmpty());
  ASSERT_TRUE(write_text(*store, "runs/r/start", "it is back"));
  recover_all();
  EXPECT_THAT(records(), ElementsAre("1"));
}

TEST_F(SegmentJournalTest, AFolderInWhichNothingWasAcknowledgedGoes) {
  std::filesystem::create_directories(concat(state, "/a"));
  std::ofstream(concat(state, "/a/lock"));
  std::ofstream(file("a", 0)) << "HEA";
  EXPECT_THAT(recover(process()), IsEmpty());
  EXPECT_TRUE(std::filesystem::is_empty(state));
}

TEST_F(SegmentJournalTest, OnlyWholeRecordsOfALogThatReplacesNothingHaveAJournal) {
  SegmentLogOptions replaces{.replaces = true, .journal = {.folder = concat(state, "/a")}};
  SegmentLogOptions framed{.record_size = [](BytesView) { return std::optional<std::uint64_t>(1); },
                           .journal = {.folder = concat(state, "/a")}};
  for (const SegmentLogOptions& options : {replaces, framed}) {
    const auto log = SegmentLog::open(log_in(store), false, options, background);
    EXPECT_EQ(log.error().code, Code::kInvalidArgument);
  }
}

TEST_F(SegmentJournalTest, TheHeadComesBack) {
  {
    auto journal = Journal::create(
        concat(state, "/a"),
        encode_segment_journal_head(
            {.url = "s3://b/log", .ending = ".rec", .header = to_bytes("H:"), .owner = "s3://b/runs/r"}));
    ASSERT_TRUE(journal);
    ASSERT_TRUE(journal->append(as_bytes("1;")));
  }
  const auto read = read_segment_journal(file("a", 0));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->head.url, "s3://b/log");
  EXPECT_EQ(read->head.ending, ".rec");
  EXPECT_EQ(to_string(read->head.header), "H:");
  EXPECT_EQ(read->head.owner, "s3://b/runs/r");
  EXPECT_EQ(to_string(read->records), "1;");
}

}  // namespace
}  // namespace headrace
