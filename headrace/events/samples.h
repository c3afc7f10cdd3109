#pragma once

/// \file The values of one tag in one log, in the order written. Steps ascend: a step that goes back removes
/// the points that it repeats. Not thread-safe.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace headrace {

/// Keeps all points, at 24 bytes each.
class ScalarColumns {
 public:
  void add(std::int64_t step, double wall_time_s, double value) {
    if (!steps.empty() && step <= steps.back()) cut(step);
    steps.push_back(step);
    wall_times_s.push_back(wall_time_s);
    values.push_back(value);
  }
  std::size_t size() const { return steps.size(); }
  /// Removes the points at `step` or later.
  void cut(std::int64_t step) {
    const auto from = std::lower_bound(steps.begin(), steps.end(), step);
    steps.erase(from, steps.end());
    wall_times_s.resize(steps.size());
    values.resize(steps.size());
  }

  std::vector<std::int64_t> steps;
  std::vector<double> wall_times_s;
  std::vector<double> values;
};

struct SampleBounds {
  std::size_t samples = 1000;   // at least 2
  std::size_t bytes = 4 << 20;  // of the contents; two samples are kept, however large they are
};

template <typename T>
struct Sample {
  std::int64_t step = 0;
  double wall_time_s = 0;
  T value{};
  std::size_t bytes = 0;
  std::uint64_t ordinal = 0;
};

/// Keeps samples within bounds. When there are too many, every second sample is dropped, and from then on
/// every second new one. The kept samples are evenly spaced, include the first and the last, and depend only
/// on the log.
template <typename T>
class SampleList {
 public:
  void add(std::int64_t step, double wall_time_s, T value, std::size_t bytes, const SampleBounds& bounds) {
    if (!samples_.empty() && step <= samples_.back().step) cut(step);
    // The last sample stays only until the next one comes, unless its ordinal is due to be kept.
    if (samples_.size() > 1 && samples_.back().ordinal % stride_ != 0) pop();
    samples_.push_back({step, wall_time_s, std::move(value), bytes, next_ordinal_++});
    bytes_ += bytes;
    while (samples_.size() > 2 && (samples_.size() > bounds.samples || bytes_ > bounds.bytes)) thin();
  }
  const std::vector<Sample<T>>& samples() const { return samples_; }
  std::size_t size() const { return samples_.size(); }

 private:
  void pop() {
    bytes_ -= samples_.back().bytes;
    samples_.pop_back();
  }
  void cut(std::int64_t step) {
    while (!samples_.empty() && samples_.back().step >= step) pop();
    next_ordinal_ = samples_.empty() ? 0 : samples_.back().ordinal + 1;
  }
  void thin() {
    stride_ *= 2;
    std::size_t kept = 0;
    bytes_ = 0;
    for (std::size_t i = 0; i < samples_.size(); ++i) {
      if (samples_[i].ordinal % stride_ != 0 && i + 1 != samples_.size()) continue;
      bytes_ += samples_[i].bytes;
      if (kept != i) samples_[kept] = std::move(samples_[i]);
      ++kept;
    }
    samples_.resize(kept);
  }

  std::vector<Sample<T>> samples_;
  std::size_t bytes_ = 0;
  std::uint64_t stride_ = 1;
  std::uint64_t next_ordinal_ = 0;
};

}  // namespace headrace
