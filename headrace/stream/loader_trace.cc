#include "headrace/stream/loader_trace.h"

#include "headrace/base/json.h"

namespace headrace {
namespace {

constexpr std::size_t kMaxEvents = 65'536;

double microseconds(std::chrono::steady_clock::duration duration) {
  return std::chrono::duration<double, std::micro>(duration).count();
}

}  // namespace

void LoaderTrace::add(const char* stage, std::size_t thread, std::uint64_t number, Clock::time_point begin) {
  if (!enabled_) return;
  const Clock::duration duration = Clock::now() - begin;
  const std::lock_guard lock(mutex_);
  if (events_.size() < kMaxEvents) events_.push_back({stage, thread, number, begin, duration});
}

std::string LoaderTrace::json() const {
  Json events = Json::array();
  const std::lock_guard lock(mutex_);
  for (const Event& event : events_) {
    events.push_back({{"name", event.stage},
                      {"ph", "X"},
                      {"pid", 1},
                      {"tid", event.thread},
                      {"ts", microseconds(event.begin - start_)},
                      {"dur", microseconds(event.duration)},
                      {"args", {{"number", event.number}}}});
  }
  return Json{{"traceEvents", std::move(events)}, {"displayTimeUnit", "ms"}}.dump();
}

}  // namespace headrace
