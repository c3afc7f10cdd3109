#include "headrace/stream/loader_memory.h"

#include <algorithm>

#include "headrace/base/text.h"
#include "headrace/os/parallel.h"
#include "headrace/stream/image_reader.h"

namespace headrace {
namespace {

// The number of threads for a slow store if `threads` is 0.
constexpr int kMostThreads = 16;
// How many batches are made ahead of the caller. At most, if the budget allows: enough to hide the time that
// a batch takes. At least: one that is ready and one that is being made. The caller holds one more.
constexpr std::uint64_t kMostAhead = 8;
constexpr std::uint64_t kLeastAhead = 2;
// The least memory for decoding large pictures.
constexpr std::uint64_t kLeastPictureBytes = 64 << 20;
// No machine has so much memory. Larger sums are cut to this, so that they do not wrap around.
constexpr double kMostBytes = 1LL << 60;

std::uint64_t bytes_of(double bytes) { return static_cast<std::uint64_t>(std::min(bytes, kMostBytes)); }

// The size of one batch if each variable column takes as much as an average record.
std::uint64_t batch_bytes(const std::vector<std::unique_ptr<Source>>& sources, const BatchPlan& plan,
                          const std::vector<BatchColumn>& columns) {
  double row = sizeof(float);
  bool is_variable = false;
  for (const BatchColumn& column : columns) {
    row += static_cast<double>(row_bytes(column));
    is_variable = is_variable || !is_fixed(column);
  }
  double record = 0;
  for (const auto& source : sources) record = std::max(record, source->mean_record_bytes());
  if (is_variable) row += record;
  return bytes_of(row * static_cast<double>(plan.row_count())) + (columns.size() + 1) * kBatchAlignmentBytes;
}

// The memory that all sources together need at once.
struct Needs {
  std::uint64_t batch = 0;
  std::uint64_t windows = 0;
  std::uint64_t span = 0;      // windows that lie within one batch; two more windows overlap the batch partly
  std::uint64_t index = 0;     // the index of records in exact order, and that of a selection
  std::uint64_t thread = 0;    // per thread: to load a block, and to decode images
  std::uint64_t pictures = 0;  // to decode large pictures

  std::uint64_t bytes(std::uint64_t ahead, int threads) const {
    return windows + span + index + pictures + (ahead + 1) * batch +
           static_cast<std::uint64_t>(threads) * thread;
  }
};

std::uint64_t index_bytes(const Dataset& dataset) { return dataset.record_count() * sizeof(std::uint64_t); }

Needs needs_of(const std::vector<std::unique_ptr<Source>>& sources, const BatchPlan& plan,
               const LoaderOptions& options) {
  Needs needs{.batch = batch_bytes(sources, plan, batch_columns(options.columns, options.images))};
  for (std::size_t s = 0; s < sources.size(); ++s) {
    const Source& source = *sources[s];
    needs.windows += (source.is_held_whole() ? 1 : 2) * source.window_memory_bytes();
    if (!source.is_held_whole())
      needs.span += source.span_memory_bytes(plan.end_of(s, 0), sources.size() > 1);
    needs.index += source.selection_bytes();
    std::uint64_t thread = source.reading_bytes();
    if (source.mode() == ShuffleMode::kExact) {
      needs.index += index_bytes(source.dataset());
      thread += source.block_bytes();
    }
    needs.thread = std::max(needs.thread, thread);
  }
  needs.thread += image_reader_bytes(options.images);
  if (!options.images.columns.empty()) needs.pictures = kLeastPictureBytes;
  return needs;
}

}  // namespace

Status check_index_memory(const std::vector<LoaderSource>& sources, const LoaderOptions& options) {
  if (options.shuffle != ShuffleMode::kExact) return {};
  std::uint64_t bytes = 0;
  for (const LoaderSource& source : sources) bytes += index_bytes(*source.dataset);
  if (bytes <= options.memory_budget_bytes) return {};
  return Error{Code::kResourceExhausted,
               concat("in exact order, the positions of the records take ", format_size(bytes),
                      ", but the memory budget is ", format_size(options.memory_budget_bytes),
                      "; raise the budget, or shuffle in windows")};
}

Result<Pipeline::Sizes> divide_memory(const std::vector<std::unique_ptr<Source>>& sources,
                                      const BatchPlan& plan, const LoaderOptions& options) {
  const Needs needs = needs_of(sources, plan, options);
  const std::uint64_t budget = options.memory_budget_bytes;
  const std::uint64_t least = needs.bytes(kLeastAhead, std::max(options.threads, 1));
  if (least > budget) {
    std::uint64_t block = 0;
    for (const auto& source : sources) block = std::max(block, source->block_bytes());
    return Error{
        Code::kResourceExhausted,
        concat("reading in windows of ", format_size(options.window_bytes), ", blocks of up to ",
               format_size(block), " and batches of ", format_size(needs.batch), " made of ",
               format_size(needs.span), " of records", needs.pictures > 0 ? " and decoding images" : "",
               " needs ", format_size(least), ", but the memory budget is ", format_size(budget),
               "; raise the budget, or make windows or batches smaller")};
  }
  Pipeline::Sizes sizes{.depth = kLeastAhead, .threads = options.threads, .most_threads = options.threads};
  if (options.threads <= 0) {
    sizes.most_threads = kMostThreads;
    while (sizes.most_threads > 1 && needs.bytes(kLeastAhead, sizes.most_threads) > budget)
      --sizes.most_threads;
    sizes.threads = std::min(available_cores(), sizes.most_threads);
  }
  // A third window of each source. Without it, nothing would be fetched while a batch is made of the last
  // two.
  for (const auto& source : sources)
    if (!source->is_held_whole())
      sizes.ahead_bytes = std::max(sizes.ahead_bytes, source->window_memory_bytes());
  if (needs.bytes(sizes.depth, sizes.most_threads) + sizes.ahead_bytes * sources.size() > budget)
    sizes.ahead_bytes = 0;
  const std::uint64_t third = sizes.ahead_bytes * sources.size();
  while (sizes.depth < kMostAhead && needs.bytes(sizes.depth + 1, sizes.most_threads) + third <= budget)
    ++sizes.depth;
  std::uint64_t rest = budget - needs.bytes(sizes.depth, sizes.most_threads) - third;
  if (options.shuffle == ShuffleMode::kNone) {  // windows are blocks
    const std::uint64_t more = std::min(rest / 2 / sources.size(), options.window_bytes);
    sizes.ahead_bytes += more;
    rest -= more * sources.size();
  }
  if (needs.pictures > 0) {
    sizes.picture_bytes = needs.pictures + rest / 2;
    rest -= rest / 2;
  }
  sizes.batch_budget_bytes = rest + (sizes.depth + 1) * needs.batch;
  return sizes;
}

}  // namespace headrace
