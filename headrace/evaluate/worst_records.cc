#include "headrace/evaluate/worst_records.h"

#include <algorithm>

namespace headrace {

void WorstRecords::add(WorstRecord record) {
  const auto place =
      std::ranges::find_if(records_, [&](const WorstRecord& other) { return other.error < record.error; });
  records_.insert(place, std::move(record));
  if (records_.size() > kMost) records_.pop_back();
}

}  // namespace headrace
