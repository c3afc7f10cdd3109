#include "headrace/sweep/shared_ids.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "headrace/base/hash.h"
#include "headrace/base/text.h"
#include "headrace/stream/record_ids.h"

namespace headrace {
namespace {

using OnId =
    std::function<void(std::uint64_t hash, const BatchLoader& loader, const Batch& batch, std::size_t row)>;

Status visit_ids(const std::shared_ptr<const Dataset>& dataset, Column column, LoaderOptions reading,
                 const OnId& visit) {
  reading.columns = {std::move(column)};
  reading.shuffle = ShuffleMode::kNone;
  HEADRACE_TRY(const std::unique_ptr<BatchLoader> loader,
               BatchLoader::create({{.dataset = dataset}}, reading));
  while (true) {
    HEADRACE_TRY(const std::optional<Batch> batch, loader->next());
    if (!batch) return {};
    for (std::size_t row = 0; row < batch->rows; ++row) {
      const std::string_view id = id_of(*batch, 0, row);
      if (batch->weights()[row] > 0 && !id.empty()) visit(siphash({}, as_bytes(id)), *loader, *batch, row);
    }
  }
}

}  // namespace

Status check_ids_apart(const std::shared_ptr<const Dataset>& training,
                       const std::shared_ptr<const Dataset>& test, const LoaderOptions& reading) {
  const auto tested_column = id_column(*test), trained_column = id_column(*training);
  if (!tested_column || !trained_column) return {};
  const std::uint64_t bytes = test->record_count() * sizeof(std::uint64_t);
  if (bytes > reading.memory_budget_bytes / 2)
    return Error{
        Code::kResourceExhausted,
        concat("to check that no test record is trained on, the ids of ", test->record_count(),
               " records need ", format_size(bytes), ", which is more than half of the memory budget, ",
               format_size(reading.memory_budget_bytes), "; raise --memory")};
  LoaderOptions beside = reading;
  beside.memory_budget_bytes -= bytes;
  std::vector<std::uint64_t> tested;
  tested.reserve(test->record_count());
  HEADRACE_CHECK(
      visit_ids(test, *tested_column, beside,
                [&](std::uint64_t hash, const auto&, const auto&, std::size_t) { tested.push_back(hash); }));
  std::ranges::sort(tested);
  std::uint64_t shared = 0;
  std::string first;
  HEADRACE_CHECK(
      visit_ids(training, *trained_column, beside,
                [&](std::uint64_t hash, const BatchLoader& loader, const Batch& batch, std::size_t row) {
                  if (!std::ranges::binary_search(tested, hash)) return;
                  if (shared++ == 0)
                    first = concat(id_of(batch, 0, row), ", ", describe_record(loader, batch, row));
                }));
  if (shared == 0) return {};
  return Error{
      Code::kInvalidArgument,
      concat(shared, " ids of the test split are also among the training records (", first,
             "): scores would be measured on records that were learnt. Leave them out of one split")};
}

}  // namespace headrace
