#include "headrace/cli/text_lines.h"

#include "headrace/base/text.h"
#include "headrace/os/file_descriptor.h"

namespace headrace {
namespace {

constexpr std::size_t kReadBytes = 64 << 10;

}  // namespace

// Takes the first line of the buffer, if it is complete.
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
  const std::size_t before = buffer_.size();
  buffer_.resize(before + kReadBytes);
  auto* const free = reinterpret_cast<std::byte*>(buffer_.data()) + before;
  auto got = read_some(descriptor_, {free, kReadBytes}, stop_);
  buffer_.resize(before + (got ? *got : 0));
  if (!got) return std::move(got).error().in("standard input");
  at_end_ = *got == 0;
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
