/// How long does MetricWriter::log of one scalar take, until it returns?
///
///   headrace_bench_log_metrics FOLDER COUNT REPEATS
///
/// Each repeat logs COUNT points, one call each, while the background writes them into a journal and the
/// store below FOLDER; the flush after it is not measured. Writes JSON to standard output: seconds of each
/// repeat.
/// bench/log_metrics.py runs it.

#include <cstdlib>
#include <iostream>

#include "bench/measuring/repeats.h"
#include "headrace/base/text.h"
#include "headrace/metrics/metric_writer.h"
#include "headrace/store/registry.h"

namespace headrace {
namespace {

Status run(const std::string& folder, std::int64_t count, int repeats) {
  StoreRegistry registry(Environment::capture());
  HEADRACE_TRY(const Location log, registry.open(concat("file://", folder, "/store/part")));
  Background background{2};
  HEADRACE_TRY(const auto writer,
               MetricWriter::open(log, {.journal_folder = concat(folder, "/journal/part")}, background));
  HEADRACE_TRY(const std::uint32_t loss, writer->metric("loss"));
  Repeats times;
  std::int64_t step = 0;
  for (int i = 0; i < repeats; ++i) {
    times.time([&] {
      for (const std::int64_t end = step + count; step < end; ++step)
        writer->log(loss, step, 1 / static_cast<double>(step + 1));
    });
    HEADRACE_CHECK(writer->flush());
  }
  HEADRACE_CHECK(writer->close(std::chrono::minutes(1)));
  if (writer->counts().dropped > 0) return Error{Code::kDataLoss, "points were dropped"};
  Json answer = times.to_json();
  answer["records"] = count;
  std::cout << answer.dump() << '\n';
  return {};
}

}  // namespace
}  // namespace headrace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const headrace::Status status = headrace::run(argv[1], std::atoll(argv[2]), std::atoi(argv[3]));
  if (!status) std::cerr << status.error().message << '\n';
  return status ? 0 : 1;
}
