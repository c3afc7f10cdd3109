#include "headrace/serve/remote_engine/remote_engine.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include "headrace/base/text.h"
#include "headrace/os/spawn.h"
#include "headrace/serve/remote_engine/batch_memory_pool.h"
#include "headrace/serve/remote_engine/remote_outputs.h"

namespace headrace {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kPollInterval{1};
constexpr std::chrono::milliseconds kGrace{100};
constexpr std::uint64_t kOfferedBytesMax = std::uint64_t{64} << 30;
constexpr std::size_t kMemoriesMax = 4096;  // mapped memories of the process

// The connection to the process. Thread-safe except for `receive`.
class EngineLine {
 public:
  explicit EngineLine(PacketSocket socket) : socket_(std::move(socket)) {}

  Status send(const EngineMessage& message, const FileDescriptor* descriptor = nullptr) {
    return send_message(socket_, message, descriptor);
  }
  // Sends a batch, and tells the process which outputs were read.
  Status send_run(EngineRun run) {
    run.were_read = take_reads();
    return send_message(socket_, std::move(run));
  }
  // The process learns about the read with the next batch, or from send_reads. A packet for each read would
  // cost as much as a batch.
  void note_read(std::uint32_t memory) {
    const std::scoped_lock lock(mutex_);
    unsent_reads_.push_back(memory);
  }
  // If the process does not receive now, the reads go with a later message.
  void send_reads() {
    MemoryRead reads{take_reads()};
    if (reads.numbers.empty() || send_message(socket_, reads)) return;
    const std::scoped_lock lock(mutex_);
    unsent_reads_.insert(unsent_reads_.end(), reads.numbers.begin(), reads.numbers.end());
  }
  // REQUIRES: only one thread calls this.
  Result<ReceivedMessage> receive(Clock::time_point deadline, const std::stop_token& stop) {
    HEADRACE_TRY(Packet packet, socket_.receive(deadline, stop));
    return read_message(std::move(packet));
  }

 private:
  std::vector<std::uint32_t> take_reads() {
    const std::scoped_lock lock(mutex_);
    return std::exchange(unsent_reads_, {});
  }

  PacketSocket socket_;
  std::mutex mutex_;
  std::vector<std::uint32_t> unsent_reads_;
};

// Outputs of the process while they are being read.
class OutputsInUse {
 public:
  OutputsInUse(std::shared_ptr<EngineLine> line, std::shared_ptr<const SharedMemory> memory,
               std::uint32_t number)
      : line_(std::move(line)), memory_(std::move(memory)), number_(number) {}
  ~OutputsInUse() { line_->note_read(number_); }
  OutputsInUse(const OutputsInUse&) = delete;
  OutputsInUse& operator=(const OutputsInUse&) = delete;

 private:
  const std::shared_ptr<EngineLine> line_;
  const std::shared_ptr<const SharedMemory> memory_;
  const std::uint32_t number_;
};

}  // namespace

class RemoteEngine::Core {
 public:
  Core(pid_t process, std::shared_ptr<EngineLine> line, std::string name, const RemoteEngineOptions& options)
      : process_(process),
        line_(std::move(line)),
        name_(std::move(name)),
        options_(options),
        pool_(
            {options.memory_bytes_max, options.idle_memory_bytes_max},
            [line = line_](const NumberedMemory& piece) {
              return line->send(MemoryOffer{piece.number(), piece.shared().bytes().size()},
                                &piece.shared().descriptor());
            },
            [line = line_](std::uint32_t number) { static_cast<void>(line->send(MemoryEnd{number})); }) {}

  ~Core() {
    end();
    thread_.request_stop();
    if (thread_.joinable()) thread_.join();
  }
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;

  Status load(const EngineLoad& load, const std::stop_token& stop) {
    // The process may have ended before it was asked to load.
    if (Status sent = line_->send(load); !sent)
      return lost(std::move(sent).error(), "while it loaded the model");
    const Clock::time_point deadline = Clock::now() + options_.load_deadline;
    auto received = line_->receive(deadline, stop);
    if (!received) return lost(std::move(received).error(), "while it loaded the model");
    if (const auto* failed = std::get_if<EngineFailed>(&received->message)) return failed->error;
    auto* loaded = std::get_if<EngineLoaded>(&received->message);
    if (loaded == nullptr) return lost(unexpected(), "while it loaded the model");
    about_ = std::move(*loaded);
    for (std::size_t i = 0; i < about_.model.signatures.size(); ++i)
      runners_.push_back(std::make_unique<Runner>(*this, i));
    return {};
  }

  void listen(std::function<void()> on_end) {
    on_end_ = std::move(on_end);
    thread_ = std::jthread([this](const std::stop_token& stop) { listen_until(stop); });
  }

  void end() {
    is_ended_on_purpose_ = true;
    set_ended({Code::kUnavailable, concat(name_, " is no longer served")});
    end_process({});
  }

  std::optional<Error> ended() const {
    const std::scoped_lock lock(mutex_);
    return ended_;
  }
  const EngineLoaded& about() const { return about_; }
  pid_t process() const { return process_; }
  BatchRunner& runner(std::size_t signature) { return *runners_[signature]; }

 private:
  struct Running {
    std::size_t signature;
    ClosedBatch batch;
    BatchRunner::Done done;
    Clock::time_point since;
  };

  class Runner final : public BatchRunner {
   public:
    Runner(Core& core, std::size_t signature) : core_(core), signature_(signature) {}
    Result<std::shared_ptr<BatchMemory>> allocate(std::uint64_t size_bytes) override {
      HEADRACE_TRY(std::shared_ptr<NumberedMemory> memory, core_.pool_.take(size_bytes));
      return std::shared_ptr<BatchMemory>(std::move(memory));
    }
    void run(ClosedBatch batch, Done done) override {
      core_.run(signature_, std::move(batch), std::move(done));
    }

   private:
    Core& core_;
    const std::size_t signature_;
  };

  static Error unexpected() { return {Code::kDataLoss, "the engine process sent a message out of turn"}; }

  // Ends the process. The error says how it ended if that is why the connection was lost.
  Error lost(Error error, std::string_view when) {
    const std::string how = end_process(kGrace);
    if (error.code != Code::kUnavailable) return std::move(error).in(concat("the engine of ", name_));
    return {Code::kUnavailable, concat("the engine of ", name_, " ended ", when, ": ", how,
                                       "; what it wrote to standard error may say why")};
  }

  // Ends the process after `grace`, and returns how it ended. A process that has closed its connection is
  // about to end by itself.
  std::string end_process(std::chrono::milliseconds grace) {
    const std::scoped_lock lock(process_mutex_);
    if (has_ended_) return how_it_ended_;
    for (const Clock::time_point patience_ends = Clock::now() + grace;
         Clock::now() < patience_ends && !is_to_be_reaped(process_);)
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    how_it_ended_ = describe_end(kill_and_reap(process_));
    has_ended_ = true;
    return how_it_ended_;
  }

  void run(std::size_t signature, ClosedBatch batch, BatchRunner::Done done) {
    const auto& memory = static_cast<const NumberedMemory&>(*batch.memory);
    EngineRun message{.signature = static_cast<std::uint32_t>(signature),
                      .memory = memory.number(),
                      .rows = batch.rows,
                      .rows_max = batch.layout.rows_max(),
                      .texts_bytes = batch.layout.texts_bytes()};
    for (const RowTensor& input : batch.layout.inputs()) message.row_shapes.push_back(input.shape);
    {
      const std::scoped_lock lock(mutex_);
      message.batch = next_batch_++;
      running_.emplace(message.batch, Running{signature, std::move(batch), std::move(done), Clock::now()});
    }
    // If sending fails, the listener answers the batch: it finds that the process is gone, or that it must be
    // ended.
    if (!line_->send_run(std::move(message))) is_to_end_ = true;
    has_come_.notify_one();
  }

  void listen_until(const std::stop_token& stop) {
    const auto poll_interval = std::min<Clock::duration>(kPollInterval, options_.batch_deadline);
    Status good;
    while (good) {
      auto received = line_->receive(Clock::now() + poll_interval, stop);
      good = received ? handle(std::move(*received)) : Status(received.error());
      const bool is_quiet = !good && good.error().code == Code::kDeadlineExceeded;
      if (is_quiet) line_->send_reads();
      if (good || is_quiet) good = check_running();
    }
    set_ended({Code::kUnavailable, concat("the engine of ", name_, " has ended")});
    Error error = lost(std::move(good).error(), "while it ran");
    error.code = Code::kUnavailable;  // whatever the cause: the request may be retried
    if (is_ended_on_purpose_) error.message = concat(name_, " is no longer served");
    set_ended(error);
    fail_all(error);
    if (!is_ended_on_purpose_) on_end_();
    // More batches may still arrive: fails them.
    std::unique_lock lock(mutex_);
    while (has_come_.wait(lock, stop, [this] { return !running_.empty(); })) {
      lock.unlock();
      fail_all(error);
      lock.lock();
    }
  }

  Status check_running() {
    if (is_to_end_) return Error{Code::kUnavailable, "it does not accept messages"};
    const std::scoped_lock lock(mutex_);
    for (const auto& [number, running] : running_) {
      if (Clock::now() - running.since < options_.batch_deadline) continue;
      return Error{Code::kAborted,
                   concat("a batch took longer than ", options_.batch_deadline.count(), " ms")};
    }
    return {};
  }

  Status handle(ReceivedMessage received) {
    if (const auto* offer = std::get_if<MemoryOffer>(&received.message)) {
      std::uint64_t bytes = offer->size_bytes;
      for (const auto& [number, memory] : memories_) bytes += memory->bytes().size();
      const bool is_too_much = offer->size_bytes > kOfferedBytesMax || bytes > kOfferedBytesMax;
      if (is_too_much || memories_.size() == kMemoriesMax) return unexpected();
      HEADRACE_TRY(SharedMemory memory,
                   SharedMemory::map(std::move(received.descriptor), offer->size_bytes, false));
      memories_[offer->number] = std::make_shared<const SharedMemory>(std::move(memory));
      return {};
    }
    if (const auto* end = std::get_if<MemoryEnd>(&received.message)) {
      memories_.erase(end->number);
      return {};
    }
    const auto* ran = std::get_if<EngineRan>(&received.message);
    return ran == nullptr ? unexpected() : finish(*ran);
  }

  Status finish(const EngineRan& ran) {
    std::unique_lock lock(mutex_);
    auto found = running_.extract(ran.batch);
    lock.unlock();
    if (found.empty()) return unexpected();
    Running& running = found.mapped();
    if (ran.error) {
      running.done(*ran.error);
      return {};
    }
    auto outputs = outputs_of(ran, running);
    if (outputs) {
      running.done(std::move(outputs));
      return {};
    }
    running.done(Error{Code::kUnavailable, outputs.error().message});
    return std::move(outputs).error();
  }

  Result<BatchOutputs> outputs_of(const EngineRan& ran, const Running& running) {
    const auto memory = memories_.find(ran.memory);
    if (memory == memories_.end()) return unexpected();
    return read_outputs(about_.model.signatures[running.signature], ran.outputs, memory->second->bytes(),
                        running.batch.rows,
                        std::make_shared<const OutputsInUse>(line_, memory->second, ran.memory));
  }

  void set_ended(Error error) {
    const std::scoped_lock lock(mutex_);
    ended_ = std::move(error);
  }

  void fail_all(const Error& error) {
    std::map<std::uint64_t, Running> failed;
    {
      const std::scoped_lock lock(mutex_);
      failed.swap(running_);
    }
    for (auto& [number, running] : failed) running.done(error);
  }

  const pid_t process_;
  const std::shared_ptr<EngineLine> line_;
  const std::string name_;
  const RemoteEngineOptions options_;
  BatchMemoryPool pool_;
  EngineLoaded about_;
  std::vector<std::unique_ptr<Runner>> runners_;
  std::function<void()> on_end_;
  // The process's memories. Used only by the listener.
  std::map<std::uint32_t, std::shared_ptr<const SharedMemory>> memories_;

  std::mutex process_mutex_;
  bool has_ended_ = false;
  std::string how_it_ended_;

  mutable std::mutex mutex_;
  std::optional<Error> ended_;
  std::map<std::uint64_t, Running> running_;
  std::condition_variable_any has_come_;
  std::uint64_t next_batch_ = 1;
  std::atomic<bool> is_to_end_ = false;
  std::atomic<bool> is_ended_on_purpose_ = false;
  std::jthread thread_;
};

Result<std::unique_ptr<RemoteEngine>> RemoteEngine::start(const EngineCommand& command,
                                                          const EngineLoad& load,
                                                          const RemoteEngineOptions& options,
                                                          std::function<void()> on_end,
                                                          const std::stop_token& stop) {
  HEADRACE_TRY(PacketSocket::Ends ends, PacketSocket::open());
  // The process's output goes to standard error: it is meant for people.
  HEADRACE_TRY(const pid_t process, spawn(command.arguments, command.environment,
                                          {.input = ends.theirs.get(), .output = STDERR_FILENO}));
  { const FileDescriptor given = std::move(ends.theirs); }
  auto line = std::make_shared<EngineLine>(PacketSocket(std::move(ends.ours)));
  auto core = std::make_unique<Core>(process, std::move(line), load.name, options);
  HEADRACE_CHECK(core->load(load, stop));
  core->listen(std::move(on_end));
  return std::unique_ptr<RemoteEngine>(new RemoteEngine(std::move(core)));
}

RemoteEngine::RemoteEngine(std::unique_ptr<Core> core) : core_(std::move(core)) {}
RemoteEngine::~RemoteEngine() = default;
void RemoteEngine::end() { core_->end(); }
std::optional<Error> RemoteEngine::ended() const { return core_->ended(); }

const EngineLoaded& RemoteEngine::about() const { return core_->about(); }
int RemoteEngine::process_id() const { return core_->process(); }
BatchRunner& RemoteEngine::runner(std::size_t signature) { return core_->runner(signature); }

}  // namespace headrace
