#include "headrace/cli/step_lines.h"

#include <algorithm>
#include <chrono>
#include <tuple>

#include "headrace/base/iso_time.h"
#include "headrace/base/text.h"
#include "headrace/cli/run_metrics.h"

namespace headrace {

std::vector<StepLine> step_lines(std::vector<NewPoint> points) {
  std::ranges::stable_sort(points, {},
                           [](const NewPoint& point) { return std::tuple(point.time_us, point.step); });
  std::vector<StepLine> lines;
  std::map<std::uint64_t, std::size_t> last_of_rank;  // place in `lines`
  for (NewPoint& point : points) {
    const auto known = last_of_rank.find(point.rank);
    StepLine* line = known == last_of_rank.end() ? nullptr : &lines[known->second];
    if (line == nullptr || line->step != point.step || line->metrics.contains(point.metric)) {
      last_of_rank[point.rank] = lines.size();
      line = &lines.emplace_back(StepLine{point.rank, point.step, point.time_us, {}});
    }
    line->metrics.emplace(std::move(point.metric), point.value);
  }
  return lines;
}

std::string StepLineFormat::line(const StepLine& step,
                                 const std::function<std::string(std::string_view)>& shown) {
  const std::string number = concat(step.step);
  step_width_ = std::max(step_width_, number.size());
  const std::chrono::system_clock::time_point time{std::chrono::microseconds(step.time_us)};
  std::string line = step.rank == 0 ? "" : concat("rank ", step.rank, "  ");
  line += concat("step ", std::string(step_width_ - number.size(), ' '), number, "  ", format_time_ms(time));
  std::size_t missing = 0;  // blanks up to the next column
  for (const auto& [metric, value] : step.metrics) {
    const std::string cell = concat(shown(metric), "=", short_number(value));
    std::size_t& width = widths_[metric];
    width = std::max(width, cell.size());
    line += concat(std::string(missing + 2, ' '), cell);
    missing = width - cell.size();
  }
  return line;
}

}  // namespace headrace
