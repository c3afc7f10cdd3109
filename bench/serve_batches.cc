/// What does a request cost in the batcher, and how large do batches become?
///
///   headrace_bench_serve_batches CLIENTS REQUESTS REPEATS
///
/// Each client is a thread that sends one row of 512 floats after another, and after 64 of them answers the
/// batches that are there with their own inputs, so that nobody ever waits. Writes JSON to standard output:
/// CPU seconds of each repeat, requests, batches, and the CPU seconds of copying the rows alone.

#include <algorithm>
#include <cstring>
#include <ctime>
#include <deque>
#include <iostream>
#include <mutex>
#include <thread>

#include "headrace/base/json.h"
#include "headrace/base/text.h"
#include "headrace/serve/batch/batcher.h"

namespace headrace {
namespace {

constexpr std::int64_t kWidth = 512;

struct AlignedMemory final : BatchMemory {
  explicit AlignedMemory(std::uint64_t size_bytes) : memory(size_bytes + kTensorAlignment) {}
  std::span<std::byte> bytes() override { return memory; }
  Bytes memory;
};

// Keeps batches until a client answers them, and memory for the next batch.
class EchoRunner final : public BatchRunner {
 public:
  Result<std::shared_ptr<BatchMemory>> allocate(std::uint64_t size_bytes) override {
    const std::scoped_lock lock(mutex_);
    std::unique_ptr<AlignedMemory> memory;
    if (free_.empty()) {
      memory = std::make_unique<AlignedMemory>(size_bytes);
    } else {
      memory = std::move(free_.back());
      free_.pop_back();
    }
    return std::shared_ptr<BatchMemory>(memory.release(), [this](BatchMemory* used) {
      const std::scoped_lock giving_back(mutex_);
      free_.emplace_back(static_cast<AlignedMemory*>(used));
    });
  }

  void run(ClosedBatch batch, Done done) override {
    const std::scoped_lock lock(mutex_);
    work_.emplace_back(std::move(batch), std::move(done));
  }

  void answer_all() {
    for (;;) {
      std::unique_lock lock(mutex_);
      if (work_.empty()) return;
      const auto [batch, done] = std::move(work_.front());
      work_.pop_front();
      lock.unlock();
      std::vector<std::vector<std::string_view>> views;
      auto tensors = tensors_of(batch.layout, batch.memory->bytes(), batch.rows, views);
      done(BatchOutputs{*std::move(tensors), batch.memory});
    }
  }

 private:
  std::mutex mutex_;
  std::deque<std::pair<ClosedBatch, Done>> work_;
  std::vector<std::unique_ptr<AlignedMemory>> free_;
};

double cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

constexpr std::uint64_t kAtOnce = 64;

void send(Batcher& batcher, EchoRunner& runner, std::uint64_t requests) {
  const std::vector<RowTensor> row = {{DataType::kFloat32, {kWidth}}};
  const std::vector<float> features(kWidth, 1);
  for (std::uint64_t i = 0; i < requests; ++i) {
    auto rows = batcher.reserve(1, row);
    if (!rows) std::abort();
    std::memcpy(rows->at(0, 0), features.data(), rows->row_bytes(0));
    std::move(*rows).commit([](const Result<BatchAnswers>& answers) {
      if (!answers) std::abort();
    });
    if (i % kAtOnce == kAtOnce - 1) runner.answer_all();
  }
}

double copy(std::uint64_t requests) {
  const std::vector<float> features(kWidth, 1);
  Bytes target(kWidth * sizeof(float) * 64);
  const double begun = cpu_seconds();
  for (std::uint64_t i = 0; i < requests; ++i) {
    std::memcpy(target.data() + (i % 64) * kWidth * sizeof(float), features.data(), kWidth * sizeof(float));
    asm volatile("" : : "r"(target.data()) : "memory");
  }
  return cpu_seconds() - begun;
}

Json measure(std::uint64_t clients, std::uint64_t requests) {
  EchoRunner runner;
  Batcher batcher(runner, {.rows_max = 64, .waiting_rows_max = 1 << 20});
  const double begun = cpu_seconds();
  {
    std::vector<std::jthread> threads;
    for (std::uint64_t i = 0; i < clients; ++i)
      threads.emplace_back([&] { send(batcher, runner, requests / clients); });
  }
  while (batcher.counts().requests_in_flight != 0) runner.answer_all();
  const Batcher::Counts counts = batcher.counts();
  return Json{{"cpu_seconds", cpu_seconds() - begun},
              {"requests", counts.rows},
              {"batches", counts.batches},
              {"copies", copy(requests)}};
}

}  // namespace
}  // namespace headrace

int main(int argc, char** argv) {
  using namespace headrace;
  std::vector<std::uint64_t> numbers;
  for (int i = 1; i < argc; ++i) numbers.push_back(parse_number<std::uint64_t>(argv[i]).value_or(0));
  if (numbers.size() != 3 || std::ranges::find(numbers, 0) != numbers.end()) return 2;
  Json out = Json::array();
  for (std::uint64_t i = 0; i < numbers[2]; ++i) out.push_back(measure(numbers[0], numbers[1]));
  std::cout << Json{{"repeats", std::move(out)}}.dump() << "\n";
}
