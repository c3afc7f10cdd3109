#include <algorithm>
#include <cstdlib>

#include "headrace/base/crc32c.h"
#include "headrace/record/tfrecord.h"

namespace headrace {
namespace {

constexpr std::uint64_t kLimitBytes = 1 << 20;

// The records from `start` on, each of which must lie inside the stream with a right checksum; returns where
// the first one begins that was not yielded.
std::size_t scan(BytesView stream, std::size_t start) {
  RecordScanner scanner(stream.subspan(start), kLimitBytes);
  BytesView record;
  std::size_t before = 0;
  ScanOutcome outcome = ScanOutcome::kEnd;
  while ((outcome = scanner.next(record)) == ScanOutcome::kRecord) {
    const std::byte* const end = record.data() + record.size();
    if (end + kRecordFooterBytes > stream.data() + stream.size()) std::abort();
    if (load_little_endian<std::uint32_t>(end) != masked_crc32c(crc32c(record))) std::abort();
    if (scanner.position() <= before || start + scanner.position() > stream.size()) std::abort();
    before = scanner.position();
  }
  if (scanner.position() != before) std::abort();
  if ((outcome == ScanOutcome::kEnd) != (start + before == stream.size())) std::abort();
  return start + before;
}

// Damage is stepped over until the end of the stream, always forwards and onto a header.
void recover(BytesView stream, std::size_t damaged) {
  while (damaged != stream.size()) {
    const std::optional<std::size_t> next = find_next_record(stream, damaged, kLimitBytes);
    if (!next) return;
    if (*next <= damaged || *next > stream.size()) std::abort();
    BytesView record;
    const ScanOutcome outcome = RecordScanner(stream.subspan(*next), kLimitBytes).next(record);
    if (outcome == ScanOutcome::kBadLengthChecksum || outcome == ScanOutcome::kTooLarge) std::abort();
    damaged = scan(stream, *next);
  }
}

}  // namespace
}  // namespace headrace

// The input is a list of cuts into a stream of real records: each five bytes are an offset (two), a length
// and a byte to fill it with, and what to append. Random bytes alone would never get past a checksum.
extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace headrace;
  const BytesView input = std::as_bytes(std::span(data, size));
  Bytes stream;
  for (std::size_t at = 0; at + 5 <= size; at += 5)
    append_record(stream, input.first(data[at + 4] % (size + 1)));
  const std::size_t records_end = stream.size();
  for (std::size_t at = 0; at + 5 <= size && records_end > 0; at += 5) {
    const std::size_t offset = (data[at] | data[at + 1] << 8) % records_end;
    const std::size_t length = std::min<std::size_t>(data[at + 2] % 24, records_end - offset);
    std::fill_n(stream.begin() + static_cast<std::ptrdiff_t>(offset), length,
                static_cast<std::byte>(data[at + 3]));
  }
  append(stream, input);
  recover(stream, scan(stream, 0));
  return 0;
}
