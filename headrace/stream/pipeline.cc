#include "headrace/stream/pipeline.h"

#include <algorithm>

#include "headrace/base/text.h"

namespace headrace {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kRemarks = 100;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace

Status check_memory_budget(const Dataset& dataset, const LoaderOptions& options,
                           const std::vector<DatasetBlock>& blocks,
                           const std::vector<OrderBlock>& order_blocks, const BatchLayout& layout) {
  std::uint64_t batch_bytes = layout.batch_size / layout.world_size * sizeof(float);
  for (const Column& column : options.columns)
    batch_bytes += (layout.batch_size / layout.world_size + 1) * row_bytes(column);
  std::uint64_t window_bytes = 0, block_bytes = 0;
  // Windows of later epochs hold other blocks, but are closed by the same rule.
  const EpochOrder order(options.seed, 0, order_blocks, options.shuffle, options.window_bytes);
  for (const EpochOrder::Window& window : order.windows()) {
    window_bytes = std::max(
        window_bytes, (window.record_count / layout.batch_size + 2) * batch_bytes + 4 * window.record_count);
  }
  for (const DatasetBlock& block : blocks) block_bytes = std::max(block_bytes, 2 * block.size_bytes);
  const std::uint64_t needed =
      2 * window_bytes + static_cast<std::uint64_t>(std::max(options.threads, 1)) * block_bytes;
  if (needed <= options.memory_budget_bytes) return {};
  return Error{
      Code::kResourceExhausted,
      concat("reading ", dataset.location().describe(), " in windows of ", format_size(options.window_bytes),
             " with blocks of up to ", format_size(block_bytes / 2), " needs ", format_size(needed),
             ", but the memory budget is ", format_size(options.memory_budget_bytes),
             "; raise the budget or make the windows smaller")};
}

Pipeline::Pipeline(const Dataset& dataset, const LoaderOptions& options,
                   const std::vector<DatasetBlock>& blocks, std::vector<OrderBlock> order_blocks,
                   const BatchLayout& layout)
    : dataset_(dataset),
      options_(options),
      blocks_(blocks),
      order_blocks_(std::move(order_blocks)),
      layout_(layout),
      pool_(std::make_shared<BatchPool>(options.columns,
                                        (layout.rank + 1) * layout.batch_size / layout.world_size -
                                            layout.rank * layout.batch_size / layout.world_size)) {
  next_sequence_ = options.first_epoch * layout_.batches_per_epoch + options.first_batch;
  allocated_sequence_ = next_sequence_;
  next_epoch_ = options.first_epoch;
  for (int i = 0; i < std::max(options.threads, 1); ++i) {
    threads_.emplace_back([this](const std::stop_token& stop) { work(stop); });
  }
}

Pipeline::~Pipeline() {
  for (std::jthread& thread : threads_) thread.request_stop();
}

// REQUIRES: mutex_ is held. True if there is a block to take, after opening a window where that is allowed.
bool Pipeline::can_take_block() const {
  return std::any_of(windows_.begin(), windows_.end(),
                     [](const auto& open) { return open->next_block < open->window.block_count; });
}

// REQUIRES: mutex_ is held. False if no window may be opened now.
bool Pipeline::open_next_window() {
  retire_windows();
  if (windows_.size() >= 2 || next_epoch_ >= options_.epochs) return false;
  if (order_ == nullptr || next_window_ == order_->windows().size()) {
    if (order_ != nullptr) ++next_epoch_, next_window_ = 0;
    if (next_epoch_ >= options_.epochs) return false;
    order_ = std::make_shared<const EpochOrder>(options_.seed, next_epoch_, order_blocks_, options_.shuffle,
                                                options_.window_bytes);
    // Whole windows before the start are not opened at all.
    const std::uint64_t first_position =
        next_sequence_ > next_epoch_ * layout_.batches_per_epoch
            ? (next_sequence_ - next_epoch_ * layout_.batches_per_epoch) * layout_.batch_size
            : 0;
    next_window_ = order_->window_at(std::min(first_position, layout_.record_count - 1));
  }
  auto open = std::make_shared<OpenWindow>(open_window(next_epoch_, order_, next_window_++, layout_));
  for (; allocated_sequence_ < open->end_sequence; ++allocated_sequence_) {
    PendingBatch pending{.batch = pool_->take()};
    pending.batch.epoch = allocated_sequence_ / layout_.batches_per_epoch;
    pending.batch.number = allocated_sequence_ % layout_.batches_per_epoch;
    const BatchSlice slice = layout_.slice(pending.batch.number);
    pending.first_position = slice.first_position;
    pending.missing = slice.record_count;
    std::fill_n(pending.batch.weights(), pending.batch.rows, 0.0F);
    pending_.push_back(std::move(pending));
  }
  windows_.push_back(std::move(open));
  return true;
}

// REQUIRES: mutex_ is held, and there is a block to take.
Pipeline::Task Pipeline::take_block() {
  Task task;
  task.window = *std::find_if(windows_.begin(), windows_.end(),
                              [](const auto& open) { return open->next_block < open->window.block_count; });
  OpenWindow& open = *task.window;
  const auto& permuted = open.order->permuted_blocks();
  for (std::uint64_t i = 0; i < open.next_block; ++i)
    task.first_record += order_blocks_[permuted[open.window.first_block + i]].record_count;
  task.block = permuted[open.window.first_block + open.next_block++];
  for (std::uint64_t sequence = open.first_sequence; sequence < open.end_sequence; ++sequence) {
    std::vector<ColumnBuffer>& buffers = task.columns.emplace_back();
    task.weights.push_back(nullptr);
    if (sequence < next_sequence_) continue;  // before the start
    const Batch& batch = pending_[sequence - next_sequence_].batch;
    task.weights.back() = batch.weights();
    for (std::size_t c = 0; c < options_.columns.size(); ++c) {
      if (options_.columns[c].type == FeatureType::kFloat32) {
        buffers.emplace_back(reinterpret_cast<float*>(batch.column(c)));
      } else {
        buffers.emplace_back(reinterpret_cast<std::int64_t*>(batch.column(c)));
      }
    }
  }
  return task;
}

Pipeline::Place Pipeline::place_of(const Task& task, std::uint64_t record) const {
  const OpenWindow& open = *task.window;
  const std::uint64_t position =
      open.window.first_position + open.position_of_record[task.first_record + record];
  const std::uint64_t number = position / layout_.batch_size;
  if (number >= layout_.batches_per_epoch) return {};
  Place place{.batch = open.epoch * layout_.batches_per_epoch + number - open.first_sequence};
  if (task.weights[place.batch] == nullptr) return {};
  const BatchSlice slice = layout_.slice(number);
  if (position < slice.first_position || position >= slice.first_position + slice.record_count) return {};
  place.row = position - slice.first_position;
  place.wanted = true;
  return place;
}

Status Pipeline::decode_block(const Task& task, BlockReader& reader, ExampleDecoder& decoder,
                              TaskOutcome& outcome) const {
  const DatasetBlock& block = blocks_[task.block];
  outcome.delivered.assign(task.weights.size(), 0);
  bool skipping = dataset_.shards()[block.shard].lost;
  const auto note = [&](const Error& error) {
    ++outcome.corrupt_records;
    if (outcome.remarks.size() < kRemarks) outcome.remarks.push_back(error.message);
    skipping = skipping || options_.on_corrupt == CorruptionPolicy::kSkipShard;
  };
  const auto visit = [&](std::uint64_t record, const Result<BytesView>& data) -> Status {
    const Place place = place_of(task, record);
    if (!place.wanted) return {};
    ++outcome.delivered[place.batch];
    if (skipping) {
      ++outcome.corrupt_records;
      return {};
    }
    Status status = data ? decoder.decode(*data, task.columns[place.batch], place.row) : Status(data.error());
    if (status) {
      task.weights[place.batch][place.row] = 1.0F;
      return {};
    }
    const DatasetShard& shard = dataset_.shards()[block.shard];
    Error error = std::move(status).error();
    if (data)
      error = std::move(error).in(concat("record ", block.first_record + record, " of ",
                                         dataset_.location().store->describe(shard.key)));
    if (options_.on_corrupt == CorruptionPolicy::kFail) return with_advice(std::move(error));
    note(error);
    return {};
  };
  const bool any_wanted = [&] {
    for (std::uint64_t i = 0; i < block.record_count; ++i) {
      if (place_of(task, i).wanted) return true;
    }
    return false;
  }();
  if (!any_wanted) return {};
  if (skipping) {
    for (std::uint64_t i = 0; i < block.record_count; ++i) HEADRACE_CHECK(visit(i, BytesView()));
    return {};
  }
  return reader.read(block, {.stop = options_.stop}, visit);
}

void Pipeline::settle(const Task& task, const Status& status, TaskOutcome outcome) {
  stats_.decode_seconds += outcome.seconds;
  stats_.corrupt_records += outcome.corrupt_records;
  for (std::string& remark : outcome.remarks) {
    // Each epoch meets the same records.
    const bool is_new = std::find(remarks_.begin(), remarks_.end(), remark) == remarks_.end();
    if (is_new && remarks_.size() < kRemarks) remarks_.push_back(std::move(remark));
  }
  if (!status && status_) status_ = status;  // the first failure stays
  for (std::size_t i = 0; i < outcome.delivered.size(); ++i) {
    if (outcome.delivered[i] == 0) continue;
    pending_[task.window->first_sequence + i - next_sequence_].missing -= outcome.delivered[i];
  }
}

void Pipeline::work(const std::stop_token& stop) {
  BlockReader reader(dataset_);
  auto decoder = ExampleDecoder::create(options_.columns);
  BlockReadStats before;
  std::unique_lock lock(mutex_);
  if (!decoder) status_ = decoder.error();
  while (status_) {
    const bool ready =
        may_work_.wait(lock, stop, [&] { return !status_ || can_take_block() || open_next_window(); });
    if (!ready || !status_) break;
    if (!can_take_block()) continue;
    const Task task = take_block();
    lock.unlock();
    TaskOutcome outcome;
    const auto start = Clock::now();
    Status status;
    try {
      status = decode_block(task, reader, *decoder, outcome);
    } catch (const std::bad_alloc&) {
      status = Error{Code::kResourceExhausted,
                     concat("out of memory while reading ", dataset_.location().describe())};
    }
    const BlockReadStats now = reader.stats();
    outcome.seconds = seconds_since(start) - (now.fetch_seconds - before.fetch_seconds) -
                      (now.inflate_seconds - before.inflate_seconds);
    lock.lock();
    stats_.fetched_bytes += now.fetched_bytes - before.fetched_bytes;
    stats_.inflated_bytes += now.inflated_bytes - before.inflated_bytes;
    stats_.fetch_seconds += now.fetch_seconds - before.fetch_seconds;
    stats_.inflate_seconds += now.inflate_seconds - before.inflate_seconds;
    before = now;
    settle(task, status, std::move(outcome));
    may_take_.notify_all();
  }
  may_work_.notify_all();
  may_take_.notify_all();
}

Result<std::optional<Batch>> Pipeline::next() {
  std::unique_lock lock(mutex_);
  if (next_sequence_ >= end_sequence()) return std::optional<Batch>();
  const auto start = Clock::now();
  const auto is_complete = [&] { return !status_ || (!pending_.empty() && pending_.front().missing == 0); };
  const bool came = may_take_.wait_for(lock, options_.stop, options_.patience, is_complete);
  stats_.wait_seconds += seconds_since(start);
  if (!status_) return status_.error();
  if (options_.stop.stop_requested())
    return Error{Code::kCancelled, concat("reading ", dataset_.location().describe(), " was stopped")};
  if (!came) {
    return Error{Code::kDeadlineExceeded,
                 concat("no batch of ", dataset_.location().describe(), " came in ",
                        std::chrono::duration_cast<std::chrono::seconds>(options_.patience).count(),
                        " s: is its store reachable?")};
  }
  Batch batch = std::move(pending_.front().batch);
  pending_.pop_front();
  ++next_sequence_;
  ++stats_.batches;
  lock.unlock();
  may_work_.notify_all();
  fill_empty_places(batch, options_.columns);
  lock.lock();
  stats_.records += batch.records;
  return std::optional(std::move(batch));
}

// Lets go of windows that are read and consumed. REQUIRES: mutex_ is held.
void Pipeline::retire_windows() {
  while (!windows_.empty() && windows_.front()->next_block == windows_.front()->window.block_count &&
         is_consumed(*windows_.front())) {
    windows_.pop_front();
  }
}

// The consumer has every batch that ends in the window; the one after them reaches into the next window.
bool Pipeline::is_consumed(const OpenWindow& open) const {
  const std::uint64_t end_position = open.window.first_position + open.window.record_count;
  const std::uint64_t whole_batches = std::min(end_position / layout_.batch_size, layout_.batches_per_epoch);
  const std::uint64_t last_of_epoch =
      end_position == layout_.record_count ? layout_.batches_per_epoch : whole_batches;
  return next_sequence_ >= open.epoch * layout_.batches_per_epoch + last_of_epoch;
}

LoaderStats Pipeline::stats() const {
  const std::lock_guard lock(mutex_);
  return stats_;
}

std::vector<std::string> Pipeline::remarks() const {
  const std::lock_guard lock(mutex_);
  return remarks_;
}

}  // namespace headrace
