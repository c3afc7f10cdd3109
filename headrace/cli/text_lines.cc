#include "headrace/cli/text_lines.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "headrace/base/text.h"

namespace headrace {
namespace {

constexpr int kStopCheckMs = 100;
constexpr std::size_t kReadBytes = 64 << 10;

}  // namespace

// The first line of the buffer, if it is there whole.
bool TextLines::take_line(std::string& line) {
  std::size_t end = buffer_.find('\n', searched_);
  if (end == std::string::npos) {
    searched_ = buffer_.size();
    if (!at_end_ || buffer_.empty()) return false;
    end = buffer_.size();
  }
  line.assign(buffer_, 0, end);
  if (line.ends_with('\r')) line.pop_back();
  buffer_.erase(0, end + 1);
  searched_ = 0;
  ++lines_;
  return true;
}

Status TextLines::read_more() {
  if (buffer_.size() > kLineLimitBytes) {
    return Error{Code::kResourceExhausted, concat("line ", lines_ + 1, " of standard input is longer than ",
                                                  format_size(kLineLimitBytes))};
  }
  pollfd wanted{.fd = descriptor_, .events = POLLIN, .revents = 0};
  while (poll(&wanted, 1, kStopCheckMs) <= 0) {
    if (stop_.stop_requested()) return Error{Code::kCancelled, "reading standard input was stopped"};
  }
  const std::size_t before = buffer_.size();
  buffer_.resize(before + kReadBytes);
  const ssize_t got = read(descriptor_, buffer_.data() + before, kReadBytes);
  buffer_.resize(before + static_cast<std::size_t>(got > 0 ? got : 0));
  if (got < 0 && errno != EINTR && errno != EAGAIN)
    return Error{Code::kUnknown, concat("reading standard input: ", std::strerror(errno))};
  at_end_ = got == 0;
  return {};
}

Result<std::vector<std::string>> TextLines::next() {
  std::vector<std::string> out;
  std::string line;
  while (true) {
    while (out.size() < kLinesAtOnce && take_line(line)) out.push_back(std::move(line));
    if (!out.empty() || at_end_) return out;
    HEADRACE_CHECK(read_more());
  }
}

}  // namespace headrace
