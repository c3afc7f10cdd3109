#include "headrace/train/event_log.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <vector>

#include "headrace/base/text.h"
#include "headrace/log/segment_log.h"
#include "headrace/store/url.h"

namespace headrace {
namespace {

constexpr std::string_view kLog = "events.out.tfevents.headrace";

// The first owner's first segment has the log's own name. TensorBoard reads the other segments in the order
// of their names.
std::string segment_name(std::uint64_t epoch, std::string_view suffix) {
  const std::uint64_t segment = epoch == 1 ? 0 : epoch;
  return suffix.empty() ? segment_key(kLog, segment) : concat(kLog, ".", zero_padded(segment, 6), suffix);
}

struct Segment {
  std::uint64_t epoch = 0;
  std::uint64_t owner = 0;  // number of the owner's entry; 0: the first owner
};

// nullopt: this is not the name of a segment.
std::optional<Segment> parse_segment_name(std::string_view name) {
  if (!name.starts_with(kLog)) return std::nullopt;
  name.remove_prefix(kLog.size());
  if (name.empty()) return Segment{1, 0};
  const std::size_t dash = std::min(name.find("-o"), name.size());
  const auto number = parse_number<std::uint64_t>(name.substr(1, dash - 1));
  const auto owner = dash == name.size() ? std::optional<std::uint64_t>(0)
                                         : parse_number<std::uint64_t>(name.substr(dash + 2));
  if (name.front() != '.' || !number || !owner) return std::nullopt;
  return Segment{*number == 0 ? 1 : *number, *owner};
}

}  // namespace

EventLog::EventLog(Location folder, std::string writer, std::string suffix)
    : folder_(std::move(folder)), writer_(std::move(writer)), suffix_(std::move(suffix)) {}

void EventLog::begin(std::uint64_t epoch, double wall_time_s) {
  name_ = segment_name(epoch, suffix_);
  segment_.clear();
  encoder_ = EventEncoder();
  encoder_.begin_file(segment_, wall_time_s, writer_);
}

void EventLog::scalar(const EventStamp& stamp, std::string_view tag, float value) {
  encoder_.scalar(segment_, stamp, tag, value);
}

void EventLog::histogram(const EventStamp& stamp, std::string_view tag, std::span<const float> values) {
  encoder_.histogram(segment_, stamp, tag, make_histogram(values));
}

void EventLog::graph(const EventStamp& stamp, BytesView graph_def) {
  encoder_.graph(segment_, stamp, graph_def);
}

Status EventLog::end() {
  const auto written = folder_.store->write(folder_.at(name_).key, segment_, {.only_if_absent = true});
  return written ? Status{} : Status(written.error());
}

Status remove_superseded_segments(const Location& folder, std::uint64_t epoch, std::uint64_t owner) {
  std::map<std::uint64_t, std::map<std::uint64_t, std::string>> segments;  // epoch → owner → key
  HEADRACE_CHECK(folder.store->list(folder.at(kLog).key, {}, [&](const ObjectInfo& object) {
    const auto segment = parse_segment_name(last_segment(object.key));
    if (segment) segments[segment->epoch][segment->owner] = object.key;
    return true;
  }));
  std::vector<std::string> removed;
  for (auto& [number, owners] : segments) {
    if (number <= epoch) owners.erase(std::prev(owners.end()));  // the last owner's segment stays
    for (const auto& [writer, key] : owners) {
      if (writer < owner) removed.push_back(key);
    }
  }
  return removed.empty() ? Status{} : folder.store->remove_many(removed, {});
}

}  // namespace headrace
