#include "headrace/study/one_pass_curve.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "headrace/base/text.h"

namespace headrace {
namespace {

constexpr std::size_t kRunsOfSize = 3;

double mean_error_of(const std::vector<ScoredBatch>& batches, std::size_t first, std::size_t step) {
  double sum = 0, count = 0;
  for (std::size_t i = first; i < batches.size(); i += step) {
    sum += batches[i].error;
    ++count;
  }
  return sum / count;
}

Result<std::vector<MeasuredError>> runs_of_size(const std::vector<ScoredBatch>& batches) {
  double logarithms = 0;
  for (const ScoredBatch& batch : batches) logarithms += std::log(batch.records);
  const double size = std::exp(logarithms / static_cast<double>(batches.size()));
  std::vector<MeasuredError> out;
  const std::size_t count = std::min(kRunsOfSize, batches.size());
  for (std::size_t i = 0; i < count; ++i) out.push_back({size, mean_error_of(batches, i, count), 0});
  if (std::ranges::all_of(out, [](const MeasuredError& run) { return run.error > 0; })) return out;
  out = {{size, mean_error_of(batches, 0, 1), 0}};
  if (out.front().error > 0) return out;
  return Error{Code::kInvalidArgument,
               concat("no batch around ", std::llround(size), " records had an error: give --metric loss")};
}

}  // namespace

Result<std::vector<MeasuredError>> runs_of_one_pass(const std::vector<ScoredBatch>& batches) {
  if (batches.size() > kMostCurveRuns)
    return Error{Code::kInvalidArgument, concat("there are more than ", kMostCurveRuns, " scored batches")};
  std::map<int, std::vector<ScoredBatch>> sizes;
  for (const ScoredBatch& batch : batches) {
    if (!(batch.records >= 1 && std::isfinite(batch.records)))
      return Error{Code::kInvalidArgument, concat("a batch was scored after ", batch.records, " records")};
    sizes[std::ilogb(batch.records)].push_back(batch);
  }
  if (sizes.size() < kLeastCurveSizes)
    return Error{Code::kInvalidArgument,
                 concat(batches.size(),
                        " scored batches are too few for a curve: use more data, smaller batches, or "
                        "more epochs (the number of scored batches is at most a thirtieth of all steps)")};
  std::vector<MeasuredError> out;
  for (const auto& [power, of_size] : sizes) {
    HEADRACE_TRY(const std::vector<MeasuredError> runs, runs_of_size(of_size));
    out.insert(out.end(), runs.begin(), runs.end());
  }
  return out;
}

std::string_view one_pass_remark() {
  return "these are errors of one pass: the model has seen each record once. Models that are fully "
         "trained on as many records do better, so the errors are upper bounds";
}

}  // namespace headrace
