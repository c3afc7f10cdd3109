#include "headrace/serve/remote_engine/remote_engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <future>
#include <thread>

#include "headrace/base/text.h"
#include "headrace/serve/batch/row_layout.h"
#include "headrace/serve/remote_engine/engine_host.h"
#include "headrace/serve/remote_engine/remote_outputs.h"

namespace headrace {
namespace {

using ::testing::HasSubstr;

// ---- The process: this program plays it. Its model doubles numbers; the environment says how it misbehaves.

std::string mode() {
  const char* const set = std::getenv("HEADRACE_TEST_ENGINE");
  return set == nullptr ? "" : set;
}

constexpr float kEnds = 1000, kHangs = 1001, kFails = 1002, kFailsRow = 1003;

ServedModel doubling_model() {
  ServedModel model;
  model.signatures = {{.name = "double",
                       .inputs = {{"text", DataType::kBytes, {-1}}, {"x", DataType::kFloat32, {-1, 2}}},
                       .outputs = {{"text", DataType::kBytes, {-1}}, {"y", DataType::kFloat32, {-1, 2}}},
                       .is_batched = true},
                      {.name = "whole",
                       .inputs = {{"x", DataType::kFloat32, {3}}},
                       .outputs = {{"y", DataType::kFloat32, Shape()}}}};
  return model;
}

Tensor tensor_of(const Shape& shape, std::vector<float> values) {
  auto owner = std::make_shared<const std::vector<float>>(std::move(values));
  return {DataType::kFloat32, shape, owner->data(), owner};
}

class DoublingLane final : public HostedLane {
 public:
  Result<HostedOutputs> run(std::size_t signature, std::span<const TensorView> inputs) override {
    const TensorView& x = inputs.back();
    const auto* const values = static_cast<const float*>(x.data);
    HostedOutputs out;
    if (signature == 1) {
      out.tensors.push_back(tensor_of({}, {values[0] + values[1] + values[2]}));
      return out;
    }
    if (values[0] == kEnds) std::_Exit(3);
    if (values[0] == kHangs) std::this_thread::sleep_for(std::chrono::hours(1));
    if (values[0] == kFails) return Error{Code::kOutOfRange, "the model says no"};
    std::vector<float> doubled;
    for (std::uint64_t i = 0; i < x.shape.elements(); ++i) doubled.push_back(2 * values[i]);
    std::vector<std::string> texts(inputs[0].strings.begin(), inputs[0].strings.end());
    for (std::size_t row = 0; row < texts.size(); ++row) {
      if (values[2 * row] == kFailsRow) out.failed_rows[row] = "this row is bad";
    }
    const Shape shape = mode() == "other shape" ? Shape{x.shape[0], 1} : x.shape;
    if (mode() == "one row too few") texts.pop_back();
    const auto rows = static_cast<std::int64_t>(texts.size());
    out.tensors.emplace_back(Shape{rows}, std::move(texts));
    if (mode() != "one output too few") out.tensors.push_back(tensor_of(shape, std::move(doubled)));
    return out;
  }
};

class DoublingModel final : public HostedModel {
 public:
  const EngineLoaded& about() const override { return about_; }
  Result<std::unique_ptr<HostedLane>> open_lane() override {
    return std::unique_ptr<HostedLane>(std::make_unique<DoublingLane>());
  }

 private:
  const EngineLoaded about_{.model = doubling_model(), .engine = "doubling"};
};

void play_process() {
  PacketSocket socket{FileDescriptor(dup(STDIN_FILENO))};
  if (mode() == "ends at once") std::_Exit(4);
  if (mode() == "hangs at once") std::this_thread::sleep_for(std::chrono::hours(1));
  if (mode() == "garbage") {
    static_cast<void>(socket.send(as_bytes("\x07nonsense")));
    std::this_thread::sleep_for(std::chrono::hours(1));
  }
  static_cast<void>(host_engine(
      std::move(socket),
      [](const EngineLoad& load) -> Result<std::unique_ptr<HostedModel>> {
        if (load.folder == "missing") return Error{Code::kNotFound, "no model lies in missing"};
        return std::unique_ptr<HostedModel>(std::make_unique<DoublingModel>());
      },
      [] { std::_Exit(0); }));
}

// Before main, and so before googletest looks at the arguments.
const bool kPlayed = [] {
  if (mode().empty()) return false;
  play_process();
  std::_Exit(0);
}();

// ---- The tests

struct Started {
  std::promise<void> end;
  std::future<void> ended = end.get_future();
  Result<std::unique_ptr<RemoteEngine>> engine = Error{};

  explicit Started(std::string_view how, RemoteEngineOptions options = {}, EngineLoad load = {}) {
    load.name = "the model";
    const EngineCommand command{{"/proc/self/exe"}, {{"HEADRACE_TEST_ENGINE", std::string(how)}}};
    engine = RemoteEngine::start(command, load, options, [this] { end.set_value(); }, {});
  }
  RemoteEngine& operator*() { return **engine; }
};

using Answer = Result<BatchAnswers>;

std::future<Answer> ask(Batcher& batcher, std::vector<float> firsts, std::string_view text = "a text") {
  auto promise = std::make_shared<std::promise<Answer>>();
  std::future<Answer> future = promise->get_future();
  auto rows = batcher.reserve(firsts.size(), {{DataType::kBytes, Shape()}, {DataType::kFloat32, {2}}},
                              {.texts_bytes = firsts.size() * text.size()});
  if (!rows) {
    promise->set_value(rows.error());
    return future;
  }
  for (std::size_t row = 0; row < firsts.size(); ++row) {
    EXPECT_TRUE(rows->set_text(0, row, 0, text));
    const float values[] = {firsts[row], 0.5F};
    std::memcpy(rows->at(1, row), values, sizeof values);
  }
  std::move(*rows).commit([promise](Answer answer) { promise->set_value(std::move(answer)); });
  return future;
}

std::vector<float> numbers(const BatchAnswers& answers) {
  std::vector<float> out;
  for (const AnswerPiece& piece : answers) {
    const TensorView& y = piece.outputs->tensors[1];
    const auto* const values = static_cast<const float*>(y.data) + 2 * piece.first_row;
    out.insert(out.end(), values, values + 2 * piece.rows);
  }
  return out;
}

TEST(RemoteEngine, RequestsGetTheAnswersToTheirRows) {
  Started started("well");
  ASSERT_TRUE(started.engine) << started.engine.error().message;
  EXPECT_EQ((*started).about().engine, "doubling");
  EXPECT_EQ((*started).about().model.signatures, doubling_model().signatures);
  Batcher batcher((*started).runner(0), {.rows_max = 4});
  std::vector<std::future<Answer>> answers;
  for (int i = 0; i < 200; ++i)
    answers.push_back(
        ask(batcher, {static_cast<float>(i), static_cast<float>(i) + 0.25F}, concat("text ", i)));
  for (int i = 0; i < 200; ++i) {
    const Answer answer = answers[i].get();
    ASSERT_TRUE(answer) << answer.error().message;
    const auto f = static_cast<float>(i);
    EXPECT_EQ(numbers(*answer), (std::vector<float>{2 * f, 1, 2 * f + 0.5F, 1}));
    EXPECT_EQ(answer->front().outputs->tensors[0].strings[answer->front().first_row], concat("text ", i));
  }
}

TEST(RemoteEngine, ASignatureThatIsNotBatchedHasOneRow) {
  Started started("well");
  ASSERT_TRUE(started.engine);
  Batcher batcher((*started).runner(1), {.rows_max = 1});
  auto rows = batcher.reserve(1, {{DataType::kFloat32, {3}}});
  ASSERT_TRUE(rows);
  const float values[] = {1, 2, 4};
  std::memcpy(rows->at(0, 0), values, sizeof values);
  std::promise<Answer> promise;
  std::move(*rows).commit([&](Answer answer) { promise.set_value(std::move(answer)); });
  const Answer answer = promise.get_future().get();
  ASSERT_TRUE(answer) << answer.error().message;
  const TensorView& y = answer->front().outputs->tensors[0];
  EXPECT_EQ(y.shape, Shape({1}));
  EXPECT_EQ(*static_cast<const float*>(y.data), 7);
}

TEST(RemoteEngine, AModelThatFailsKeepsItsProcess) {
  Started started("well");
  ASSERT_TRUE(started.engine);
  Batcher batcher((*started).runner(0), {});
  const Answer failed = ask(batcher, {kFails}).get();
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, Code::kOutOfRange);
  EXPECT_EQ(failed.error().message, "the model says no");
  EXPECT_TRUE(ask(batcher, {1}).get());
}

TEST(RemoteEngine, ARowMayFailAlone) {
  Started started("well");
  ASSERT_TRUE(started.engine);
  Batcher batcher((*started).runner(0), {});
  const Answer answer = ask(batcher, {1, kFailsRow, 3}).get();
  ASSERT_TRUE(answer);
  const auto& failed = answer->front().outputs->failed_rows;
  ASSERT_EQ(failed.size(), 1);
  EXPECT_EQ(failed.at(1).message, "this row is bad");
  EXPECT_EQ(failed.at(1).code, Code::kInvalidArgument);
}

TEST(RemoteEngine, AProcessThatEndsCostsItsBatchesAlone) {
  Started started("well");
  ASSERT_TRUE(started.engine);
  Batcher batcher((*started).runner(0), {});
  EXPECT_TRUE(ask(batcher, {1}).get());
  EXPECT_FALSE((*started).ended());
  const Answer lost = ask(batcher, {kEnds}).get();
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().code, Code::kUnavailable);
  EXPECT_THAT(lost.error().message, HasSubstr("the engine of the model ended while it ran: exit status 3"));
  EXPECT_TRUE((*started).ended());
  started.ended.get();
  EXPECT_EQ((*started).ended()->message, lost.error().message);
  EXPECT_EQ(ask(batcher, {1}).get().error().code, Code::kUnavailable) << "nobody comes back";
}

TEST(RemoteEngine, ABatchThatHangsEndsTheProcess) {
  Started started("well", {.batch_deadline = std::chrono::milliseconds(50)});
  ASSERT_TRUE(started.engine);
  Batcher batcher((*started).runner(0), {});
  const Answer lost = ask(batcher, {kHangs}).get();
  ASSERT_FALSE(lost);
  EXPECT_THAT(lost.error().message, HasSubstr("a batch took longer than 50 ms"));
  EXPECT_EQ(lost.error().code, Code::kUnavailable);
  started.ended.get();
}

TEST(RemoteEngine, EndingAnswersWhatRuns) {
  Started started("well");
  ASSERT_TRUE(started.engine);
  Batcher batcher((*started).runner(0), {});
  std::future<Answer> running = ask(batcher, {kHangs});
  std::future<Answer> waiting = ask(batcher, {1});
  (*started).end();
  for (auto* future : {&running, &waiting}) {
    const Answer answer = future->get();
    ASSERT_FALSE(answer);
    EXPECT_THAT(answer.error().message, HasSubstr("the model is no longer served"));
  }
}

TEST(RemoteEngine, AModelThatDoesNotKeepToItsSignatureCostsItsBatchAlone) {
  for (const char* const how : {"other shape", "one row too few", "one output too few"}) {
    Started started(how);
    ASSERT_TRUE(started.engine);
    Batcher batcher((*started).runner(0), {});
    for (int i = 0; i < 2; ++i) {
      const Answer answer = ask(batcher, {1, 2}).get();
      ASSERT_FALSE(answer) << how;
      EXPECT_EQ(answer.error().code, Code::kFailedPrecondition) << how;
    }
    EXPECT_FALSE((*started).ended());
  }
}

// ---- Outputs of a process that lies.

PlacedOutput placed(DataType type, const Shape& shape, std::uint64_t offset) {
  return {.type = type, .shape = shape, .offset_bytes = offset};
}

Result<BatchOutputs> read_as(const std::vector<ServedTensor>& outputs, const std::vector<PlacedOutput>& given,
                             BytesView memory) {
  const ServedSignature signature{.name = "f", .outputs = outputs, .is_batched = true};
  return read_outputs(signature, given, memory, 2, nullptr);
}

TEST(RemoteOutputs, ClaimsAreCheckedAgainstTheMemoryAndTheSignature) {
  alignas(kTensorAlignment) std::array<std::byte, 256> bytes{};
  const std::vector<ServedTensor> numbers = {{"y", DataType::kFloat32, {-1, -1}}};
  EXPECT_TRUE(read_as(numbers, {placed(DataType::kFloat32, {2, 32}, 0)}, bytes));
  const std::vector<PlacedOutput> lies = {
      placed(DataType::kFloat32, {2, 33}, 0),          // larger than the memory
      placed(DataType::kFloat32, {2, 32}, 64),         // beyond its end
      placed(DataType::kFloat32, {2, 1}, 4),           // not aligned
      placed(DataType::kFloat32, {2, 1}, 1ULL << 63),  // far away
      placed(DataType::kFloat32, {2, 1LL << 62}, 0),   // overflows
      placed(DataType::kFloat32, {3, 1}, 0),           // other rows
      placed(DataType::kInt32, {2, 1}, 0),             // another type
      placed(DataType::kFloat32, {2}, 0),              // another rank
  };
  for (std::size_t i = 0; i < lies.size(); ++i)
    EXPECT_EQ(read_as(numbers, {lies[i]}, bytes).error().code, Code::kDataLoss) << i;
  EXPECT_FALSE(read_as(numbers, {}, bytes));
}

TEST(RemoteOutputs, TextsLieWithinTheirTexts) {
  alignas(kTensorAlignment) std::array<std::byte, 256> bytes{};
  const std::vector<ServedTensor> texts = {{"t", DataType::kBytes, {-1}}};
  PlacedOutput output = placed(DataType::kBytes, {2}, 0);
  output.texts_offset_bytes = 128;
  output.texts_bytes = 8;
  std::memcpy(bytes.data() + 128, "abcdefgh", 8);
  const auto place = [&](std::uint32_t offset, std::uint32_t size) {
    const std::array<TextPlace, 2> places = {TextPlace{0, 3}, TextPlace{offset, size}};
    std::memcpy(bytes.data(), places.data(), sizeof places);
  };
  place(3, 5);
  const auto read = read_as(texts, {output}, bytes);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->tensors[0].strings[1], "defgh");
  place(3, 6);
  EXPECT_FALSE(read_as(texts, {output}, bytes));
  place(~0U, 2);
  EXPECT_FALSE(read_as(texts, {output}, bytes));
  place(3, 5);
  output.texts_bytes = 129;
  EXPECT_FALSE(read_as(texts, {output}, bytes));
}

TEST(RemoteEngine, SaysWhyItCannotLoad) {
  Started missing("well", {}, {.folder = "missing"});
  ASSERT_FALSE(missing.engine);
  EXPECT_EQ(missing.engine.error().code, Code::kNotFound);
  EXPECT_EQ(missing.engine.error().message, "no model lies in missing");
  Started ends("ends at once");
  ASSERT_FALSE(ends.engine);
  EXPECT_THAT(ends.engine.error().message, HasSubstr("ended while it loaded the model: exit status 4"));
  Started hangs("hangs at once", {.load_deadline = std::chrono::milliseconds(50)});
  ASSERT_FALSE(hangs.engine);
  EXPECT_EQ(hangs.engine.error().code, Code::kDeadlineExceeded);
  Started garbage("garbage");
  ASSERT_FALSE(garbage.engine);
  EXPECT_EQ(garbage.engine.error().code, Code::kDataLoss);
}

TEST(RemoteEngine, MemoryOfBatchesIsBounded) {
  Started started("well", {.memory_bytes_max = 1 << 20, .idle_memory_bytes_max = 1 << 20});
  ASSERT_TRUE(started.engine);
  Batcher batcher((*started).runner(0), {.rows_max = 1, .waiting_rows_max = 10'000, .texts_bytes = 100'000});
  std::future<Answer> running = ask(batcher, {kHangs});
  std::vector<std::future<Answer>> waiting;
  bool was_refused = false;
  for (int i = 0; i < 100 && !was_refused; ++i) {
    waiting.push_back(ask(batcher, {1}));
    was_refused = waiting.back().wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  }
  ASSERT_TRUE(was_refused);
  EXPECT_EQ(waiting.back().get().error().code, Code::kResourceExhausted);
  waiting.pop_back();
  (*started).end();
  for (auto& future : waiting) EXPECT_FALSE(future.get());
  EXPECT_FALSE(running.get());
}

}  // namespace
}  // namespace headrace
