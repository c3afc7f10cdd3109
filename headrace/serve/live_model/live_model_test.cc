#include "headrace/serve/live_model/live_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <cstring>
#include <future>
#include <mutex>
#include <optional>
#include <set>
#include <thread>

#include "headrace/base/text.h"
#include "headrace/base/wire.h"
#include "headrace/serve/live_model/warm_up.h"
#include "headrace/serve/protocol/tensor_message.h"
#include "headrace/serve/protocol/tensorflow_predict.h"

namespace headrace {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

// The test sets what is wanted.
class TestSource final : public ModelSource {
 public:
  struct Shared {
    std::mutex mutex;
    WantedVersions wanted;
    std::optional<Error> error;
    int polls = 0;
  };
  explicit TestSource(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) { take(); }

  Result<bool> poll(const CallOptions&) override {
    const std::scoped_lock lock(shared_->mutex);
    ++shared_->polls;
    if (shared_->error) return *shared_->error;
    const bool has_changed = !is_same(wanted_, shared_->wanted);
    wanted_ = shared_->wanted;
    return has_changed;
  }
  const WantedVersions& wanted() const override { return wanted_; }
  std::string describe() const override { return "a test"; }

 private:
  void take() {
    const std::scoped_lock lock(shared_->mutex);
    wanted_ = shared_->wanted;
  }
  const std::shared_ptr<Shared> shared_;
  WantedVersions wanted_;
};

ServedModel adding_model() {
  return {{{.name = "serving_default",
            .inputs = {{"x", DataType::kFloat32, {-1}}},
            .outputs = {{"y", DataType::kFloat32, {-1}}},
            .is_batched = true}}};
}

class OwnMemory final : public BatchMemory {
 public:
  explicit OwnMemory(std::size_t size) : bytes_(size + kTensorAlignment) {}
  std::span<std::byte> bytes() override {
    const auto address = reinterpret_cast<std::uintptr_t>(bytes_.data());
    const std::size_t begin = (kTensorAlignment - address % kTensorAlignment) % kTensorAlignment;
    return std::span(bytes_).subspan(begin, bytes_.size() - kTensorAlignment);
  }

 private:
  Bytes bytes_;
};

// Adds the version's number; each batch in a thread of its own. While it is held, batches wait.
class AddingModel final : public LoadedModel, public BatchRunner {
 public:
  struct Control {
    std::mutex mutex;
    std::condition_variable changed;
    bool is_held = false;
    std::function<void()> on_end;
    std::mutex end_mutex;
    std::optional<Error> end;
    void crash(const std::string& why) {
      {
        const std::scoped_lock lock(end_mutex);
        end = Error{Code::kUnavailable, why};
      }
      on_end();
    }
    std::atomic<int> alive = 0;
    Result<LoggedRecords> records = LoggedRecords{};
    float crashes_at = -1;  // this value
    std::vector<float> seen{};
  };
  AddingModel(float added, std::shared_ptr<Control> control) : added_(added), control_(std::move(control)) {
    ++control_->alive;
  }
  ~AddingModel() override {
    threads_.clear();
    --control_->alive;
  }

  const ServedModel& model() const override { return model_; }
  BatchRunner& runner(std::size_t) override { return *this; }
  void end() override {
    const std::scoped_lock lock(control_->mutex);
    has_ended_ = true;
    control_->changed.notify_all();
  }
  std::optional<Error> ended() const override {
    const std::scoped_lock lock(control_->end_mutex);
    return control_->end;
  }
  Result<LoggedRecords> warm_up_records(const CallOptions&) override { return control_->records; }
  Result<std::shared_ptr<BatchMemory>> allocate(std::uint64_t size) override {
    return std::shared_ptr<BatchMemory>(std::make_shared<OwnMemory>(size));
  }
  void run(ClosedBatch batch, Done done) override {
    const std::scoped_lock lock(threads_mutex_);
    threads_.emplace_back([this, batch = std::move(batch), done = std::move(done)] {
      std::unique_lock waiting(control_->mutex);
      control_->changed.wait(waiting, [this] { return !control_->is_held || has_ended_; });
      const bool has_ended = has_ended_;
      float first = 0;
      std::memcpy(&first, batch.memory->bytes().data(), sizeof first);
      control_->seen.push_back(first);
      waiting.unlock();
      if (first == control_->crashes_at) {
        control_->crash("killed by a request");
        return done(Error{Code::kUnavailable, "killed by a request"});
      }
      if (has_ended) return done(Error{Code::kUnavailable, "the engine has ended"});
      auto values = std::make_shared<std::vector<float>>(batch.rows);
      std::memcpy(values->data(), batch.memory->bytes().data(), batch.rows * sizeof(float));
      for (float& value : *values) value += added_;
      BatchOutputs outputs;
      outputs.tensors = {TensorView::of(values->data(), {static_cast<std::int64_t>(batch.rows)})};
      outputs.owner = values;
      done(std::move(outputs));
    });
  }

 private:
  const ServedModel model_ = adding_model();
  const float added_;
  const std::shared_ptr<Control> control_;
  bool has_ended_ = false;
  std::mutex threads_mutex_;
  std::vector<std::jthread> threads_;
};

// PredictionLog messages, each of one value.
LoggedRecords records_of(const std::vector<float>& values, std::string_view input = "x") {
  LoggedRecords out;
  for (const float value : values) {
    AnswerOutput tensor{.name = input};
    tensor.parts = {{{DataType::kFloat32, {}, &value, {}}, 0, 1, Shape()}};
    Bytes request;
    append_model_specification(request, 1, "any", {}, "");
    EXPECT_TRUE(append_tensor_entry(request, 2, tensor, true));
    Bytes log;
    WireWriter(log).message(6, [&](WireWriter& predict) { predict.bytes(1, request); });
    out.files.push_back(std::make_shared<const Bytes>(std::move(log)));
    out.records.emplace_back(*out.files.back());
  }
  return out;
}

class LiveModelTest : public testing::Test {
 protected:
  void want(std::map<std::uint64_t, std::string> versions, decltype(WantedVersions::labels) labels) {
    WantedVersions wanted;
    for (const auto& [number, digest] : versions) {
      auto version = std::make_shared<WantedVersion>();
      version->number = number;
      version->digest = digest;
      wanted.versions.push_back(std::move(version));
    }
    wanted.labels = std::move(labels);
    const std::scoped_lock lock(shared->mutex);
    shared->wanted = std::move(wanted);
  }

  void start() {
    LiveModelParts parts;
    parts.open_source = [this](const CallOptions&) -> Result<std::unique_ptr<ModelSource>> {
      const std::scoped_lock lock(mutex);
      if (source_error) return *source_error;
      return std::unique_ptr<ModelSource>(std::make_unique<TestSource>(shared));
    };
    parts.load = [this](const WantedVersion& version, const auto& on_state, auto on_end,
                        const std::stop_token& stop) -> Result<std::unique_ptr<LoadedModel>> {
      on_state(VersionState::kLoading);
      std::unique_lock lock(mutex);
      loads.push_back(version.digest);
      if (hanging.contains(version.digest)) {
        std::condition_variable_any stopped;
        stopped.wait(lock, stop, [] { return false; });
        return Error{Code::kCancelled, "loading was stopped"};
      }
      if (failing.contains(version.digest)) return Error{Code::kDataLoss, "it is damaged"};
      auto& control = controls[version.digest];
      if (!control) control = std::make_shared<AddingModel::Control>();
      control->on_end = std::move(on_end);
      if (!crashing.contains(version.digest)) {
        const std::scoped_lock end_lock(control->end_mutex);
        control->end.reset();
      }
      return std::unique_ptr<LoadedModel>(
          std::make_unique<AddingModel>(static_cast<float>(version.number), control));
    };
    parts.remark = [this](const std::string& text) {
      const std::scoped_lock lock(mutex);
      remarks.push_back(text);
    };
    live = std::make_unique<LiveModel>("m", std::move(parts), options);
  }

  void wait_until(const std::function<bool()>& is_so) {
    for (int i = 0; i < 20'000 && !is_so(); ++i) std::this_thread::sleep_for(milliseconds(1));
    ASSERT_TRUE(is_so());
  }
  void wait_for_version(std::uint64_t number) {
    wait_until([&] {
      const auto found = live->find({}, {});
      return found && (*found)->number() == number;
    });
  }

  // 10 + the number of the version that answers; none: an error.
  std::future<Result<float>> ask(std::optional<std::uint64_t> version = {},
                                 std::optional<std::string_view> label = {}) {
    auto promise = std::make_shared<std::promise<Result<float>>>();
    auto future = promise->get_future();
    auto found = live->find(version, label);
    if (!found) {
      promise->set_value(found.error());
      return future;
    }
    auto rows = (*found)->batcher(0).reserve(1, {{DataType::kFloat32, Shape()}});
    if (!rows) {
      promise->set_value(rows.error());
      return future;
    }
    const float ten = 10;
    std::memcpy(rows->at(0, 0), &ten, sizeof ten);
    std::move(*rows).commit([promise, held = *found](const Result<BatchAnswers>& answers) {
      if (!answers) return promise->set_value(answers.error());
      const AnswerPiece& piece = answers->front();
      promise->set_value(static_cast<const float*>(piece.outputs->tensors[0].data)[piece.first_row]);
    });
    return future;
  }

  LiveModelOptions options{.poll_each = milliseconds(4),
                           .retry_first = milliseconds(2),
                           .retry_last = milliseconds(8),
                           .attend_each = milliseconds(2)};
  const std::shared_ptr<TestSource::Shared> shared = std::make_shared<TestSource::Shared>();
  std::optional<Error> source_error;
  std::mutex mutex;
  std::set<std::string> failing, hanging, crashing;
  std::vector<std::string> loads;
  std::map<std::string, std::shared_ptr<AddingModel::Control>> controls;
  std::vector<std::string> remarks;
  std::unique_ptr<LiveModel> live;
};

TEST_F(LiveModelTest, NothingIsThereYet) {
  start();
  EXPECT_FALSE(live->is_ready());
  const auto found = live->find({}, {});
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, Code::kUnavailable);
  EXPECT_THAT(found.error().message, HasSubstr("the model m has no version yet"));
}

TEST_F(LiveModelTest, RequestsGoToTheVersionThatTheyName) {
  want({{1, "a"}, {2, "b"}, {5, "c"}}, {{"latest", 2}, {"old", 1}});
  start();
  wait_until([&] { return live->ready_versions().size() == 3 && live->labels().size() == 2; });
  EXPECT_EQ(*ask().get(), 12) << "latest";
  EXPECT_EQ(*ask(5).get(), 15);
  EXPECT_EQ(*ask({}, "old").get(), 11);
  EXPECT_EQ(ask(3).get().error().code, Code::kNotFound);
  EXPECT_EQ(ask({}, "new").get().error().code, Code::kNotFound);
  for (const VersionStatus& status : live->statuses()) EXPECT_EQ(status.state, VersionState::kReady);
}

TEST_F(LiveModelTest, TheServersChoiceLeavesOutAVersionIfThereIsAnother) {
  want({{1, "a"}, {2, "b"}}, {{"latest", 2}, {"candidate", 2}});
  failing.insert("a");
  start();
  wait_for_version(2);
  const auto chosen = [&](VersionName besides) { return live->find({}, {}, {std::move(besides)}); };
  EXPECT_EQ((*chosen(1U))->number(), 2U);
  EXPECT_EQ((*chosen(std::string("nobody")))->number(), 2U);
  EXPECT_EQ(chosen(2U).error().code, Code::kUnavailable) << "version 1 is there, though not ready";
  {
    const std::scoped_lock lock(mutex);
    failing.clear();
  }
  wait_until([&] { return chosen(2U).has_value(); });
  EXPECT_EQ((*chosen(2U))->number(), 1U);
  EXPECT_EQ((*chosen(std::string("candidate")))->number(), 1U);
  want({{2, "b"}}, {{"latest", 2}});
  wait_until([&] { return (*chosen(2U))->number() == 2U; });
}

TEST_F(LiveModelTest, ANewVersionIsSwitchedToWithoutALostRequest) {
  want({{1, "a"}}, {{"latest", 1}});
  start();
  wait_for_version(1);
  std::atomic<bool> is_over = false;
  std::atomic<int> failed = 0, asked = 0;
  std::vector<std::jthread> clients;
  for (int i = 0; i < 3; ++i) {
    clients.emplace_back([&] {
      while (!is_over) {
        const auto answer = ask().get();
        failed += !answer;
        ++asked;
      }
    });
  }
  for (std::uint64_t version = 2; version < 12; ++version) {
    want({{version, concat("v", version)}}, {{"latest", version}});
    wait_for_version(version);
  }
  is_over = true;
  clients.clear();
  EXPECT_EQ(failed, 0);
  EXPECT_GT(asked, 10);
  wait_until([&] { return live->statuses().size() == 1; });
  EXPECT_EQ(controls.at("v5")->alive, 0) << "versions that nobody wants are ended";
}

TEST_F(LiveModelTest, AFailureKeepsTheVersionThatIsReady) {
  want({{1, "a"}}, {{"latest", 1}});
  failing = {"b"};
  start();
  wait_for_version(1);
  want({{2, "b"}}, {{"latest", 2}});
  wait_until([&] {
    const std::scoped_lock lock(mutex);
    return std::ranges::count(loads, "b") >= 3;
  });
  EXPECT_EQ(*ask().get(), 11);
  EXPECT_THAT(live->labels(), ElementsAre(Pair("latest", 1)));
  const auto statuses = live->statuses();
  ASSERT_EQ(statuses.size(), 2);
  EXPECT_EQ(statuses[0].state, VersionState::kReady);
  EXPECT_EQ(ask(2).get().error().code, Code::kUnavailable);
  {
    const std::scoped_lock lock(mutex);
    failing.clear();
  }
  wait_for_version(2);
}

TEST_F(LiveModelTest, OtherContentUnderTheSameNumberIsSwitchedToWhenItIsReady) {
  want({{1, "a"}}, {{"latest", 1}});
  start();
  wait_for_version(1);
  {
    const std::scoped_lock lock(mutex);
    failing = {"b"};
  }
  want({{1, "b"}}, {{"latest", 1}});
  wait_until([&] {
    const std::scoped_lock lock(mutex);
    return std::ranges::count(loads, "b") >= 2;
  });
  EXPECT_EQ((*live->find({}, {}))->digest(), "a");
  {
    const std::scoped_lock lock(mutex);
    failing.clear();
  }
  wait_until([&] { return (*live->find({}, {}))->digest() == "b"; });
}

TEST_F(LiveModelTest, AVersionWhoseEngineEndsIsLoadedAgain) {
  want({{1, "a"}}, {{"latest", 1}});
  start();
  wait_for_version(1);
  controls.at("a")->crash("a segmentation fault");
  wait_until([&] {
    const std::scoped_lock lock(mutex);
    return std::ranges::count(loads, "a") == 2;
  });
  wait_for_version(1);
  EXPECT_EQ(*ask().get(), 11);
  wait_until([&] { return controls.at("a")->alive == 1; });
  const std::scoped_lock lock(mutex);
  EXPECT_THAT(remarks, testing::Contains(HasSubstr("version 1 failed, and is tried again in 2 ms: a seg")));
}

TEST_F(LiveModelTest, RequestsWaitForAVersionThatIsComingBack) {
  options.retry_first = milliseconds(50);
  want({{1, "a"}}, {{"latest", 1}});
  start();
  wait_for_version(1);
  controls.at("a")->crash("a segmentation fault");
  wait_until([&] { return !live->find({}, {}); });
  std::promise<Result<std::shared_ptr<ServedVersion>>> promise, late;
  const auto never = std::chrono::steady_clock::time_point::max();
  live->await({}, {}, never, [&](auto found) { promise.set_value(std::move(found)); });
  live->await({}, {}, {}, [&](auto found) { late.set_value(std::move(found)); });
  const auto found = promise.get_future().get();
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ((*found)->number(), 1);
  EXPECT_EQ(late.get_future().get().error().code, Code::kDeadlineExceeded);
}

TEST_F(LiveModelTest, AVersionThatEndsAgainAndAgainIsTriedLaterAndLater) {
  options.retry_first = milliseconds(10);
  options.retry_last = milliseconds(100'000);
  want({{1, "a"}}, {{"latest", 1}});
  start();
  wait_for_version(1);
  {
    const std::scoped_lock lock(mutex);
    crashing = {"a"};
  }
  controls.at("a")->crash("a segmentation fault");
  wait_until([&] {
    const std::scoped_lock lock(mutex);
    return std::ranges::any_of(remarks, [](const std::string& remark) {
      return remark.find("tried again in 40 ms") != remark.npos;
    });
  });
  EXPECT_EQ(live->find({}, {}).error().code, Code::kUnavailable);
}

TEST_F(LiveModelTest, AVersionThatIsNotWantedComesBackWhileItsSuccessorFails) {
  want({{1, "a"}}, {{"latest", 1}});
  start();
  wait_for_version(1);
  {
    const std::scoped_lock lock(mutex);
    failing = {"b"};
  }
  want({{2, "b"}}, {});  // and its label is gone
  wait_until([&] {
    const std::scoped_lock lock(mutex);
    return std::ranges::count(loads, "b") >= 2;
  });
  controls.at("a")->crash("a segmentation fault");
  wait_until([&] {
    const std::scoped_lock lock(mutex);
    return std::ranges::count(loads, "a") >= 2;
  });
  wait_until([&] { return live->find(1, {}).has_value(); });
}

TEST_F(LiveModelTest, NobodyWaitsForAVersionThatFailsAgain) {
  want({{1, "a"}}, {{"latest", 1}});
  start();
  wait_for_version(1);
  {
    const std::scoped_lock lock(mutex);
    failing = {"a"};
  }
  controls.at("a")->crash("a segmentation fault");
  wait_until([&] { return !live->find({}, {}); });
  std::promise<Result<std::shared_ptr<ServedVersion>>> promise;
  live->await({}, {}, std::chrono::steady_clock::time_point::max(),
              [&](auto found) { promise.set_value(std::move(found)); });
  EXPECT_EQ(promise.get_future().get().error().code, Code::kUnavailable);
}

TEST_F(LiveModelTest, AStoreThatFailsChangesNothing) {
  want({{1, "a"}}, {{"latest", 1}});
  start();
  wait_for_version(1);
  {
    const std::scoped_lock lock(shared->mutex);
    shared->error = Error{Code::kUnavailable, "the store is gone"};
    shared->polls = 0;
  }
  wait_until([&] {
    const std::scoped_lock lock(shared->mutex);
    return shared->polls >= 5;
  });
  EXPECT_EQ(*ask().get(), 11);
  const std::scoped_lock lock(mutex);
  EXPECT_EQ(std::ranges::count(remarks, "m: the store is gone"), 1) << "it is said once";
}

TEST_F(LiveModelTest, ASourceThatCannotBeOpenedIsTriedAgain) {
  source_error = Error{Code::kUnavailable, "no such host"};
  want({{1, "a"}}, {{"latest", 1}});
  start();
  wait_until([&] {
    const std::scoped_lock lock(mutex);
    return !remarks.empty();
  });
  {
    const std::scoped_lock lock(mutex);
    source_error.reset();
  }
  wait_for_version(1);
}

TEST_F(LiveModelTest, ALoadThatHangsHoldsUpNobodyAndIsStopped) {
  want({{1, "a"}}, {{"latest", 1}});
  start();
  wait_for_version(1);
  {
    const std::scoped_lock lock(mutex);
    hanging = {"b"};
  }
  want({{2, "b"}}, {{"latest", 2}});
  wait_until([&] {
    const auto statuses = live->statuses();
    return statuses.size() == 2 && statuses[1].state == VersionState::kLoading;
  });
  EXPECT_EQ(*ask().get(), 11);
  controls.at("a")->crash("a segmentation fault");
  wait_until([&] {
    const std::scoped_lock lock(mutex);
    return std::ranges::count(loads, "a") == 2;  // the other load makes way
  });
  wait_until([&] { return live->find(1, {}).has_value(); });
  live.reset();
}

TEST_F(LiveModelTest, ItsEndWaitsForRequestsInFlight) {
  want({{1, "a"}}, {{"latest", 1}});
  start();
  wait_for_version(1);
  auto& control = *controls.at("a");
  {
    const std::scoped_lock lock(control.mutex);
    control.is_held = true;
  }
  auto answer = ask();
  std::jthread ending([&] { live.reset(); });
  EXPECT_EQ(answer.wait_for(milliseconds(20)), std::future_status::timeout);
  {
    const std::scoped_lock lock(control.mutex);
    control.is_held = false;
    control.changed.notify_all();
  }
  EXPECT_EQ(*answer.get(), 11);
}

TEST_F(LiveModelTest, RequestsThatTakeTooLongAreEnded) {
  options.drain_max = milliseconds(10);
  want({{1, "a"}}, {{"latest", 1}});
  start();
  wait_for_version(1);
  {
    auto& control = *controls.at("a");
    const std::scoped_lock lock(control.mutex);
    control.is_held = true;
  }
  auto answer = ask();
  live.reset();
  EXPECT_EQ(answer.get().error().code, Code::kUnavailable);
}

class WarmUpTest : public LiveModelTest {
 protected:
  WarmUpTest() {
    controls["a"] = control;
    want({{1, "a"}}, {});
  }
  std::vector<float> seen_when_ready() {
    start();
    wait_for_version(1);
    const std::scoped_lock lock(control->mutex);
    return control->seen;
  }
  std::string all_remarks() {
    const std::scoped_lock lock(mutex);
    return join(remarks, "\n");
  }
  const std::shared_ptr<AddingModel::Control> control = std::make_shared<AddingModel::Control>();
};

TEST_F(WarmUpTest, RecordsAreRunAfterZerosAndBeforeTheVersionIsReady) {
  control->records = records_of({3, 4});
  EXPECT_THAT(seen_when_ready(), ElementsAre(0, 3, 4));
  EXPECT_THAT(all_remarks(), HasSubstr("m: version 1, its warm-up requests: 2 ran\n"));
}

TEST_F(WarmUpTest, RecordsThatDoNotFitAreLeftOut) {
  LoggedRecords records = records_of({1}, "of another model");
  for (const char* const text : {"", "\x12\x00", "no message"}) records.records.push_back(as_bytes(text));
  const LoggedRecords good = records_of({5});
  records.records.push_back(good.records[0]);
  records.remark = "the file is damaged";
  control->records = std::move(records);
  EXPECT_THAT(seen_when_ready(), ElementsAre(0, 5));
  EXPECT_THAT(all_remarks(), HasSubstr("m: version 1, its warm-up requests: the file is damaged\n"));
  EXPECT_THAT(all_remarks(), HasSubstr("1 ran, 4 left out, the first for: record 0: "));
}

TEST_F(WarmUpTest, RecordsThatCannotBeReadAreRemarked) {
  control->records = Error{Code::kPermissionDenied, "not yours"};
  EXPECT_THAT(seen_when_ready(), ElementsAre(0));
  EXPECT_THAT(all_remarks(), HasSubstr("m: version 1 warms up without requests: not yours"));
}

TEST_F(WarmUpTest, ARecordThatEndsTheEngineCostsOneLoad) {
  control->records = records_of({666, 1});
  control->crashes_at = 666;
  EXPECT_THAT(seen_when_ready(), ElementsAre(0, 666, 0));
  EXPECT_THAT(loads, ElementsAre("a", "a"));
  EXPECT_EQ(*ask().get(), 11);
}

TEST_F(WarmUpTest, TheTimeOfRecordsIsBounded) {
  ServedVersion version(1, "a", std::make_unique<AddingModel>(1.0F, control), {});
  control->on_end = [] {};
  {
    const std::scoped_lock lock(control->mutex);
    control->is_held = true;
  }
  const auto report = run_records(version, records_of({1, 2, 3}), {}, {.record_time = milliseconds(1)});
  ASSERT_TRUE(report);
  EXPECT_EQ(report->ran, 0U);
  EXPECT_EQ(report->left_out, 3U) << "the first still has the lane";
  EXPECT_EQ(report->first_left_out.error().code, Code::kDeadlineExceeded);
  const auto late = run_records(version, records_of({1}), {}, {.time = milliseconds(0)});
  EXPECT_EQ(late->left_out, 1U);
  version.end();
  wait_until([&] { return version.is_idle(); });
}

}  // namespace
}  // namespace headrace
