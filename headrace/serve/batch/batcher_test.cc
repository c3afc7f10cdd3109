#include "headrace/serve/batch/batcher.h"

#include <gmock/gmock.h>

#include <atomic>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <thread>

#include "headrace/base/text.h"

namespace headrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using namespace std::chrono_literals;

const std::vector<RowTensor> kNumberRow = {{DataType::kFloat32, {}}};
const std::vector<RowTensor> kTextRow = {{DataType::kBytes, {}}};

class HeapMemory final : public BatchMemory {
 public:
  explicit HeapMemory(std::uint64_t size_bytes)
      : size_bytes_(size_bytes), bytes_(new (std::align_val_t(kTensorAlignment)) std::byte[size_bytes]) {
    std::memset(bytes_, 0xee, size_bytes);
    ++alive;
  }
  ~HeapMemory() override {
    ::operator delete[](bytes_, std::align_val_t(kTensorAlignment));
    --alive;
  }
  HeapMemory(const HeapMemory&) = delete;
  HeapMemory& operator=(const HeapMemory&) = delete;
  std::span<std::byte> bytes() override { return {bytes_, size_bytes_}; }

  static inline std::atomic<int> alive = 0;

 private:
  std::uint64_t size_bytes_;
  std::byte* bytes_;
};

// Keeps batches until the test lets them be run: outputs are the inputs.
class HeldRunner final : public BatchRunner {
 public:
  Result<std::shared_ptr<BatchMemory>> allocate(std::uint64_t size_bytes) override {
    if (has_memory) return std::shared_ptr<BatchMemory>(std::make_shared<HeapMemory>(size_bytes));
    return Error{Code::kResourceExhausted, "no memory"};
  }
  void run(ClosedBatch batch, Done done) override {
    held.emplace_back(std::move(batch), std::move(done));
    if (on_run) std::exchange(on_run, nullptr)();
  }

  // Runs the oldest; returns its rows.
  std::vector<float> run_one() {
    const auto [batch, done] = std::move(held.front());
    held.pop_front();
    const auto memory = batch.memory->bytes();
    std::vector<float> rows(batch.rows);
    std::memcpy(rows.data(), memory.data(), rows.size() * sizeof(float));
    done(echo(batch));
    return rows;
  }

  static BatchOutputs echo(const ClosedBatch& batch) {
    struct Owner {
      std::shared_ptr<BatchMemory> memory;
      std::vector<std::vector<std::string_view>> views{};
    };
    auto owner = std::make_shared<Owner>(Owner{batch.memory});
    auto tensors = tensors_of(batch.layout, batch.memory->bytes(), batch.rows, owner->views);
    return {*std::move(tensors), owner};
  }

  bool has_memory = true;
  std::function<void()> on_run;  // called once
  std::deque<std::pair<ClosedBatch, Done>> held;
};

std::vector<float> values(const BatchAnswers& answers) {
  std::vector<float> out;
  for (const AnswerPiece& piece : answers) {
    const auto* const data = static_cast<const float*>(piece.outputs->tensors[0].data);
    out.insert(out.end(), data + piece.first_row, data + piece.first_row + piece.rows);
  }
  return out;
}

class BatcherTest : public testing::Test {
 protected:
  ~BatcherTest() override {
    runner.held.clear();
    EXPECT_EQ(HeapMemory::alive, 0) << "memory of batches comes back";
  }

  // Sends a request with these rows; its answer comes into `answers` or `errors`, under the first row.
  void send(Batcher& batcher, const std::vector<float>& rows, const RequestOptions& options = {}) {
    auto reserved = batcher.reserve(rows.size(), kNumberRow, options);
    ASSERT_TRUE(reserved) << reserved.error().message;
    fill(*reserved, rows);
    std::move(*reserved).commit(keep(rows[0]));
  }

  static void fill(const ReservedRows& reserved, const std::vector<float>& rows) {
    for (std::size_t i = 0; i < rows.size(); ++i) std::memcpy(reserved.at(0, i), &rows[i], sizeof(float));
  }

  AnswerDone keep(float key) {
    return [this, key](Result<BatchAnswers> answer) {
      if (answer) {
        answers[key] = values(*answer);
      } else {
        errors[key] = answer.error();
      }
    };
  }

  HeldRunner runner;
  std::map<float, std::vector<float>> answers;
  std::map<float, Error> errors;
};

TEST_F(BatcherTest, WhatIsCommittedInARoundGoesTogetherAtItsEnd) {
  Batcher batcher(runner, {.rows_max = 8}), other(runner, {});
  {
    const CommitRound round;
    send(batcher, {1});
    send(other, {7});
    send(batcher, {2});
  }
  EXPECT_THAT(runner.held, IsEmpty());
  CommitRound::send_committed();
  ASSERT_EQ(runner.held.size(), 2U);
  EXPECT_THAT(runner.run_one(), ElementsAre(1, 2));
  EXPECT_THAT(runner.run_one(), ElementsAre(7));
  send(batcher, {3});
  EXPECT_THAT(runner.run_one(), ElementsAre(3)) << "after the round";
}

TEST_F(BatcherTest, RoundsNestAndLeaveNothingBehind) {
  Batcher batcher(runner, {}), other(runner, {});
  runner.on_run = [&] {
    const CommitRound inner;
    send(other, {2});
  };
  const CommitRound round;
  { const CommitRound inner; }
  send(batcher, {1});
  EXPECT_THAT(runner.held, IsEmpty()) << "the outer round goes on";
  CommitRound::send_committed();
  ASSERT_EQ(runner.held.size(), 2U) << "what is committed while others are sent";
  EXPECT_THAT(runner.run_one(), ElementsAre(1));
  EXPECT_THAT(runner.run_one(), ElementsAre(2));
}

TEST_F(BatcherTest, ARoundKeepsTheOwnerUntilItIsSent) {
  auto owner = std::make_shared<int>();
  const std::weak_ptr<int> weak = owner;
  Batcher batcher(runner, {});
  {
    const CommitRound round;
    send(batcher, {1}, {.owner = std::exchange(owner, nullptr)});
  }
  EXPECT_FALSE(weak.expired());
  CommitRound::send_committed();
  EXPECT_TRUE(weak.expired());
  runner.run_one();
}

TEST_F(BatcherTest, WhatIsRunAloneExpiresToo) {
  auto time = std::chrono::steady_clock::time_point(1h);
  Batcher batcher(runner, {.now = [&] { return time; }});
  send(batcher, {1});
  send(batcher, {2}, {.deadline = time + 2h});
  send(batcher, {3}, {.deadline = time + 1h});
  runner.run_one();
  const auto done = std::move(runner.held.front().second);
  runner.held.pop_front();
  done(Error{Code::kInvalidArgument, "a value"});
  ASSERT_EQ(runner.held.size(), 1U) << "one at a time";
  time += 1h;
  batcher.expire();
  EXPECT_EQ(errors[3].code, Code::kDeadlineExceeded);
  EXPECT_THAT(runner.run_one(), ElementsAre(2));
  EXPECT_THAT(answers[2], ElementsAre(2));
  EXPECT_EQ(batcher.counts().waiting_rows, 0U);
  EXPECT_EQ(batcher.counts().requests_in_flight, 0U);
}

TEST_F(BatcherTest, ALaneThatGetsIdleTakesWhatIsCommittedInARound) {
  Batcher batcher(runner, {});
  send(batcher, {1});
  const CommitRound round;
  send(batcher, {2});
  EXPECT_THAT(runner.run_one(), ElementsAre(1));
  ASSERT_EQ(runner.held.size(), 1U);
  EXPECT_THAT(runner.run_one(), ElementsAre(2));
  CommitRound::send_committed();
  EXPECT_THAT(runner.held, IsEmpty());
}

TEST_F(BatcherTest, AnIdleLaneTakesWhatIsThereAndOthersGatherMeanwhile) {
  Batcher batcher(runner, {.rows_max = 8});
  send(batcher, {1});
  ASSERT_EQ(runner.held.size(), 1U);
  send(batcher, {2, 3});
  send(batcher, {4});
  ASSERT_EQ(runner.held.size(), 1U) << "one lane";
  EXPECT_THAT(runner.run_one(), ElementsAre(1));
  EXPECT_THAT(runner.run_one(), ElementsAre(2, 3, 4));
  EXPECT_THAT(answers[1], ElementsAre(1));
  EXPECT_THAT(answers[2], ElementsAre(2, 3));
  EXPECT_THAT(answers[4], ElementsAre(4));
  EXPECT_EQ(batcher.counts().requests_in_flight, 0U);
  EXPECT_EQ(batcher.counts().waiting_rows, 0U);
  EXPECT_EQ(batcher.counts().batches, 2U);
  EXPECT_EQ(batcher.counts().rows, 4U);
}

TEST_F(BatcherTest, ARequestThatIsLargerThanABatchIsSplitAndItsAnswersAreInOrder) {
  Batcher batcher(runner, {.rows_max = 4});
  send(batcher, {1});
  send(batcher, {2, 3});
  send(batcher, {10, 11, 12, 13, 14, 15, 16});
  EXPECT_THAT(runner.run_one(), ElementsAre(1));
  EXPECT_THAT(runner.run_one(), ElementsAre(2, 3, 10, 11));
  EXPECT_THAT(answers.count(10), 0U);
  EXPECT_THAT(runner.run_one(), ElementsAre(12, 13, 14, 15));
  EXPECT_THAT(runner.run_one(), ElementsAre(16));
  EXPECT_THAT(answers[10], ElementsAre(10, 11, 12, 13, 14, 15, 16));
}

TEST_F(BatcherTest, ABatchThatIsWrittenToIsNotSentAndTakesNobodyElseOnceALaneWants) {
  Batcher batcher(runner, {.rows_max = 8});
  auto slow = batcher.reserve(1, kNumberRow);
  ASSERT_TRUE(slow);
  send(batcher, {2});
  EXPECT_THAT(runner.held, IsEmpty());
  send(batcher, {3});
  ASSERT_EQ(runner.held.size(), 1U) << "the next batch need not wait";
  EXPECT_THAT(runner.run_one(), ElementsAre(3));
  fill(*slow, {1});
  std::move(*slow).commit(keep(1));
  EXPECT_THAT(runner.run_one(), ElementsAre(1, 2));
  EXPECT_THAT(answers[1], ElementsAre(1));
}

TEST_F(BatcherTest, RowsThatAreGivenUpAreZerosAndHoldNobodyUp) {
  Batcher batcher(runner, {.rows_max = 8});
  {
    auto given_up = batcher.reserve(2, kNumberRow);
    ASSERT_TRUE(given_up);
    fill(*given_up, {7, 7});
    send(batcher, {3});
    EXPECT_THAT(runner.held, IsEmpty());
  }
  EXPECT_THAT(runner.run_one(), ElementsAre(0, 0, 3));
  { ASSERT_TRUE(batcher.reserve(2, kNumberRow)); }
  EXPECT_THAT(runner.held, IsEmpty()) << "nothing was committed";
  send(batcher, {4});
  EXPECT_THAT(runner.run_one(), ElementsAre(4));
  EXPECT_EQ(batcher.counts().requests_in_flight, 0U);
  EXPECT_EQ(batcher.counts().waiting_rows, 0U);
}

TEST_F(BatcherTest, RowsOfEachShapeAreGatheredInABatchOfTheirOwn) {
  Batcher batcher(runner, {.rows_max = 8});
  send(batcher, {1});
  const auto send_wide = [&](std::int64_t width, int number) {
    auto wide = batcher.reserve(1, {{DataType::kFloat32, {width}}});
    ASSERT_TRUE(wide);
    fill(*wide, {static_cast<float>(number)});
    std::move(*wide).commit(keep(number));
  };
  send(batcher, {2});
  send_wide(2, 5);
  send(batcher, {3});
  send_wide(2, 6);
  EXPECT_THAT(runner.run_one(), ElementsAre(1));
  EXPECT_THAT(runner.run_one(), ElementsAre(2, 3)) << "the shape that came first";
  runner.run_one();
  EXPECT_EQ(batcher.counts().batches, 3U);
  EXPECT_EQ(batcher.counts().waiting_rows, 0U);
}

TEST_F(BatcherTest, AShapeThatIsRareIsNotForgotten) {
  Batcher batcher(runner, {.rows_max = 1});
  send(batcher, {1});
  auto wide = batcher.reserve(1, {{DataType::kFloat32, {2}}});
  ASSERT_TRUE(wide);
  fill(*wide, {7});
  std::move(*wide).commit(keep(7));
  for (int i = 0; i < 5; ++i) send(batcher, {2});
  runner.run_one();
  runner.run_one();
  EXPECT_TRUE(answers.contains(7)) << "it was begun second";
  while (batcher.counts().requests_in_flight > 0) runner.run_one();
}

TEST_F(BatcherTest, NoMoreThanEightShapesAreGatheredAtATime) {
  Batcher batcher(runner, {.rows_max = 8});
  send(batcher, {1});
  for (int round = 0; round < 2; ++round) {
    for (std::int64_t width = 1; width <= 9; ++width) {
      auto wide = batcher.reserve(1, {{DataType::kFloat32, {width}}});
      ASSERT_TRUE(wide);
      fill(*wide, {static_cast<float>(width)});
      std::move(*wide).commit(keep(0));
    }
  }
  while (batcher.counts().requests_in_flight > 0) runner.run_one();
  // The ninth closes the first, which then closes the second, and so on.
  EXPECT_EQ(batcher.counts().batches, 1U + 18U);
  EXPECT_EQ(batcher.counts().rows, 19U);
}

TEST_F(BatcherTest, BatchesAreFilledUpToAllowedSizesByTheFirstRow) {
  Batcher batcher(runner, {.rows_max = 8, .allowed_rows = {1, 4, 8}});
  send(batcher, {1});
  send(batcher, {2, 3});
  EXPECT_THAT(runner.run_one(), ElementsAre(1));
  EXPECT_THAT(runner.run_one(), ElementsAre(2, 3, 2, 2));
  EXPECT_THAT(answers[2], ElementsAre(2, 3));
  EXPECT_EQ(batcher.counts().rows, 3U);
}

TEST_F(BatcherTest, HigherPrioritiesGoFirst) {
  Batcher batcher(runner, {.rows_max = 2});
  send(batcher, {1});
  send(batcher, {2, 3});
  send(batcher, {4, 5}, {.priority = 1});
  send(batcher, {6}, {.priority = 1});
  runner.run_one();
  EXPECT_THAT(runner.run_one(), ElementsAre(4, 5));
  EXPECT_THAT(runner.run_one(), ElementsAre(6)) << "though it was open";
  EXPECT_THAT(runner.run_one(), ElementsAre(2, 3));
}

TEST_F(BatcherTest, ARequestWhoseDeadlineHasPassedIsNotRun) {
  auto now = std::chrono::steady_clock::time_point(1h);
  Batcher batcher(runner, {.rows_max = 2, .now = [&] { return now; }});
  send(batcher, {1});
  send(batcher, {2}, {.deadline = now + 1s});
  send(batcher, {3});
  send(batcher, {4, 5}, {.deadline = now + 1s});
  now += 2s;
  EXPECT_THAT(runner.run_one(), ElementsAre(1));
  EXPECT_EQ(errors[2].code, Code::kDeadlineExceeded);
  EXPECT_THAT(runner.run_one(), ElementsAre(2, 3)) << "its row is there, and nobody asks for it";
  EXPECT_THAT(answers[3], ElementsAre(3));
  EXPECT_EQ(errors[4].code, Code::kDeadlineExceeded);
  EXPECT_THAT(runner.held, IsEmpty());
  EXPECT_EQ(batcher.counts().requests_in_flight, 0U);
}

TEST_F(BatcherTest, ExpireAnswersWhereverTheRowsAre) {
  auto now = std::chrono::steady_clock::time_point(1h);
  Batcher batcher(runner, {.rows_max = 2, .now = [&] { return now; }});
  send(batcher, {1}, {.deadline = now + 1s});     // runs
  send(batcher, {2, 3}, {.deadline = now + 1s});  // waits
  send(batcher, {4}, {.deadline = now + 1s});     // in the open batch
  send(batcher, {5}, {.deadline = now + 3s});
  batcher.expire();
  EXPECT_THAT(errors, IsEmpty());
  now += 2s;
  batcher.expire();
  for (const float key : {1, 2, 4}) EXPECT_EQ(errors[key].code, Code::kDeadlineExceeded) << key;
  EXPECT_EQ(batcher.reserve(1, kNumberRow, {.deadline = now}).error().code, Code::kDeadlineExceeded);
  EXPECT_EQ(batcher.counts().requests_in_flight, 1U);
  EXPECT_THAT(runner.run_one(), ElementsAre(1));
  EXPECT_THAT(runner.run_one(), ElementsAre(4, 5)) << "nobody asks for 2 and 3";
  EXPECT_THAT(answers[5], ElementsAre(5));
  EXPECT_EQ(answers.size(), 1U);
}

TEST_F(BatcherTest, OptionsAreChecked) {
  EXPECT_TRUE(check_options({}));
  EXPECT_TRUE(check_options({.rows_max = 8, .allowed_rows = {1, 8}}));
  EXPECT_FALSE(check_options({.rows_max = 0}));
  EXPECT_FALSE(check_options({.lanes = 0}));
  EXPECT_FALSE(check_options({.rows_max = 8, .allowed_rows = {8, 1}}));
  EXPECT_FALSE(check_options({.rows_max = 8, .allowed_rows = {1, 4}}));
}

TEST_F(BatcherTest, RequestsThatWouldWaitTooLongAreRefused) {
  auto now = std::chrono::steady_clock::time_point(1h);
  Batcher batcher(runner, {.rows_max = 2, .waiting_rows_max = 5, .now = [&] { return now; }});
  send(batcher, {1});
  EXPECT_EQ(batcher.expected_wait(), 0ns) << "no batch was timed";
  now += 100ms;
  runner.run_one();
  EXPECT_EQ(batcher.expected_wait(), 0ns) << "the lane is idle";
  send(batcher, {2});
  EXPECT_EQ(batcher.expected_wait(), 100ms);
  const auto late = batcher.reserve(1, kNumberRow, {.deadline = now + 50ms});
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, Code::kResourceExhausted);
  EXPECT_TRUE(batcher.reserve(1, kNumberRow, {.deadline = now + 150ms}));
  for (float i = 3; i < 6; ++i) send(batcher, {i, i});
  const auto many = batcher.reserve(2, kNumberRow);
  ASSERT_FALSE(many);
  EXPECT_THAT(many.error().message, HasSubstr("rows are already waiting; at most 5 may"));
  EXPECT_EQ(batcher.reserve(8, kNumberRow).error().code, Code::kInvalidArgument) << "it never could";
  EXPECT_EQ(batcher.reserve(~std::uint64_t{0}, kNumberRow).error().code, Code::kInvalidArgument);
  while (!runner.held.empty()) runner.run_one();
}

TEST_F(BatcherTest, ErrorsOfTheRunnerReachEachRequestOnce) {
  Batcher batcher(runner, {.rows_max = 2});
  send(batcher, {1});
  send(batcher, {2, 3, 4});
  runner.run_one();
  auto [batch, done] = std::move(runner.held.front());
  runner.held.pop_front();
  done(Error{Code::kUnavailable, "the engine has ended"});
  EXPECT_EQ(errors[2].message, "the engine has ended");
  EXPECT_THAT(runner.held, IsEmpty()) << "the rest of a failed request is not run";
  EXPECT_EQ(batcher.counts().requests_in_flight, 0U);

  send(batcher, {5});
  auto [other, other_done] = std::move(runner.held.front());
  runner.held.pop_front();
  BatchOutputs outputs = HeldRunner::echo(other);
  outputs.tensors[0].shape = {3};
  other_done(std::move(outputs));
  EXPECT_EQ(errors[5].code, Code::kInternal);
  EXPECT_THAT(errors[5].message, HasSubstr("[3] for 1 rows"));
}

TEST_F(BatcherTest, WithoutMemoryARequestIsRefusedAndLeavesNothing) {
  Batcher batcher(runner, {.rows_max = 2});
  send(batcher, {1});
  send(batcher, {2});
  runner.has_memory = false;
  EXPECT_EQ(batcher.reserve(2, kNumberRow).error().code, Code::kResourceExhausted);
  runner.run_one();
  EXPECT_THAT(runner.run_one(), ElementsAre(2, 0)) << "the part of the other request was given up";
  EXPECT_EQ(batcher.counts().requests_in_flight, 0U);
  EXPECT_EQ(batcher.counts().waiting_rows, 0U);
}

TEST_F(BatcherTest, WithoutMemoryForAllRowsAnIdleBatcherKeepsNone) {
  struct OneBatch final : BatchRunner {
    Result<std::shared_ptr<BatchMemory>> allocate(std::uint64_t size_bytes) override {
      if (HeapMemory::alive != 0) return Error{Code::kResourceExhausted, "no memory"};
      return std::shared_ptr<BatchMemory>(std::make_shared<HeapMemory>(size_bytes));
    }
    void run(ClosedBatch, Done) override {}
  } one;
  Batcher batcher(one, {.rows_max = 2});
  EXPECT_EQ(batcher.reserve(5, kNumberRow).error().code, Code::kResourceExhausted);
  EXPECT_EQ(batcher.counts().waiting_rows, 0U);
  EXPECT_TRUE(batcher.reserve(2, kNumberRow));
}

TEST_F(BatcherTest, TextsLieInTheBatch) {
  Batcher batcher(runner, {.rows_max = 4, .texts_bytes = 10});
  const auto send_texts = [&](const std::vector<std::string_view>& texts, std::uint64_t bytes) {
    auto rows = batcher.reserve(texts.size(), kTextRow, {.texts_bytes = bytes});
    ASSERT_TRUE(rows);
    for (std::size_t i = 0; i < texts.size(); ++i) ASSERT_TRUE(rows->set_text(0, i, 0, texts[i]));
    EXPECT_FALSE(rows->set_text(0, 0, 0, std::string(bytes + 1, 'x')));
    std::move(*rows).commit([](const Result<BatchAnswers>& answer) { EXPECT_TRUE(answer); });
  };
  const auto texts_of_next = [&] {
    const auto [batch, done] = std::move(runner.held.front());
    runner.held.pop_front();
    BatchOutputs outputs = HeldRunner::echo(batch);
    const std::vector<std::string> texts(outputs.tensors[0].strings.begin(),
                                         outputs.tensors[0].strings.end());
    done(std::move(outputs));
    return texts;
  };
  send_texts({"a"}, 1);
  send_texts({"bcd", "", "ef"}, 5);
  send_texts({"ghijkl"}, 6);                 // does not fit beside them
  send_texts({"a text of 21 bytes …"}, 22);  // nor into a usual batch
  EXPECT_THAT(texts_of_next(), ElementsAre("a"));
  EXPECT_THAT(texts_of_next(), ElementsAre("bcd", "", "ef"));
  EXPECT_THAT(texts_of_next(), ElementsAre("ghijkl"));
  EXPECT_THAT(texts_of_next(), ElementsAre("a text of 21 bytes …"));

  send_texts({"first"}, 5);
  send_texts({"one"}, 3);
  send_texts({"two", "2"}, 4);
  EXPECT_THAT(texts_of_next(), ElementsAre("first"));
  const auto done = std::move(runner.held.front().second);
  runner.held.pop_front();
  done(Error{Code::kInvalidArgument, "one of the texts"});
  EXPECT_EQ(runner.held.front().first.layout.texts_bytes(), 3U) << "its own texts";
  EXPECT_THAT(texts_of_next(), ElementsAre("one")) << "alone";
  EXPECT_THAT(texts_of_next(), ElementsAre("two", "2"));
}

// Refuses batches with a negative row.
class ParticularRunner final : public BatchRunner {
 public:
  Result<std::shared_ptr<BatchMemory>> allocate(std::uint64_t size_bytes) override {
    return held.allocate(size_bytes);
  }
  void run(ClosedBatch batch, Done done) override { held.run(std::move(batch), std::move(done)); }
  // Runs all; returns the rows of each batch.
  std::vector<std::vector<float>> run_all(Code code) {
    std::vector<std::vector<float>> out;
    while (!held.held.empty()) {
      const auto [batch, done] = std::move(held.held.front());
      held.held.pop_front();
      std::vector<float>& rows = out.emplace_back(batch.rows);
      std::memcpy(rows.data(), batch.memory->bytes().data(), rows.size() * sizeof(float));
      const bool is_bad = std::ranges::any_of(rows, [](float row) { return row < 0; });
      if (is_bad) {
        done(Error{code, "a negative row"});
      } else {
        done(HeldRunner::echo(batch));
      }
    }
    return out;
  }

  HeldRunner held;
};

TEST_F(BatcherTest, ABadValueFailsItsOwnRequestAlone) {
  ParticularRunner particular;
  Batcher batcher(particular, {.rows_max = 4, .allowed_rows = {2, 4}});
  send(batcher, {1});
  send(batcher, {2, 3});
  send(batcher, {-4});
  send(batcher, {5, 6});  // in two batches
  EXPECT_THAT(particular.run_all(Code::kInvalidArgument),
              ElementsAre(ElementsAre(1, 1), ElementsAre(2, 3, -4, 5), ElementsAre(2, 3), ElementsAre(-4, -4),
                          ElementsAre(5, 5), ElementsAre(6, 6)));
  EXPECT_THAT(answers[1], ElementsAre(1));
  EXPECT_THAT(answers[2], ElementsAre(2, 3));
  EXPECT_THAT(answers[5], ElementsAre(5, 6));
  EXPECT_EQ(errors[-4].message, "a negative row");
  EXPECT_EQ(errors.size(), 1U);
  EXPECT_EQ(batcher.counts().waiting_rows, 0U);
  EXPECT_EQ(batcher.counts().requests_in_flight, 0U);
}

TEST_F(BatcherTest, AFaultOfTheModelFailsTheBatch) {
  ParticularRunner particular;
  Batcher batcher(particular, {});
  send(batcher, {1});
  send(batcher, {2});
  send(batcher, {-3});
  EXPECT_EQ(particular.run_all(Code::kUnavailable).size(), 2U);
  EXPECT_EQ(errors.size(), 2U);
}

TEST_F(BatcherTest, WithoutMemoryABatchWithABadValueFails) {
  ParticularRunner particular;
  Batcher batcher(particular, {});
  send(batcher, {1});
  send(batcher, {2});
  send(batcher, {-3});
  particular.held.has_memory = false;
  EXPECT_EQ(particular.run_all(Code::kOutOfRange).size(), 2U);
  EXPECT_EQ(errors.size(), 2U);
}

TEST_F(BatcherTest, BatchesOfLargeRowsHaveFewer) {
  const std::vector<RowTensor> large = {{DataType::kFloat32, {6 << 20}}};  // 24 MiB
  Batcher any(runner, {.rows_max = 64}), chosen(runner, {.rows_max = 64, .allowed_rows = {4, 8, 64}});
  for (Batcher* const batcher : {&any, &chosen}) {
    for (int i = 0; i < 4; ++i) {
      auto reserved = batcher->reserve(1, large);
      ASSERT_TRUE(reserved) << reserved.error().message;
      std::move(*reserved).commit(keep(static_cast<float>(i)));
    }
  }
  ASSERT_EQ(runner.held.size(), 2U);
  EXPECT_EQ(runner.held[0].first.layout.rows_max(), 2U);
  EXPECT_EQ(runner.held[1].first.layout.rows_max(), 4U) << "an allowed size, though it is too large";
  while (!runner.held.empty()) runner.run_one();
  EXPECT_EQ(any.counts().batches, 3U) << "1, 2 and 1 rows";
}

TEST_F(BatcherTest, AfterARefusalWhatIsInFlightIsAnswered) {
  Batcher batcher(runner, {});
  send(batcher, {1});
  send(batcher, {2});
  batcher.refuse({Code::kUnavailable, "the server is stopping"});
  EXPECT_EQ(batcher.reserve(1, kNumberRow).error().message, "the server is stopping");
  runner.run_one();
  runner.run_one();
  EXPECT_THAT(answers[2], ElementsAre(2));
}

// Runs batches on threads of its own.
class ThreadedRunner final : public BatchRunner {
 public:
  explicit ThreadedRunner(int threads) {
    for (int i = 0; i < threads; ++i)
      threads_.emplace_back([this](const std::stop_token& stop) { work(stop); });
  }
  ~ThreadedRunner() override {
    for (std::jthread& thread : threads_) thread.request_stop();
    changed_.notify_all();
  }
  Result<std::shared_ptr<BatchMemory>> allocate(std::uint64_t size_bytes) override {
    return std::shared_ptr<BatchMemory>(std::make_shared<HeapMemory>(size_bytes));
  }
  void run(ClosedBatch batch, Done done) override {
    const std::scoped_lock lock(mutex_);
    work_.emplace_back(std::move(batch), std::move(done));
    changed_.notify_one();
  }

 private:
  void work(const std::stop_token& stop) {
    for (;;) {
      std::unique_lock lock(mutex_);
      if (!changed_.wait(lock, stop, [&] { return !work_.empty(); })) return;
      const auto [batch, done] = std::move(work_.front());
      work_.pop_front();
      lock.unlock();
      done(HeldRunner::echo(batch));
    }
  }

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<std::pair<ClosedBatch, Done>> work_;
  std::vector<std::jthread> threads_;
};

TEST(Batcher, ManyThreadsGetTheAnswersToTheirOwnRows) {
  constexpr int kThreads = 4, kRequests = 300;
  std::atomic<int> right = 0, given_up = 0, pending = 0;
  ThreadedRunner runner(2);
  Batcher batcher(runner, {.rows_max = 5, .allowed_rows = {2, 5}, .lanes = 2, .waiting_rows_max = 1 << 20});
  {
    std::vector<std::jthread> clients;
    for (int client = 0; client < kThreads; ++client) {
      clients.emplace_back([&, client] {
        for (int i = 0; i < kRequests; ++i) {
          const auto rows = static_cast<std::uint64_t>(1 + (i * 7 + client) % 9);
          auto reserved = batcher.reserve(rows, kNumberRow);
          ASSERT_TRUE(reserved);
          if (i % 11 == client) {
            ++given_up;
            continue;
          }
          std::vector<float> expected;
          for (std::uint64_t row = 0; row < rows; ++row)
            expected.push_back(static_cast<float>(client * 100'000 + i * 10 + static_cast<int>(row)));
          for (std::uint64_t row = 0; row < rows; ++row)
            std::memcpy(reserved->at(0, row), &expected[row], sizeof(float));
          ++pending;
          std::move(*reserved).commit([&, expected](const Result<BatchAnswers>& answer) {
            if (answer && values(*answer) == expected) ++right;
            --pending;
            pending.notify_all();
          });
        }
      });
    }
  }
  for (int left = pending; left != 0; left = pending) pending.wait(left);
  EXPECT_EQ(right + given_up, kThreads * kRequests);
  while (batcher.counts().requests_in_flight != 0) std::this_thread::yield();  // a call that answers returns
  EXPECT_EQ(batcher.counts().waiting_rows, 0U);
}

}  // namespace
}  // namespace headrace
