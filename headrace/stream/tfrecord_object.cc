#include "headrace/stream/tfrecord_object.h"

#include <algorithm>
#include <optional>

#include "headrace/base/text.h"
#include "headrace/record/tfrecord.h"
#include "headrace/store/store.h"

namespace headrace {
namespace {

constexpr std::size_t kSniffBytes = 12;
constexpr std::size_t kInflatedPieceBytes = 1 << 20;
constexpr std::size_t kObjectRemarks = 100;

// Cuts a decompressed stream, which comes in pieces, into records.
class RecordCutter {
 public:
  RecordCutter(std::string where, std::uint64_t limit_bytes, TfrecordSummary& summary,
               const std::function<bool(BytesView)>& visit, const OnDamage* on_damage)
      : where_(std::move(where)),
        limit_bytes_(limit_bytes),
        summary_(summary),
        visit_(visit),
        on_damage_(on_damage) {}

  // Room for more of the stream. Then call `cut` with the number of bytes that were filled.
  MutableBytesView room() {
    pending_.resize(held_ + kInflatedPieceBytes);
    return MutableBytesView(pending_).subspan(held_);
  }

  Status cut(std::size_t added) {
    held_ += added;
    summary_.uncompressed_bytes += added;
    std::size_t begin = 0;  // where the part begins that is not cut yet
    while (!stopped_) {
      if (damage_ && !pass_over(begin)) break;
      RecordScanner scanner(BytesView(pending_).first(held_).subspan(begin), limit_bytes_);
      BytesView record;
      ScanOutcome outcome = ScanOutcome::kEnd;
      while (!stopped_ && (outcome = scanner.next(record)) == ScanOutcome::kRecord) {
        ++summary_.records;
        stopped_ = !visit_(record);
      }
      begin += scanner.position();
      if (stopped_ || outcome == ScanOutcome::kEnd || outcome == ScanOutcome::kTruncated) break;
      Error found = error(outcome, begin);
      if (on_damage_ == nullptr || found.code == Code::kInvalidArgument) return found;
      damage_ = std::move(found);
    }
    keep_from(begin);
    return {};
  }

  Status finish() {
    if (stopped_ || (held_ == 0 && !damage_)) return {};
    if (!damage_) return error(ScanOutcome::kTruncated, 0);
    lost_bytes_ += held_;
    report();
    return {};
  }
  bool stopped() const { return stopped_; }

 private:
  // Looks for the next record after damage. Returns false if it is not in the stream yet: then all bytes are
  // lost except those that may be the start of a header.
  bool pass_over(std::size_t& begin) {
    const BytesView rest = BytesView(pending_).first(held_).subspan(begin);
    std::optional<std::size_t> next = find_next_record(rest, 0, limit_bytes_);
    // The lost bytes take the place of a record, so there cannot be fewer than its framing.
    while (next && lost_bytes_ + *next < kRecordFramingBytes)
      next = find_next_record(rest, *next, limit_bytes_);
    const std::size_t passed = next ? *next : rest.size() - std::min(rest.size(), kRecordHeaderBytes);
    lost_bytes_ += passed;
    begin += passed;
    if (next) report();
    return next.has_value();
  }

  void report() {
    if (summary_.remarks.size() < kObjectRemarks) {
      summary_.remarks.push_back(concat(damage_->message, "; ", lost_bytes_, " bytes are skipped"));
    }
    // Fewer bytes cannot take the place of a record.
    if (lost_bytes_ >= kRecordFramingBytes) {
      ++summary_.records;
      (*on_damage_)(*damage_, lost_bytes_);
    }
    damage_.reset();
    lost_bytes_ = 0;
  }

  void keep_from(std::size_t begin) {
    std::copy(pending_.begin() + static_cast<std::ptrdiff_t>(begin),
              pending_.begin() + static_cast<std::ptrdiff_t>(held_), pending_.begin());
    held_ -= begin;
  }

  Error error(ScanOutcome outcome, std::size_t position) const {
    const std::uint64_t offset = summary_.uncompressed_bytes - held_ + position;
    if (offset == 0 && outcome != ScanOutcome::kBadDataChecksum)
      return {Code::kInvalidArgument,
              concat(where_, " is not a TFRecord file; headrace prepare makes such files from other data")};
    return scan_error(outcome, where_, offset, summary_.records);
  }

  const std::string where_;
  const std::uint64_t limit_bytes_;
  TfrecordSummary& summary_;
  const std::function<bool(BytesView)>& visit_;
  const OnDamage* const on_damage_;  // may be null
  std::optional<Error> damage_;      // the damage that is being skipped
  std::uint64_t lost_bytes_ = 0;     // the size of the damage so far
  Bytes pending_;
  std::size_t held_ = 0;
  bool stopped_ = false;
};

}  // namespace

Status read_tfrecord(const Location& location, const ObjectInfo& object, std::uint64_t limit_bytes,
                     const CallOptions& call, TfrecordSummary& summary,
                     const std::function<bool(BytesView record)>& visit,
                     const std::function<void(std::uint64_t)>& advance, const OnDamage* on_damage) {
  Bytes head(std::min<std::uint64_t>(kSniffBytes, object.size_bytes));
  HEADRACE_CHECK(
      read_exactly(*location.store, location.key, head, {.if_version = object.version, .call = call}));
  summary.compression = sniff_compression(head);
  Inflater inflater(summary.compression);
  RecordCutter cutter(location.describe(), limit_bytes, summary, visit, on_damage);
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
      // Ends the reading of the object; it is not an error of the object.
      if (over) return Error{Code::kCancelled, "no more records are wanted"};
      if (piece.empty() && step->produced_bytes < room.size()) return {};
    }
  };
  const Status read = read_in_pieces(*location.store, object, call, take);
  if (over) return {};
  HEADRACE_CHECK(read);
  if (const Status complete = inflater.finish(); !complete) return complete.error().in(location.describe());
  summary.member_starts = inflater.member_starts();
  return cutter.finish();
}

}  // namespace headrace
