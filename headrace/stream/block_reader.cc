#include "headrace/stream/block_reader.h"

namespace headrace {

void BlockLoadStats::add(const BlockLoadStats& other) {
  fetched_bytes += other.fetched_bytes;
  inflated_bytes += other.inflated_bytes;
  fetch_seconds += other.fetch_seconds;
  inflate_seconds += other.inflate_seconds;
  check_seconds += other.check_seconds;
}

Stopwatch::Stopwatch(double& seconds) : seconds_(seconds), start_(std::chrono::steady_clock::now()) {}

Stopwatch::~Stopwatch() {
  seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

}  // namespace headrace
