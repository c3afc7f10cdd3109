#include "headrace/train/label_classes.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "headrace/base/text.h"
#include "headrace/model/offered_features.h"
#include "headrace/stream/batch_tensors.h"
#include "headrace/stream/one_hot.h"

namespace headrace {
namespace {

constexpr std::uint64_t kLabelBatch = 512;
constexpr std::uint32_t kUnread = std::numeric_limits<std::uint32_t>::max();
constexpr std::string_view kStratify = "--stratify";

double value_at(const TensorView& labels, std::size_t place) {
  if (labels.type == DataType::kInt64)
    return static_cast<double>(static_cast<const std::int64_t*>(labels.data)[place]);
  return static_cast<double>(static_cast<const float*>(labels.data)[place]);
}

// The class that a row of a label names: its number, the place of the only 1 among zeros, or kUnknownClass.
// nullopt: the row does not name a class.
std::optional<std::int64_t> class_in(const TensorView& labels, std::size_t row, std::size_t size) {
  if (size == 1) {
    const double value = value_at(labels, row);
    const bool is_number = value >= kUnknownClass && value < kMostClasses && value == std::floor(value);
    return is_number ? std::optional(static_cast<std::int64_t>(value)) : std::nullopt;
  }
  const std::optional<std::int64_t> place =
      labels.type == DataType::kInt64
          ? place_of_one(std::span(static_cast<const std::int64_t*>(labels.data) + row * size, size))
          : place_of_one(std::span(static_cast<const float*>(labels.data) + row * size, size));
  return place && *place >= 0 ? place : std::nullopt;
}

bool has_classes(const ModelFeature& label) {
  const bool is_number = label.type == DataType::kInt64 || label.type == DataType::kFloat32;
  return is_number && !label.is_ragged && label.size() > 0;
}

}  // namespace

Status visit_classes(const TrainRun& run, const ModelFeature& label, std::uint64_t memory_budget_bytes,
                     const ClassAsker& asker, const ClassVisitor& visit) {
  BatchTensors tensors({label});
  LoaderOptions options = tensors.options_in_order();
  options.batch_size = kLabelBatch;
  options.on_corrupt = run.options.on_corrupt;
  options.memory_budget_bytes = memory_budget_bytes;
  options.order_version = run.order_version;
  options.stop = run.stop;
  HEADRACE_TRY(const std::unique_ptr<BatchLoader> loader,
               BatchLoader::create({run.training_source()}, options));
  while (true) {
    HEADRACE_TRY(const std::optional<Batch> batch, loader->next());
    if (!batch) return {};
    HEADRACE_TRY(const std::span<const TensorView> columns, tensors.view(*batch, batch->rows));
    for (std::size_t row = 0; row < batch->rows; ++row) {
      if (batch->weights()[row] == 0) continue;
      const std::optional<std::int64_t> number = class_in(columns.front(), row, label.size());
      if (!number)
        return Error{Code::kInvalidArgument,
                     concat(asker.option, ": the label ", describe(label), " of ",
                            describe_record(*loader, *batch, row), " is not a class; ", asker.advice)};
      if (!visit(batch->number * kLabelBatch + row, *number)) return {};
    }
  }
}

Result<ReadStrata> read_strata(const TrainRun& run, const std::string& name) {
  constexpr std::string_view kAdvice = "name a label that is a class number or one-hot, or leave it out";
  HEADRACE_TRY(ModelFeature label, named_feature(*run.dataset->attributes(), kStratify, name));
  if (!has_classes(label))
    return Error{Code::kInvalidArgument,
                 concat(kStratify, " ", name, ": ", describe(label), " is not a class; ", kAdvice)};
  label.is_optional = false;
  const std::uint64_t bytes = run.train_records() * sizeof(std::uint32_t);
  const std::uint64_t budget = run.options.memory_budget_bytes;
  if (bytes > budget / 2)
    return Error{Code::kResourceExhausted,
                 concat(kStratify, " ", name, ": the classes of ", run.train_records(), " records take ",
                        format_size(bytes), ", which is more than half of the memory budget, ",
                        format_size(budget), "; raise --memory, or leave --stratify out")};
  std::vector<std::uint32_t> classes(run.train_records(), kUnread);
  const Status visited = visit_classes(run, label, budget - bytes, {.option = kStratify, .advice = kAdvice},
                                       [&](std::uint64_t number, std::int64_t class_number) {
                                         classes[number] =
                                             static_cast<std::uint32_t>(class_number - kUnknownClass);
                                         return true;
                                       });
  if (!visited)
    return visited.error().code == Code::kResourceExhausted
               ? Error(visited.error()).in(concat(kStratify, " ", name))
               : visited.error();
  const auto unread = static_cast<std::uint64_t>(std::ranges::count(classes, kUnread));
  return ReadStrata{Strata(run.dataset->order(run.order_version), std::move(classes)), unread};
}

}  // namespace headrace
