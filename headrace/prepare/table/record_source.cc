#include "headrace/prepare/table/record_source.h"

#include "headrace/base/text.h"
#include "headrace/codec/deflate.h"
#include "headrace/prepare/table/record_rows.h"
#include "headrace/prepare/table/staged_rows.h"
#include "headrace/record/tfrecord.h"

namespace headrace {
namespace {

class RecordParser final : public RowParser {
 public:
  RecordParser(std::unique_ptr<RecordRows> rows, std::uint64_t cell_limit_bytes)
      : limit_bytes_(std::min(cell_limit_bytes, kNoRecordLimitBytes)), rows_(std::move(rows)) {}

  void begin_file(std::string_view, std::string_view name, std::uint32_t number) override {
    const std::optional<StagedPart> staged = parse_staged_name(name);
    id_.begin_file(staged ? "rows" : name);
    rows_before_ = staged ? staged->rows_before : 0;
    place_ = {.file = number};
    records_ = 0;
    next_row_ = end_row_ = 0;
    buffer_.clear();
    at_ = 0;
    buffer_offset_bytes_ = 0;
    skipped_until_ = 0;
    damage_.reset();
    is_ended_ = false;
  }

  void feed(BytesView piece) override {
    buffer_.erase(buffer_.begin(), buffer_.begin() + static_cast<std::ptrdiff_t>(at_));
    buffer_offset_bytes_ += std::exchange(at_, 0);
    append(buffer_, piece);
  }

  void end_file() override { is_ended_ = true; }

  Result<std::optional<SourceRow>> next() override {
    while (next_row_ == end_row_) {
      if (!skip_record()) return std::optional<SourceRow>();
      if (damage_) return resume_after_damage();
      RecordScanner scanner(rest(), limit_bytes_);
      BytesView record;
      const ScanOutcome outcome = scanner.next(record);
      if (outcome == ScanOutcome::kEnd || needs_more(outcome)) return std::optional<SourceRow>();
      if (outcome == ScanOutcome::kTooLarge) return std::optional(reject_large_record());
      if (outcome != ScanOutcome::kRecord) {
        damage_ = {outcome, offset_bytes()};
        return resume_after_damage();
      }
      at_ += scanner.position();
      ++records_;
      if (const auto problem = rows_->begin(record)) return std::optional(rejected(*problem));
      next_row_ = 0;
      end_row_ = rows_->rows();
    }
    return std::optional(take_row());
  }

 private:
  struct Damage {
    ScanOutcome outcome = ScanOutcome::kTruncated;
    std::uint64_t offset_bytes = 0;
  };

  BytesView rest() const { return BytesView(buffer_).subspan(at_); }
  std::uint64_t offset_bytes() const { return buffer_offset_bytes_ + at_; }

  // Goes to the end of a record that is left out. Returns false if more bytes are needed for that.
  bool skip_record() {
    if (offset_bytes() >= skipped_until_) return true;
    at_ += std::min<std::uint64_t>(skipped_until_ - offset_bytes(), rest().size());
    return offset_bytes() == skipped_until_;
  }

  // If the data of a record are damaged, the header of the next record shows whether the length was right.
  bool needs_more(ScanOutcome outcome) const {
    if (is_ended_) return false;
    if (outcome == ScanOutcome::kTruncated) return true;
    if (outcome != ScanOutcome::kBadDataChecksum) return false;
    const auto size = load_little_endian<std::uint64_t>(rest().data());
    return rest().size() < size + kRecordFramingBytes + kRecordHeaderBytes;
  }

  SourceRow row() {
    ++place_.row;
    return {.place = place_, .id = id_.of(rows_before_ + place_.row)};
  }

  SourceRow rejected(const RowProblem& problem) {
    SourceRow out = row();
    out.verdict = RowVerdict::kRejected;
    out.reason = problem.reason;
    out.detail = concat("record ", records_, ": ", problem.detail);
    return out;
  }

  SourceRow take_row() {
    if (const auto problem = rows_->read(next_row_++)) return rejected(*problem);
    SourceRow out = row();
    out.cells = rows_->cells();
    return out;
  }

  // Leaves out a record that is too large. Its length is valid, so its data need not be held.
  SourceRow reject_large_record() {
    const auto size = load_little_endian<std::uint64_t>(rest().data());
    skipped_until_ = offset_bytes() + std::min(size, kNoRecordLimitBytes) + kRecordFramingBytes;
    ++records_;
    return rejected(
        {std::string(scan_outcome_text(ScanOutcome::kTooLarge)),
         concat(size, " bytes at offset ", offset_bytes(), ", at most ", limit_bytes_, " are read")});
  }

  Result<std::optional<SourceRow>> resume_after_damage() {
    const std::optional<std::size_t> found = find_next_record(rest(), 0, limit_bytes_);
    if (!found && !is_ended_) {
      at_ += rest().size() - std::min(rest().size(), kRecordHeaderBytes);
      return std::optional<SourceRow>();
    }
    at_ += found.value_or(rest().size());
    const Damage damage = *std::exchange(damage_, std::nullopt);
    ++records_;
    return std::optional(
        rejected({std::string(scan_outcome_text(damage.outcome)),
                  concat("at offset ", damage.offset_bytes, "; what lies in the ",
                         offset_bytes() - damage.offset_bytes, " bytes from there on is lost")}));
  }

  const std::uint64_t limit_bytes_;
  const std::unique_ptr<RecordRows> rows_;

  // State of the current file.
  RowId id_;
  std::uint64_t rows_before_ = 0;  // number of staged rows in the files before
  RowPlace place_;
  std::uint64_t records_ = 0;   // number of records so far
  std::uint64_t next_row_ = 0;  // next row of the record
  std::uint64_t end_row_ = 0;
  Bytes buffer_;
  std::size_t at_ = 0;  // position in `buffer_`
  std::uint64_t buffer_offset_bytes_ = 0;
  std::uint64_t skipped_until_ = 0;  // offset of the end of a record that is left out
  std::optional<Damage> damage_;     // set while the next undamaged record is searched for
  bool is_ended_ = false;
};

}  // namespace

std::unique_ptr<RowParser> make_record_parser(std::uint64_t cell_limit_bytes) {
  return std::make_unique<RecordParser>(make_example_rows(cell_limit_bytes), cell_limit_bytes);
}

std::unique_ptr<RowSource> open_records(std::vector<SourceFile> files, std::uint64_t cell_limit_bytes) {
  return read_files(std::move(files), sniff_compression, make_record_parser(cell_limit_bytes));
}

std::unique_ptr<RowParser> make_request_log_parser(std::uint64_t cell_limit_bytes) {
  return std::make_unique<RecordParser>(make_request_rows(cell_limit_bytes), cell_limit_bytes);
}

std::unique_ptr<RowSource> open_request_log(std::vector<SourceFile> files, std::uint64_t cell_limit_bytes) {
  return read_files(std::move(files), sniff_compression, make_request_log_parser(cell_limit_bytes));
}

}  // namespace headrace
