#include "headrace/stream/label_check.h"

#include <algorithm>
#include <limits>

#include "headrace/base/text.h"

namespace headrace {
namespace {

// The range of valid values.
struct Allowed {
  std::int64_t least = std::numeric_limits<std::int64_t>::min();
  std::int64_t most = std::numeric_limits<std::int64_t>::max();
};

Allowed allowed_for(const ModelBinding& binding, const ModelTarget& target) {
  switch (target.kind) {
    case TargetKind::kClasses: {
      const ModelOutput* const output = binding.find_output(target.output);
      const auto classes = output == nullptr ? std::nullopt : output->size();
      if (!classes || target.label.is_one_hot) return {};
      return {.most = static_cast<std::int64_t>(*classes) - 1};
    }
    case TargetKind::kBinary:
    case TargetKind::kMultiLabel:
      return {target.scores == TargetScores::kMargin ? -1 : 0, 1};
    case TargetKind::kRegression:
      break;
  }
  return {};
}

std::string label_advice(const ModelTarget& target, const Allowed& allowed) {
  if (target.kind == TargetKind::kClasses) {
    return concat("the output ", target.output, " has ", allowed.most + 1, " scores, so classes are 0 to ",
                  allowed.most,
                  ". Give its layer more units, or number the classes from 0 with type = \"label\" in the ",
                  "schema");
  }
  return concat("the loss of the output ", target.output, " takes ", allowed.least, " to ", allowed.most,
                ". Use a loss for several classes or for numbers, or prepare the label as 0 and 1");
}

}  // namespace

Status check_labels(const ModelBinding& binding, std::span<const TensorView> columns, const Batch& batch,
                    const BatchLoader& loader) {
  for (std::size_t i = 0; i < binding.targets.size(); ++i) {
    const ModelTarget& target = binding.targets[i];
    const TensorView& labels = columns[binding.inputs.size() + i];
    if (labels.type != DataType::kInt64) continue;
    const Allowed allowed = allowed_for(binding, target);
    const std::span<const std::int64_t> values(static_cast<const std::int64_t*>(labels.data),
                                               labels.shape.elements());
    const std::size_t width = std::max<std::uint64_t>(1, target.label.size());
    for (std::size_t k = 0; k < values.size(); ++k) {
      const bool is_allowed =
          (values[k] >= allowed.least && values[k] <= allowed.most) || values[k] == target.ignored_class;
      if (is_allowed || batch.weights()[k / width] == 0) continue;
      return Error{Code::kInvalidArgument,
                   concat("the label ", target.label.name, " of ", describe_record(loader, batch, k / width),
                          " is ", values[k], "; ", label_advice(target, allowed))};
    }
  }
  return {};
}

}  // namespace headrace
