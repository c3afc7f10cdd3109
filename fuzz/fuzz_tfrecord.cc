#include <algorithm>
#include <cstdlib>

#include "headrace/base/crc32c.h"
#include "headrace/record/tfrecord.h"

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
  RecordScanner scanner(stream, 1 << 20);
  BytesView record;
  std::size_t before = 0;
  ScanOutcome outcome = ScanOutcome::kEnd;
  while ((outcome = scanner.next(record)) == ScanOutcome::kRecord) {
    const std::byte* const end = record.data() + record.size();
    if (end + kRecordFooterBytes > stream.data() + stream.size()) std::abort();
    if (load_little_endian<std::uint32_t>(end) != masked_crc32c(crc32c(record))) std::abort();
    if (scanner.position() <= before || scanner.position() > stream.size()) std::abort();
    before = scanner.position();
  }
  if (scanner.position() != before) std::abort();
  if (outcome == ScanOutcome::kEnd && before != stream.size()) std::abort();
  return 0;
}
