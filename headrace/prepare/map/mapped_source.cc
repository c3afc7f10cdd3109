#include "headrace/prepare/map/mapped_source.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <memory_resource>

#include "headrace/base/text.h"
#include "headrace/codec/sample_path.h"
#include "headrace/prepare/map/row_frame.h"
#include "headrace/prepare/row/byte_strings.h"
#include "headrace/prepare/row/reference_reader.h"
#include "headrace/prepare/source/rejects.h"

namespace headrace {
namespace {

constexpr std::size_t kMostMappedRows = 100;
constexpr std::uint64_t kMostMappedBytes = 32 << 20;
constexpr std::size_t kMostDetailBytes = 500;

// Whether a column has text, inline or in an object that it refers to. The function gets text as str.
bool is_text_column(InputFormat format, std::string_view name) {
  switch (format) {
    case InputFormat::kTfrecord:
    case InputFormat::kRequestLog:
      return false;
    case InputFormat::kImageFolder:
    case InputFormat::kImageFiles:
      return name != "image";
    case InputFormat::kWebDataset: {
      const std::string field = to_lower(name.substr(name.rfind('.') + 1));
      return name == kSampleKeyFeature || field == "txt" || field == "text" || field == "json";
    }
    default:
      return true;
  }
}

// Keeps rows of a source, together with the content that they refer to.
class KeptRows {
 public:
  KeptRows(StoreRegistry& stores, std::uint64_t cell_limit_bytes, CallOptions call)
      : references_(stores, cell_limit_bytes, std::move(call)),
        row_limit_(row_limit_bytes(cell_limit_bytes)) {}

  struct Row {
    SourceRow shown{};  // without cells; borrows from the memory of KeptRows
    std::span<NamedCell> cells{};
  };
  std::deque<Row>& rows() { return rows_; }

  void clear() {
    rows_.clear();
    memory_.release();
    bytes_ = 0;
  }
  bool is_full() const { return rows_.size() >= kMostMappedRows || bytes_ >= kMostMappedBytes; }

  void add(const SourceRow& row) {
    Row& kept = rows_.emplace_back(Row{.shown = row});
    kept.shown.id = copy(row.id);
    if (row.object) {
      kept.shown.object->url = copy(row.object->url);
      kept.shown.object->version = copy(row.object->version);
    }
    kept.shown.cells = {};
    auto* const cells =
        static_cast<NamedCell*>(memory_.allocate(row.cells.size() * sizeof(NamedCell), alignof(NamedCell)));
    std::uninitialized_copy(row.cells.begin(), row.cells.end(), cells);
    kept.cells = {cells, row.cells.size()};
    std::uint64_t size = 0;
    for (NamedCell& named : kept.cells) {
      named.name = copy_name(named.name, static_cast<std::size_t>(&named - cells));
      Cell& cell = named.cell;
      cell.data = as_bytes(copy(as_text(cell.data)));
      size += cell.data.size();
      if (cell.kind != CellKind::kReference) continue;
      cell.reference.url = copy(cell.reference.url);
      cell.reference.version = copy(cell.reference.version);
      size += cell.reference.size_bytes.value_or(0);
    }
    if (size > row_limit_)
      reject(kept, "row larger than the limit", concat(size, " bytes, at most ", row_limit_, " are read"));
    else
      bytes_ += size;
  }

  // Replaces references by the bytes that they refer to. Rejects a row if the reference itself is at fault.
  Status follow() {
    std::vector<Reference> wanted;
    std::vector<std::pair<Row*, NamedCell*>> places;
    for (Row& row : rows_) {
      for (NamedCell& cell : row.cells) {
        if (row.shown.verdict != RowVerdict::kRow || cell.cell.kind != CellKind::kReference) continue;
        wanted.push_back(cell.cell.reference);
        places.emplace_back(&row, &cell);
      }
    }
    if (wanted.empty()) return {};
    HEADRACE_TRY(const std::span<const FetchedReference> fetched, references_.fetch(wanted));
    for (std::size_t i = 0; i < fetched.size(); ++i) {
      const auto& [row, cell] = places[i];
      if (!fetched[i].error) {
        cell->cell = {.kind = CellKind::kBytes, .data = fetched[i].data};
      } else if (row->shown.verdict == RowVerdict::kRow) {
        reject(*row, reason_of_fetch(*fetched[i].error),
               concat("column ", cell->name, ": ", fetched[i].error->message));
      }
    }
    return {};
  }

  static void reject(Row& row, std::string_view reason, std::string detail) {
    row.shown.verdict = RowVerdict::kRejected;
    row.shown.reason = reason;
    row.shown.detail = std::move(detail);
  }

 private:
  std::string_view copy(std::string_view text) {
    if (text.empty()) return {};
    auto* const memory = static_cast<char*>(memory_.allocate(text.size(), 1));
    std::memcpy(memory, text.data(), text.size());
    return {memory, text.size()};
  }
  // The rows of a table have the same names at the same places, so the name in the row before is reused.
  std::string_view copy_name(std::string_view name, std::size_t place) {
    if (rows_.size() > 1) {
      const Row& before = rows_[rows_.size() - 2];
      if (place < before.cells.size() && before.cells[place].name == name) return before.cells[place].name;
    }
    return copy(name);
  }

  ReferenceReader references_;
  const std::uint64_t row_limit_;
  std::pmr::monotonic_buffer_resource memory_;
  std::deque<Row> rows_;
  std::uint64_t bytes_ = 0;
};

class MappedSource final : public RowSource {
 public:
  MappedSource(std::unique_ptr<RowSource> inner, InputFormat format, StoreRegistry& stores, MapPool& pool)
      : inner_(std::move(inner)),
        format_(format),
        pool_(pool),
        kept_(stores, pool.program().cell_limit_bytes, {.stop = pool.wait().stop}) {}

  // A process that still works on rows of this slice cannot be reused for another slice.
  ~MappedSource() override {
    if (process_ != nullptr && waiting_for_ == 0) pool_.give_back(std::move(process_));
  }

  Result<std::optional<SourceRow>> next() override {
    while (next_ == kept_.rows().size()) {
      if (is_at_end_) return std::optional<SourceRow>();
      HEADRACE_CHECK(fill());
    }
    KeptRows::Row& row = kept_.rows()[next_];
    while (row.shown.verdict == RowVerdict::kRow && answer_.rows_left() == 0) {
      if (process_ == nullptr) {
        HEADRACE_TRY(process_, pool_.acquire());
      }
      const Status answered = waiting_for_ == 0 ? ask() : receive();
      if (!answered) HEADRACE_CHECK(lose_process(answered.error()));
    }
    ++next_;
    SourceRow out = std::move(row.shown);
    if (out.verdict == RowVerdict::kRow) take_answer(out);
    return std::optional(std::move(out));
  }

  std::uint64_t consumed_bytes() const override { return inner_->consumed_bytes(); }

 private:
  Status fill() {
    kept_.clear();
    next_ = 0;
    asks_one_ = false;
    while (!kept_.is_full()) {
      HEADRACE_TRY(const std::optional<SourceRow> row, inner_->next());
      is_at_end_ = !row.has_value();
      if (is_at_end_) break;
      kept_.add(*row);
    }
    return kept_.follow();
  }

  // Sends all rows from the next one on, or the next row alone.
  Status ask() {
    frame_.clear();
    for (std::size_t i = next_; i < kept_.rows().size() && !(asks_one_ && i > next_); ++i) {
      const KeptRows::Row& row = kept_.rows()[i];
      if (row.shown.verdict != RowVerdict::kRow) continue;
      frame_.begin_row();
      for (const NamedCell& cell : row.cells) frame_.add_cell(cell.name, cell.cell, is_text(cell));
      ++waiting_for_;
    }
    return process_->send(frame_.finish(), pool_.wait());
  }

  bool is_text(const NamedCell& cell) {
    if (!is_text_column(format_, cell.name)) return false;
    if (cell.cell.kind != CellKind::kByteStrings)
      return cell.cell.kind == CellKind::kBytes && is_valid_utf8(as_text(cell.cell.data));
    BytesView rest = cell.cell.data;
    while (const auto text = take_byte_string(rest)) {
      if (!is_valid_utf8(as_text(*text))) return false;
    }
    return true;
  }

  Status receive() {
    HEADRACE_TRY(const BytesView frame, process_->receive(pool_.frame_limit_bytes(), pool_.wait()));
    HEADRACE_TRY(RowFrame answer, RowFrame::parse(frame));
    if (answer.rows_left() == 0 || answer.rows_left() > waiting_for_)
      return Error{Code::kDataLoss, "its answer is not for the rows that it was asked about"};
    waiting_for_ -= answer.rows_left();
    answer_ = std::move(answer);
    return {};
  }

  // Sends each row alone from now on, to find the row that was at fault. That does not change the results.
  Status lose_process(const Error& error) {
    if (error.code == Code::kCancelled) return error;
    const bool was_slow = error.code == Code::kDeadlineExceeded;
    const std::string end =
        process_->end(error.code == Code::kUnavailable ? kMapEndGrace : std::chrono::milliseconds(0));
    process_.reset();
    waiting_for_ = 0;
    if (!std::exchange(asks_one_, true)) return {};
    KeptRows::Row& row = kept_.rows()[next_];
    if (was_slow) {
      const auto timeout = std::chrono::duration_cast<std::chrono::seconds>(pool_.program().row_timeout);
      KeptRows::reject(row, "map took too long", concat("more than ", timeout.count(), " s (--map-timeout)"));
    } else {
      KeptRows::reject(row, "map's process died",
                       error.code == Code::kUnavailable ? end : concat("it was ended: ", error.message));
    }
    return {};
  }

  void take_answer(SourceRow& row) {
    const RowFrame::Row mapped = answer_.next();
    row.cells = mapped.cells;
    if (mapped.verdict == MappedVerdict::kDropped) {
      row.verdict = RowVerdict::kIgnored;
      row.reason = "dropped by map";
    } else if (mapped.verdict == MappedVerdict::kFailed) {
      row.verdict = RowVerdict::kRejected;
      row.reason = "map failed";
      if (!mapped.cells.empty())
        row.detail = printable_line(as_text(mapped.cells.front().cell.data), kMostDetailBytes);
    } else {
      check_sizes(row);
    }
  }

  void check_sizes(SourceRow& row) const {
    const std::uint64_t limit = pool_.program().cell_limit_bytes;
    for (const NamedCell& cell : row.cells) {
      if (cell.cell.data.size() <= limit) continue;
      row.verdict = RowVerdict::kRejected;
      row.reason = "cell larger than the limit";
      row.detail = concat("the map gives ", printable_line(cell.name, 60), " ", cell.cell.data.size(),
                          " bytes, at most ", limit, " are taken");
      return;
    }
  }

  const std::unique_ptr<RowSource> inner_;
  const InputFormat format_;
  MapPool& pool_;
  KeptRows kept_;
  std::size_t next_ = 0;
  bool is_at_end_ = false;
  bool asks_one_ = false;  // one of these rows has ended a process, so each is sent alone
  std::unique_ptr<FramedChild> process_;
  std::size_t waiting_for_ = 0;  // rows that were sent to the process and are not yet answered
  RowFrameBuilder frame_;
  RowFrame answer_;
};

}  // namespace

std::unique_ptr<RowSource> map_rows(std::unique_ptr<RowSource> rows, InputFormat format,
                                    StoreRegistry& stores, MapPool& map) {
  return std::make_unique<MappedSource>(std::move(rows), format, stores, map);
}

}  // namespace headrace
