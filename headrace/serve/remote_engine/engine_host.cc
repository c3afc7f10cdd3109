#include "headrace/serve/remote_engine/engine_host.h"

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <thread>

#include "headrace/base/text.h"
#include "headrace/serve/batch/row_layout.h"
#include "headrace/serve/remote_engine/batch_memory_pool.h"

namespace headrace {
namespace {

constexpr auto kForever = std::chrono::steady_clock::time_point::max();
constexpr std::uint64_t kOutputBytes = std::uint64_t{64} << 30;  // the server accepts no more
constexpr std::uint64_t kIdleOutputBytes = 256 << 20;
constexpr std::chrono::milliseconds kSendAgain{1};

// The layout of outputs in one piece of memory.
class OutputPlan {
 public:
  void add(const TensorView& tensor) {
    PlacedOutput placed{.type = tensor.type, .shape = tensor.shape, .offset_bytes = end_};
    if (tensor.type == DataType::kBytes) {
      end_ = placed.texts_offset_bytes = aligned(end_ + tensor.strings.size() * sizeof(TextPlace));
      for (const std::string_view text : tensor.strings) placed.texts_bytes += text.size();
      end_ = aligned(end_ + placed.texts_bytes);
    } else {
      end_ = aligned(end_ + tensor.shape.elements() * data_type_size_bytes(tensor.type));
    }
    outputs_.push_back(placed);
  }

  const std::vector<PlacedOutput>& outputs() const { return outputs_; }
  std::uint64_t size_bytes() const { return end_; }

  static void write(const PlacedOutput& placed, const TensorView& tensor, std::span<std::byte> memory) {
    std::byte* const at = memory.data() + placed.offset_bytes;
    if (tensor.type != DataType::kBytes) {
      const std::size_t size = tensor.shape.elements() * data_type_size_bytes(tensor.type);
      if (size > 0) std::memcpy(at, tensor.data, size);
      return;
    }
    std::uint32_t offset = 0;
    for (std::size_t i = 0; i < tensor.strings.size(); ++i) {
      const std::string_view text = tensor.strings[i];
      const TextPlace place{offset, static_cast<std::uint32_t>(text.size())};
      std::memcpy(at + i * sizeof place, &place, sizeof place);
      if (!text.empty())
        std::memcpy(memory.data() + placed.texts_offset_bytes + offset, text.data(), text.size());
      offset += place.size_bytes;
    }
  }

 private:
  static std::uint64_t aligned(std::uint64_t offset) {
    return (offset + kTensorAlignment - 1) / kTensorAlignment * kTensorAlignment;
  }
  std::vector<PlacedOutput> outputs_;
  std::uint64_t end_ = 0;
};

// The server counts the whole of an unbatched input as one row.
Shape without_only_row(const Shape& shape) { return Shape(shape.sizes().subspan(1)); }

// Checks that the outputs match the signature: a model may violate it.
Status check_outputs(const ServedSignature& signature, const std::vector<Tensor>& tensors,
                     std::uint64_t rows) {
  if (tensors.size() != signature.outputs.size())
    return Error{Code::kFailedPrecondition,
                 concat("the model gave ", tensors.size(), " outputs, not ", signature.outputs.size())};
  for (std::size_t i = 0; i < signature.outputs.size(); ++i) {
    const ServedTensor& expected = signature.outputs[i];
    const Shape& shape = tensors[i].shape();
    const bool has_rows =
        !signature.is_batched || (shape.rank() > 0 && shape[0] == static_cast<std::int64_t>(rows));
    if (tensors[i].type() == expected.type && expected.shape.accepts(shape) && has_rows) continue;
    return Error{Code::kFailedPrecondition,
                 concat("the model's output ", expected.name, " is ", data_type_name(tensors[i].type()),
                        shape.text(), " for ", rows, " rows, but its signature says ",
                        data_type_name(expected.type), expected.shape.text())};
  }
  return {};
}

class EngineHost {
 public:
  explicit EngineHost(PacketSocket socket)
      : socket_(std::move(socket)),
        pool_(
            {kOutputBytes, kIdleOutputBytes},
            [this](const NumberedMemory& piece) {
              return send(MemoryOffer{piece.number(), piece.shared().bytes().size()},
                          &piece.shared().descriptor());
            },
            [this](std::uint32_t number) { static_cast<void>(send(MemoryEnd{number})); }) {}
  ~EngineHost() { end_lanes(); }
  EngineHost(const EngineHost&) = delete;
  EngineHost& operator=(const EngineHost&) = delete;

  Status run(const LoadHosted& load_hosted, const std::function<void()>& on_gone) {
    const Status end = serve(load_hosted);
    on_gone();
    return end.error().code == Code::kUnavailable ? Status() : end;
  }

 private:
  using Memory = std::shared_ptr<const SharedMemory>;
  struct Waiting {
    EngineRun run;
    Memory memory;
  };

  // Runs until it fails. Returns the reason.
  Status serve(const LoadHosted& load_hosted) {
    HEADRACE_TRY(const ReceivedMessage first, receive());
    const auto* const load = std::get_if<EngineLoad>(&first.message);
    if (load == nullptr) return Error{Code::kDataLoss, "the first message does not say what to load"};
    auto opened = open(*load, load_hosted);
    if (!opened) {
      HEADRACE_CHECK(send(EngineFailed{opened.error()}));
      return std::move(opened).error();
    }
    HEADRACE_CHECK(send(model_->about()));
    return receive_batches();
  }

  void end_lanes() {
    {
      const std::scoped_lock lock(mutex_);
      has_ended_ = true;
    }
    has_come_.notify_all();
    lanes_.clear();  // joins
  }

  Status open(const EngineLoad& load, const LoadHosted& load_hosted) {
    HEADRACE_TRY(model_, load_hosted(load));
    for (std::uint64_t i = 0; i < std::max<std::uint64_t>(load.lanes, 1); ++i) {
      HEADRACE_TRY(std::unique_ptr<HostedLane> lane, model_->open_lane());
      lanes_.emplace_back([this, lane = std::move(lane)] { run_batches(*lane); });
    }
    return {};
  }

  Result<ReceivedMessage> receive() {
    HEADRACE_TRY(Packet packet, socket_.receive(kForever, {}));
    return read_message(std::move(packet));
  }

  // Waits while the server does not receive. A server that is alive will receive.
  Status send(const EngineMessage& message, const FileDescriptor* descriptor = nullptr) {
    while (true) {
      {
        const std::scoped_lock lock(send_mutex_);
        Status sent = send_message(socket_, message, descriptor);
        if (sent || sent.error().code != Code::kResourceExhausted) return sent;
      }
      std::this_thread::sleep_for(kSendAgain);
    }
  }

  Status receive_batches() {
    while (true) {
      HEADRACE_TRY(ReceivedMessage received, receive());
      if (auto* const offer = std::get_if<MemoryOffer>(&received.message)) {
        HEADRACE_TRY(SharedMemory memory,
                     SharedMemory::map(std::move(received.descriptor), offer->size_bytes, false));
        memories_[offer->number] = std::make_shared<const SharedMemory>(std::move(memory));
      } else if (auto* const end = std::get_if<MemoryEnd>(&received.message)) {
        memories_.erase(end->number);
      } else if (auto* const was_read = std::get_if<MemoryRead>(&received.message)) {
        give_back(was_read->numbers);
      } else if (auto* const run = std::get_if<EngineRun>(&received.message)) {
        give_back(run->were_read);
        enqueue(std::move(*run));
      } else {
        return Error{Code::kDataLoss, "the server sent a message out of turn"};
      }
    }
  }

  void enqueue(EngineRun run) {
    const auto memory = memories_.find(run.memory);
    Waiting waiting{std::move(run), memory == memories_.end() ? nullptr : memory->second};
    {
      const std::scoped_lock lock(mutex_);
      waiting_.push_back(std::move(waiting));
    }
    has_come_.notify_one();
  }

  void run_batches(HostedLane& lane) {
    while (true) {
      std::unique_lock lock(mutex_);
      has_come_.wait(lock, [this] { return has_ended_ || !waiting_.empty(); });
      if (waiting_.empty()) return;
      const Waiting waiting = std::move(waiting_.front());
      waiting_.pop_front();
      lock.unlock();
      Status answered = answer(waiting, lane);
      if (!answered)
        static_cast<void>(send(EngineRan{.batch = waiting.run.batch, .error = std::move(answered).error()}));
    }
  }

  Status answer(const Waiting& waiting, HostedLane& lane) {
    const EngineRun& run = waiting.run;
    const std::vector<ServedSignature>& signatures = model_->about().model.signatures;
    if (run.signature >= signatures.size() || !waiting.memory)
      return Error{Code::kDataLoss, "the server named a signature or a memory that does not exist"};
    const ServedSignature& signature = signatures[run.signature];
    HEADRACE_TRY(const BatchLayout layout, layout_of(run, signature, waiting.memory->bytes().size()));
    std::vector<std::vector<std::string_view>> views;
    HEADRACE_TRY(std::vector<TensorView> inputs,
                 tensors_of(layout, waiting.memory->bytes(), run.rows, views));
    if (!signature.is_batched) {
      for (TensorView& input : inputs) input.shape = without_only_row(input.shape);
    }
    HEADRACE_TRY(HostedOutputs outputs, lane.run(run.signature, inputs));
    HEADRACE_CHECK(check_outputs(signature, outputs.tensors, run.rows));
    if (!outputs.failed_rows.empty()) {
      std::vector<std::string> reasons(run.rows);
      for (auto& [row, reason] : outputs.failed_rows) {
        if (row < reasons.size()) reasons[row] = std::move(reason);
      }
      outputs.tensors.emplace_back(Shape{static_cast<std::int64_t>(run.rows)}, std::move(reasons));
    }
    return send_outputs(run.batch, outputs.tensors);
  }

  static Result<BatchLayout> layout_of(const EngineRun& run, const ServedSignature& signature,
                                       std::uint64_t memory_bytes) {
    const Error refusal{Code::kDataLoss, "the server sent a batch that does not fit its memory"};
    if (run.row_shapes.size() != signature.inputs.size() || run.rows > run.rows_max) return refusal;
    std::vector<RowTensor> inputs;
    for (std::size_t i = 0; i < run.row_shapes.size(); ++i)
      inputs.push_back({signature.inputs[i].type, run.row_shapes[i]});
    HEADRACE_CHECK(check_layout(inputs, run.rows_max, run.texts_bytes));
    BatchLayout layout(std::move(inputs), run.rows_max, run.texts_bytes);
    if (layout.size_bytes() > memory_bytes) return refusal;
    return layout;
  }

  void give_back(const std::vector<std::uint32_t>& numbers) {
    const std::scoped_lock lock(in_use_mutex_);
    for (const std::uint32_t number : numbers) in_use_.erase(number);
  }

  Status send_outputs(std::uint64_t batch, const std::vector<Tensor>& tensors) {
    OutputPlan plan;
    for (const Tensor& tensor : tensors) plan.add(tensor.view());
    if (plan.size_bytes() >= std::uint64_t{1} << 32)
      return Error{Code::kResourceExhausted, "the model's outputs for a batch take 4 GiB or more"};
    HEADRACE_TRY(std::shared_ptr<NumberedMemory> memory, pool_.take(plan.size_bytes()));
    for (std::size_t i = 0; i < tensors.size(); ++i)
      OutputPlan::write(plan.outputs()[i], tensors[i].view(), memory->bytes());
    const std::uint32_t number = memory->number();
    {
      const std::scoped_lock lock(in_use_mutex_);
      in_use_.emplace(number, std::move(memory));
    }
    return send(EngineRan{.batch = batch, .memory = number, .outputs = plan.outputs()});
  }

  PacketSocket socket_;
  std::mutex send_mutex_;
  std::unique_ptr<HostedModel> model_;
  std::map<std::uint32_t, Memory> memories_;  // the server's; used only by the receiving thread

  BatchMemoryPool pool_;  // for outputs
  std::mutex in_use_mutex_;
  std::map<std::uint32_t, std::shared_ptr<NumberedMemory>> in_use_;  // outputs that the server has not read

  std::mutex mutex_;
  std::condition_variable has_come_;
  std::deque<Waiting> waiting_;
  bool has_ended_ = false;
  std::vector<std::jthread> lanes_;
};

}  // namespace

Status host_engine(PacketSocket socket, const LoadHosted& load_hosted, const std::function<void()>& on_gone) {
  return EngineHost(std::move(socket)).run(load_hosted, on_gone);
}

}  // namespace headrace
