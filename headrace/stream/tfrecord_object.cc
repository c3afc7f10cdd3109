#include "headrace/stream/tfrecord_object.h"

#include <algorithm>

#include "headrace/base/text.h"
#include "headrace/record/tfrecord.h"
#include "headrace/store/store.h"

namespace headrace {
namespace {

constexpr std::size_t kSniffBytes = 12;
constexpr std::size_t kInflatedPieceBytes = 1 << 20;

// Cuts a decompressed stream that comes in pieces into records.
class RecordCutter {
 public:
  RecordCutter(std::string where, std::uint64_t limit_bytes, TfrecordSummary& summary,
               const std::function<bool(BytesView)>& visit)
      : where_(std::move(where)), limit_bytes_(limit_bytes), summary_(summary), visit_(visit) {}

  // Room for more of the stream; give back with `cut` how much of it was filled.
  MutableBytesView room() {
    pending_.resize(held_ + kInflatedPieceBytes);
    return MutableBytesView(pending_).subspan(held_);
  }

  Status cut(std::size_t added) {
    held_ += added;
    summary_.uncompressed_bytes += added;
    RecordScanner scanner(BytesView(pending_).first(held_), limit_bytes_);
    BytesView record;
    ScanOutcome outcome = ScanOutcome::kEnd;
    while (!stopped_ && (outcome = scanner.next(record)) == ScanOutcome::kRecord) {
      ++summary_.records;
      stopped_ = !visit_(record);
    }
    if (stopped_) return {};
    if (outcome != ScanOutcome::kEnd && outcome != ScanOutcome::kTruncated) {
      return error(outcome, scanner.position());
    }
    std::copy(pending_.begin() + static_cast<std::ptrdiff_t>(scanner.position()),
              pending_.begin() + static_cast<std::ptrdiff_t>(held_), pending_.begin());
    held_ -= scanner.position();
    return {};
  }

  Status finish() const {
    if (stopped_ || held_ == 0) return {};
    return error(ScanOutcome::kTruncated, 0);
  }
  bool stopped() const { return stopped_; }

 private:
  Error error(ScanOutcome outcome, std::size_t position) const {
    const std::uint64_t offset = summary_.uncompressed_bytes - held_ + position;
    if (offset == 0 && outcome != ScanOutcome::kBadDataChecksum)
      return {Code::kInvalidArgument, concat(where_, " is no TFRecord file")};
    return scan_error(outcome, where_, offset, summary_.records);
  }

  const std::string where_;
  const std::uint64_t limit_bytes_;
  TfrecordSummary& summary_;
  const std::function<bool(BytesView)>& visit_;
  Bytes pending_;
  std::size_t held_ = 0;
  bool stopped_ = false;
};

}  // namespace

Status read_tfrecord(const Location& location, const ObjectInfo& object, std::uint64_t limit_bytes,
                     const CallOptions& call, TfrecordSummary& summary,
                     const std::function<bool(BytesView record)>& visit,
                     const std::function<void(std::uint64_t)>& advance) {
  Bytes head(std::min<std::uint64_t>(kSniffBytes, object.size_bytes));
  HEADRACE_CHECK(
      read_exactly(*location.store, location.key, head, {.if_version = object.version, .call = call}));
  summary.compression = sniff_compression(head);
  Inflater inflater(summary.compression);
  RecordCutter cutter(location.describe(), limit_bytes, summary, visit);
  bool over = false;
  const auto take = [&](BytesView piece) -> Status {
    advance(piece.size());
    while (true) {
      const MutableBytesView room = cutter.room();
      auto step = inflater.step(piece, room);
      if (!step) return std::move(step).error().in(location.describe());
      piece = piece.subspan(step->consumed_bytes);
      HEADRACE_CHECK(cutter.cut(step->produced_bytes));
      over = cutter.stopped();
      // Ends the reading of the object; not an error of it.
      if (over) return Error{Code::kCancelled, "no more records are wanted"};
      if (piece.empty() && step->produced_bytes < room.size()) return {};
    }
  };
  const Status read = read_in_pieces(*location.store, object, call, take);
  if (over) return {};
  HEADRACE_CHECK(read);
  if (const Status complete = inflater.finish(); !complete) return complete.error().in(location.describe());
  return cutter.finish();
}

}  // namespace headrace
