#include "headrace/store/object_window.h"

#include <algorithm>

namespace headrace {
namespace {

constexpr std::uint64_t kNearBytes = 1 << 20;     // a near read begins at most this far after the window
constexpr std::size_t kNearPieceBytes = 4 << 20;  // size of the piece that a near read fetches
constexpr std::size_t kFarPieceBytes = 64 << 10;  // size of the piece that any other read fetches

}  // namespace

ObjectWindow::ObjectWindow(Store& store, ObjectInfo object, CallOptions call)
    : store_(store), object_(std::move(object)), call_(std::move(call)) {}

Result<BytesView> ObjectWindow::read(std::uint64_t offset, std::size_t size) {
  const std::uint64_t end = begin_ + bytes_.size();
  if (offset < begin_ || offset + size > end) {
    const bool is_near = offset >= begin_ && offset <= end + kNearBytes;
    const std::uint64_t piece_bytes = std::max(size, is_near ? kNearPieceBytes : kFarPieceBytes);
    bytes_.resize(std::min(piece_bytes, object_.size_bytes - offset));
    begin_ = offset;
    const Status status = read_exactly(
        store_, object_.key, bytes_, {.offset_bytes = offset, .if_version = object_.version, .call = call_});
    if (!status) {
      bytes_.clear();
      return status.error();
    }
  }
  return BytesView(bytes_).subspan(offset - begin_, size);
}

}  // namespace headrace
