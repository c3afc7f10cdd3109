#pragma once

/// \file The points of a run that were logged last: a client that got no answer sends them again.

#include <bit>
#include <cstdint>
#include <unordered_set>
#include <utility>
#include <vector>

namespace headrace::mlflow {

/// Not thread-safe. Remembers the last kPoints to 2·kPoints points, and apart from them those of earlier
/// parts.
class RecentPoints {
 public:
  static constexpr std::size_t kPoints = 8192;
  static constexpr std::size_t kEarlierPoints = 1 << 18;  // once a batch is logged

  struct Point {
    std::uint32_t metric = 0;
    std::int64_t step = 0;
    std::int64_t time_ms = 0;
    std::uint64_t value_bits = 0;
    bool operator==(const Point&) const = default;
  };

  /// False if it is there already.
  bool insert(const Point& point) {
    if (earlier_.contains(point) || older_.contains(point) || !newer_.insert(point).second) return false;
    inserted_.push_back(point);
    return true;
  }
  /// A point of an earlier part. It stays until the next batch is logged, however many there are: that batch
  /// may repeat any of them.
  void insert_earlier(const Point& point) { earlier_.insert(point); }
  /// A batch is logged: what was inserted stays.
  void keep() {
    inserted_.clear();
    if (earlier_.size() > kEarlierPoints) earlier_ = {};
    if (newer_.size() < kPoints) return;
    older_ = std::exchange(newer_, {});
  }
  /// It is not: forgets what was inserted since `keep`.
  void forget() {
    for (const Point& point : inserted_) newer_.erase(point);
    inserted_.clear();
  }

 private:
  struct Hash {
    std::size_t operator()(const Point& point) const {
      std::uint64_t hash = point.metric;
      for (const std::uint64_t part : {static_cast<std::uint64_t>(point.step),
                                       static_cast<std::uint64_t>(point.time_ms), point.value_bits})
        hash = std::rotl((hash ^ part) * 0x9e37'79b9'7f4a'7c15, 29);
      return static_cast<std::size_t>(hash);
    }
  };
  std::unordered_set<Point, Hash> newer_;
  std::unordered_set<Point, Hash> older_;
  std::unordered_set<Point, Hash> earlier_;
  std::vector<Point> inserted_;
};

}  // namespace headrace::mlflow
