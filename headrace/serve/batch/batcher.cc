#include "headrace/serve/batch/batcher.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <mutex>
#include <utility>

#include "headrace/base/text.h"
#include "headrace/serve/batch/gathered_batch.h"

namespace headrace {
namespace {

using Clock = std::chrono::steady_clock;

/// The weight of the latest batch in the moving average of batch times.
constexpr double kNewest = 0.2;
constexpr std::string_view kPassed = "the deadline passed before the request was answered";

bool has_texts(const std::vector<RowTensor>& row) {
  return std::ranges::any_of(row, [](const RowTensor& input) { return input.type == DataType::kBytes; });
}

// Whether the values of a row may have caused the error.
bool is_fault_of_rows(const Error& error) {
  return error.code == Code::kInvalidArgument || error.code == Code::kOutOfRange ||
         error.code == Code::kFailedPrecondition;
}

// The smallest allowed size that holds this many rows.
std::uint64_t filled_size(std::uint64_t rows, const std::vector<std::uint64_t>& allowed) {
  const auto found = std::ranges::lower_bound(allowed, rows);
  return found == allowed.end() ? rows : *found;
}

}  // namespace

// If requests have more shapes at a time, the oldest open batch is closed.
constexpr std::size_t kOpenMax = 8;
// Memory for the rows of a batch. A single row may take more.
constexpr std::uint64_t kRowsBytes = 64 << 20;

class BatcherState : public std::enable_shared_from_this<BatcherState> {
 public:
  using Request = BatchedRequest;
  using Piece = BatchedPiece;
  using Batch = std::shared_ptr<GatheredBatch>;

  BatcherState(BatchRunner& runner, BatcherOptions options) : runner_(runner), options_(std::move(options)) {}

  Result<std::shared_ptr<Request>> reserve(std::uint64_t rows, const std::vector<RowTensor>& row,
                                           const RequestOptions& options) {
    const std::uint64_t texts = has_texts(row) ? std::max(options.texts_bytes, options_.texts_bytes) : 0;
    if (rows == 0) return Error{Code::kInvalidArgument, "the request has no rows"};
    HEADRACE_CHECK(check_layout(row, rows_of_batch(row), texts));
    auto request = std::make_shared<Request>(Request{options});
    Actions actions;
    Status taken = [&] {
      const std::scoped_lock lock(mutex_);
      return take_all(*request, rows, row, texts, actions);
    }();
    act(std::move(actions));
    if (!taken) return std::move(taken).error();
    return request;
  }

  void commit(const std::shared_ptr<Request>& request, AnswerDone done, bool is_sent) {
    Actions actions;
    {
      const std::scoped_lock lock(mutex_);
      request->done = std::move(done);
      request->unanswered = request->pieces.size();
      request->answers.resize(request->pieces.size());
      for (std::size_t i = 0; i < request->pieces.size(); ++i) {
        GatheredBatch& batch = *request->pieces[i].batch;
        --batch.writers;
        batch.priority = batch.parts.empty() ? request->options.priority
                                             : std::max(batch.priority, request->options.priority);
        batch.parts.emplace_back(request, i);
      }
      if (is_sent) send(actions);
    }
    act(std::move(actions));
  }

  void give_up(const std::shared_ptr<Request>& request) {
    Actions actions;
    {
      const std::scoped_lock lock(mutex_);
      for (Piece& piece : request->pieces) give_up(piece);
      --in_flight_;
      send(actions);
    }
    act(std::move(actions));
  }

  void send_waiting() {
    Actions actions;
    {
      const std::scoped_lock lock(mutex_);
      send(actions);
    }
    act(std::move(actions));
  }

  std::chrono::nanoseconds expected_wait() const {
    const std::scoped_lock lock(mutex_);
    return wait_now();
  }

  void expire() {
    Actions actions;
    {
      const std::scoped_lock lock(mutex_);
      for (const Batch& batch : open_) answer_expired(*batch, actions);
      for (const Batch& batch : closed_) answer_expired(*batch, actions);
      for (const Batch& batch : running_) answer_expired(*batch, actions);
      expire_alone(actions);
      send(actions);
    }
    act(std::move(actions));
  }

  void refuse(Error error) {
    const std::scoped_lock lock(mutex_);
    refusal_ = std::move(error);
  }

  Batcher::Counts counts() const {
    const std::scoped_lock lock(mutex_);
    return {in_flight_, waiting_rows_, batches_, rows_};
  }

 private:
  // Work to do after the mutex is released: batches to run, and requests to answer.
  struct Actions {
    std::vector<std::pair<ClosedBatch, Batch>> runs{};
    std::vector<std::pair<AnswerDone, Result<BatchAnswers>>> answers{};
  };

  // A piece of a refused batch, which runs alone.
  struct Alone {
    Batch refused;
    std::shared_ptr<Request> request;
    std::size_t index;  // of the piece in the request
    std::uint64_t rows;
  };

  Status admit(std::uint64_t rows, const RequestOptions& options) const {
    if (refusal_) return *refusal_;
    const std::uint64_t most = options_.waiting_rows_max + options_.rows_max;
    if (rows > most)
      return Error{Code::kInvalidArgument,
                   concat("a request of ", rows, " rows; at most ", most, " are accepted")};
    if (waiting_rows_ > most - rows)
      return Error{Code::kResourceExhausted, concat(waiting_rows_, " rows are already waiting; at most ",
                                                    options_.waiting_rows_max, " may")};
    const Clock::time_point now = options_.now();
    if (now >= options.deadline) return Error{Code::kDeadlineExceeded, std::string(kPassed)};
    if (wait_now() < options.deadline - now) return {};
    return Error{Code::kResourceExhausted, "the request would not run before its deadline"};
  }

  std::chrono::nanoseconds wait_now() const {
    if (running_.size() < options_.lanes) return {};
    const std::size_t waiting = alone_.size() + closed_.size() + std::max<std::size_t>(open_.size(), 1);
    const auto batches = static_cast<double>(waiting) / static_cast<double>(options_.lanes);
    return std::chrono::nanoseconds(static_cast<std::int64_t>(mean_nanoseconds_ * batches));
  }

  // If there is no memory for all rows, gives up the rows that were taken, so that their batches need not
  // wait for them.
  Status take_all(Request& request, std::uint64_t rows, const std::vector<RowTensor>& row,
                  std::uint64_t texts, Actions& actions) {
    HEADRACE_CHECK(admit(rows, request.options));
    for (std::uint64_t taken = 0; taken < rows;) {
      auto piece = take(rows - taken, row, texts, request.options);
      if (!piece) {
        for (Piece& given_up : request.pieces) give_up(given_up);
        send(actions);
        return std::move(piece).error();
      }
      piece->first_in_request = taken;
      taken += piece->rows;
      request.pieces.push_back(*std::move(piece));
    }
    ++in_flight_;
    return {};
  }

  Result<Piece> take(std::uint64_t wanted, const std::vector<RowTensor>& row, std::uint64_t texts,
                     const RequestOptions& options) {
    HEADRACE_TRY(const Batch open, open_batch(row, texts, options));
    GatheredBatch& batch = *open;
    Piece piece{.batch = open,
                .first_row = batch.rows,
                .rows = std::min(wanted, batch.layout.rows_max() - batch.rows),
                .texts_next = batch.texts_used};
    if (texts != 0) batch.texts_used += options.texts_bytes;
    piece.texts_end = batch.texts_used;
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (row[i].type == DataType::kBytes) batch.clear(i, piece.first_row, piece.rows);
    }
    batch.rows += piece.rows;
    ++batch.writers;
    waiting_rows_ += piece.rows;
    return piece;
  }

  // How many rows a batch holds: fewer if the rows are large.
  std::uint64_t rows_of_batch(const std::vector<RowTensor>& row) const {
    const std::uint64_t row_bytes = std::max<std::uint64_t>(row_bytes_of(row), 1);
    const std::uint64_t rows = std::clamp<std::uint64_t>(kRowsBytes / row_bytes, 1, options_.rows_max);
    const std::vector<std::uint64_t>& allowed = options_.allowed_rows;
    if (allowed.empty()) return rows;
    const auto above = std::ranges::upper_bound(allowed, rows);
    return above == allowed.begin() ? allowed.front() : *std::prev(above);
  }

  // The open batch for rows of this shape. It has room for one more row and its texts.
  Result<Batch> open_batch(const std::vector<RowTensor>& row, std::uint64_t texts,
                           const RequestOptions& options) {
    const auto found =
        std::ranges::find_if(open_, [&](const Batch& batch) { return batch->layout.inputs() == row; });
    if (found != open_.end()) {
      const GatheredBatch& batch = **found;
      const bool has_room =
          texts == 0 || options.texts_bytes <= batch.layout.texts_bytes() - batch.texts_used;
      if (batch.rows < batch.layout.rows_max() && has_room) return *found;
      closed_.push_back(take_out(open_, found));
    } else if (open_.size() == kOpenMax) {
      closed_.push_back(take_out(open_, open_.begin()));
    }
    BatchLayout layout(row, rows_of_batch(row), texts);
    HEADRACE_TRY(std::shared_ptr<BatchMemory> memory, runner_.allocate(layout.size_bytes()));
    auto made = std::make_shared<GatheredBatch>(GatheredBatch{std::move(layout), std::move(memory)});
    made->number = next_number_++;
    return open_.emplace_back(std::move(made));
  }

  static Batch take_out(std::vector<Batch>& from, std::vector<Batch>::iterator at) {
    Batch batch = std::move(*at);
    from.erase(at);
    return batch;
  }

  static void give_up(Piece& piece) {
    for (std::size_t i = 0; i < piece.batch->layout.inputs().size(); ++i)
      piece.batch->clear(i, piece.first_row, piece.rows);
    --piece.batch->writers;
  }

  // Starts batches on the idle lanes.
  void send(Actions& actions) {
    std::erase_if(closed_, [&](const Batch& batch) { return forget_if_empty(*batch); });
    // One empty batch stays open, for the next request of its shape.
    std::erase_if(open_, [&](const Batch& batch) { return forget_if_empty(*batch) && open_.size() > 1; });
    while (running_.size() < options_.lanes) {
      Batch batch = next_alone(actions);
      if (!batch) batch = next();
      if (!batch) return;
      waiting_rows_ -= batch->rows;
      answer_expired(*batch, actions);
      if (!batch->parts.empty()) start(batch, actions);
    }
  }

  // If all rows of a batch were given up, empties it and returns true: the rows no longer count as waiting.
  bool forget_if_empty(GatheredBatch& batch) {
    if (batch.writers != 0 || !batch.parts.empty()) return false;
    waiting_rows_ -= std::exchange(batch.rows, 0);
    batch.texts_used = 0;
    return true;
  }

  // Takes out the batch to run next. A batch can run if it has rows and no request is writing to it. Among
  // these, the highest priority wins, then the oldest batch, so that none waits for ever. If no batch can
  // run, closes the open batches that have rows, so that they can run soon.
  Batch next() {
    const auto closed = best_of(closed_), open = best_of(open_);
    if (open != open_.end() && (closed == closed_.end() || goes_before(**open, **closed)))
      return take_out(open_, open);
    if (closed != closed_.end()) return take_out(closed_, closed);
    for (const Batch& batch : open_) {
      if (!batch->parts.empty()) closed_.push_back(batch);
    }
    std::erase_if(open_, [](const Batch& batch) { return !batch->parts.empty(); });
    return nullptr;
  }

  static bool goes_before(const GatheredBatch& a, const GatheredBatch& b) {
    return a.priority != b.priority ? a.priority > b.priority : a.number < b.number;
  }

  static std::vector<Batch>::iterator best_of(std::vector<Batch>& batches) {
    auto best = batches.end();
    for (auto at = batches.begin(); at != batches.end(); ++at) {
      const bool can_go = (*at)->writers == 0 && !(*at)->parts.empty();
      if (can_go && (best == batches.end() || goes_before(**at, **best))) best = at;
    }
    return best;
  }

  void answer_expired(GatheredBatch& batch, Actions& actions) {
    const Clock::time_point now = options_.now();
    std::erase_if(batch.parts, [&](const auto& part) {
      if (part.first->unanswered == 0) return true;  // another piece of the request has failed
      if (part.first->options.deadline > now) return false;
      fail(*part.first, {Code::kDeadlineExceeded, std::string(kPassed)}, actions);
      return true;
    });
  }

  void start(const Batch& batch, Actions& actions) {
    ClosedBatch closed{batch->memory, batch->layout, batch->rows};
    for (const auto& [request, index] : batch->parts)
      closed.deadline = std::max(closed.deadline, request->options.deadline);
    closed.rows = filled_size(batch->rows, options_.allowed_rows);
    running_.push_back(batch);
    ++batches_;
    rows_ += batch->rows;
    actions.runs.emplace_back(std::move(closed), batch);
  }

  static void fail(Request& request, Error error, Actions& actions) {
    request.unanswered = 0;
    request.pieces.clear();  // breaks the cycle: batches and requests refer to each other
    actions.answers.emplace_back(std::move(request.done), std::move(error));
  }

  void act(Actions actions) {
    for (auto& [closed, batch] : actions.runs) {
      const std::uint64_t rows = closed.rows;
      batch->fill_up(rows);
      const Clock::time_point begun = options_.now();
      runner_.run(std::move(closed),
                  [self = shared_from_this(), batch = batch, rows, begun](Result<BatchOutputs> outputs) {
                    self->finish(batch, rows, begun, std::move(outputs));
                  });
    }
    if (actions.answers.empty()) return;
    for (auto& [done, answers] : actions.answers) std::exchange(done, nullptr)(std::move(answers));
    const std::scoped_lock lock(mutex_);
    in_flight_ -= actions.answers.size();
  }

  static Result<BatchOutputs> checked(Result<BatchOutputs> outputs, std::uint64_t rows) {
    if (!outputs) return outputs;
    for (const TensorView& tensor : outputs->tensors) {
      if (tensor.shape.rank() > 0 && tensor.shape[0] == static_cast<std::int64_t>(rows)) continue;
      return Error{Code::kInternal, concat("the model gave ", tensor.shape.text(), " for ", rows, " rows")};
    }
    return outputs;
  }

  void finish(const Batch& batch, std::uint64_t rows, Clock::time_point begun, Result<BatchOutputs> given) {
    Result<BatchOutputs> outputs = checked(std::move(given), rows);
    std::shared_ptr<const BatchOutputs> shared;
    if (outputs) {
      outputs->begun = begun;
      shared = std::make_shared<const BatchOutputs>(*std::move(outputs));
    }
    Actions actions;
    {
      const std::scoped_lock lock(mutex_);
      std::erase(running_, batch);
      if (shared) add_time(options_.now() - begun);
      const bool is_fault_of_one = !shared && batch->parts.size() > 1 && is_fault_of_rows(outputs.error());
      for (const auto& [request, index] : std::exchange(batch->parts, {})) {
        if (request->unanswered == 0) continue;
        if (shared) {
          answer(*request, index, shared, actions);
        } else if (is_fault_of_one) {
          const std::uint64_t piece_rows = request->pieces[index].rows;
          alone_.push_back({batch, request, index, piece_rows});
          waiting_rows_ += piece_rows;
        } else {
          fail(*request, outputs.error(), actions);
        }
      }
      send(actions);
    }
    act(std::move(actions));
  }

  // Makes a batch for a single piece of a refused batch, so that the other pieces of that batch can be
  // answered. It holds the piece's texts only.
  Result<Batch> batch_alone(const Alone& alone) {
    Piece& piece = alone.request->pieces[alone.index];
    const std::uint64_t texts =
        has_texts(alone.refused->layout.inputs()) ? alone.request->options.texts_bytes : 0;
    BatchLayout layout(alone.refused->layout.inputs(), filled_size(piece.rows, options_.allowed_rows), texts);
    HEADRACE_TRY(std::shared_ptr<BatchMemory> memory, runner_.allocate(layout.size_bytes()));
    auto made = std::make_shared<GatheredBatch>(GatheredBatch{std::move(layout), std::move(memory)});
    made->copy_piece(piece, texts);
    made->number = alone.refused->number;
    made->parts.emplace_back(alone.request, alone.index);
    piece.first_row = 0;
    piece.batch = made;
    return made;
  }

  // The next piece that runs alone. These run first: they have already waited for a whole batch.
  Batch next_alone(Actions& actions) {
    while (!alone_.empty()) {
      const Alone alone = std::move(alone_.front());
      alone_.pop_front();
      Request& request = *alone.request;
      if (request.unanswered == 0) {  // another piece of the request has failed
        waiting_rows_ -= alone.rows;
        continue;
      }
      auto made = batch_alone(alone);
      if (made) return *std::move(made);
      waiting_rows_ -= alone.rows;
      fail(request, std::move(made).error(), actions);
    }
    return nullptr;
  }

  void expire_alone(Actions& actions) {
    const Clock::time_point now = options_.now();
    for (const Alone& alone : alone_) {
      if (alone.request->unanswered != 0 && alone.request->options.deadline <= now)
        fail(*alone.request, {Code::kDeadlineExceeded, std::string(kPassed)}, actions);
    }
  }

  void add_time(std::chrono::duration<double, std::nano> took) {
    mean_nanoseconds_ += (mean_nanoseconds_ == 0 ? 1 : kNewest) * (took.count() - mean_nanoseconds_);
  }

  static void answer(Request& request, std::size_t index, const std::shared_ptr<const BatchOutputs>& outputs,
                     Actions& actions) {
    request.answers[index] = {outputs, request.pieces[index].first_row, request.pieces[index].rows};
    if (--request.unanswered != 0) return;
    request.pieces.clear();
    actions.answers.emplace_back(std::move(request.done), std::move(request.answers));
  }

  BatchRunner& runner_;
  const BatcherOptions options_;
  mutable std::mutex mutex_;
  std::optional<Error> refusal_;
  std::vector<Batch> open_;    // accept rows, each of a different shape; oldest first
  std::vector<Batch> closed_;  // wait for a lane, in the order of closing
  std::deque<Alone> alone_;    // run first, one at a time
  std::vector<Batch> running_;
  std::uint64_t next_number_ = 0;
  std::uint64_t waiting_rows_ = 0;
  std::uint64_t in_flight_ = 0;
  std::uint64_t batches_ = 0;
  std::uint64_t rows_ = 0;
  double mean_nanoseconds_ = 0;  // moving average of batch times
};

namespace {

// Batchers with rows that were committed in this thread's current round: few, as a round has few models.
struct ThreadCommits {
  bool is_in_round = false;
  // Each with its owner.
  std::vector<std::pair<std::shared_ptr<BatcherState>, std::shared_ptr<const void>>> states{};
};

ThreadCommits& this_thread_commits() {
  thread_local ThreadCommits commits;
  return commits;
}

}  // namespace

CommitRound::CommitRound() : was_in_round_(std::exchange(this_thread_commits().is_in_round, true)) {}
CommitRound::~CommitRound() { this_thread_commits().is_in_round = was_in_round_; }

void CommitRound::send_committed() {
  auto& states = this_thread_commits().states;
  while (!states.empty()) {
    for (const auto& [state, owner] : std::exchange(states, {})) state->send_waiting();
  }
}

Status check_options(const BatcherOptions& options) {
  const auto& allowed = options.allowed_rows;
  if (options.rows_max == 0 || options.lanes == 0)
    return Error{Code::kInvalidArgument,
                 "a batch needs at least one row, and there must be at least one lane"};
  if (allowed.empty() || (std::ranges::is_sorted(allowed) && allowed.back() == options.rows_max)) return {};
  return Error{Code::kInvalidArgument,
               concat("the sizes of batches must ascend and end with the largest batch, ", options.rows_max)};
}

Batcher::Batcher(BatchRunner& runner, BatcherOptions options)
    : state_(std::make_shared<BatcherState>(runner, std::move(options))) {}

Batcher::~Batcher() = default;

Result<ReservedRows> Batcher::reserve(std::uint64_t rows, const std::vector<RowTensor>& row,
                                      const RequestOptions& options) {
  HEADRACE_TRY(std::shared_ptr<BatchedRequest> request, state_->reserve(rows, row, options));
  return ReservedRows(state_, std::move(request), rows);
}

std::chrono::nanoseconds Batcher::expected_wait() const { return state_->expected_wait(); }
void Batcher::expire() { state_->expire(); }
void Batcher::refuse(Error error) { state_->refuse(std::move(error)); }
Batcher::Counts Batcher::counts() const { return state_->counts(); }

ReservedRows::ReservedRows(std::shared_ptr<BatcherState> state, std::shared_ptr<BatchedRequest> request,
                           std::uint64_t rows)
    : state_(std::move(state)), request_(std::move(request)), rows_(rows) {}

ReservedRows& ReservedRows::operator=(ReservedRows&& other) noexcept {
  std::swap(state_, other.state_);
  std::swap(request_, other.request_);
  std::swap(rows_, other.rows_);
  return *this;
}

ReservedRows::~ReservedRows() {
  if (state_) state_->give_up(request_);
}

BatchedPiece& ReservedRows::piece_of(std::uint64_t row) const {
  const auto after = std::ranges::upper_bound(request_->pieces, row, {}, &BatchedPiece::first_in_request);
  return *std::prev(after);
}

std::uint64_t ReservedRows::row_bytes(std::size_t input) const {
  return request_->pieces.front().batch->layout.row_bytes(input);
}

std::byte* ReservedRows::at(std::size_t input, std::uint64_t row) const { return run_at(input, row).data(); }

std::span<std::byte> ReservedRows::run_at(std::size_t input, std::uint64_t row) const {
  const BatchedPiece& piece = piece_of(row);
  const std::uint64_t in_piece = row - piece.first_in_request;
  return {piece.batch->row(input, piece.first_row + in_piece),
          static_cast<std::size_t>((piece.rows - in_piece) * row_bytes(input))};
}

Status ReservedRows::set_text(std::size_t input, std::uint64_t row, std::uint64_t element,
                              std::string_view text) {
  BatchedPiece& piece = piece_of(row);
  if (text.size() > piece.texts_end - piece.texts_next)
    return Error{Code::kInvalidArgument, "the texts are longer than the request announced"};
  const TextPlace place{static_cast<std::uint32_t>(piece.texts_next),
                        static_cast<std::uint32_t>(text.size())};
  const BatchLayout& layout = piece.batch->layout;
  if (!text.empty())
    std::memcpy(piece.batch->memory->bytes().data() + layout.texts_offset() + piece.texts_next, text.data(),
                text.size());
  piece.texts_next += text.size();
  std::memcpy(at(input, row) + element * sizeof place, &place, sizeof place);
  return {};
}

const std::vector<RowTensor>& ReservedRows::row() const {
  return request_->pieces.front().batch->layout.inputs();
}

Result<std::string_view> ReservedRows::text(std::size_t input, std::uint64_t row,
                                            std::uint64_t element) const {
  const GatheredBatch& batch = *piece_of(row).batch;
  return text_at(batch.layout, batch.memory->bytes(), at(input, row) + element * sizeof(TextPlace));
}

void ReservedRows::commit(AnswerDone done) && {
  const std::shared_ptr<BatcherState> state = std::exchange(state_, nullptr);
  auto& committed = this_thread_commits();
  auto owner = std::exchange(request_->options.owner, nullptr);
  state->commit(std::exchange(request_, nullptr), std::move(done), !committed.is_in_round);
  const bool is_noted =
      std::ranges::any_of(committed.states, [&](const auto& each) { return each.first == state; });
  if (committed.is_in_round && !is_noted) committed.states.emplace_back(state, std::move(owner));
}

}  // namespace headrace
