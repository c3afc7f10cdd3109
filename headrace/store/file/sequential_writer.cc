#include "headrace/store/file/sequential_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace headrace {
namespace {

constexpr std::uint64_t kCachedBytes = 1 << 20;
constexpr std::size_t kBufferBytes = 4 << 20;
// Alignment of memory, offset and size; no disk requires more.
constexpr std::size_t kAlignmentBytes = 4096;

bool set_direct(const FileDescriptor& file, bool is_direct) {
  const int flags = ::fcntl(file.get(), F_GETFL);
  if (flags < 0) return false;
  return ::fcntl(file.get(), F_SETFL, is_direct ? flags | O_DIRECT : flags & ~O_DIRECT) == 0;
}

}  // namespace

bool SequentialWriter::append(BytesView data) {
  while (!data.empty()) {
    const std::uint64_t room = is_direct_       ? kBufferBytes - held_bytes_
                               : may_be_direct_ ? kCachedBytes - cached_bytes_
                                                : data.size();
    const BytesView part = data.first(std::min<std::uint64_t>(room, data.size()));
    data = data.subspan(part.size());
    if (!take(part)) return fail();
  }
  return true;
}

bool SequentialWriter::finish() {
  if (failed_ != 0) return fail();
  if (!is_direct_) return true;
  const BytesView held(buffer_.get(), held_bytes_);
  const std::size_t whole = held_bytes_ / kAlignmentBytes * kAlignmentBytes;
  if (!write_directly(held.first(whole))) return fail();
  if (is_direct_ && !stop_direct()) return fail();
  return write_all(file_, held.subspan(whole)) || fail();
}

bool SequentialWriter::fail() {
  if (failed_ == 0) failed_ = errno;
  errno = failed_;
  return false;
}

bool SequentialWriter::take(BytesView data) {
  if (failed_ != 0) return false;
  return is_direct_ ? hold(data) : write_through_cache(data);
}

bool SequentialWriter::write_through_cache(BytesView data) {
  if (!write_all(file_, data)) return false;
  cached_bytes_ += data.size();
  if (may_be_direct_ && cached_bytes_ == kCachedBytes) go_direct();
  return true;
}

bool SequentialWriter::hold(BytesView data) {
  std::memcpy(buffer_.get() + held_bytes_, data.data(), data.size());
  held_bytes_ += data.size();
  if (held_bytes_ < kBufferBytes) return true;
  held_bytes_ = 0;
  return write_directly({buffer_.get(), kBufferBytes});
}

// If the file system refuses a direct write, for example because a limit cut off the write before it, this
// piece and all later ones go through the cache.
bool SequentialWriter::write_directly(BytesView data) {
  while (!data.empty()) {
    const ssize_t written = ::write(file_.get(), data.data(), data.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno != EINVAL) return false;
    if (written < 0) {
      return stop_direct() && write_all(file_, data);
    }
    data = data.subspan(static_cast<std::size_t>(written));
  }
  return true;
}

void SequentialWriter::go_direct() {
  may_be_direct_ = false;
  buffer_.reset(static_cast<std::byte*>(std::aligned_alloc(kAlignmentBytes, kBufferBytes)));
  is_direct_ = buffer_ && set_direct(file_, true);
}

bool SequentialWriter::stop_direct() {
  is_direct_ = false;
  return set_direct(file_, false);
}

}  // namespace headrace
