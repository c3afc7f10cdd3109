#pragma once

/// \file Writes the logged requests of one model into the store. Part of request_log.h.

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

/// Suffix of the log's files, which are TFRecord files.
inline constexpr std::string_view kRequestLogEnding = ".tfrecord";

struct ModelLogOptions {
  /// Longest time until a new record is sent to the store.
  std::chrono::milliseconds flush_each{60'000};
  /// Cancels all requests to the store.
  std::stop_token stop{};
  /// As RequestLogOptions::remark.
  std::function<void(const std::string&)> remark;
  /// As RequestLogOptions::steady_now.
  std::function<Background::Clock::time_point()> now = Background::Clock::now;
};

/// The log of one model. Thread-safe. It keeps every record in memory until the store has it, without a
/// bound: the caller must watch `waiting_bytes`.
class ModelLog : public std::enable_shared_from_this<ModelLog> {
 public:
  struct Counts {
    std::uint64_t logged = 0;
    std::uint64_t dropped = 0;
  };

  /// Makes a log, without a request to the store. `location` is the key of the segments, without number and
  /// suffix. `background` must outlive the log.
  static std::shared_ptr<ModelLog> open(const Location& location, std::string model, ModelLogOptions options,
                                        Background& background);

  /// Adds a record in its TFRecord frame. Never waits for the store. Returns a remark for the operator if a
  /// series of dropped records begins or ends, usually an empty text.
  [[nodiscard]] std::string append(BytesView framed_record);
  /// Counts a record that was not appended. Returns a remark if a series of such records begins, else an
  /// empty text.
  [[nodiscard]] std::string drop();
  /// Writes all records and waits for the store. Remarks what is lost.
  void close();

  Counts counts() const;
  /// Bytes that are not yet in the store.
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
