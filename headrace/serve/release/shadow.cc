#include "headrace/serve/release/shadow.h"

#include <algorithm>
#include <set>
#include <utility>

#include "headrace/base/hash.h"
#include "headrace/base/text.h"

namespace headrace {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kDeadline{30};
constexpr HashKey kDrawKey{.low = 1};
constexpr int kPriority = -1;  // after clients' requests

// Bytes that the answers keep in memory: those of whole batches.
std::uint64_t bytes_of(const BatchAnswers& answers) {
  std::uint64_t bytes = 0;
  std::set<const BatchOutputs*> counted;
  for (const AnswerPiece& piece : answers) {
    if (!counted.insert(piece.outputs.get()).second) continue;
    for (const TensorView& tensor : piece.outputs->tensors) {
      bytes += tensor.shape.elements() * data_type_size_bytes(tensor.type);
      for (const std::string_view text : tensor.strings) bytes += text.size();
    }
  }
  return bytes;
}

}  // namespace

struct Shadow::State {
  mutable std::mutex mutex{};
  std::condition_variable_any has_come{};
  std::deque<std::shared_ptr<Copy>> waiting{};
  std::uint64_t held = 0;  // requests that wait or are being answered
  std::uint64_t held_bytes = 0;
  Counts counts{};
};

// A copy of a request. It counts toward the bounds until it is destroyed.
struct Shadow::Copy {
  Copy(std::shared_ptr<State> its_state, AnsweredRequest its_request, std::uint64_t its_bytes)
      : state(std::move(its_state)), request(std::move(its_request)), bytes(its_bytes) {}
  Copy(const Copy&) = delete;
  Copy& operator=(const Copy&) = delete;
  ~Copy() {
    const std::scoped_lock lock(state->mutex);
    --state->held;
    state->held_bytes -= bytes;
  }

  void drop() const {
    const std::scoped_lock lock(state->mutex);
    ++state->counts.dropped;
  }
  void fail(const Error& error) const {
    const std::scoped_lock lock(state->mutex);
    ++state->counts.failed;
    state->counts.last_error = error.message;
  }
  void compare(const Result<BatchAnswers>& answers, const ServedSignature& signature,
               double tolerance) const {
    if (!answers) return fail(answers.error());
    const auto difference =
        compare_outputs(request.answers, *request.signature, *answers, signature, tolerance);
    if (!difference) return fail(difference.error());
    const std::scoped_lock lock(state->mutex);
    ++state->counts.requests;
    OutputDifference& sum = state->counts.difference;
    sum.rows += difference->rows;
    sum.rows_that_differ += difference->rows_that_differ;
    sum.largest = std::max(sum.largest, difference->largest);
  }

  const std::shared_ptr<State> state;
  const AnsweredRequest request;
  const std::uint64_t bytes;
};

Shadow::Shadow(const LiveModel& model, ShadowOptions options)
    : model_(model),
      options_(std::move(options)),
      state_(std::make_shared<State>()),
      thread_([this](const std::stop_token& stop) { work(stop); }) {}

Shadow::~Shadow() {
  thread_.request_stop();
  thread_.join();
  std::deque<std::shared_ptr<Copy>> waiting;
  const std::scoped_lock lock(state_->mutex);
  waiting.swap(state_->waiting);
}

bool Shadow::draws(const ServedVersion& answering) {
  const auto own = model_.find(options_.version);
  if (!own || own->get() == &answering) return false;
  // Draws by a hash. In step with the canary's share, it would get all requests that the canary answers, or
  // none.
  const std::uint64_t drawn = siphash(kDrawKey, draws_.fetch_add(1, std::memory_order_relaxed));
  return drawn % kFullShare < options_.fraction;
}

void Shadow::ask(AnsweredRequest request) {
  const std::uint64_t bytes = request.kept_bytes + bytes_of(request.answers);
  {
    const std::scoped_lock lock(state_->mutex);
    if (state_->held >= kMostRequests || state_->held_bytes + bytes > kMostBytes) {
      ++state_->counts.dropped;
      return;
    }
    ++state_->held;
    state_->held_bytes += bytes;
  }
  auto copy = std::make_shared<Copy>(state_, std::move(request), bytes);
  const std::scoped_lock lock(state_->mutex);
  state_->waiting.push_back(std::move(copy));
  state_->has_come.notify_one();
}

void Shadow::work(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    std::shared_ptr<Copy> copy;
    {
      std::unique_lock lock(state_->mutex);
      if (!state_->has_come.wait(lock, stop, [this] { return !state_->waiting.empty(); })) return;
      copy = std::move(state_->waiting.front());
      state_->waiting.pop_front();
    }
    run(std::move(copy));
  }
}

void Shadow::run(std::shared_ptr<Copy> copy) const {
  auto found = model_.find(options_.version);
  if (!found) return copy->drop();
  const std::shared_ptr<ServedVersion> version = *std::move(found);
  const ServedSignature* const signature = version->model().find(copy->request.signature->name);
  if (signature == nullptr) {
    return copy->fail({Code::kFailedPrecondition, concat("version ", version->number(), " has no signature ",
                                                         copy->request.signature->name)});
  }
  const auto bound = copy->request.bind(*signature);
  if (!bound) return copy->fail(bound.error());
  Batcher& batcher =
      version->batcher(static_cast<std::size_t>(signature - version->model().signatures.data()));
  auto rows = batcher.reserve(
      (*bound)->rows(), (*bound)->row(),
      {.deadline = Clock::now() + kDeadline, .texts_bytes = (*bound)->texts_bytes(), .priority = kPriority});
  if (!rows) return rows.error().code == Code::kResourceExhausted ? copy->drop() : copy->fail(rows.error());
  if (const Status filled = (*bound)->fill(*rows); !filled) return copy->fail(filled.error());
  std::move(*rows).commit([copy = std::move(copy), version, signature,
                           tolerance = options_.tolerance](const Result<BatchAnswers>& answers) {
    copy->compare(answers, *signature, tolerance);
  });
}

Shadow::Counts Shadow::counts() const {
  const std::scoped_lock lock(state_->mutex);
  return state_->counts;
}

}  // namespace headrace
