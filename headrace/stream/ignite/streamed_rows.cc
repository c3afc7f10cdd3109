#include "headrace/stream/ignite/streamed_rows.h"

#include <algorithm>

#include "headrace/base/text.h"

namespace headrace::ignite {
namespace {

constexpr std::uint64_t kPictureBytes = 64 << 20;

// Asks for a row that comes next: a page is larger than the fastest caches.
void prefetch(const Entry& row) {
  constexpr std::size_t kLineBytes = 64, kMostBytes = 4096;
  for (std::size_t at = 0; at < std::min(row.value.size(), kMostBytes); at += kLineBytes)
    __builtin_prefetch(row.value.data() + at);
}

}  // namespace

StreamedRows::StreamedRows(std::shared_ptr<const CacheRows> rows, LoaderOptions options,
                           std::unique_ptr<Scan> scan, BatchMaker maker,
                           std::unique_ptr<PictureMemory> pictures)
    : rows_(std::move(rows)),
      options_(std::move(options)),
      pool_(BatchPool::create(batch_columns(options_.columns, options_.images), options_.batch_size)),
      scan_(std::move(scan)),
      pictures_(std::move(pictures)),
      maker_(std::move(maker)),
      encoder_(feature_names(options_.columns), rows_->types) {}

Result<std::unique_ptr<StreamedRows>> StreamedRows::open(std::shared_ptr<const CacheRows> rows,
                                                         std::vector<std::int32_t> partitions,
                                                         LoaderOptions options, const std::stop_token& stop) {
  HEADRACE_CHECK(check_images(options.images, options.columns));
  auto pictures = std::make_unique<PictureMemory>(kPictureBytes);
  HEADRACE_TRY(BatchMaker maker, BatchMaker::create(options, *pictures));
  HEADRACE_TRY(std::unique_ptr<Scan> scan,
               Scan::open(rows->cache, {.partitions = std::move(partitions)}, stop));
  return std::unique_ptr<StreamedRows>(new StreamedRows(std::move(rows), std::move(options), std::move(scan),
                                                        std::move(maker), std::move(pictures)));
}

Result<std::optional<Batch>> StreamedRows::next(const std::stop_token& stop) {
  while (true) {
    HEADRACE_CHECK(gather(stop));
    const bool is_short = batch_.size() < options_.batch_size;
    if (batch_.empty() || (is_short && options_.drop_remainder)) return std::optional<Batch>();
    HEADRACE_TRY(Batch batch, make(stop));
    batch.drop_rows_without_record();
    if (batch.rows > 0) return std::optional<Batch>(std::move(batch));
  }
}

// Takes the rows of one batch; fewer at the end of the scan.
Status StreamedRows::gather(const std::stop_token& stop) {
  batch_.clear();
  keys_.clear();
  examples_.clear();
  while (batch_.size() < options_.batch_size) {
    if (!page_ || next_in_page_ == page_->rows.size()) {
      HEADRACE_TRY(page_, scan_->next_page(stop));
      next_in_page_ = 0;
      if (!page_) return {};
      continue;
    }
    const Entry& row = page_->rows[next_in_page_++];
    if (next_in_page_ < page_->rows.size()) prefetch(page_->rows[next_in_page_]);
    HEADRACE_CHECK(add(row));
    if (examples_.size() > options_.memory_budget_bytes) {
      return Error{Code::kResourceExhausted,
                   concat(rows_->url, ": ", batch_.size(), " rows of a batch of ", options_.batch_size,
                          " need more memory than ", format_size(options_.memory_budget_bytes),
                          "; make batches smaller, or raise the memory budget")};
    }
  }
  return {};
}

Status StreamedRows::add(const Entry& entry) {
  append(keys_, entry.key);
  Status appended = encoder_.append(entry.key, entry.value, examples_);
  batch_.push_back({.partition = page_->partition, .key_end = keys_.size(), .example_end = examples_.size()});
  if (appended) return {};
  Error error = std::move(appended).error().in(describe(batch_.size() - 1));
  if (options_.on_corrupt == CorruptionPolicy::kFail || !is_error_of_row(error.code)) return error;
  batch_.back().hole = std::move(error);
  return {};
}

Result<Batch> StreamedRows::make(const std::stop_token& stop) {
  std::vector<Window::Place> places;
  places.reserve(batch_.size());
  std::size_t begin = 0;
  for (const Row& row : batch_) {
    places.push_back({.data = BytesView(examples_).subspan(begin, row.example_end - begin),
                      .hole = row.hole ? &*row.hole : nullptr});
    begin = row.example_end;
  }
  const auto find = [&](std::uint64_t number) -> std::optional<Window::Place> {
    if (number >= places.size()) return std::nullopt;
    return places[number];
  };
  Batch batch = pool_->take();
  batch.epoch = 0;
  batch.number = batches_++;
  HEADRACE_CHECK(maker_.make({.places = places,
                              .find = find,
                              .describe = [&](std::size_t row) { return describe(row); },
                              .stop = stop},
                             batch));
  return batch;
}

std::string StreamedRows::describe(std::size_t row) const {
  const std::size_t key = row == 0 ? 0 : batch_[row - 1].key_end;
  return concat(rows_->describe(batch_[row].partition), ", key ",
                key_text(BytesView(keys_).subspan(key, batch_[row].key_end - key)));
}

}  // namespace headrace::ignite
