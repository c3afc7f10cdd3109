/// How many bytes does a long training send to the store for the events that it logs?
///
///   headrace_bench_log_for_hours
///
/// Five scalars each ten seconds for twelve hours of a simulated clock, an event each, as hr.summary and
/// TensorFlow write them; a flush each thirty seconds, and a close at the end. Writes JSON to standard
/// output: bytes of the events, bytes of what was written to the store, how many objects that is.
/// bench/log_for_hours.py runs it.

#include <array>
#include <cstdio>
#include <iostream>

#include "headrace/base/json.h"
#include "headrace/log/segment_log.h"
#include "headrace/record/event.h"
#include "headrace/store/layers/metered.h"
#include "headrace/store/registry.h"

namespace headrace {
namespace {

using std::chrono::seconds;

constexpr seconds kRun = std::chrono::hours(12);
constexpr seconds kFlushInterval{30};
constexpr seconds kLogInterval{10};
constexpr std::array<std::string_view, 5> kTags = {"loss", "accuracy", "val_loss", "val_accuracy",
                                                   "learning_rate"};
constexpr double kStartWallTime = 1.8e9;

Status run() {
  StoreRegistry registry(Environment::capture());
  HEADRACE_TRY(Location location, registry.open("memory://bench/logs/events.out.tfevents.1800000000.bench"));
  const auto metrics = std::make_shared<StoreMetrics>();
  location = make_metered(std::move(location), metrics);

  Background background{2};
  const Background::Clock::time_point start = Background::Clock::now();
  seconds elapsed{0};
  Bytes header;
  EventEncoder().begin_file(header, kStartWallTime, "");
  HEADRACE_TRY(
      const auto log,
      SegmentLog::open(location, false, {.segment_header = header, .now = [&] { return start + elapsed; }},
                       background));

  EventEncoder encoder;
  Bytes events;
  std::uint64_t logged_bytes = 0;
  encoder.begin_file(events, kStartWallTime, "headrace");
  while (elapsed < kRun) {
    elapsed += kLogInterval;
    const std::int64_t step = elapsed / kLogInterval;
    const EventStamp stamp{kStartWallTime + static_cast<double>(elapsed.count()), step};
    for (const std::string_view tag : kTags)
      encoder.scalar(events, stamp, tag, 1.0F / static_cast<float>(step));
    HEADRACE_CHECK(log->append(events));
    logged_bytes += events.size();
    events.clear();
    if (elapsed % kFlushInterval == seconds(0)) HEADRACE_CHECK(log->flush());
  }
  HEADRACE_CHECK(log->close());

  HEADRACE_TRY(const auto objects, list_all(*location.store, location.key));
  std::cout << Json{{"logged_bytes", logged_bytes},
                    {"sent_bytes", metrics->of(StoreOperation::kWrite).moved_bytes},
                    {"objects", objects.size()}}
                   .dump()
            << "\n";
  return {};
}

}  // namespace
}  // namespace headrace

int main() {
  const headrace::Status status = headrace::run();
  if (!status) std::fprintf(stderr, "%s\n", status.error().message.c_str());
  return status ? 0 : 1;
}
