#include "headrace/stream/arranged_records.h"

namespace headrace {

Result<SourceRecord> ArrangedRecords::at(std::uint64_t epoch, std::uint64_t position,
                                         const CallOptions& call) {
  const std::lock_guard lock(mutex_);
  const bool is_known =
      epoch == epoch_ && position >= first_position_ && position - first_position_ < records_.size();
  if (!is_known) HEADRACE_CHECK(read(epoch, source_.window_at(epoch, position), call));
  return records_[position - first_position_];
}

// Reads window `number` of `epoch` and remembers it.
Status ArrangedRecords::read(std::uint64_t epoch, std::uint64_t number, const CallOptions& call) {
  const auto pool = BufferPool::create();
  const std::unique_ptr<Window> window = source_.window(epoch, number, *pool);
  BlockLoader loader(source_.dataset(), policy_, pool, {arrangement_.feature});
  HEADRACE_TRY(ValueReader values, ValueReader::create(source_.dataset(), policy_, arrangement_));
  for (std::size_t i = 0; i < window->blocks().size(); ++i)
    HEADRACE_CHECK(window->load_values(i, loader, values, call));
  window->arrange();
  records_.clear();
  epoch_ = epoch;
  first_position_ = window->first_position();
  for (std::uint64_t i = 0; i < window->record_count(); ++i)
    records_.push_back(window->record(first_position_ + i));
  return {};
}

}  // namespace headrace
