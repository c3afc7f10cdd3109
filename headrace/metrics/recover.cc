#include "headrace/metrics/recover.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "headrace/base/digest.h"
#include "headrace/base/text.h"
#include "headrace/metrics/metric_journal.h"
#include "headrace/metrics/metric_log.h"
#include "headrace/metrics/metric_writer.h"

namespace headrace {

namespace {

using NumberRange = std::pair<std::uint64_t, std::uint64_t>;

/// The ranges of numbers that compacted segments hold, from one listing.
Result<std::vector<NumberRange>> compacted_ranges(const Location& log, const CallOptions& call) {
  std::vector<NumberRange> ranges;
  const std::string prefix = folder_prefix(log.key);
  HEADRACE_CHECK(log.store->list(prefix, {.call = call}, [&](const ObjectInfo& object) {
    const auto range = parse_segment_name(std::string_view(object.key).substr(prefix.size()));
    if (range && range->first < range->second) ranges.push_back(*range);
    return true;
  }));
  return ranges;
}

bool is_in(const std::vector<NumberRange>& ranges, std::uint64_t number) {
  return std::ranges::any_of(
      ranges, [&](const NumberRange& range) { return range.first <= number && number <= range.second; });
}

/// The digest of the segment before `number`: empty for the first segment, none if `number` was compacted
/// meanwhile.
/// \error kFailedPrecondition  the log has no segments; kDataLoss  it lacks the one before
Result<std::optional<Bytes>> digest_before(const Location& log, std::uint64_t number,
                                           const CallOptions& call) {
  if (number == 0) return std::optional(Bytes());
  const Location before = log.at(segment_name(number - 1, number - 1));
  auto object = read_object(*before.store, before.key, kSegmentLimitBytes, call);
  if (object) return std::optional(sha256(object->data));
  if (object.error().code != Code::kNotFound) return std::move(object).error();
  HEADRACE_TRY(const MetricLog compacted, MetricLog::open(log, call));
  if (compacted.segments().empty())
    return Error{Code::kFailedPrecondition,
                 concat(log.describe(), " was removed; if nobody needs the points, remove the journal, too")};
  for (const auto& segment : compacted.segments()) {
    const Bytes& digest = segment.footer.head.last_digest;
    if (segment.stored.last == number - 1 && !digest.empty()) return std::optional(digest);
    if (segment.stored.first <= number && number <= segment.stored.last) return std::optional<Bytes>();
  }
  return Error{Code::kDataLoss, before.describe() + " is missing"};
}

Status recover_journal(const LeftJournal& journal,
                       const std::function<Result<Location>(const std::string& url)>& open,
                       const CallOptions& call, RecoveredLog& result) {
  Bytes previous;
  std::optional<std::vector<NumberRange>> compacted;
  for (const std::uint64_t number : journal.numbers) {
    auto file = read_metric_journal(journal_path(journal.folder, number));
    if (!file && file.error().code == Code::kOutOfRange) continue;
    if (!file) return std::move(file).error();
    result.url = file->head.url;
    if (file->points.empty() && !file->is_end) continue;
    HEADRACE_TRY(const Location log, open(result.url));
    if (!compacted) {
      HEADRACE_TRY(compacted, compacted_ranges(log, call));
    }
    if (is_in(*compacted, number)) {
      previous.clear();
      continue;
    }
    if (previous.empty()) {
      HEADRACE_TRY(auto before, digest_before(log, number, call));
      if (!before) continue;
      previous = *std::move(before);
    }
    HEADRACE_TRY(previous, write_segment_of(*file, number, previous, log, call));
    ++result.segments;
    result.points += file->points.size();
  }
  remove_journal_folder(journal.folder);
  return {};
}

}  // namespace

std::vector<RecoveredLog> recover_metrics(const std::string& state,
                                          const std::function<Result<Location>(const std::string& url)>& open,
                                          const CallOptions& call) {
  std::vector<RecoveredLog> results;
  visit_left_journals(state, [&](const LeftJournal& journal) {
    RecoveredLog& result = results.emplace_back();
    result.folder = journal.folder;
    result.status = recover_journal(journal, open, call, result);
  });
  return results;
}

}  // namespace headrace
