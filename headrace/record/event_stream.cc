#include "headrace/record/event_stream.h"

#include <algorithm>

#include "headrace/base/text.h"
#include "headrace/record/tfrecord.h"

namespace headrace {

MutableBytesView EventStream::room(std::size_t bytes) {
  drop_front();
  // Grow by at least half, so that a large record that arrives in many small pieces is moved only a few
  // times.
  if (buffer_.size() < filled_ + bytes) buffer_.resize(std::max(filled_ + bytes, buffer_.size() * 3 / 2));
  return MutableBytesView(buffer_).subspan(filled_, bytes);
}

void EventStream::arrived(std::size_t bytes) {
  end_bytes_ += bytes;
  filled_ += bytes;
  const auto left_out = static_cast<std::size_t>(std::min<std::uint64_t>(to_leave_out_, filled_ - begin_));
  begin_ += left_out;
  to_leave_out_ -= left_out;
  if (broken_) begin_ = filled_;
}

void EventStream::append(BytesView bytes) {
  std::copy(bytes.begin(), bytes.end(), room(bytes.size()).begin());
  arrived(bytes.size());
}

void EventStream::drop_front() {
  if (begin_ == 0) return;
  std::copy(buffer_.begin() + static_cast<std::ptrdiff_t>(begin_),
            buffer_.begin() + static_cast<std::ptrdiff_t>(filled_), buffer_.begin());
  filled_ -= begin_;
  begin_ = 0;
}

StreamOutcome EventStream::leave_out(std::uint64_t size, Error error) {
  error_ = std::move(error);
  to_leave_out_ = size;
  arrived(0);
  return StreamOutcome::kDamaged;
}

StreamOutcome EventStream::next_record(StreamEvent& event) {
  if (broken_) return StreamOutcome::kBroken;
  RecordScanner scanner(BytesView(buffer_).subspan(begin_, filled_ - begin_), limit_bytes_);
  const std::uint64_t offset = offset_of(begin_);
  BytesView record;
  const ScanOutcome outcome = scanner.next(record);
  switch (outcome) {
    case ScanOutcome::kEnd:
    case ScanOutcome::kTruncated:
      return StreamOutcome::kWait;
    case ScanOutcome::kBadLengthChecksum:
      broken_ = true;
      error_ = {Code::kDataLoss, concat("at offset ", offset, ": ", scan_outcome_text(outcome),
                                        "; the file cannot be read beyond this point")};
      begin_ = filled_;
      return StreamOutcome::kBroken;
    case ScanOutcome::kBadDataChecksum:
    case ScanOutcome::kTooLarge: {
      const auto size = load_little_endian<std::uint64_t>(buffer_.data() + begin_);
      const Code code = outcome == ScanOutcome::kTooLarge ? Code::kResourceExhausted : Code::kDataLoss;
      // The limit prevents an overflow: a header can hold a length so large that the end of the record
      // overflows.
      const std::uint64_t whole = std::min(size, kNoRecordLimitBytes) + kRecordFramingBytes;
      return leave_out(whole, {code, concat("at offset ", offset, ": ", scan_outcome_text(outcome))});
    }
    case ScanOutcome::kRecord:
      break;
  }
  begin_ += scanner.position();
  event.record = record;
  event.offset_bytes = offset + kRecordHeaderBytes;
  return StreamOutcome::kEvent;
}

StreamOutcome EventStream::next(StreamEvent& event) {
  const StreamOutcome outcome = next_record(event);
  if (outcome != StreamOutcome::kEvent) return outcome;
  Result<EventView> parsed = parse_event(event.record);
  if (!parsed) {
    error_ = std::move(parsed.error()).in(concat("at offset ", event.offset_bytes - kRecordHeaderBytes));
    return StreamOutcome::kDamaged;
  }
  event.event = *parsed;
  return outcome;
}

BytesView EventStream::tail(std::size_t bytes) const {
  const std::size_t held = std::min(bytes, filled_);
  return BytesView(buffer_).subspan(filled_ - held, held);
}

void EventStream::shrink() {
  drop_front();
  buffer_.resize(filled_);
  buffer_.shrink_to_fit();
}

}  // namespace headrace
