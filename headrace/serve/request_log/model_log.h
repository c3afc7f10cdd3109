#pragma once

/// \file The records of one model's requests on their way into the store. Part of request_log.h.

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <string_view>

#include "headrace/log/segment_log.h"
#include "headrace/os/background.h"
#include "headrace/store/location.h"

namespace headrace {

/// Ending of the log's files, which are TFRecord.
inline constexpr std::string_view kRequestLogEnding = ".tfrecord";

struct ModelLogOptions {
  /// Longest time from a record until it is on its way into the store.
  std::chrono::milliseconds flush_each{60'000};
  /// Ends all requests to the store.
  std::stop_token stop{};
  /// As RequestLogOptions::remark.
  std::function<void(const std::string&)> remark;
  /// As RequestLogOptions::steady_now.
  std::function<Background::Clock::time_point()> now = Background::Clock::now;
};

/// Thread-safe. Keeps what it is given until the store has it: who appends watches `waiting_bytes`.
class ModelLog : public std::enable_shared_from_this<ModelLog> {
 public:
  struct Counts {
    std::uint64_t logged = 0;
    std::uint64_t dropped = 0;
  };

  /// Asks the store nothing. `location`: the segments' keys without number and ending.
  static std::shared_ptr<ModelLog> open(const Location& location, std::string model, ModelLogOptions options,
                                        Background& background);

  /// Adds a record as TFRecord frames it. Never waits for the store. Returns what is to be remarked: a row of
  /// dropped records has ended, or begins; usually nothing.
  [[nodiscard]] std::string append(BytesView framed_record);
  /// Counts a record that was not appended. Returns what is to be remarked: a row of them begins.
  [[nodiscard]] std::string drop();
  /// Writes everything. Remarks what is lost.
  void close();

  Counts counts() const;
  /// Not in the store yet.
  std::uint64_t waiting_bytes() const { return log_->waiting_bytes(); }

 private:
  ModelLog(std::shared_ptr<SegmentLog> log, std::string model, ModelLogOptions options,
           Background& background);
  void order_flush();
  void flush();

  const std::shared_ptr<SegmentLog> log_;
  const std::string model_;
  const ModelLogOptions options_;
  Background& background_;
  mutable std::mutex mutex_;
  Counts counts_;
  std::uint64_t dropped_in_row_ = 0;
  bool is_flush_ordered_ = false;
};

}  // namespace headrace
