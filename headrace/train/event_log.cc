#include "headrace/train/event_log.h"

#include "headrace/log/segment_log.h"

namespace headrace {

EventLog::EventLog(Location folder, std::string writer)
    : folder_(std::move(folder)), writer_(std::move(writer)) {}

void EventLog::begin(std::uint64_t epoch, double wall_time_s) {
  name_ = segment_key("events.out.tfevents.headrace", epoch == 1 ? 0 : epoch);
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
  const auto written = folder_.store->write(folder_.at(name_).key, segment_, {});
  return written ? Status{} : Status(written.error());
}

}  // namespace headrace
