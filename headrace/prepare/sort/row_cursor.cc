#include "headrace/prepare/sort/row_cursor.h"

namespace headrace {

RowCursor::RowCursor(const BucketRead& read, const BucketTable& table, std::size_t first_bucket,
                     OrderRange range)
    : object_(read.object), data_(read.data), offset_bytes_(read.offset_bytes()), range_(range) {
  for (const Bucket& bucket : read.buckets) rows_left_ += bucket.rows;
  possible_ = {table.first_order(first_bucket), table.last_order(first_bucket + read.buckets.size() - 1)};
}

Error RowCursor::damaged(std::size_t position, std::string_view what) const {
  return damaged_spill(*object_, offset_bytes_ + position, what);
}

Result<bool> RowCursor::next() {
  while (position_ < data_.size()) {
    row_position_ = position_;
    if (rows_left_ == 0) return damaged(position_, "more rows than the table lists");
    if (!read_row(data_, position_, row_))
      return damaged(position_, "a malformed row, although the checksum is right");
    if (row_.order < possible_.first || row_.order > possible_.last)
      return damaged(row_position_, "a row that does not belong here, although the checksum is right");
    possible_.first = row_.order;
    --rows_left_;
    if (row_.order > range_.last) {
      *this = RowCursor();
      return false;
    }
    if (row_.order >= range_.first) return true;
  }
  if (rows_left_ > 0) return damaged(position_, "fewer rows than the table lists");
  return false;
}

Status RowCursor::read_cells(std::vector<Cell>& cells) const {
  if (headrace::read_cells(row_.cells, cells)) return {};
  return damaged(row_position_, "a row with malformed cells, although the checksum is right");
}

}  // namespace headrace
