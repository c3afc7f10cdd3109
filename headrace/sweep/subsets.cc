#include "headrace/sweep/subsets.h"

#include <algorithm>
#include <cmath>

#include "headrace/base/text.h"

namespace headrace {

Result<std::vector<std::uint64_t>> subset_sizes(std::uint64_t part_records, std::size_t count) {
  std::vector<std::uint64_t> out;
  std::uint64_t size = part_records;
  for (std::size_t i = 0; i < count; ++i) {
    if (size < kLeastSubset)
      return Error{Code::kInvalidArgument,
                   concat("the training part has ", part_records, " records: the smallest of ", count,
                          " sizes, each half of the previous one, would have fewer than ", kLeastSubset,
                          "; give fewer --sizes, or a smaller --validation")};
    out.push_back(size);
    size = (size + 1) / 2;
  }
  return out;
}

double subset_place(std::uint64_t number) {
  if (number < 2) return static_cast<double>(number);
  double place = 0, step = 0.5;
  for (std::uint64_t rest = number - 1; rest > 0; rest /= 2, step /= 2) {
    if (rest % 2 == 1) place += step;
  }
  return place;
}

RecordRange subset_range(std::uint64_t part_records, std::uint64_t size, std::uint64_t number) {
  const auto left_out = static_cast<double>(part_records - size);
  return {static_cast<std::uint64_t>(std::floor(subset_place(number) * left_out)), size};
}

std::vector<std::uint64_t> stratum_sizes(std::span<const std::uint64_t> class_records, std::uint64_t size) {
  double all = 0;
  for (const std::uint64_t records : class_records) all += static_cast<double>(records);
  std::vector<std::uint64_t> out;
  for (const std::uint64_t records : class_records) {
    const double share = static_cast<double>(size) * static_cast<double>(records) / all;
    out.push_back(static_cast<std::uint64_t>(std::max(1.0, std::floor(share + 0.5))));
  }
  return out;
}

std::vector<RecordRange> stratified_ranges(std::span<const std::uint64_t> class_records, std::uint64_t size,
                                           std::uint64_t number) {
  const std::vector<std::uint64_t> sizes = stratum_sizes(class_records, size);
  std::vector<RecordRange> out;
  for (std::size_t c = 0; c < sizes.size(); ++c)
    out.push_back(subset_range(class_records[c], sizes[c], number));
  return out;
}

}  // namespace headrace
