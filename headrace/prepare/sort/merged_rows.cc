#include "headrace/prepare/sort/merged_rows.h"

#include <algorithm>

namespace headrace {
namespace {

constexpr std::uint64_t span_of(int level) { return ~std::uint64_t{0} >> level; }

}  // namespace

MergedRows::MergedRows(std::span<const SliceSpill> spills, std::span<const std::string_view> splits,
                       const MergeOptions& options)
    : options_(options) {
  const OrderRange& range = options.range;
  is_last_piece_ = range.first > range.last;
  piece_first_ = range.first & ~span_of(BucketTable::kMaxBits);
  for (const SliceSpill& spill : spills) {
    for (std::uint32_t split = 0; split < splits.size(); ++split) {
      if (const BucketTable* table = spill.reader->find_table(splits[split]))
        spills_.push_back({spill.reader, spill.slice, split, table, table->bucket_of(range.first)});
    }
  }
  if (spills_.empty()) is_last_piece_ = true;
}

Result<std::optional<MergedRow>> MergedRows::next() {
  if (failed_) return *failed_;
  Result<std::optional<MergedRow>> row = find_next();
  if (!row) failed_ = row.error();
  return row;
}

Result<std::optional<MergedRow>> MergedRows::find_next() {
  if (front_was_given_) HEADRACE_CHECK(replace_front());
  front_was_given_ = false;
  while (heap_.empty()) {
    if (is_last_piece_) return std::optional<MergedRow>();
    HEADRACE_CHECK(read_piece());
  }
  const Spill& spill = *heap_.front().spill;
  HEADRACE_CHECK(spill.cursor.read_cells(cells_));
  front_was_given_ = true;
  const EncodedRow& row = spill.cursor.row();
  return std::optional<MergedRow>(
      {{row.order, row.tie, row.id, row.place, cells_}, spill.slice, spill.split});
}

bool MergedRows::comes_before(const Candidate& a, const Candidate& b) {
  if (a.order != b.order) return a.order < b.order;
  const EncodedRow& a_row = a.spill->cursor.row();
  const EncodedRow& b_row = b.spill->cursor.row();
  if (const auto compared = compare_order(a_row, b_row); compared != 0) return compared < 0;
  if (a.spill->slice != b.spill->slice) return a.spill->slice < b.spill->slice;
  if (a_row.place != b_row.place) return a_row.place < b_row.place;
  return a.spill < b.spill;
}

// Replaces the front of the heap by the next row of its spill, or removes it if that row is not in the piece.
Status MergedRows::replace_front() {
  Spill& spill = *heap_.front().spill;
  HEADRACE_TRY(spill.has_row, spill.cursor.next());
  if (spill.has_row && spill.cursor.row().order <= piece_last_) {
    heap_.front().order = spill.cursor.row().order;
  } else {
    heap_.front() = heap_.back();
    heap_.pop_back();
  }
  sink_front();
  return {};
}

// Restores the heap when only its front may be in the wrong place.
void MergedRows::sink_front() {
  std::size_t at = 0;
  while (true) {
    std::size_t least = at;
    for (std::size_t child = 2 * at + 1; child <= 2 * at + 2 && child < heap_.size(); ++child) {
      if (comes_before(heap_[child], heap_[least])) least = child;
    }
    if (least == at) return;
    std::swap(heap_[at], heap_[least]);
    at = least;
  }
}

// Whether the piece from piece_first_ to `last` needs little enough memory, or a smaller piece would hardly
// need less, since buckets that are as large as the piece are held anyway.
bool MergedRows::is_small(std::uint64_t last, int level) const {
  std::uint64_t coarse_bytes = 0, fine_bytes = 0;
  for (const Spill& spill : spills_) {
    const std::size_t first = spill.table->bucket_of(std::max(piece_first_, options_.range.first));
    const std::size_t end = spill.table->bucket_of(std::min(last, options_.range.last)) + 1;
    const std::uint64_t bytes = spill.table->offset_bytes(end) - spill.table->offset_bytes(first);
    (spill.table->bits() > level ? fine_bytes : coarse_bytes) += bytes;
  }
  return coarse_bytes + fine_bytes <= options_.hold_bytes || fine_bytes <= options_.hold_bytes / 4;
}

// Chooses the largest piece that may begin at piece_first_. Pieces begin at multiples of their size, as
// buckets do, so either a bucket is part of a piece, or a piece is part of a bucket.
int MergedRows::choose_level() const {
  int level = 0;
  while ((piece_first_ & span_of(level)) != 0) ++level;
  while (level < BucketTable::kMaxBits && !is_small(piece_first_ | span_of(level), level)) ++level;
  return level;
}

Status MergedRows::read_piece() {
  const std::uint64_t last = piece_first_ | span_of(choose_level());
  is_last_piece_ = last >= options_.range.last;
  HEADRACE_CHECK(read_up_to(std::min(last, options_.range.last)));
  piece_last_ = last;
  piece_first_ = last + 1;
  for (Spill& spill : spills_) {
    HEADRACE_TRY(const bool has_row, step(spill));
    if (has_row && spill.cursor.row().order <= piece_last_)
      heap_.push_back({spill.cursor.row().order, &spill});
  }
  std::sort(heap_.begin(), heap_.end(), comes_before);
  return {};
}

Result<bool> MergedRows::step(Spill& spill) {
  if (!spill.has_row) {
    HEADRACE_TRY(spill.has_row, spill.cursor.next());
  }
  return spill.has_row;
}

// Reads the buckets with orders up to `last` that have not been read yet. A spill that needs buckets has no
// rows left in memory.
Status MergedRows::read_up_to(std::uint64_t last) {
  std::vector<BucketRead> reads;
  std::vector<Spill*> spills;
  for (Spill& spill : spills_) {
    const std::size_t end = spill.table->bucket_of(last) + 1;
    if (end <= spill.next_bucket) continue;
    reads.push_back({.object = &spill.reader->object(),
                     .buckets = spill.table->buckets().subspan(spill.next_bucket, end - spill.next_bucket),
                     .end_bytes = spill.table->offset_bytes(end),
                     .room = std::move(spill.read.room)});
    spills.push_back(&spill);
  }
  HEADRACE_CHECK(read_buckets(reads, options_.call));
  for (std::size_t i = 0; i < spills.size(); ++i) {
    Spill& spill = *spills[i];
    spill.read = std::move(reads[i]);
    spill.cursor = RowCursor(spill.read, *spill.table, spill.next_bucket, options_.range);
    spill.next_bucket += spill.read.buckets.size();
    spill.has_row = false;
  }
  return {};
}

}  // namespace headrace
