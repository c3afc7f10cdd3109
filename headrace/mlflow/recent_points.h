#pragma once

/// \file Remembers the last logged points of a run, because a client that got no answer sends them again.

#include <bit>
#include <cstdint>
#include <unordered_set>
#include <utility>
#include <vector>

namespace headrace::mlflow {

/// Remembers the last kPoints to 2·kPoints points, and separately those of earlier parts. Not thread-safe.
class RecentPoints {
 public:
  static constexpr std::size_t kPoints = 8192;
  static constexpr std::size_t kEarlierPoints = 1 << 18;  // bound that holds after each batch

  struct Point {
    std::uint32_t metric = 0;
    std::int64_t step = 0;
    std::int64_t time_ms = 0;
    std::uint64_t value_bits = 0;
    bool operator==(const Point&) const = default;
  };

  /// Inserts a point of the current batch. Returns false if it is already there.
  bool insert(const Point& point) {
    if (earlier_.contains(point) || older_.contains(point) || !newer_.insert(point).second) return false;
    inserted_.push_back(point);
    return true;
  }
  /// Inserts a point of an earlier part. All such points stay until the next batch is logged, however many
  /// there are, because that batch may repeat any of them.
  void insert_earlier(const Point& point) { earlier_.insert(point); }
  /// Call it when a batch was logged: the inserted points stay.
  void keep() {
    inserted_.clear();
    if (earlier_.size() > kEarlierPoints) earlier_ = {};
    if (newer_.size() < kPoints) return;
    older_ = std::exchange(newer_, {});
  }
  /// Call it when a batch was not logged: forgets the points that were inserted since `keep`.
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
