#pragma once

/// \file The loader's background threads, which load blocks and make batches from them. docs/data-loader.md
/// explains how.
///
/// Concurrency: one mutex guards everything except the content of windows, blocks and batches. A thread
/// claims a task while it holds the mutex, works without the mutex, and settles the task while it holds the
/// mutex again. The thread that claimed a window makes it, and the thread that claimed a block loads it. If
/// there is an arrangement, a thread arranges a window once all its blocks are settled. Only batch tasks read
/// windows and blocks, and they are claimed after that.
///
/// Failures: a failure at a batch ends the order there. The batches before it are made and returned first, so
/// the caller always gets the same batches.

#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <thread>

#include "headrace/stream/batch_maker.h"
#include "headrace/stream/batch_plan.h"
#include "headrace/stream/loader.h"
#include "headrace/stream/loader_trace.h"
#include "headrace/stream/loads_at_once.h"
#include "headrace/stream/record_finder.h"

namespace headrace {

/// The threads of a loader and the batches that they make. Thread-safe, but only one thread at a time may
/// call `next`.
class Pipeline {
 public:
  /// \param depth               the number of batches that are made ahead of the caller
  /// \param batch_budget_bytes  memory for batches that have not been returned; one batch may always be made
  /// \param ahead_bytes         for each source: memory for the windows that are held beyond two
  /// \param picture_bytes       memory for large pictures that are being decoded; one may always be decoded
  struct Sizes {
    std::uint64_t depth = 4;
    std::uint64_t batch_budget_bytes = 0;
    std::uint64_t ahead_bytes = 0;
    std::uint64_t picture_bytes = 0;
    int threads = 1;       // at the beginning
    int most_threads = 1;  // at most, when the store is slow
  };
  /// Borrows everything except the sizes. Starts the threads.
  Pipeline(const std::vector<std::unique_ptr<Source>>& sources, const BatchPlan& plan,
           const LoaderOptions& options, const Sizes& sizes);
  ~Pipeline();

  /// The following functions are those of BatchLoader.
  Result<std::optional<Batch>> next();
  /// Also ends a wait in `next`.
  void close();
  LoaderStats stats() const;
  std::vector<std::string> remarks() const;
  std::string activity() const;
  std::string trace_json() const { return trace_.json(); }

 private:
  static constexpr const char* kIdle = "idle";
  using Clock = std::chrono::steady_clock;

  // A window that is being loaded or read. Positions are counted over the source's epochs, as in BatchPlan.
  struct OpenWindow {
    std::shared_ptr<Window> window;
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::size_t next_block = 0;  // the first block that is not claimed
    std::size_t loaded = 0;
    bool is_arranged = true;                // true also if no arrangement is needed
    bool is_arranging = false;              // a thread arranges it now
    bool waits_to_share = false;            // takes the blocks of the window before it when they are loaded
    std::uint64_t bytes = 0;                // of its blocks
    std::map<std::size_t, Error> errors{};  // by block

    bool is_loaded() const { return loaded == window->blocks().size(); }
    /// True also if the window cannot be read; a batch task then reports the error.
    bool is_ready() const { return is_loaded() && (is_arranged || !errors.empty()); }
  };
  struct SourceState {
    std::deque<std::shared_ptr<OpenWindow>> windows;
    std::uint64_t opened = 0;        // the first position for which no window has been opened
    std::uint64_t end = 0;           // where the last batch ends
    std::uint64_t window_bytes = 0;  // of the largest window
    bool is_opening = false;         // a thread makes the window at `opened` now
  };
  struct Failure {
    std::uint64_t sequence = 0;
    Error error;
  };
  struct BlockTask {
    std::size_t source = 0;
    std::shared_ptr<OpenWindow> open;
    std::size_t block = 0;
  };
  struct BatchTask {
    std::uint64_t sequence = 0;
    Batch batch;
    std::vector<std::vector<std::shared_ptr<OpenWindow>>> windows;  // by source
  };
  // The activity of a thread, for people and for the statistics.
  struct Activity {
    const char* stage = kIdle;
    std::size_t source = 0;
    const DatasetBlock* block = nullptr;  // of an open window
    std::uint64_t sequence = 0;
    Clock::time_point since = Clock::now();
  };
  // The state of one thread.
  struct Worker;
  class Taking;

  void work(std::size_t number);
  bool claim_and_work(Worker& worker, std::unique_lock<std::mutex>& lock);
  std::uint64_t end_of_making() const;
  void drop_windows(std::size_t source);
  void share_blocks(SourceState& state);
  bool may_make_batch() const;
  std::optional<std::size_t> claim_window(bool further);
  void open_window(std::size_t source, Worker& worker, std::unique_lock<std::mutex>& lock);
  std::optional<BlockTask> claim_block();
  void load_block(const BlockTask& task, Worker& worker, std::unique_lock<std::mutex>& lock);
  std::shared_ptr<OpenWindow> claim_arrangement();
  void arrange(OpenWindow& open, Worker& worker, std::unique_lock<std::mutex>& lock);
  BatchTask claim_batch();
  void make_batch(BatchTask task, Worker& worker, std::unique_lock<std::mutex>& lock);
  Status fill(BatchTask& task, Worker& worker);
  const Window& window_of(const BatchTask& task, const SourcePosition& row) const;
  std::string describe_record(const Window& window, const SourcePosition& row);
  void count(Worker& worker);
  void add_remarks(std::vector<std::string> remarks);
  void fail(std::uint64_t sequence, Error error);
  void begin(const Worker& worker, Activity activity);
  bool is_ready() const;
  bool caller_holds_all() const;
  bool add_thread();
  void learn_from_wait(double seconds, const LoaderStats& before);
  void changed();
  Status await(std::unique_lock<std::mutex>& lock);
  std::string activity_locked() const;
  std::uint64_t end_sequence() const { return options_.epochs * plan_.batches_per_epoch(); }

  const std::vector<std::unique_ptr<Source>>& sources_;
  const BatchPlan& plan_;
  const LoaderOptions& options_;
  const Sizes sizes_;
  std::shared_ptr<BufferPool> buffers_ = BufferPool::create();
  std::shared_ptr<BatchPool> batches_;
  PictureMemory pictures_;

  std::mutex closing_mutex_;  // taken before mutex_
  mutable std::mutex mutex_;
  std::condition_variable_any may_work_;  // there may be something to claim
  std::condition_variable_any may_take_;  // a batch or an error may have become ready
  std::vector<SourceState> states_;
  std::uint64_t next_sequence_ = 0;       // of the batch that `next` returns
  std::uint64_t claimed_sequence_ = 0;    // of the first batch that no thread has claimed
  std::map<std::uint64_t, Batch> ready_;  // by sequence
  std::optional<Batch> first_;            // in headspace mode
  std::optional<Failure> failure_;        // the failure at the earliest batch
  std::thread::id taker_;                 // the thread in `next`
  bool is_closed_ = false;
  LoaderStats stats_;
  LoadsAtOnce loads_at_once_;
  int loads_ = 0;                           // the number of loads under way
  std::atomic<std::uint64_t> changes_ = 0;  // counts changes of what can be claimed
  std::vector<std::string> remarks_;
  std::vector<Activity> activities_;  // by thread
  std::uint64_t settled_ = 0;         // tasks of any kind; shows a waiting caller that there is progress
  RecordFinder finder_;               // for messages
  LoaderTrace trace_;
  std::stop_source stop_;              // for threads and requests to the store
  std::vector<std::jthread> threads_;  // last, so that they end before other members are destroyed
};

}  // namespace headrace
