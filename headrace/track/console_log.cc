#include "headrace/track/console_log.h"

#include <algorithm>

#include "headrace/base/text.h"

namespace headrace {
namespace {

constexpr std::uint64_t kLineCost = 32;  // counted for each line besides its text

std::uint64_t cost_of(const ConsoleLine& line) { return line.text.size() + kLineCost; }

// Removes terminal commands: ESC [ parameters letter.
std::string without_commands(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\x1b') {
      out += text[i];
      continue;
    }
    if (i + 1 == text.size() || text[i + 1] != '[') continue;
    for (i += 2; i < text.size() && (text[i] < '@' || text[i] > '~'); ++i) {
    }
  }
  return out;
}

// The line as a terminal shows it: a backspace deletes the character before it.
std::string as_last_seen(std::string_view text) {
  while (text.ends_with('\r')) text.remove_suffix(1);
  std::string out;
  for (const char c : text) {
    if (c != '\b') {
      out += c;
    } else if (!out.empty()) {
      out.pop_back();
    }
  }
  return replace_invalid_utf8(without_commands(out)).text;
}

// Moves the first lines, as many as fit into a piece, out of `lines`.
std::vector<ConsoleLine> take_lines(std::deque<ConsoleLine>& lines, std::uint64_t most_bytes) {
  std::vector<ConsoleLine> taken;
  for (std::uint64_t bytes = 0; !lines.empty(); lines.pop_front()) {
    bytes += cost_of(lines.front());
    if (bytes > most_bytes && !taken.empty()) break;
    taken.push_back(std::move(lines.front()));
  }
  return taken;
}

}  // namespace

ConsoleLog::ConsoleLog(Location folder, std::string run, ConsoleLogOptions options, Background& background)
    : folder_(std::move(folder)),
      run_(std::move(run)),
      options_(std::move(options)),
      background_(background),
      interval_(options_.first_interval) {}

std::shared_ptr<ConsoleLog> ConsoleLog::open(Location folder, std::string run, ConsoleLogOptions options,
                                             Background& background) {
  return std::shared_ptr<ConsoleLog>(
      new ConsoleLog(std::move(folder), std::move(run), std::move(options), background));
}

void ConsoleLog::add(ConsoleStream stream, std::string_view text) {
  const std::scoped_lock lock(mutex_);
  if (is_closed_) return;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    extend_line(stream, text.substr(0, end));
    if (end == text.size()) return;
    end_line(stream);
    text.remove_prefix(end + 1);
  }
}

// Text after a carriage return starts the line again, so a progress bar takes no memory.
// REQUIRES: mutex_ is held
void ConsoleLog::extend_line(ConsoleStream stream, std::string_view text) {
  std::string& line = begun_[static_cast<std::size_t>(stream)];
  std::string_view shown = text;
  while (shown.ends_with('\r')) shown.remove_suffix(1);
  const std::size_t back = shown.rfind('\r');
  if (back != std::string_view::npos || (line.ends_with('\r') && !shown.empty())) line.clear();
  if (back != std::string_view::npos) text.remove_prefix(back + 1);
  const std::size_t kept = std::min<std::size_t>(text.size(), options_.line_bytes - line.size());
  line += text.substr(0, kept);
  cut_bytes_[static_cast<std::size_t>(stream)] += text.size() - kept;
}

// REQUIRES: mutex_ is held
void ConsoleLog::end_line(ConsoleStream stream) {
  const auto index = static_cast<std::size_t>(stream);
  const auto now = options_.wall_clock().time_since_epoch();
  hold({std::chrono::duration_cast<std::chrono::milliseconds>(now).count(), stream,
        as_last_seen(begun_[index])});
  left_out_in_head_ += std::exchange(cut_bytes_[index], 0);
  begun_[index].clear();
}

// REQUIRES: mutex_ is held
void ConsoleLog::hold(ConsoleLine line) {
  const std::uint64_t cost = cost_of(line);
  if (tail_.empty() && left_out_before_tail_ == 0 && taken_bytes_ + cost <= options_.head_bytes) {
    taken_bytes_ += cost;
    head_.push_back(std::move(line));
    if (!std::exchange(is_ordered_, true)) order_piece();
    return;
  }
  held_tail_bytes_ += cost;
  tail_.push_back(std::move(line));
  for (; held_tail_bytes_ > options_.tail_bytes; tail_.pop_front()) {
    held_tail_bytes_ -= cost_of(tail_.front());
    left_out_before_tail_ += tail_.front().text.size() + 1;
  }
}

// REQUIRES: mutex_ is held
void ConsoleLog::order_piece() {
  background_.add_at(options_.now() + interval_, [weak = weak_from_this()] {
    const auto log = weak.lock();
    if (!log) return;
    (void)log->write_piece();  // lines that the store did not take wait for the next call
    const std::scoped_lock lock(log->mutex_);
    log->interval_ = std::min(log->interval_ * 2, log->options_.most_interval);
    log->is_ordered_ = !log->head_.empty() && !log->is_closed_;
    if (log->is_ordered_) log->order_piece();
  });
}

Status ConsoleLog::write_piece() {
  const std::scoped_lock writing(writing_);
  ConsolePiece piece;
  {
    const std::scoped_lock lock(mutex_);
    piece.left_out_bytes = std::exchange(left_out_in_head_, 0);
    piece.lines = take_lines(head_, options_.piece_bytes);
  }
  if (piece.lines.empty()) return {};
  const Location place = folder_.at(console_piece_name(pieces_));
  const auto written = write_text(*place.store, place.key, serialize_console_piece(run_, piece),
                                  {.only_if_absent = true, .call = options_.call});
  if (written || written.error().code == Code::kAlreadyExists) {
    ++pieces_;
    return {};
  }
  const std::scoped_lock lock(mutex_);
  left_out_in_head_ += piece.left_out_bytes;
  head_.insert(head_.begin(), std::make_move_iterator(piece.lines.begin()),
               std::make_move_iterator(piece.lines.end()));
  return written.error();
}

Status ConsoleLog::close() {
  {
    const std::scoped_lock lock(mutex_);
    for (const ConsoleStream stream : {ConsoleStream::kOutput, ConsoleStream::kError}) {
      if (!begun_[static_cast<std::size_t>(stream)].empty()) end_line(stream);
    }
    is_closed_ = true;
  }
  while (true) {
    {
      const std::scoped_lock lock(mutex_);
      if (head_.empty()) {
        if (tail_.empty()) return {};
        head_.swap(tail_);
        left_out_in_head_ += std::exchange(left_out_before_tail_, 0);
      }
    }
    HEADRACE_CHECK(write_piece());
  }
}

}  // namespace headrace
