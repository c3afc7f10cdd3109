#pragma once

/// \file Gathers the rows of requests into batches, and gives each request the answers to its rows. The
/// design is in docs/decisions/serving.md, "A batch".
///
///   HEADRACE_TRY(ReservedRows rows, batcher.reserve(2, row, {.deadline = deadline}));
///   std::memcpy(rows.at(0, 0), first, rows.row_bytes(0));  // in the request's own thread
///   std::memcpy(rows.at(0, 1), second, rows.row_bytes(0));
///   std::move(rows).commit([](Result<BatchAnswers> answers) { … });  // later, from a thread of the runner

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "headrace/base/bytes.h"
#include "headrace/base/result.h"
#include "headrace/engine/tensor.h"
#include "headrace/serve/batch/row_layout.h"

namespace headrace {

/// The memory of one batch, for example memory shared with another process. Aligned to kTensorAlignment.
class BatchMemory {
 public:
  virtual ~BatchMemory() = default;
  virtual std::span<std::byte> bytes() = 0;
};

/// A batch that is complete: no request writes to it any more.
struct ClosedBatch {
  std::shared_ptr<BatchMemory> memory;
  BatchLayout layout;
  /// Number of rows to run. The last ones may be padding up to an allowed size: they are copies of row 0.
  std::uint64_t rows = 0;
  /// The latest deadline of the requests in the batch.
  std::chrono::steady_clock::time_point deadline{};
};

/// The answer to a batch: tensors whose first dimension is the number of rows of the batch.
struct BatchOutputs {
  std::vector<TensorView> tensors;
  std::shared_ptr<const void> owner;  // keeps the memory of the tensors
  /// The rows that have no answer, each with the reason. The values of these rows in `tensors` mean nothing.
  std::map<std::uint64_t, Error> failed_rows{};
  /// When the runner got the batch. Set by the batcher.
  std::chrono::steady_clock::time_point begun{};
};

/// Runs batches. Thread-safe.
class BatchRunner {
 public:
  using Done = std::function<void(Result<BatchOutputs>)>;
  virtual ~BatchRunner() = default;
  /// Allocates the memory of one batch. The batcher calls this while it holds its lock, and may also destroy
  /// the memory then: neither may block or call the batcher.
  /// \error kResourceExhausted  there is no memory for the batch now
  virtual Result<std::shared_ptr<BatchMemory>> allocate(std::uint64_t size_bytes) = 0;
  /// Starts to run a batch. Never blocks. Calls `done` once, from another thread.
  virtual void run(ClosedBatch batch, Done done) = 0;
};

/// The rows of one batch's outputs that answer rows of one request.
struct AnswerPiece {
  std::shared_ptr<const BatchOutputs> outputs;
  std::uint64_t first_row = 0;
  std::uint64_t rows = 0;
};
/// The pieces in the order of the request's rows.
using BatchAnswers = std::vector<AnswerPiece>;
using AnswerDone = std::function<void(Result<BatchAnswers>)>;

struct BatcherOptions {
  /// Rows of the largest batch. Batches of large rows hold fewer, because the memory of a batch is bounded.
  std::uint64_t rows_max = 64;
  /// The sizes that batches are padded to, in ascending order; the last is rows_max. Empty: no padding.
  std::vector<std::uint64_t> allowed_rows{};
  /// Number of batches that the runner runs at the same time.
  std::uint64_t lanes = 1;
  /// Number of rows that may wait for a lane, in addition to one largest batch.
  std::uint64_t waiting_rows_max = 1024;
  /// Bytes for the texts of one batch. A request that needs more gets a batch with as many as it needs.
  std::uint64_t texts_bytes = 1 << 20;
  std::function<std::chrono::steady_clock::time_point()> now = std::chrono::steady_clock::now;
};

/// \error kInvalidArgument  rows_max or lanes is 0, or allowed_rows does not ascend to rows_max
Status check_options(const BatcherOptions& options);

struct RequestOptions {
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
  /// Total bytes of all texts of the request.
  std::uint64_t texts_bytes = 0;
  /// A batch has the highest priority of its requests. Batches of a higher priority run first.
  int priority = 0;
  /// Keeps the runner alive. Released once the rows that were committed in a CommitRound have been sent.
  std::shared_ptr<const void> owner{};
};

/// Delays the sending of rows that its thread commits, so that requests that arrive together run together:
/// otherwise an idle lane would take the first request alone. The rows are sent when the batcher next sends
/// a batch, or by `send_committed`, which the thread must call soon. Create it on the stack of the thread;
/// rounds may nest.
class CommitRound {
 public:
  CommitRound();
  ~CommitRound();
  CommitRound(const CommitRound&) = delete;
  CommitRound& operator=(const CommitRound&) = delete;

  /// Sends the rows that this thread has committed in rounds, and those that it commits meanwhile.
  static void send_committed();

 private:
  const bool was_in_round_;
};

class ReservedRows;
class BatcherState;
struct BatchedPiece;  // of a request, in one batch
struct BatchedRequest;

/// Batches of one signature of one version. Thread-safe. A batch is sent as soon as a lane is idle and no
/// request writes to the batch: no request waits for others to fill its batch. If the runner refuses a batch
/// because of a value, each of its requests is run again in a batch of its own, so that only the request at
/// fault fails. REQUIRES, at destruction: no request is in flight
class Batcher {
 public:
  /// The runner must outlive it. REQUIRES: check_options(options)
  Batcher(BatchRunner& runner, BatcherOptions options);
  ~Batcher();

  /// Reserves rows for one request: in one batch, or in several if the open batch has too few rows left.
  /// Does not wait for room.
  /// \param rows  at least 1
  /// \param row   type and shape of one row of each input
  /// \error kInvalidArgument    `rows` is 0 or more than may ever wait; the rows are too large: as
  ///                            check_layout
  /// \error kDeadlineExceeded   the deadline has already passed
  /// \error kResourceExhausted  too many rows wait, or the rows would not run before the deadline: retry
  ///                            after expected_wait
  /// \error of BatchRunner::allocate; the one given to `refuse`, once that was called
  Result<ReservedRows> reserve(std::uint64_t rows, const std::vector<RowTensor>& row,
                               const RequestOptions& options = {});

  /// Estimates from the duration of recent batches how long a new request would wait until its batch starts.
  /// Zero if a lane is idle.
  std::chrono::nanoseconds expected_wait() const;

  /// Answers every request whose deadline has passed with kDeadlineExceeded, even while its rows are
  /// running. Call it regularly. The rows stay in their batches.
  void expire();

  /// From now on `reserve` fails with this error. Requests in flight are still answered.
  void refuse(Error error);

  struct Counts {
    std::uint64_t requests_in_flight = 0;  // from `reserve` until `done` has returned
    std::uint64_t waiting_rows = 0;        // reserved or committed, and not yet given to the runner
    std::uint64_t batches = 0;             // given to the runner so far
    std::uint64_t rows = 0;                // in these batches, without padding
  };
  Counts counts() const;

 private:
  friend class ReservedRows;
  const std::shared_ptr<BatcherState> state_;
};

/// Rows that one request fills, from one thread. Movable. If it is destroyed without `commit`, the rows are
/// given up: they are set to zero, and their answers are dropped.
class ReservedRows {
 public:
  ReservedRows(ReservedRows&& other) noexcept = default;
  ReservedRows& operator=(ReservedRows&& other) noexcept;
  ~ReservedRows();

  std::uint64_t rows() const { return rows_; }
  std::uint64_t row_bytes(std::size_t input) const;
  /// The row_bytes(input) bytes of one row of an input of numbers.
  std::byte* at(std::size_t input, std::uint64_t row) const;
  /// The bytes of `row` and of all later rows that lie contiguously after it: at least one row.
  std::span<std::byte> run_at(std::size_t input, std::uint64_t row) const;
  /// Sets one element of a row of an input of byte strings. Copies the text. Set each element at most once;
  /// elements that are not set are empty.
  /// \error kInvalidArgument  the texts together are longer than RequestOptions::texts_bytes
  Status set_text(std::size_t input, std::uint64_t row, std::uint64_t element, std::string_view text);

  /// Type and shape of a row of each input.
  const std::vector<RowTensor>& row() const;
  /// The text that `set_text` has set, or an empty text. It is a view of the batch, whose memory another
  /// process may change: copy it before you use it.
  /// \error kDataLoss  another process has damaged the place of the text
  Result<std::string_view> text(std::size_t input, std::uint64_t row, std::uint64_t element) const;

  /// Gives the rows to the batcher. `done` is called once, possibly before this returns: with the answers,
  /// the runner's error, or kDeadlineExceeded (see `expire`).
  /// Inside a CommitRound the batch may wait until CommitRound::send_committed.
  void commit(AnswerDone done) &&;

 private:
  friend class Batcher;
  ReservedRows(std::shared_ptr<BatcherState> state, std::shared_ptr<BatchedRequest> request,
               std::uint64_t rows);
  BatchedPiece& piece_of(std::uint64_t row) const;

  std::shared_ptr<BatcherState> state_;  // null: moved from, or committed
  std::shared_ptr<BatchedRequest> request_;
  std::uint64_t rows_ = 0;
};

}  // namespace headrace
