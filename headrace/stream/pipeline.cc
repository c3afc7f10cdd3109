#include "headrace/stream/pipeline.h"

#include <algorithm>
#include <exception>

#include "headrace/base/text.h"
#include "headrace/os/parallel.h"

namespace headrace {
namespace {

constexpr std::size_t kPipelineRemarks = 100;
// A wait is cut into slices of this length. After each slice, the waiting caller checks for stops and
// deadlines.
constexpr std::chrono::milliseconds kWaitSlice{100};
constexpr const char* kOpening = "opening a window";
constexpr const char* kLoading = "loading";
constexpr const char* kArranging = "arranging a window";
constexpr const char* kMaking = "making";

double seconds_between(std::chrono::steady_clock::time_point begin,
                       std::chrono::steady_clock::time_point end) {
  return std::chrono::duration<double>(end - begin).count();
}

std::string seconds_text(std::chrono::steady_clock::duration duration) {
  return concat(std::chrono::duration_cast<std::chrono::seconds>(duration).count(), " s");
}

BlockLoadStats sum_of(const std::vector<BlockLoader>& loaders) {
  BlockLoadStats sum;
  for (const BlockLoader& loader : loaders) sum.add(loader.stats());
  return sum;
}

}  // namespace

// The state of each thread.
struct Pipeline::Worker {
  std::size_t number;
  std::vector<BlockLoader> loaders;  // by source
  std::vector<ValueReader> values;   // by source; empty without an arrangement
  BatchMaker maker;
  BlockLoadStats counted{};  // the part of the loaders' statistics that `stats_` already includes
};

Pipeline::Pipeline(const std::vector<std::unique_ptr<Source>>& sources, const BatchPlan& plan,
                   const LoaderOptions& options, const Sizes& sizes)
    : sources_(sources),
      plan_(plan),
      options_(options),
      sizes_(sizes),
      batches_(BatchPool::create(batch_columns(options.columns, options.images), plan.row_count())),
      pictures_(sizes.picture_bytes),
      states_(sources.size()),
      loads_at_once_(sizes.threads, std::min(2 * sizes.threads, sizes.most_threads), sizes.most_threads),
      activities_(static_cast<std::size_t>(sizes.most_threads)),
      trace_(options.trace) {
  next_sequence_ = claimed_sequence_ = options.first_epoch * plan.batches_per_epoch() + options.first_batch;
  for (std::size_t s = 0; s < sources.size() && next_sequence_ < end_sequence(); ++s) {
    states_[s].opened = plan.begin_of(s, next_sequence_);
    states_[s].end = plan.end_of(s, end_sequence() - 1);
    states_[s].window_bytes = sources[s]->window_memory_bytes();
  }
  batches_->on_return([this] { changed(); });
  const std::lock_guard lock(mutex_);
  while (static_cast<int>(threads_.size()) < sizes.threads && add_thread()) continue;
  if (threads_.empty())
    fail(next_sequence_, {Code::kResourceExhausted, "the system refuses to start a thread"});
}

Pipeline::~Pipeline() { close(); }

void Pipeline::close() {
  batches_->on_return({});  // batches may outlive the pipeline
  {
    const std::lock_guard lock(mutex_);
    is_closed_ = true;
    may_take_.notify_all();
  }
  stop_.request_stop();
  {
    const std::lock_guard lock(mutex_);
    // The function that `next` reports to may call `close`. Then the threads are told to end, but this call
    // does not wait for them.
    if (taker_ == std::this_thread::get_id()) return;
  }
  const std::lock_guard one_closer(closing_mutex_);
  std::vector<std::jthread> threads;
  {
    std::unique_lock lock(mutex_);
    may_take_.wait(lock, [this] { return taker_ == std::thread::id(); });
    threads.swap(threads_);
  }
  threads.clear();
  const std::lock_guard lock(mutex_);
  states_.clear();
  ready_.clear();
  claimed_sequence_ = next_sequence_;
  first_.reset();
  buffers_.reset();
  batches_->keep_none();
}

// Returns false if there are enough threads, or the system refuses. REQUIRES: mutex_ is held
bool Pipeline::add_thread() {
  const std::size_t number = threads_.size();
  if (is_closed_ || number >= activities_.size()) return false;
  try {
    threads_.emplace_back([this, number] { work(number); });
  } catch (const std::exception&) {
    return false;
  }
  return true;
}

// ---- What is claimed next. All REQUIRE: mutex_ is held ----

// The first batch that will not be made.
std::uint64_t Pipeline::end_of_making() const {
  return failure_ ? std::min(failure_->sequence, end_sequence()) : end_sequence();
}

// Drops windows that have been read. A window that a batch or block task still uses lives as long as the
// task.
void Pipeline::drop_windows(std::size_t source) {
  SourceState& state = states_[source];
  const bool is_over = claimed_sequence_ >= end_of_making();
  const std::uint64_t read = is_over ? state.end : plan_.begin_of(source, claimed_sequence_);
  share_blocks(state);
  // The next window, if it is not open yet, reuses the blocks of the last window if that holds a whole epoch.
  const bool is_kept =
      !is_over && state.opened < state.end && !state.windows.empty() &&
      state.windows.back()->end - state.windows.back()->begin == sources_[source]->record_count();
  const OpenWindow* kept = is_kept ? state.windows.back().get() : nullptr;
  std::erase_if(state.windows, [&](const auto& open) {
    return open->end <= read && open.use_count() == 1 && open.get() != kept;
  });
}

// Chooses a source whose next window is to be opened. Opens one window ahead, and the windows of the batch
// that the caller waits for (there is no memory for those of later batches). If `further`, also opens windows
// that fit into `ahead_bytes`.
std::optional<std::size_t> Pipeline::claim_window(bool further) {
  if (claimed_sequence_ >= end_of_making()) return std::nullopt;
  for (std::size_t s = 0; s < states_.size(); ++s) {
    SourceState& state = states_[s];
    std::uint64_t held_bytes = 0;
    for (const auto& open : state.windows) held_bytes += open->bytes;
    const bool is_wanted = state.opened < state.end &&
                           (state.windows.size() < 2 || state.opened < plan_.end_of(s, next_sequence_) ||
                            (further && held_bytes <= state.window_bytes + sizes_.ahead_bytes));
    if (!is_wanted || state.is_opening) continue;
    state.is_opening = true;
    return s;
  }
  return std::nullopt;
}

// Shares blocks between epochs, so that a source that fits into one window is read only once.
void Pipeline::share_blocks(SourceState& state) {
  for (std::size_t i = 1; i < state.windows.size(); ++i) {
    OpenWindow& open = *state.windows[i];
    if (!open.waits_to_share || !state.windows[i - 1]->is_loaded()) continue;
    const OpenWindow& before = *state.windows[i - 1];
    open.window->share(*before.window);
    open.errors = before.errors;  // a block that could not be loaded is missing here, too
    open.next_block = open.loaded = open.window->blocks().size();
    open.waits_to_share = false;
  }
}

bool Pipeline::may_make_batch() const {
  if (claimed_sequence_ >= end_of_making() || claimed_sequence_ - next_sequence_ >= sizes_.depth || first_)
    return false;
  const bool fits = batches_->outstanding() == 0 ||
                    batches_->outstanding_bytes() + batches_->fixed_bytes() <= sizes_.batch_budget_bytes;
  if (!fits) return false;
  for (std::size_t s = 0; s < states_.size(); ++s) {
    const std::uint64_t begin = plan_.begin_of(s, claimed_sequence_),
                        end = plan_.end_of(s, claimed_sequence_);
    if (begin == end) continue;
    if (states_[s].opened < end) return false;
    const bool all_loaded = std::ranges::all_of(states_[s].windows, [&](const auto& open) {
      return open->is_ready() || open->end <= begin || open->begin >= end;
    });
    if (!all_loaded) return false;
  }
  return true;
}

// Claims a window whose blocks are all loaded, but whose records are not arranged yet.
std::shared_ptr<Pipeline::OpenWindow> Pipeline::claim_arrangement() {
  for (const SourceState& state : states_) {
    for (const auto& open : state.windows) {
      if (!open->is_loaded() || open->is_ready() || open->is_arranging) continue;
      open->is_arranging = true;
      return open;
    }
  }
  return nullptr;
}

Pipeline::BatchTask Pipeline::claim_batch() {
  BatchTask task{.sequence = claimed_sequence_++, .batch = batches_->take()};
  for (std::size_t s = 0; s < states_.size(); ++s) {
    const std::uint64_t begin = plan_.begin_of(s, task.sequence), end = plan_.end_of(s, task.sequence);
    std::vector<std::shared_ptr<OpenWindow>>& windows = task.windows.emplace_back();
    for (const auto& open : states_[s].windows) {
      if (open->end > begin && open->begin < end) windows.push_back(open);
    }
  }
  return task;
}

// Claims a block of the window that is needed first: the window whose first position comes earliest in the
// mixture.
std::optional<Pipeline::BlockTask> Pipeline::claim_block() {
  std::optional<BlockTask> task;
  if (first_ || claimed_sequence_ >= end_of_making() || loads_ >= loads_at_once_.limit()) return task;
  double earliest = 0;
  for (std::size_t s = 0; s < states_.size(); ++s) {
    const auto open = std::ranges::find_if(states_[s].windows, [](const auto& candidate) {
      return candidate->next_block < candidate->window->blocks().size() && !candidate->waits_to_share;
    });
    if (open == states_[s].windows.end()) continue;
    const double share = static_cast<double>(plan_.weight(s)) / static_cast<double>(plan_.total_weight());
    const double begin = static_cast<double>((*open)->begin) / share;
    if (task && begin >= earliest) continue;
    task = BlockTask{.source = s, .open = *open};
    earliest = begin;
  }
  if (task) task->block = task->open->next_block++;
  return task;
}

// ---- The threads ----

void Pipeline::begin(const Worker& worker, Activity activity) {
  Activity& now = activities_[worker.number];
  if (now.stage == kIdle) stats_.idle_seconds += seconds_between(now.since, activity.since);
  now = activity;
}

// Adds what the worker has loaded since the last call to the statistics. REQUIRES: mutex_ is held
void Pipeline::count(Worker& worker) {
  const BlockLoadStats now = sum_of(worker.loaders);
  stats_.fetched_bytes += now.fetched_bytes - worker.counted.fetched_bytes;
  stats_.inflated_bytes += now.inflated_bytes - worker.counted.inflated_bytes;
  stats_.fetch_seconds += now.fetch_seconds - worker.counted.fetch_seconds;
  stats_.inflate_seconds += now.inflate_seconds - worker.counted.inflate_seconds;
  stats_.check_seconds += now.check_seconds - worker.counted.check_seconds;
  worker.counted = now;
}

void Pipeline::add_remarks(std::vector<std::string> remarks) {
  for (std::string& remark : remarks) {
    // Each epoch reads the same records, so the same remarks come again.
    const bool is_new = std::ranges::find(remarks_, remark) == remarks_.end();
    if (is_new && remarks_.size() < kPipelineRemarks) remarks_.push_back(std::move(remark));
  }
}

void Pipeline::fail(std::uint64_t sequence, Error error) {
  if (!failure_ || sequence < failure_->sequence) failure_ = {sequence, std::move(error)};
  may_take_.notify_all();
}

// REQUIRES: mutex_ is held. It is released during the work. The same holds for the next three functions.
void Pipeline::open_window(std::size_t source, Worker& worker, std::unique_lock<std::mutex>& lock) {
  const Source& from = *sources_[source];
  const std::uint64_t epoch = states_[source].opened / from.record_count();
  const std::uint64_t position = states_[source].opened % from.record_count();
  begin(worker, {.stage = kOpening, .source = source});
  lock.unlock();
  auto open = std::make_shared<OpenWindow>();
  open->window = from.window(epoch, from.window_at(epoch, position), *buffers_);
  open->begin = epoch * from.record_count() + open->window->first_position();
  open->end = open->begin + open->window->record_count();
  for (const DatasetBlock& block : open->window->blocks()) open->bytes += block.stream_bytes;
  open->is_arranged = options_.arrangement.kind == ArrangementKind::kNone;
  lock.lock();
  SourceState& state = states_[source];
  open->waits_to_share = !state.windows.empty() && open->window->is_same_epoch(*state.windows.back()->window);
  state.opened = open->end;
  state.windows.push_back(std::move(open));
  state.is_opening = false;
  ++settled_;
  changed();
}

void Pipeline::load_block(const BlockTask& task, Worker& worker, std::unique_lock<std::mutex>& lock) {
  const Clock::time_point start = Clock::now();
  begin(worker, {kLoading, task.source, &task.open->window->blocks()[task.block], 0, start});
  ++loads_;
  lock.unlock();
  BlockLoader& loader = worker.loaders[task.source];
  ValueReader* values = worker.values.empty() ? nullptr : &worker.values[task.source];
  Status status = task.open->window->load(task.block, loader, values, {.stop = stop_.get_token()});
  trace_.add(kLoading, worker.number, task.block, start);
  lock.lock();
  --loads_;
  count(worker);
  ++stats_.blocks;
  ++settled_;
  ++task.open->loaded;
  add_remarks(loader.take_remarks());
  if (values != nullptr) add_remarks(values->take_remarks());
  if (!status) task.open->errors.emplace(task.block, std::move(status).error());
  changed();
}

void Pipeline::arrange(OpenWindow& open, Worker& worker, std::unique_lock<std::mutex>& lock) {
  const Clock::time_point start = Clock::now();
  begin(worker, {.stage = kArranging, .since = start});
  lock.unlock();
  open.window->arrange();
  trace_.add(kArranging, worker.number, open.window->first_position(), start);
  lock.lock();
  stats_.decode_seconds += seconds_between(start, Clock::now());
  open.is_arranged = true;
  ++settled_;
  changed();
}

const Window& Pipeline::window_of(const BatchTask& task, const SourcePosition& row) const {
  const std::uint64_t position = row.epoch * sources_[row.source]->record_count() + row.position;
  const auto& open = *std::ranges::find_if(task.windows[row.source], [&](const auto& candidate) {
    return position >= candidate->begin && position < candidate->end;
  });
  return *open->window;
}

std::string Pipeline::describe_record(const Window& window, const SourcePosition& row) {
  const Dataset& dataset = sources_[row.source]->dataset();
  const SourceRecord record = window.record(row.position);
  const auto offset = finder_.offset(dataset, record.shard, record.record, {.stop = stop_.get_token()});
  return concat("record ", record.record, offset ? concat(", at byte ", *offset, " uncompressed,") : "",
                " of ", dataset.describe_shard(record.shard));
}

// Finds the rows' records and decodes them.
Status Pipeline::fill(BatchTask& task, Worker& worker) {
  for (const auto& windows : task.windows) {
    for (const auto& open : windows) {
      if (!open->errors.empty()) return open->errors.begin()->second;
    }
  }
  const auto place = [&](const SourcePosition& at) { return window_of(task, at).place(at.position); };
  const std::vector<SourcePosition> rows = plan_.rows(task.sequence);
  std::vector<Window::Place> places;
  places.reserve(rows.size());
  for (const SourcePosition& row : rows) places.push_back(place(row));
  const auto record = [&](std::uint64_t i) -> std::optional<Window::Place> {
    const auto at = i < plan_.batch_size() ? plan_.record(task.sequence, i) : std::nullopt;
    return at ? std::optional(place(*at)) : std::nullopt;
  };
  const auto describe = [&](std::size_t row) {
    return describe_record(window_of(task, rows[row]), rows[row]);
  };
  return worker.maker.make({places, plan_.row_first(), record, describe, stop_.get_token()}, task.batch);
}

void Pipeline::make_batch(BatchTask task, Worker& worker, std::unique_lock<std::mutex>& lock) {
  const Clock::time_point start = Clock::now();
  begin(worker, {kMaking, 0, nullptr, task.sequence, start});
  lock.unlock();
  task.batch.epoch = task.sequence / plan_.batches_per_epoch();
  task.batch.number = task.sequence % plan_.batches_per_epoch();
  Status status = fill(task, worker);
  batches_->measure(task.batch);
  trace_.add(kMaking, worker.number, task.sequence, start);
  lock.lock();
  stats_.decode_seconds += seconds_between(start, Clock::now());
  if (status) stats_.decoded_bytes += task.batch.content_bytes();
  stats_.corrupt_records += worker.maker.take_corrupt_records();
  ++settled_;
  add_remarks(worker.maker.take_remarks());
  changed();
  if (!status) return fail(task.sequence, std::move(status).error());
  ready_.emplace(task.sequence, std::move(task.batch));
  if (options_.headspace && !first_ && task.sequence == next_sequence_) first_ = ready_.at(task.sequence);
  may_take_.notify_all();
}

// Returns false if there is nothing to claim. REQUIRES: mutex_ is held. It is released during the work
bool Pipeline::claim_and_work(Worker& worker, std::unique_lock<std::mutex>& lock) {
  for (std::size_t s = 0; s < states_.size(); ++s) drop_windows(s);
  if (may_make_batch()) {
    BatchTask task = claim_batch();
    may_work_.notify_one();  // there may be more
    make_batch(std::move(task), worker, lock);
    return true;
  }
  if (const std::shared_ptr<OpenWindow> open = claim_arrangement()) {
    may_work_.notify_one();
    arrange(*open, worker, lock);
    return true;
  }
  std::optional<std::size_t> window = claim_window(false);
  const std::optional<BlockTask> block = window ? std::nullopt : claim_block();
  // Many small windows fit into the budget. Opening them must not delay the first batches.
  if (!window && !block) window = claim_window(true);
  if (!window && !block) return false;
  may_work_.notify_one();
  if (window) {
    open_window(*window, worker, lock);
  } else {
    load_block(*block, worker, lock);
  }
  return true;
}

void Pipeline::work(std::size_t number) {
  if (options_.is_in_background) lower_thread_priority();
  const std::stop_token stop = stop_.get_token();
  std::unique_lock lock(mutex_);
  Error error;
  try {
    auto maker = BatchMaker::create(options_, pictures_);
    if (!maker) return fail(next_sequence_, std::move(maker).error());
    Worker worker{.number = number, .loaders = {}, .values = {}, .maker = *std::move(maker)};
    const std::vector<Column> columns = columns_to_load(options_.columns, options_.arrangement);
    for (const auto& source : sources_) {
      const Dataset& dataset = source->dataset();
      worker.loaders.emplace_back(dataset, options_.on_corrupt, buffers_, columns);
      if (options_.arrangement.kind == ArrangementKind::kNone) continue;
      auto values = ValueReader::create(dataset, options_.on_corrupt, options_.arrangement);
      if (!values) return fail(next_sequence_, std::move(values).error());
      worker.values.push_back(*std::move(values));
    }
    while (!stop.stop_requested()) {
      const std::uint64_t seen = changes_;
      if (claim_and_work(worker, lock)) continue;
      begin(worker, {});
      may_work_.wait(lock, stop, [&] { return changes_ != seen; });
    }
    return;
  } catch (const std::bad_alloc&) {
    error = {Code::kResourceExhausted, "out of memory while reading ahead: make batches or windows smaller"};
  } catch (const std::exception& exception) {
    error = {Code::kInternal, concat("reading ahead failed: ", exception.what())};
  }
  // The thread's task is never finished, so no batch can follow those that are ready.
  if (!lock.owns_lock()) lock.lock();
  activities_[number] = {};
  fail(next_sequence_, std::move(error));
}

// Call this when there may be something new to claim. If the mutex is not held, a thread that is about to
// wait may miss the call until the waiting caller wakes up.
void Pipeline::changed() {
  ++changes_;
  may_work_.notify_one();
}

// ---- The caller ----

bool Pipeline::is_ready() const {
  return is_closed_ || next_sequence_ >= end_of_making() || first_ || ready_.contains(next_sequence_);
}

// True if no batch can be made, and none is being made, until the caller releases one.
bool Pipeline::caller_holds_all() const {
  return ready_.empty() && claimed_sequence_ == next_sequence_ && batches_->outstanding() > 0 &&
         batches_->outstanding_bytes() + batches_->fixed_bytes() > sizes_.batch_budget_bytes;
}

// Learns from a wait of the caller, or from a part of a wait. REQUIRES: mutex_ is held
void Pipeline::learn_from_wait(double seconds, const LoaderStats& before) {
  double fetching = stats_.fetch_seconds;
  // A load that takes long counts before it has ended, too.
  for (const Activity& activity : activities_) {
    if (activity.stage == kLoading) fetching += seconds_between(activity.since, Clock::now());
  }
  if (fetching <= stats_.inflate_seconds + stats_.check_seconds + stats_.decode_seconds) return;
  loads_at_once_.add(seconds, stats_.blocks - before.blocks, stats_.fetched_bytes - before.fetched_bytes);
  while (static_cast<int>(threads_.size()) < loads_at_once_.limit() && add_thread()) continue;
}

// Waits until there is something to take. REQUIRES: mutex_ is held
Status Pipeline::await(std::unique_lock<std::mutex>& lock) {
  const Clock::time_point start = Clock::now();
  Clock::time_point reported = start, free_since = start, moved = start;
  std::uint64_t settled = settled_;
  Clock::time_point learned = start;
  LoaderStats before = stats_;
  const auto learn = [&] {
    const Clock::time_point now = Clock::now();
    learn_from_wait(seconds_between(std::exchange(learned, now), now), before);
    before = stats_;
  };
  while (!is_ready() && !options_.stop.stop_requested()) {
    may_take_.wait_for(lock, options_.stop, kWaitSlice, [this] { return is_ready(); });
    const Clock::time_point now = Clock::now();
    if (is_ready() || options_.stop.stop_requested()) break;
    if (!caller_holds_all()) free_since = now;
    if (std::exchange(settled, settled_) != settled_) moved = now;
    if (now - free_since >= options_.hold_patience) {
      return Error{Code::kResourceExhausted,
                   concat("the caller holds ", batches_->outstanding(), " batches, together ",
                          format_size(batches_->outstanding_bytes()), ", and the memory budget of ",
                          format_size(options_.memory_budget_bytes),
                          " has no room for another: release some, copy the data that you want to keep, or "
                          "raise the budget")};
    }
    if (now - moved >= options_.patience) {
      return Error{Code::kDeadlineExceeded,
                   concat("nothing was read for ", seconds_text(now - moved), ":\n", activity_locked())};
    }
    if (options_.report && now - reported >= options_.report_after) {
      reported = now;
      const std::string text = concat("no batch for ", seconds_text(now - start), ":\n", activity_locked());
      lock.unlock();
      options_.report(text);
      lock.lock();
    }
    learn();
    changed();
  }
  // This also holds if a batch is ready: a caller that has asked to stop gets no more batches.
  if (options_.stop.stop_requested()) return Error{Code::kCancelled, "reading was stopped"};
  stats_.wait_seconds += seconds_between(start, Clock::now());
  if (!is_closed_) learn();
  return {};
}

// Tells `close` that a caller is inside `next`, until the caller leaves in any way.
class Pipeline::Taking {
 public:
  explicit Taking(Pipeline& pipeline) : pipeline_(pipeline) { set(std::this_thread::get_id()); }
  ~Taking() { set({}); }
  Taking(const Taking&) = delete;
  Taking& operator=(const Taking&) = delete;

 private:
  void set(std::thread::id taker) {
    const std::lock_guard lock(pipeline_.mutex_);
    pipeline_.taker_ = taker;
    pipeline_.may_take_.notify_all();
  }
  Pipeline& pipeline_;
};

Result<std::optional<Batch>> Pipeline::next() {
  const Taking taking(*this);
  std::unique_lock lock(mutex_);
  HEADRACE_CHECK(await(lock));
  if (is_closed_) return Error{Code::kFailedPrecondition, "the loader is closed; make another one"};
  if (next_sequence_ >= end_sequence()) return std::optional<Batch>();
  Batch batch;
  if (first_) {
    batch = *first_;
    batch.epoch = next_sequence_ / plan_.batches_per_epoch();
    batch.number = next_sequence_ % plan_.batches_per_epoch();
  } else if (const auto ready = ready_.find(next_sequence_); ready != ready_.end()) {
    batch = std::move(ready->second);
    ready_.erase(ready);
  } else {
    return failure_->error;
  }
  ++next_sequence_;
  ++stats_.batches;
  stats_.records += batch.records;
  changed();
  return std::optional(std::move(batch));
}

LoaderStats Pipeline::stats() const {
  const std::lock_guard lock(mutex_);
  LoaderStats stats = stats_;
  stats.threads = static_cast<int>(threads_.size());
  stats.ready_batches = ready_.size();
  const std::uint64_t inside = claimed_sequence_ - next_sequence_;  // batches that are ready or being made
  stats.held_batches = batches_->outstanding() - std::min(batches_->outstanding(), inside);
  return stats;
}

std::vector<std::string> Pipeline::remarks() const {
  const std::lock_guard lock(mutex_);
  return remarks_;
}

std::string Pipeline::activity() const {
  const std::lock_guard lock(mutex_);
  return activity_locked();
}

std::string Pipeline::activity_locked() const {
  const Clock::time_point now = Clock::now();
  std::string text = concat("the caller waits for batch ", next_sequence_, "; ", ready_.size(),
                            " later batches are ready, ", batches_->outstanding(), " in use");
  for (std::size_t i = 0; i < threads_.size(); ++i) {
    const Activity& activity = activities_[i];
    text += concat("\nthread ", i, ": ", activity.stage);
    if (activity.block != nullptr) {
      text += concat(" bytes ", activity.block->stored_offset, "–",
                     activity.block->stored_offset + activity.block->stored_bytes, " of ",
                     sources_[activity.source]->dataset().describe_shard(activity.block->shard));
    } else if (activity.stage == kMaking) {
      text += concat(" batch ", activity.sequence);
    }
    text += concat(" for ", seconds_text(now - activity.since));
  }
  return text;
}

}  // namespace headrace
