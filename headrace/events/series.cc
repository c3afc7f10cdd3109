#include "headrace/events/series.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "headrace/base/text.h"

namespace headrace {
namespace {

constexpr SampleBounds kBounds{};

// From `begun_s` on, `log` hides the points that other logs wrote earlier at `first_step` or later steps.
struct Restart {
  LogId log;
  double begun_s;
  std::int64_t first_step;
};

/// Tells whether another log hides a point. Time: logarithmic in the number of logs.
class Restarts {
 public:
  explicit Restarts(std::vector<Restart> restarts)
      : restarts_(std::move(restarts)), least_(restarts_.size()) {
    std::sort(restarts_.begin(), restarts_.end(), [](const Restart& a, const Restart& b) {
      return std::tie(a.begun_s, a.log) < std::tie(b.begun_s, b.log);
    });
    TwoLeast least;
    for (std::size_t i = restarts_.size(); i-- > 0;) {
      const Restart* const here = &restarts_[i];
      if (least.first == nullptr || here->first_step < least.first->first_step) {
        least = {here, least.first};
      } else if (least.second == nullptr || here->first_step < least.second->first_step) {
        least.second = here;
      }
      least_[i] = least;
    }
  }

  Restarts(const Restarts&) = delete;  // least_ points into restarts_
  Restarts& operator=(const Restarts&) = delete;

  bool hide(LogId log, std::int64_t step, double wall_time_s) const {
    const auto later = std::upper_bound(restarts_.begin(), restarts_.end(), wall_time_s,
                                        [](double wall_s, const Restart& r) { return wall_s < r.begun_s; });
    if (later == restarts_.end()) return false;
    const TwoLeast& least = least_[static_cast<std::size_t>(later - restarts_.begin())];
    const Restart* const other = least.first->log == log ? least.second : least.first;
    return other != nullptr && other->first_step <= step;
  }

 private:
  // The two logs with the smallest first steps among a log and all logs that began after it.
  struct TwoLeast {
    const Restart* first = nullptr;
    const Restart* second = nullptr;
  };
  std::vector<Restart> restarts_;
  std::vector<TwoLeast> least_;
};

double begun_at(const LogTimes& begun, LogId log) {
  const auto found = begun.find(log);
  return found == begun.end() ? -std::numeric_limits<double>::infinity() : found->second;
}

template <typename Parts>
std::vector<const typename Parts::value_type*> parts_with_samples(const Parts& parts) {
  std::vector<const typename Parts::value_type*> out;
  for (const auto& part : parts) {
    if (part.samples.size() > 0) out.push_back(&part);
  }
  return out;
}

template <typename T, typename Parts>
std::vector<const Sample<T>*> merged(const Parts& parts, const LogTimes& begun) {
  std::vector<Restart> restarts;
  for (const auto* part : parts_with_samples(parts)) {
    restarts.push_back({part->log, begun_at(begun, part->log), part->samples.samples().front().step});
  }
  const bool is_one = restarts.size() < 2;
  const Restarts hidden(std::move(restarts));
  std::vector<const Sample<T>*> out;
  for (const auto& part : parts) {
    for (const Sample<T>& sample : part.samples.samples()) {
      if (is_one || !hidden.hide(part.log, sample.step, sample.wall_time_s)) out.push_back(&sample);
    }
  }
  if (is_one) return out;
  std::stable_sort(out.begin(), out.end(), [](const Sample<T>* a, const Sample<T>* b) {
    return std::tie(a->step, a->wall_time_s) < std::tie(b->step, b->wall_time_s);
  });
  return out;
}

void include(SeriesExtent& extent, bool& any, std::int64_t step, double wall_time_s) {
  extent.max_step = any ? std::max(extent.max_step, step) : step;
  extent.max_wall_time_s = any ? std::max(extent.max_wall_time_s, wall_time_s) : wall_time_s;
  any = true;
}

}  // namespace

Series::Series(SeriesKind kind_of_tag, const MetadataView& metadata)
    : kind(kind_of_tag),
      plugin_name(metadata.plugin_name),
      plugin_content(as_text(metadata.plugin_content)),
      display_name(replace_invalid_utf8(metadata.display_name).text),
      description(replace_invalid_utf8(metadata.description).text) {}

template <typename Samples>
Samples& Series::part_of(std::vector<Part<Samples>>& parts, LogId log) {
  // The log that is being read is usually the log that was added last.
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
    if (part->log == log) return part->samples;
  }
  parts.push_back({log, {}});
  return parts.back().samples;
}

void Series::add_scalar(LogId log, std::int64_t step, double wall_time_s, double value) {
  part_of(scalars_, log).add(step, wall_time_s, value);
}

void Series::add_tensor(LogId log, std::int64_t step, double wall_time_s, BytesView tensor) {
  part_of(tensors_, log).add(step, wall_time_s, Bytes(tensor.begin(), tensor.end()), tensor.size(), kBounds);
}

void Series::add_blobs(LogId log, std::int64_t step, double wall_time_s, BlobSequence blobs) {
  const std::size_t bytes = blobs.blobs.size() * sizeof(BlobReference);
  part_of(blobs_, log).add(step, wall_time_s, std::move(blobs), bytes, kBounds);
}

bool Series::drop_log(LogId log) {
  const auto is_of_log = [log](const auto& part) { return part.log == log; };
  std::erase_if(scalars_, is_of_log);
  std::erase_if(tensors_, is_of_log);
  std::erase_if(blobs_, is_of_log);
  return scalars_.empty() && tensors_.empty() && blobs_.empty();
}

bool Series::cut_log(LogId log, std::int64_t step) {
  for (auto& part : scalars_) {
    if (part.log == log) part.samples.cut(step);
  }
  std::erase_if(scalars_, [](const auto& part) { return part.samples.size() == 0; });
  return scalars_.empty() && tensors_.empty() && blobs_.empty();
}

ScalarView Series::scalars(const LogTimes& begun, ScalarColumns& scratch) const {
  const auto parts = parts_with_samples(scalars_);
  if (parts.empty()) return {};
  if (parts.size() == 1) {
    const ScalarColumns& only = parts.front()->samples;
    return {only.steps, only.wall_times_s, only.values};
  }
  std::vector<Restart> restarts;
  std::size_t count = 0;
  for (const auto* part : parts) {
    restarts.push_back({part->log, begun_at(begun, part->log), part->samples.steps.front()});
    count += part->samples.size();
  }
  const Restarts hidden(std::move(restarts));
  std::vector<std::tuple<std::int64_t, double, double>> points;
  points.reserve(count);
  for (const auto* part : parts) {
    const ScalarColumns& of = part->samples;
    for (std::size_t i = 0; i < of.size(); ++i) {
      if (hidden.hide(part->log, of.steps[i], of.wall_times_s[i])) continue;
      points.emplace_back(of.steps[i], of.wall_times_s[i], of.values[i]);
    }
  }
  std::stable_sort(points.begin(), points.end(), [](const auto& a, const auto& b) {
    return std::tie(std::get<0>(a), std::get<1>(a)) < std::tie(std::get<0>(b), std::get<1>(b));
  });
  scratch = {};
  for (const auto& [step, wall_time_s, value] : points) {
    scratch.steps.push_back(step);
    scratch.wall_times_s.push_back(wall_time_s);
    scratch.values.push_back(value);
  }
  return {scratch.steps, scratch.wall_times_s, scratch.values};
}

std::vector<const Sample<Bytes>*> Series::tensors(const LogTimes& begun) const {
  return merged<Bytes>(tensors_, begun);
}

std::vector<const Sample<BlobSequence>*> Series::blobs(const LogTimes& begun) const {
  return merged<BlobSequence>(blobs_, begun);
}

std::size_t Series::scalar_points() const {
  std::size_t points = 0;
  for (const auto& part : scalars_) points += part.samples.size();
  return points;
}

SeriesExtent Series::extent(const LogTimes& begun) const {
  SeriesExtent out;
  bool any = false;
  if (!scalars_.empty()) {
    ScalarColumns scratch;
    const ScalarView points = scalars(begun, scratch);
    if (points.steps.empty()) return out;
    out.max_step = points.steps.back();
    out.max_wall_time_s = *std::max_element(points.wall_times_s.begin(), points.wall_times_s.end());
    return out;
  }
  for (const auto* sample : tensors(begun)) include(out, any, sample->step, sample->wall_time_s);
  for (const auto* sample : blobs(begun)) {
    include(out, any, sample->step, sample->wall_time_s);
    out.max_length = std::max(out.max_length, static_cast<std::int64_t>(sample->value.blobs.size()));
  }
  return out;
}

}  // namespace headrace
