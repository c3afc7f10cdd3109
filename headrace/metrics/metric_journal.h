#pragma once

/// \file The journal of metrics, and the contents of its files. docs/formats/metric-segments.md, "Journal".

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "headrace/log/journal.h"
#include "headrace/metrics/segment.h"

namespace headrace {

struct MetricJournalHead {
  std::string url;  // of the metric log
  std::optional<std::int64_t> from_step{};
};

/// The numbers that a journal file gives to metrics, in the order in which the file first names them.
class JournalNumbers {
 public:
  std::uint32_t count() const { return static_cast<std::uint32_t>(named_.size()); }
  /// Gives the metric the next number and returns true, unless it has a number.
  bool add(std::uint32_t metric) {
    if (metric >= numbers_.size()) numbers_.resize(metric + 1, kNone);
    if (numbers_[metric] != kNone) return false;
    numbers_[metric] = count();
    named_.push_back(metric);
    return true;
  }
  /// The number of a metric. REQUIRES: it was added
  std::uint32_t operator[](std::uint32_t metric) const { return numbers_[metric]; }
  /// Forgets the metrics whose numbers are `count` or more.
  void cut(std::uint32_t count) {
    for (; named_.size() > count; named_.pop_back()) numbers_[named_.back()] = kNone;
  }

 private:
  static constexpr std::uint32_t kNone = 0xffff'ffff;
  std::vector<std::uint32_t> numbers_;  // by metric
  std::vector<std::uint32_t> named_;    // metrics by their number
};

/// A journal whose payloads are points. Not thread-safe.
class MetricJournal {
 public:
  /// \error as Journal::create
  static Result<MetricJournal> create(std::string folder, const MetricJournalHead& head);

  /// Appends points to the file of the next segment. MetricPoint::metric is an index into `names`, which are
  /// all names so far. When it returns, a kill of this process does not lose the points.
  /// \error as Journal::append; then the first points may be kept, and the rest is not
  Status append(std::span<const std::string> names, std::span<const MetricPoint> points, bool is_end);
  /// As Journal::end_file.
  std::uint64_t end_file();
  /// As Journal::remove.
  void remove(std::uint64_t number) { files_.remove(number); }
  /// As Journal::remove_all.
  void remove_all() { files_.remove_all(); }
  const Journal& files() const { return files_; }

 private:
  explicit MetricJournal(Journal files) : files_(std::move(files)) {}

  Journal files_;
  JournalNumbers in_file_;
};

/// The points of a journal file, up to the first frame that is cut off, damaged, or holds no points.
struct MetricJournalFile {
  MetricJournalHead head;
  std::vector<std::string> names;
  std::vector<MetricPoint> points;
  bool is_end = false;
  Bytes digest;  // SHA-256 of the frames that were parsed
};

/// Parses the bytes of a journal file. `path` is for messages.
/// \error as journal_payloads; kDataLoss  it is no journal of metrics
Result<MetricJournalFile> parse_metric_journal(BytesView file, const std::string& path);
/// Reads and parses the file at `path`. \error as read_journal_file and parse_metric_journal
Result<MetricJournalFile> read_metric_journal(const std::string& path);

}  // namespace headrace
