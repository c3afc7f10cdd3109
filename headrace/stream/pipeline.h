#pragma once

/// \file The loader's background: threads that read blocks and decode their records straight into the rows of
/// batches, at most two windows ahead of the consumer.
///
/// Concurrency. One mutex guards everything but the rows. A thread takes the next block of the oldest open
/// window, then works without the mutex: every record has a row of its own, so no two threads write the same
/// bytes. Under the mutex it then counts its records off their batches; a batch that misses none is handed
/// out. A window is opened when fewer than two are unconsumed; its batches are allocated then.

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "headrace/stream/block_reader.h"
#include "headrace/stream/loader.h"
#include "headrace/stream/window_assembly.h"

namespace headrace {

/// \error kResourceExhausted  two windows, with what the threads read, do not fit the budget
Status check_memory_budget(const Dataset& dataset, const LoaderOptions& options,
                           const std::vector<DatasetBlock>& blocks,
                           const std::vector<OrderBlock>& order_blocks, const BatchLayout& layout);

class Pipeline {
 public:
  /// Borrows all but `order_blocks`; starts the threads.
  Pipeline(const Dataset& dataset, const LoaderOptions& options, const std::vector<DatasetBlock>& blocks,
           std::vector<OrderBlock> order_blocks, const BatchLayout& layout);
  ~Pipeline();

  Result<std::optional<Batch>> next();
  LoaderStats stats() const;
  std::vector<std::string> remarks() const;

 private:
  // A block that a thread has taken, and the rows its records go to.
  struct Task {
    std::shared_ptr<OpenWindow> window;
    std::uint64_t block = 0;                         // index into blocks_
    std::uint64_t first_record = 0;                  // of the block, within the window
    std::vector<std::vector<ColumnBuffer>> columns;  // by batch of the window
    std::vector<float*> weights;
  };
  // What became of a task: records counted off, by batch of its window.
  struct TaskOutcome {
    std::vector<std::uint64_t> delivered;
    std::uint64_t corrupt_records = 0;
    std::vector<std::string> remarks;
    double seconds = 0;
  };
  // Where one record of a task goes; no row if it is not this rank's, or lies before the start or past the
  // end.
  struct Place {
    std::uint64_t batch = 0;  // of the window
    std::uint64_t row = 0;
    bool wanted = false;
  };

  void work(const std::stop_token& stop);
  bool can_take_block() const;
  void retire_windows();
  bool is_consumed(const OpenWindow& open) const;
  bool open_next_window();
  Task take_block();
  Place place_of(const Task& task, std::uint64_t record) const;
  Status decode_block(const Task& task, BlockReader& reader, ExampleDecoder& decoder,
                      TaskOutcome& outcome) const;
  void settle(const Task& task, const Status& status, TaskOutcome outcome);
  std::uint64_t end_sequence() const { return options_.epochs * layout_.batches_per_epoch; }

  const Dataset& dataset_;
  const LoaderOptions& options_;
  const std::vector<DatasetBlock>& blocks_;
  const std::vector<OrderBlock> order_blocks_;
  const BatchLayout layout_;
  std::shared_ptr<BatchPool> pool_;

  mutable std::mutex mutex_;
  std::condition_variable_any may_work_;             // a block may have become available
  std::condition_variable_any may_take_;             // a batch may have become complete, or an error
  std::deque<PendingBatch> pending_;                 // in sequence
  std::uint64_t next_sequence_ = 0;                  // of the batch that `next` gives
  std::uint64_t allocated_sequence_ = 0;             // the first that is not in pending_
  std::deque<std::shared_ptr<OpenWindow>> windows_;  // unconsumed, in order
  std::shared_ptr<const EpochOrder> order_;
  std::uint64_t next_epoch_ = 0;  // of the window to be opened next
  std::uint64_t next_window_ = 0;
  Status status_;  // the first failure, once there was one
  LoaderStats stats_;
  std::vector<std::string> remarks_;
  std::vector<std::jthread> threads_;  // last: they end before the rest goes
};

}  // namespace headrace
