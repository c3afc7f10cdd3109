#pragma once

/// \file Keeps what a process of a run prints: docs/formats/run-console.md.

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
  /// So much is written as it comes; of the rest, the last `tail_bytes` are written at the end.
  std::uint64_t head_bytes = 7 << 20;
  std::uint64_t tail_bytes = 1 << 20;
  std::uint64_t piece_bytes = 1 << 20;
  std::uint64_t line_bytes = 16 << 10;
  /// From the first line to the first piece; it doubles with each piece, up to `most_interval`.
  std::chrono::milliseconds first_interval{10'000};
  std::chrono::milliseconds most_interval{300'000};
  /// For each request to the store.
  CallOptions call{};
  /// Tests pass their own: the time of lines, and when a piece is due.
  std::function<std::chrono::system_clock::time_point()> wall_clock = Environment{}.now;
  std::function<Background::Clock::time_point()> now = Background::Clock::now;
};

/// Thread-safe. `background` must outlive it. Nobody waits for the store but `close`.
class ConsoleLog : public std::enable_shared_from_this<ConsoleLog> {
 public:
  /// Writes nothing yet. `folder` is this part's own; `run` is the id.
  static std::shared_ptr<ConsoleLog> open(Location folder, std::string run, ConsoleLogOptions options,
                                          Background& background);

  /// Takes what was printed: any bytes, also parts of lines. Takes a microsecond; after `close` nothing.
  void add(ConsoleStream stream, std::string_view text);

  /// Writes the rest. May be repeated after an error.
  /// \error of the store: what was not written is lost unless the call is repeated
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
  std::uint64_t cut_bytes_[2] = {0, 0};  // of those lines
  std::deque<ConsoleLine> head_;         // to be written as they come
  std::deque<ConsoleLine> tail_;         // to be written at the end
  std::uint64_t taken_bytes_ = 0;        // that have been in head_
  std::uint64_t held_tail_bytes_ = 0;
  std::uint64_t left_out_in_head_ = 0;  // since the last piece
  std::uint64_t left_out_before_tail_ = 0;
  std::chrono::milliseconds interval_;
  bool is_ordered_ = false;
  bool is_closed_ = false;
};

}  // namespace headrace
