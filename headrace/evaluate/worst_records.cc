#include "headrace/evaluate/worst_records.h"

#include <algorithm>

#include "headrace/base/text.h"
#include "headrace/os/parallel.h"
#include "headrace/stream/record_finder.h"

namespace headrace {
namespace {

constexpr PreviewLimits kPreview = {.texts = 8, .text_bytes = 1000, .pictures = 2, .numbers = 24};
constexpr int kReadAtOnce = 4;  // each read holds a block in memory

}  // namespace

void WorstRecords::add(WorstRecord record) {
  const auto place =
      std::ranges::find_if(records_, [&](const WorstRecord& other) { return other.error < record.error; });
  records_.insert(place, std::move(record));
  if (records_.size() > kMost) records_.pop_back();
}

Result<std::vector<std::string>> WorstRecords::read_previews(const Dataset& dataset,
                                                             const CallOptions& call) {
  const auto vocabularies =
      dataset.attributes() ? dataset.attributes()->vocabularies : decltype(DatasetAttributes::vocabularies)();
  RecordFinder finder;
  const auto read = [&](const WorstRecord& worst) -> Result<RecordPreview> {
    HEADRACE_TRY(const Bytes record, finder.read(dataset, worst.shard, worst.record, call));
    return preview_record(record, vocabularies, kPreview);
  };
  std::vector<std::string> failures(records_.size());
  HEADRACE_CHECK(parallel_for(kReadAtOnce, records_.size(), [&](std::size_t i) -> Status {
    auto preview = read(records_[i]);
    if (preview) {
      records_[i].preview = *std::move(preview);
    } else if (preview.error().code == Code::kCancelled) {
      return preview.error();
    } else {
      failures[i] = concat("the page leaves out the content of record ", records_[i].record, " of ",
                           records_[i].object, ": ", preview.error().message);
    }
    return {};
  }));
  std::erase(failures, "");
  return failures;
}

}  // namespace headrace
