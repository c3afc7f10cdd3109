#pragma once

/// \file The loader's background threads, which load blocks and make batches from them. docs/data-loader.md
/// explains how.
///
/// Concurrency. One mutex guards everything except the content of windows, blocks and batches. A thread
/// claims a task under it, works without it, and settles under it. The thread that claimed a window makes it,
/// and the thread that claimed a block loads it. If there is an arrangement, a thread arranges a window whose
/// blocks are all settled. Windows and blocks are read only by batch tasks, which are claimed after that.
///
/// Failures. A failure at a batch ends the order there: the batches before it are made and returned first, so
/// the caller always gets the same ones.

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

class Pipeline {
 public:
  /// Borrows everything except the sizes; starts the threads.
  /// \param depth  number of batches that are made ahead of the caller
  /// \param batch_budget_bytes  memory of batches that have not been returned; one may always be made
  /// \param ahead_bytes  per source: memory of the windows that are held beyond two
  /// \param picture_bytes  memory of large pictures that are being decoded; one may always be decoded
  struct Sizes {
    std::uint64_t depth = 4;
    std::uint64_t batch_budget_bytes = 0;
    std::uint64_t ahead_bytes = 0;
    std::uint64_t picture_bytes = 0;
    int threads = 1;       // that begin
    int most_threads = 1;  // that may work when the store is slow
  };
  Pipeline(const std::vector<std::unique_ptr<Source>>& sources, const BatchPlan& plan,
           const LoaderOptions& options, const Sizes& sizes);
  ~Pipeline();

  Result<std::optional<Batch>> next();
  /// See BatchLoader. May be called by any thread; ends a wait in `next`, too.
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
    std::size_t next_block = 0;  // the first that is not claimed
    std::size_t loaded = 0;
    bool is_arranged = true;                // or needs not be
    bool is_arranging = false;              // some thread arranges it
    bool waits_to_share = false;            // the blocks of the window before it, once they are loaded
    std::uint64_t bytes = 0;                // of its blocks
    std::map<std::size_t, Error> errors{};  // by block

    bool is_loaded() const { return loaded == window->blocks().size(); }
    /// Or cannot be read, which a batch task then says.
    bool is_ready() const { return is_loaded() && (is_arranged || !errors.empty()); }
  };
  struct SourceState {
    std::deque<std::shared_ptr<OpenWindow>> windows;
    std::uint64_t opened = 0;        // the first position that no window has been opened for
    std::uint64_t end = 0;           // of the last batch
    std::uint64_t window_bytes = 0;  // of the largest
    bool is_opening = false;         // some thread makes the window at `opened`
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
  // The state that each thread has for itself.
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
  std::condition_variable_any may_work_;  // something may be there to claim
  std::condition_variable_any may_take_;  // a batch may have become ready, or an error
  std::vector<SourceState> states_;
  std::uint64_t next_sequence_ = 0;       // of the batch that `next` gives
  std::uint64_t claimed_sequence_ = 0;    // the first that no thread has claimed
  std::map<std::uint64_t, Batch> ready_;  // by sequence
  std::optional<Batch> first_;            // in headspace mode
  std::optional<Failure> failure_;        // the one at the earliest batch
  std::thread::id taker_;                 // the thread that is in `next`
  bool is_closed_ = false;
  LoaderStats stats_;
  LoadsAtOnce loads_at_once_;
  int loads_ = 0;                           // that are under way
  std::atomic<std::uint64_t> changes_ = 0;  // of what can be claimed
  std::vector<std::string> remarks_;
  std::vector<Activity> activities_;  // by thread
  std::uint64_t settled_ = 0;         // tasks of any kind; for who waits to see that something goes on
  RecordFinder finder_;               // for messages
  LoaderTrace trace_;
  std::stop_source stop_;              // of threads, and of requests to the store
  std::vector<std::jthread> threads_;  // last: they end before the rest goes
};

}  // namespace headrace
