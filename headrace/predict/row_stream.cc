#include "headrace/predict/row_stream.h"

#include "headrace/os/file_descriptor.h"

namespace headrace {
namespace {

constexpr std::size_t kStreamPieceBytes = 256 << 10;

}  // namespace

RowStream::RowStream(int descriptor, std::unique_ptr<RowParser> parser, std::string url, std::stop_token stop)
    : descriptor_(descriptor),
      parser_(std::move(parser)),
      url_(std::move(url)),
      stop_(std::move(stop)),
      piece_(kStreamPieceBytes) {
  parser_->begin_file(url_, "-", 0);
}

Result<bool> RowStream::wait() {
  if (has_ended_) return false;
  auto size = read_some(descriptor_, piece_, stop_);
  if (!size) return std::move(size).error().in("reading rows");
  consumed_bytes_ += *size;
  has_ended_ = *size == 0;
  if (has_ended_) {
    parser_->end_file();  // this may complete a last row
  } else {
    parser_->feed(BytesView(piece_).first(*size));
  }
  return true;
}

}  // namespace headrace
