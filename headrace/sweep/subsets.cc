#include "headrace/sweep/subsets.h"

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
                          " sizes, each half of the one before, would have fewer than ", kLeastSubset,
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

}  // namespace headrace
