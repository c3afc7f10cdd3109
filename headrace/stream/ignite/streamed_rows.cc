#include "headrace/stream/ignite/streamed_rows.h"

#include "headrace/base/text.h"
#include "headrace/net/ignite/object_decoder.h"
#include "headrace/record/ignite_example.h"

namespace headrace::ignite {
namespace {

constexpr std::uint64_t kPictureBytes = 64 << 20;

}  // namespace

StreamedRows::StreamedRows(std::shared_ptr<const CacheRows> rows, LoaderOptions options,
                           std::unique_ptr<Scan> scan, BatchMaker maker,
                           std::unique_ptr<PictureMemory> pictures)
    : rows_(std::move(rows)),
      options_(std::move(options)),
      pool_(BatchPool::create(batch_columns(options_.columns, options_.images), options_.batch_size)),
      scan_(std::move(scan)),
      pictures_(std::move(pictures)),
      maker_(std::move(maker)) {
  for (const Column& column : options_.columns) columns_.push_back(column.name);
}

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
  examples_.clear();
  while (batch_.size() < options_.batch_size) {
    if (!page_ || next_in_page_ == page_->rows.size()) {
      HEADRACE_TRY(page_, scan_->next_page(stop));
      next_in_page_ = 0;
      if (!page_) return {};
      continue;
    }
    HEADRACE_CHECK(add(page_->rows[next_in_page_++]));
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
  Row& row = batch_.emplace_back();
  row.partition = page_->partition;
  row.key.assign(entry.key.begin(), entry.key.end());
  row.begin = examples_.size();
  Status appended = append_example(entry);
  row.end = examples_.size();
  if (appended) return {};
  Error error = std::move(appended).error().in(describe(row));
  if (options_.on_corrupt == CorruptionPolicy::kFail || !is_error_of_row(error.code)) return error;
  row.hole = std::move(error);
  return {};
}

Status StreamedRows::append_example(const Entry& entry) {
  DecodeBudget budget;
  HEADRACE_TRY(const Value key, decode_object(entry.key, *rows_->types, budget));
  HEADRACE_TRY(const Value value, decode_object(entry.value, *rows_->types, budget));
  return append_formed_ignite_example(key, value, columns_, examples_, nullptr);
}

Result<Batch> StreamedRows::make(const std::stop_token& stop) {
  std::vector<Window::Place> places;
  places.reserve(batch_.size());
  for (const Row& row : batch_)
    places.push_back({.data = BytesView(examples_).subspan(row.begin, row.end - row.begin),
                      .hole = row.hole ? &*row.hole : nullptr});
  const auto find = [&](std::uint64_t number) -> std::optional<Window::Place> {
    if (number >= places.size()) return std::nullopt;
    return places[number];
  };
  Batch batch = pool_->take();
  batch.epoch = 0;
  batch.number = batches_++;
  HEADRACE_CHECK(maker_.make({.places = places,
                              .find = find,
                              .describe = [&](std::size_t row) { return describe(batch_[row]); },
                              .stop = stop},
                             batch));
  return batch;
}

std::string StreamedRows::describe(const Row& row) const {
  return concat(rows_->describe(row.partition), ", key ", key_text(row.key));
}

}  // namespace headrace::ignite
