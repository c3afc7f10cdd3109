#pragma once

/// \file A model for tests: versions that answer with their inputs, loaded at once or when a test says so.

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "headrace/serve/live_model/live_model.h"
#include "headrace/serve/protocol/echo_test.h"

namespace headrace {

/// Answers a batch in place of the model of a version.
using VersionAnswer = std::function<Result<BatchOutputs>(
    std::uint64_t version, std::vector<TensorView> inputs, std::shared_ptr<const void> owner)>;

// Answers each batch from a thread of its own.
class EchoingModel final : public LoadedModel, public BatchRunner {
 public:
  EchoingModel(std::uint64_t version, VersionAnswer answer) : version_(version), answer_(std::move(answer)) {}
  const ServedModel& model() const override { return model_; }
  BatchRunner& runner(std::size_t) override { return *this; }
  void end() override {}
  std::optional<Error> ended() const override { return std::nullopt; }
  Result<std::shared_ptr<BatchMemory>> allocate(std::uint64_t size_bytes) override {
    return std::shared_ptr<BatchMemory>(std::make_shared<EchoMemory>(size_bytes));
  }
  void run(ClosedBatch batch, Done done) override {
    const std::scoped_lock lock(mutex_);
    threads_.emplace_back([this, batch = std::move(batch), done = std::move(done)] {
      std::vector<std::vector<std::string_view>> texts;
      auto inputs = tensors_of(batch.layout, batch.memory->bytes(), batch.rows, texts);
      done(answer_(version_, *std::move(inputs), batch.memory));
    });
  }

 private:
  const std::uint64_t version_;
  const VersionAnswer answer_;
  const ServedModel model_{{{.name = "serving_default",
                             .inputs = {{"x", DataType::kFloat32, {-1}}},
                             .outputs = {{"x", DataType::kFloat32, {-1}}},
                             .is_batched = true}}};
  std::mutex mutex_;
  std::vector<std::jthread> threads_;
};

// A source whose versions never change.
class FixedVersions final : public ModelSource {
 public:
  explicit FixedVersions(const std::vector<std::uint64_t>& numbers) {
    for (const std::uint64_t number : numbers) {
      auto version = std::make_shared<WantedVersion>();
      version->number = number;
      version->digest = "digest";
      wanted_.versions.push_back(std::move(version));
    }
  }
  Result<bool> poll(const CallOptions&) override { return false; }
  const WantedVersions& wanted() const override { return wanted_; }
  std::string describe() const override { return "a test"; }

 private:
  WantedVersions wanted_;
};

/// Starts a model with these versions. Versions fail to load until `*can_load` is true; null: they never
/// fail. Versions answer with their inputs unless `answer` is given.
inline std::shared_ptr<LiveModel> start_test_model(const std::string& name,
                                                   const std::vector<std::uint64_t>& versions,
                                                   std::shared_ptr<std::atomic<bool>> can_load = nullptr,
                                                   VersionAnswer answer = nullptr) {
  if (!answer) {
    answer = [](std::uint64_t, std::vector<TensorView> inputs, std::shared_ptr<const void> owner) {
      return Result<BatchOutputs>(echo_inputs(std::move(inputs), std::move(owner)));
    };
  }
  LiveModelParts parts;
  parts.open_source = [versions](const CallOptions&) {
    return Result<std::unique_ptr<ModelSource>>(std::make_unique<FixedVersions>(versions));
  };
  parts.load = [can_load, answer](const WantedVersion& version,
                                  const auto&...) -> Result<std::unique_ptr<LoadedModel>> {
    if (can_load && !*can_load) return Error{Code::kDataLoss, "it cannot be loaded yet"};
    return std::unique_ptr<LoadedModel>(std::make_unique<EchoingModel>(version.number, answer));
  };
  parts.remark = [](const std::string&) {};
  return std::make_shared<LiveModel>(name, std::move(parts),
                                     LiveModelOptions{.retry_first = std::chrono::milliseconds(1),
                                                      .retry_last = std::chrono::milliseconds(1),
                                                      .attend_each = std::chrono::milliseconds(1)});
}

}  // namespace headrace
