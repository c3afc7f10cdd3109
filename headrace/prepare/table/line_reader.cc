#include "headrace/prepare/table/line_reader.h"

#include <algorithm>

namespace headrace {

void LineReader::feed(BytesView piece) {
  buffer_.erase(0, begin_);
  buffer_offset_bytes_ += begin_;
  at_ -= begin_;
  begin_ = 0;
  buffer_ += as_text(piece);
}

std::optional<Line> LineReader::next() {
  const std::size_t end = std::min(buffer_.find('\n', at_), buffer_.size());
  const bool has_end = end < buffer_.size();
  const std::uint64_t size = forgotten_bytes_ + (end - begin_);
  at_ = end;
  if (!has_end && (!is_finished_ || size == 0)) {
    if (size > limit_bytes_) {
      forgotten_bytes_ = size;
      begin_ = end;
    }
    return std::nullopt;
  }
  Line line{.number = ++lines_,
            .offset_bytes = buffer_offset_bytes_ + begin_ - forgotten_bytes_,
            .is_too_long = size > limit_bytes_};
  if (!line.is_too_long) line.text = std::string_view(buffer_).substr(begin_, end - begin_);
  begin_ = at_ = end + (has_end ? 1 : 0);
  forgotten_bytes_ = 0;
  return line;
}

}  // namespace headrace
