#include "headrace/record/tfrecord.h"

#include <algorithm>

#include "headrace/base/crc32c.h"
#include "headrace/base/text.h"

namespace headrace {
namespace {

// REQUIRES: `header` has twelve bytes
bool header_is_sound(const std::byte* header) {
  return masked_crc32c(crc32c({header, 8})) == load_little_endian<std::uint32_t>(header + 8);
}

bool data_is_sound(const std::byte* data, std::uint64_t size) {
  return masked_crc32c(crc32c({data, size})) == load_little_endian<std::uint32_t>(data + size);
}

}  // namespace

std::size_t begin_record(Bytes& out) {
  const std::size_t offset = out.size();
  out.resize(offset + kRecordHeaderBytes);
  return offset;
}

void end_record(Bytes& out, std::size_t offset) {
  const BytesView data = BytesView(out).subspan(offset + kRecordHeaderBytes);
  const std::uint32_t checksum = masked_crc32c(crc32c(data));
  store_little_endian<std::uint64_t>(out.data() + offset, data.size());
  store_little_endian(out.data() + offset + 8, masked_crc32c(crc32c({out.data() + offset, 8})));
  append_little_endian(out, checksum);
}

void append_record(Bytes& out, BytesView data) {
  const std::size_t offset = begin_record(out);
  append(out, data);
  end_record(out, offset);
}

std::string_view scan_outcome_text(ScanOutcome outcome) {
  switch (outcome) {
    case ScanOutcome::kRecord:
      return "record";
    case ScanOutcome::kEnd:
      return "end";
    case ScanOutcome::kTruncated:
      return "truncated record";
    case ScanOutcome::kBadLengthChecksum:
      return "record length with a wrong checksum";
    case ScanOutcome::kBadDataChecksum:
      return "record data with a wrong checksum";
    case ScanOutcome::kTooLarge:
      return "record larger than the limit";
  }
  return "";
}

ScanOutcome RecordScanner::next(BytesView& record) {
  const std::byte* const header = stream_.data() + position_;
  const std::size_t available = stream_.size() - position_;
  if (available < kRecordHeaderBytes) return available == 0 ? ScanOutcome::kEnd : ScanOutcome::kTruncated;
  if (!header_is_sound(header)) return ScanOutcome::kBadLengthChecksum;
  const auto size = load_little_endian<std::uint64_t>(header);
  if (size > limit_bytes_) return ScanOutcome::kTooLarge;
  if (available - kRecordHeaderBytes < kRecordFooterBytes || available - kRecordFramingBytes < size) {
    return ScanOutcome::kTruncated;
  }
  if (!data_is_sound(header + kRecordHeaderBytes, size)) return ScanOutcome::kBadDataChecksum;
  record = {header + kRecordHeaderBytes, size};
  position_ += kRecordFramingBytes + size;
  return ScanOutcome::kRecord;
}

std::optional<std::size_t> find_next_record(BytesView stream, std::size_t damaged,
                                            std::uint64_t limit_bytes) {
  const auto header_at = [&](std::size_t offset) {
    return load_little_endian<std::uint64_t>(stream.data() + offset) <= limit_bytes &&
           header_is_sound(stream.data() + offset);
  };
  if (damaged > stream.size() || stream.size() - damaged < kRecordHeaderBytes) return std::nullopt;
  const std::size_t last = stream.size() - kRecordHeaderBytes;  // the last offset at which a header fits
  if (header_at(damaged)) {
    const auto size = load_little_endian<std::uint64_t>(stream.data() + damaged);
    const std::size_t rest_bytes = stream.size() - damaged;
    if (rest_bytes >= kRecordFramingBytes && size <= rest_bytes - kRecordFramingBytes) {
      const std::size_t end = damaged + kRecordFramingBytes + size;
      if (end == stream.size() || (end <= last && header_at(end))) return end;
    }
  }
  for (std::size_t offset = damaged + 1; offset <= last; ++offset) {
    if (header_at(offset)) return offset;
  }
  return std::nullopt;
}

Error scan_error(ScanOutcome outcome, std::string_view where, std::uint64_t offset, std::uint64_t record) {
  const Code code = outcome == ScanOutcome::kTooLarge ? Code::kResourceExhausted : Code::kDataLoss;
  return {code, concat(where, ": ", scan_outcome_text(outcome), " at offset ", offset,
                       " of the uncompressed stream (record ", record, ")")};
}

}  // namespace headrace
