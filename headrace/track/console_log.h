#pragma once

/// \file Records the console output of a process of a run. docs/formats/run-console.md.

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "headrace/base/environment.h"
#include "headrace/os/background.h"
#include "headrace/track/console_piece.h"

namespace headrace {

struct ConsoleLogOptions {
  /// The first `head_bytes` are written as they come. From the rest, the last `tail_bytes` are written at the
  /// end.
  std::uint64_t head_bytes = 7 << 20;
  std::uint64_t tail_bytes = 1 << 20;
  std::uint64_t piece_bytes = 1 << 20;
  std::uint64_t line_bytes = 16 << 10;
  /// Time from the first line to the first piece. It doubles with each piece, up to `most_interval`.
  std::chrono::milliseconds first_interval{10'000};
  std::chrono::milliseconds most_interval{300'000};
  /// Options of each request to the store.
  CallOptions call{};
  /// Clocks, which tests replace: the first one gives lines their times, the second one tells when a piece is
  /// due.
  std::function<std::chrono::system_clock::time_point()> wall_clock = Environment{}.now;
  std::function<Background::Clock::time_point()> now = Background::Clock::now;
};

/// Writes the console output of one part of a run into a folder, in pieces, in the background. Thread-safe.
/// `background` must outlive it. Only `close` waits for the store.
class ConsoleLog : public std::enable_shared_from_this<ConsoleLog> {
 public:
  /// Writes nothing yet. `folder` belongs to this part alone; `run` is the id of the run.
  static std::shared_ptr<ConsoleLog> open(Location folder, std::string run, ConsoleLogOptions options,
                                          Background& background);

  /// Adds output: any bytes, also parts of lines. Takes a microsecond. After `close`, does nothing.
  void add(ConsoleStream stream, std::string_view text);

  /// Writes the remaining lines. May be repeated after an error.
  /// \error of the store: lines that were not written are lost unless the call is repeated
  Status close();

 private:
  ConsoleLog(Location folder, std::string run, ConsoleLogOptions options, Background& background);
  void extend_line(ConsoleStream stream, std::string_view text);
  void end_line(ConsoleStream stream);
  void hold(ConsoleLine line);
  void order_piece();
  Status write_piece();

  const Location folder_;
  const std::string run_;
  const ConsoleLogOptions options_;
  Background& background_;

  std::mutex writing_;  // taken before mutex_
  std::uint64_t pieces_ = 0;

  std::mutex mutex_;
  std::string begun_[2];                 // lines that have not ended, by stream
  std::uint64_t cut_bytes_[2] = {0, 0};  // bytes cut from those lines
  std::deque<ConsoleLine> head_;         // to be written as they come
  std::deque<ConsoleLine> tail_;         // to be written at the end
  std::uint64_t taken_bytes_ = 0;        // bytes of all lines that head_ has taken
  std::uint64_t held_tail_bytes_ = 0;
  std::uint64_t left_out_in_head_ = 0;  // bytes left out since the last piece
  std::uint64_t left_out_before_tail_ = 0;
  std::chrono::milliseconds interval_;
  bool is_ordered_ = false;
  bool is_closed_ = false;
};

}  // namespace headrace
