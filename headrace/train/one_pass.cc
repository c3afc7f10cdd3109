#include "headrace/train/one_pass.h"

#include <algorithm>
#include <cmath>

#include "headrace/base/text.h"

namespace headrace {
namespace {

constexpr std::uint64_t kMostScoredBatches = 64;
constexpr std::uint64_t kStepsPerScore = 30;

}  // namespace

std::set<std::uint64_t> one_pass_batches(std::uint64_t batches_per_epoch, std::uint64_t total_steps) {
  std::set<std::uint64_t> out;
  if (batches_per_epoch < 2) return out;
  const std::uint64_t last = batches_per_epoch - 1;
  const std::uint64_t count = std::min({kMostScoredBatches, total_steps / kStepsPerScore, last});
  for (std::uint64_t i = 0; i < count; ++i) {
    const double place = count == 1 ? 1 : static_cast<double>(i) / static_cast<double>(count - 1);
    const auto number = static_cast<std::uint64_t>(std::llround(std::pow(static_cast<double>(last), place)));
    out.insert(std::min(std::max(number, out.empty() ? 1 : *out.rbegin() + 1), last));
  }
  return out;
}

Status OnePass::score(const Batch& batch, const BatchLoader& loader, std::uint64_t batch_number,
                      std::uint64_t batch_size, double wall_time_s, EventLog& log) {
  if (!batches_.contains(batch_number)) return {};
  HEADRACE_CHECK(eval_step_.begin_pass());
  HEADRACE_TRY(const float loss, eval_step_.run(batch, loader));
  if (!std::isfinite(loss)) return {};  // the training step that follows reports it
  HEADRACE_TRY(const auto metrics, eval_step_.values(kOnePassTag));
  const EventStamp stamp{wall_time_s, static_cast<std::int64_t>(batch_number * batch_size)};
  for (const auto& [tag, value] : metrics) log.scalar(stamp, tag, static_cast<float>(value));
  return {};
}

}  // namespace headrace
