#include "headrace/cli/console.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <optional>
#include <string>

#include "headrace/base/json.h"
#include "headrace/base/text.h"
#include "headrace/cli/quoted_name.h"

namespace headrace {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kDrawInterval = std::chrono::milliseconds(100);
constexpr auto kLineInterval = std::chrono::seconds(5);

struct Stage {
  std::string name;
  std::uint64_t first = 0;  // the amount done when the clock was started
  Clock::time_point started{};
  Clock::time_point shown{};
};

std::string with_thousands(std::uint64_t number) {
  std::string digits = concat(number);
  for (std::size_t at = digits.size(); at > 3;) digits.insert(at -= 3, 1, ',');
  return digits;
}

std::string format_count(double count, std::string_view unit) {
  const auto whole = static_cast<std::uint64_t>(std::llround(count));
  return unit == "bytes" ? format_size(whole) : concat(with_thousands(whole), " ", unit);
}

std::string format_duration(double seconds) {
  const auto whole = static_cast<std::uint64_t>(std::llround(seconds));
  const std::string tail = concat(zero_padded(whole / 60 % 60, 2), ":", zero_padded(whole % 60, 2));
  return whole < 3600 ? tail : concat(whole / 3600, ":", tail);
}

// "train  1,234 of 3,900 steps  31 %  412 steps/s  00:07 to go"
std::string describe_progress(const Stage& stage, std::uint64_t done, std::uint64_t total,
                              std::string_view unit, std::string_view aside, Clock::time_point now) {
  const double seconds = std::chrono::duration<double>(now - stage.started).count();
  const double rate = seconds > 0 ? static_cast<double>(done - std::min(stage.first, done)) / seconds : 0;
  std::string line = stage.name;
  if (total > 0) {
    line += unit == "bytes" ? concat("  ", format_size(done), " of ", format_size(total))
                            : concat("  ", with_thousands(done), " of ", with_thousands(total), " ", unit);
    line += concat("  ", std::min<std::uint64_t>(100, done * 100 / total), " %");
  } else {
    line += concat("  ", format_count(static_cast<double>(done), unit));
  }
  if (!aside.empty()) line += concat("  ", aside);
  if (rate > 0) line += concat("  ", format_count(rate, unit), "/s");
  if (rate > 0 && total > done)
    line += concat("  ", format_duration(static_cast<double>(total - done) / rate), " to go");
  return line;
}

}  // namespace

struct Console::State {
  explicit State(const ConsoleOptions& given) : options(given) {}

  // REQUIRES: mutex is held.
  void clear_progress_line() {
    if (!line_drawn) return;
    std::fputs("\r\x1b[K", stderr);
    line_drawn = false;
  }
  // REQUIRES: mutex is held.
  void print_error_line(std::string_view prefix, std::string_view line) {
    clear_progress_line();
    const std::string text = concat(prefix, printable_text(line), "\n");
    std::fwrite(text.data(), 1, text.size(), stderr);
  }
  // REQUIRES: mutex is held.
  Status print(BytesView bytes) {
    if (output_error != 0) return lost();
    clear_progress_line();
    has_printed = true;
    if (std::fwrite(bytes.data(), 1, bytes.size(), stdout) == bytes.size()) return {};
    output_error = errno;
    options.stop.request_stop();
    return lost();
  }
  Error lost() const {
    if (output_error == EPIPE) return {Code::kCancelled, "standard output was closed by its reader"};
    return {Code::kUnknown, concat("writing to standard output: ", std::strerror(output_error))};
  }

  // REQUIRES: mutex is held.
  void hand_on(bool is_error_stream, std::string_view prefix, std::string_view line) const {
    if (copy) copy(is_error_stream, concat(prefix, line, "\n"));
  }

  ConsoleOptions options;
  std::mutex mutex;
  Copy copy;
  std::optional<Stage> stage;
  bool line_drawn = false;
  bool has_printed = false;
  bool is_stream = false;
  int output_error = 0;
};

Console::Console(const ConsoleOptions& options) : state_(std::make_unique<State>(options)) {}
Console::~Console() = default;

bool Console::json() const { return state_->options.json; }
bool Console::can_ask() const { return state_->options.can_ask; }

std::string Console::name(std::string_view name) const {
  return quoted_name(name, state_->options.quotes_names ? Quoting::kShell : Quoting::kUnsafe);
}

void Console::begin_stream() { state_->is_stream = true; }

void Console::result(std::string_view line) {
  const std::lock_guard lock(state_->mutex);
  state_->hand_on(false, "", line);
  // A failure is kept, and reported by `flush`.
  (void)state_->print(as_bytes(concat(printable_text(line), "\n")));
}

Status Console::result_bytes(BytesView bytes) {
  const std::lock_guard lock(state_->mutex);
  return state_->print(bytes);
}

void Console::note(std::string_view line) {
  const std::lock_guard lock(state_->mutex);
  state_->hand_on(true, "", line);
  if (!state_->options.quiet) state_->print_error_line("", line);
}

void Console::warn(std::string_view line) {
  const std::lock_guard lock(state_->mutex);
  state_->hand_on(true, "headrace: warning: ", line);
  state_->print_error_line("headrace: warning: ", line);
}

void Console::error(const Error& error) {
  const std::lock_guard lock(state_->mutex);
  state_->hand_on(true, "headrace: ", error.message);
  const bool has_document = json() && (!state_->has_printed || state_->is_stream);
  if (!has_document || !state_->options.tells_errors_once)
    state_->print_error_line("headrace: ", error.message);
  if (!has_document) return;
  const Json document = {{"error", {{"code", code_name(error.code)}, {"message", error.message}}}};
  (void)state_->print(as_bytes(concat(document.dump(), "\n")));
}

void Console::progress(std::string_view name, std::uint64_t done, std::uint64_t total, std::string_view unit,
                       std::string_view aside) {
  if (state_->options.quiet) return;
  const std::lock_guard lock(state_->mutex);
  const auto now = Clock::now();
  std::optional<Stage>& stage = state_->stage;
  if (!stage || stage->name != name) {
    stage = Stage{std::string(name), done, now, now};
    return;
  }
  const bool draws = state_->options.draws;
  const bool complete = total > 0 && done >= total;
  if (now - stage->shown < (draws ? Clock::duration(kDrawInterval) : Clock::duration(kLineInterval)) &&
      !(complete && draws)) {
    return;
  }
  stage->shown = now;
  const std::string line = describe_progress(*stage, done, total, unit, aside, now);
  if (!draws) return state_->print_error_line("", line);
  const std::string drawn = concat("\r", printable_line(line, line.size()), "\x1b[K");
  std::fwrite(drawn.data(), 1, drawn.size(), stderr);
  std::fflush(stderr);
  state_->line_drawn = true;
}

bool Console::confirm(std::string_view question) {
  const std::lock_guard lock(state_->mutex);
  state_->clear_progress_line();
  const std::string text = concat(printable_text(question), " [y/N] ");
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
  char answer[16] = "";
  if (std::fgets(answer, sizeof answer, stdin) == nullptr) return false;
  return answer[0] == 'y' || answer[0] == 'Y';
}

void Console::copy_lines_to(Copy copy) {
  const std::lock_guard lock(state_->mutex);
  state_->copy = std::move(copy);
}

Status Console::flush() {
  const std::lock_guard lock(state_->mutex);
  state_->clear_progress_line();
  if (state_->output_error == 0 && std::fflush(stdout) != 0) state_->output_error = errno;
  if (state_->output_error != 0) return state_->lost();
  return {};
}

}  // namespace headrace
