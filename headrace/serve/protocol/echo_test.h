#pragma once

/// \file For tests: a batcher whose batches are answered by a function instead of a model.

#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "headrace/base/bytes.h"
#include "headrace/serve/batch/batcher.h"
#include "headrace/serve/protocol/bound_request.h"

namespace headrace {

class EchoMemory final : public BatchMemory {
 public:
  explicit EchoMemory(std::uint64_t size_bytes)
      : size_bytes_(size_bytes), memory_(size_bytes + kTensorAlignment) {}
  std::span<std::byte> bytes() override {
    void* begin = memory_.data();
    std::size_t space = memory_.size();
    std::align(kTensorAlignment, size_bytes_, begin, space);
    return {static_cast<std::byte*>(begin), size_bytes_};
  }

 private:
  std::uint64_t size_bytes_;
  Bytes memory_;
};

/// Computes the outputs of a batch from its inputs, in place of a model.
using EchoModel = std::function<BatchOutputs(std::vector<TensorView>, std::shared_ptr<const void> owner)>;

/// The outputs are the inputs.
inline BatchOutputs echo_inputs(std::vector<TensorView> inputs, std::shared_ptr<const void> owner) {
  return {std::move(inputs), std::move(owner)};
}

class EchoBatches final : public BatchRunner {
 public:
  explicit EchoBatches(EchoModel model) : model_(std::move(model)) {}

  Result<std::shared_ptr<BatchMemory>> allocate(std::uint64_t size_bytes) override {
    constexpr std::uint64_t kLargest = 64 << 20;
    if (size_bytes > kLargest) return Error{Code::kResourceExhausted, "the test has no memory"};
    return std::shared_ptr<BatchMemory>(std::make_shared<EchoMemory>(size_bytes));
  }
  void run(ClosedBatch batch, Done done) override { held_.emplace_back(std::move(batch), std::move(done)); }

  void run_all() {
    while (!held_.empty()) {
      const auto [batch, done] = std::move(held_.front());
      held_.pop_front();
      struct Owner {
        std::shared_ptr<BatchMemory> memory;
        std::vector<std::vector<std::string_view>> texts{};
      };
      const auto owner = std::make_shared<Owner>(Owner{batch.memory});
      auto inputs = tensors_of(batch.layout, batch.memory->bytes(), batch.rows, owner->texts);
      if (inputs) {
        done(model_(*std::move(inputs), owner));
      } else {
        done(std::move(inputs).error());
      }
    }
  }

 private:
  EchoModel model_;
  std::deque<std::pair<ClosedBatch, Done>> held_;
};

/// Answers a request in batches of `rows_max` rows. The error is that of the first step that fails.
inline Result<BatchAnswers> run_request(const BoundRequest& request, std::uint64_t rows_max = 64,
                                        EchoModel model = echo_inputs) {
  EchoBatches batches(std::move(model));
  Batcher batcher(batches, {.rows_max = rows_max, .waiting_rows_max = 100'000, .texts_bytes = 1 << 10});
  HEADRACE_TRY(ReservedRows rows,
               batcher.reserve(request.rows(), request.row(), {.texts_bytes = request.texts_bytes()}));
  if (Status filled = request.fill(rows); !filled) {
    { const ReservedRows given_up = std::move(rows); }
    batches.run_all();
    return std::move(filled).error();
  }
  Result<BatchAnswers> out = Error{Code::kInternal, "no answer came"};
  std::move(rows).commit([&](Result<BatchAnswers> answers) { out = std::move(answers); });
  batches.run_all();
  return out;
}

}  // namespace headrace
