#include "headrace/stream/ignite/streamed_rows.h"

#include <utility>

#include "headrace/base/text.h"
#include "headrace/record/ignite_row_decoder.h"

namespace headrace::ignite {
namespace {

constexpr std::uint64_t kPictureBytes = 64 << 20;
constexpr std::string_view kRowAdvice =
    "; write the row again, or leave such rows out with on_corrupt=\"skip-record\"";

// The key followed by the value, as they lie in the page.
BytesView record_of(const Entry& entry) { return {entry.key.data(), entry.key.size() + entry.value.size()}; }

}  // namespace

StreamedRows::StreamedRows(std::shared_ptr<const CacheRows> rows, LoaderOptions options,
                           std::unique_ptr<Scan> scan, BatchMaker maker,
                           std::unique_ptr<PictureMemory> pictures)
    : rows_(std::move(rows)),
      options_(std::move(options)),
      pool_(BatchPool::create(batch_columns(options_.columns, options_.images), options_.batch_size)),
      scan_(std::move(scan)),
      pictures_(std::move(pictures)),
      maker_(std::move(maker)) {}

Result<std::unique_ptr<StreamedRows>> StreamedRows::open(std::shared_ptr<const CacheRows> rows,
                                                         std::vector<std::int32_t> partitions,
                                                         LoaderOptions options, const std::stop_token& stop) {
  HEADRACE_CHECK(check_images(options.images, options.columns));
  auto pictures = std::make_unique<PictureMemory>(kPictureBytes);
  HEADRACE_TRY(auto decoder, IgniteRowDecoder::create(options.columns, rows->types));
  BatchMaker maker(std::move(decoder), options, *pictures, kRowAdvice);
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

// Takes the rows of one batch. At the end of the scan there may be fewer.
Status StreamedRows::gather(const std::stop_token& stop) {
  if (pages_.size() > 1) pages_.erase(pages_.begin(), pages_.end() - 1);
  batch_.clear();
  // The memory that the batch needs: whole pages, and its rows of the last page.
  std::size_t bytes = 0, last_page_bytes = 0;
  while (batch_.size() < options_.batch_size) {
    if (pages_.empty() || next_in_page_ == pages_.back().rows.size()) {
      HEADRACE_TRY(std::optional<Page> page, scan_->next_page(stop));
      if (!page) return {};
      if (last_page_bytes > 0) {
        bytes += pages_.back().response.body().size() - std::exchange(last_page_bytes, 0);
      } else if (!pages_.empty()) {
        pages_.pop_back();  // the batch has no row of this page
      }
      pages_.push_back(*std::move(page));
      next_in_page_ = 0;
      continue;
    }
    batch_.push_back({pages_.back().partition, pages_.back().rows[next_in_page_++]});
    const std::size_t row_bytes = record_of(batch_.back().entry).size();
    bytes += row_bytes;
    last_page_bytes += row_bytes;
    if (bytes > options_.memory_budget_bytes) {
      return Error{Code::kResourceExhausted,
                   concat(rows_->url, ": ", batch_.size(), " rows of a batch of ", options_.batch_size,
                          " need more memory than ", format_size(options_.memory_budget_bytes),
                          "; make batches smaller, or raise the memory budget")};
    }
  }
  return {};
}

Result<Batch> StreamedRows::make(const std::stop_token& stop) {
  std::vector<Window::Place> places;
  places.reserve(batch_.size());
  for (const Row& row : batch_) places.push_back({.data = record_of(row.entry)});
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
  return concat(rows_->describe(batch_[row].partition), ", key ", key_text(batch_[row].entry.key));
}

}  // namespace headrace::ignite
