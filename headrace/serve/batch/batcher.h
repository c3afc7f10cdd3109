#pragma once

/// \file Gathers the rows of requests into batches, and hands each request the answers to its rows. The
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

/// Memory of one batch, such as a piece that another process shares. Aligned to kTensorAlignment.
class BatchMemory {
 public:
  virtual ~BatchMemory() = default;
  virtual std::span<std::byte> bytes() = 0;
};

/// A batch that nobody writes to any more.
struct ClosedBatch {
  std::shared_ptr<BatchMemory> memory;
  BatchLayout layout;
  /// Rows that are there; those that only fill it up to an allowed size are copies of row 0.
  std::uint64_t rows = 0;
  /// The latest of its requests' deadlines.
  std::chrono::steady_clock::time_point deadline{};
};

/// The answer to a batch: tensors whose first dimension is the batch's rows.
struct BatchOutputs {
  std::vector<TensorView> tensors;
  std::shared_ptr<const void> owner;  // of their memory
  /// Rows that have no answer, and why. The outputs have a value for them, which means nothing.
  std::map<std::uint64_t, Error> failed_rows{};
  /// When the runner got the batch: the batcher says so.
  std::chrono::steady_clock::time_point begun{};
};

/// Runs batches. Thread-safe.
class BatchRunner {
 public:
  using Done = std::function<void(Result<BatchOutputs>)>;
  virtual ~BatchRunner() = default;
  /// Called while the batcher is locked, as the end of the memory may be: neither may wait, or call the
  /// batcher.
  /// \error kResourceExhausted  there is no memory for it now
  virtual Result<std::shared_ptr<BatchMemory>> allocate(std::uint64_t size_bytes) = 0;
  /// Returns at once. Calls `done` once, from another thread.
  virtual void run(ClosedBatch batch, Done done) = 0;
};

/// Rows of one batch's outputs that answer rows of one request.
struct AnswerPiece {
  std::shared_ptr<const BatchOutputs> outputs;
  std::uint64_t first_row = 0;
  std::uint64_t rows = 0;
};
/// In the order of the request's rows.
using BatchAnswers = std::vector<AnswerPiece>;
using AnswerDone = std::function<void(Result<BatchAnswers>)>;

struct BatcherOptions {
  /// The largest batch. Batches of large rows have fewer: their memory is bounded.
  std::uint64_t rows_max = 64;
  /// Sizes that batches are filled up to, ascending, the last is rows_max; empty: any size.
  std::vector<std::uint64_t> allowed_rows{};
  /// Batches that the runner runs at the same time.
  std::uint64_t lanes = 1;
  /// Rows that may wait for a lane, beyond those of the open batch.
  std::uint64_t waiting_rows_max = 1024;
  /// Bytes for the texts of a batch; a request with more has a batch with as much as it needs.
  std::uint64_t texts_bytes = 1 << 20;
  std::function<std::chrono::steady_clock::time_point()> now = std::chrono::steady_clock::now;
};

/// \error kInvalidArgument  no rows, no lane, or sizes that do not ascend to rows_max
Status check_options(const BatcherOptions& options);

struct RequestOptions {
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
  /// Bytes of all texts of the request.
  std::uint64_t texts_bytes = 0;
  /// Batches with a request of a higher priority go first.
  int priority = 0;
  /// Keeps the runner: dropped once what was committed in a CommitRound has been sent.
  std::shared_ptr<const void> owner{};
};

/// Delays what its thread commits to batches, so that requests which have come together go together: a lane
/// that is idle would otherwise take the first one alone. It is sent with the next batch that goes, or by
/// `send_committed`, which the thread has to call soon. On the thread's stack; they may nest.
class CommitRound {
 public:
  CommitRound();
  ~CommitRound();
  CommitRound(const CommitRound&) = delete;
  CommitRound& operator=(const CommitRound&) = delete;

  /// Sends what this thread has committed in rounds, and what is committed meanwhile.
  static void send_committed();

 private:
  const bool was_in_round_;
};

class ReservedRows;
class BatcherState;
struct BatchedPiece;  // of a request, in one batch
struct BatchedRequest;

/// Batches of one signature of one version. Thread-safe. A batch is sent when a lane is idle and nobody
/// writes to the batch any more; nobody waits for company. If the runner refuses a batch for its values, each
/// request gets a batch of its own: one alone is at fault. REQUIRES, at its end: no request is in flight
class Batcher {
 public:
  /// The runner must outlive it. REQUIRES: check_options(options)
  Batcher(BatchRunner& runner, BatcherOptions options);
  ~Batcher();

  /// Rows of one batch, or of several if the open one has too few left. `row`: types and shapes of a row of
  /// each input.
  /// \error kInvalidArgument    no rows, more than may ever wait, or too large ones: as check_layout
  /// \error kDeadlineExceeded   the deadline has passed already
  /// \error kResourceExhausted  too many rows wait, or they would not be run before the deadline;
  ///                            expected_wait says when to come again. Also that of `allocate`
  /// \error kUnavailable        as `refuse` says
  Result<ReservedRows> reserve(std::uint64_t rows, const std::vector<RowTensor>& row,
                               const RequestOptions& options = {});

  /// How long a request that comes now would wait for its batch to begin, by the pace of the last batches.
  std::chrono::nanoseconds expected_wait() const;

  /// Answers requests whose deadline has passed with kDeadlineExceeded, wherever their rows are: call it now
  /// and then. The rows stay in their batches.
  void expire();

  /// From now on `reserve` fails with this error; requests in flight are answered.
  void refuse(Error error);

  struct Counts {
    std::uint64_t requests_in_flight = 0;  // reserved, and not yet answered: until `done` has returned
    std::uint64_t waiting_rows = 0;        // committed or reserved, not yet with the runner
    std::uint64_t batches = 0;             // that were run
    std::uint64_t rows = 0;                // in them, without those that fill up
  };
  Counts counts() const;

 private:
  friend class ReservedRows;
  const std::shared_ptr<BatcherState> state_;
};

/// Rows that one request fills, from one thread. Movable. If it is destroyed without `commit`, its rows are
/// given up: they are zeros, and nobody gets their answers.
class ReservedRows {
 public:
  ReservedRows(ReservedRows&& other) noexcept = default;
  ReservedRows& operator=(ReservedRows&& other) noexcept;
  ~ReservedRows();

  std::uint64_t rows() const { return rows_; }
  std::uint64_t row_bytes(std::size_t input) const;
  /// The bytes of one row of an input of numbers.
  std::byte* at(std::size_t input, std::uint64_t row) const;
  /// The rows from `row` on that lie one after another: as many bytes as fit, at least one row.
  std::span<std::byte> run_at(std::size_t input, std::uint64_t row) const;
  /// Sets one element of a row of an input of byte strings; each at most once. Elements that are not set are
  /// empty.
  /// \error kInvalidArgument  the texts are longer than RequestOptions::texts_bytes
  Status set_text(std::size_t input, std::uint64_t row, std::uint64_t element, std::string_view text);

  /// Type and shape of a row of each input.
  const std::vector<RowTensor>& row() const;
  /// The text that `set_text` has set, or an empty one. Views the batch, where another process may change it:
  /// copy it.
  /// \error kDataLoss  another process has changed where it lies
  Result<std::string_view> text(std::size_t input, std::uint64_t row, std::uint64_t element) const;

  /// Gives the rows to the batcher. `done` is called once: with the answers, or with the runner's error, or
  /// kDeadlineExceeded: see `expire`. It may be called before this returns.
  /// Inside of a CommitRound the batch may wait until its end.
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
