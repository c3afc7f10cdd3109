#include "headrace/evaluate/worst_records.h"

#include <algorithm>

#include "headrace/os/parallel.h"
#include "headrace/stream/record_finder.h"

namespace headrace {
namespace {

constexpr PreviewLimits kPreview = {.texts = 8, .text_bytes = 1000, .pictures = 2, .numbers = 24};
constexpr int kReadAtOnce = 4;  // each holds a block

}  // namespace

void WorstRecords::add(WorstRecord record) {
  const auto place =
      std::ranges::find_if(records_, [&](const WorstRecord& other) { return other.error < record.error; });
  records_.insert(place, std::move(record));
  if (records_.size() > kMost) records_.pop_back();
}

Status WorstRecords::read_previews(const Dataset& dataset, const CallOptions& call) {
  const auto vocabularies =
      dataset.attributes() ? dataset.attributes()->vocabularies : decltype(DatasetAttributes::vocabularies)();
  RecordFinder finder;
  return parallel_for(kReadAtOnce, records_.size(), [&](std::size_t i) -> Status {
    WorstRecord& worst = records_[i];
    HEADRACE_TRY(const Bytes record, finder.read(dataset, worst.shard, worst.record, call));
    HEADRACE_TRY(worst.preview, preview_record(record, vocabularies, kPreview));
    return {};
  });
}

}  // namespace headrace
