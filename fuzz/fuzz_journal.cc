#include <cstdlib>

#include "fuzz/script.h"
#include "headrace/base/crc32c.h"
#include "headrace/log/recover_segments.h"
#include "headrace/metrics/metric_journal.h"

namespace headrace {
namespace {

// Whatever the bytes are, points name metrics that the file names, and records are no more than its bytes.
void read_all(BytesView file) {
  const auto points = parse_metric_journal(file, "fuzz");
  if (points) {
    for (const MetricPoint& point : points->points) {
      if (point.metric >= points->names.size()) std::abort();
    }
  }
  const auto records = parse_segment_journal(file, "fuzz");
  if (!records) return;
  if (records->size_bytes > file.size() || records->records.size() > records->size_bytes) std::abort();
  const Bytes head = encode_segment_journal_head(records->head);
  Bytes again;
  append_little_endian(again, static_cast<std::uint32_t>(head.size()));
  append_little_endian(again, crc32c(head));
  append(again, head);
  const auto same = parse_segment_journal(again, "fuzz");
  if (!same || same->head.url != records->head.url || same->head.header != records->head.header) std::abort();
}

// The input is payloads, whose checksums are right: a size, and so many bytes.
void read_as_payloads(BytesView input) {
  Bytes file;
  for (Script script(input); !script.empty();) {
    const BytesView payload = script.take(script.word());
    append_little_endian(file, static_cast<std::uint32_t>(payload.size()));
    append_little_endian(file, crc32c(payload));
    append(file, payload);
  }
  read_all(file);
}

}  // namespace
}  // namespace headrace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const headrace::BytesView input(reinterpret_cast<const std::byte*>(data), size);
  headrace::read_all(input);
  headrace::read_as_payloads(input);
  return 0;
}
