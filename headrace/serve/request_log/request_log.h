#pragma once

/// \file A sample of a server's requests, with their answers, in a store: docs/decisions/serving.md, "Log of
/// requests, and warm-up".
///
///   RequestLog log(folder, {.writer = "2026-11-26T04-41-00Z-1f…"});
///   auto logged = log.draw("imdb", 3, signature, rows);  // null: not in the sample
///   std::move(rows).commit([=](auto answers) { … if (logged) logged->add(*answers); });

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <string_view>

#include "headrace/base/hash.h"
#include "headrace/os/background.h"
#include "headrace/serve/batch/batcher.h"
#include "headrace/serve/request_log/model_log.h"
#include "headrace/serve/signature/served_signature.h"
#include "headrace/store/location.h"

namespace headrace {

struct RequestLogOptions {
  /// Name of this server's files, which no other server uses: "<start>-<random>".
  std::string writer;
  /// Share of the requests in the sample, from 0 to 1.
  double fraction = 0.01;
  /// For the draw.
  HashKey seed{};
  /// Bytes that the store does not have yet, with those of requests in flight. While they are written, as
  /// much again.
  std::uint64_t waiting_bytes_max = 64 << 20;
  /// Longest time from a record until it is on its way into the store.
  std::chrono::milliseconds flush_each{60'000};
  /// For writing the last records, if requests in flight have used up the time.
  std::chrono::milliseconds close_time{5'000};
  /// Wall clock, for the records.
  std::function<std::chrono::system_clock::time_point()> now = [] {
    return std::chrono::system_clock::time_point();
  };
  /// When the next segment is due. Tests pass their own.
  std::function<Background::Clock::time_point()> steady_now = Background::Clock::now;
  /// Tells an operator what goes wrong, in sentences. Any thread; it may not call the log.
  std::function<void(const std::string&)> remark = [](const std::string&) {};
};

class RequestLog;

/// A request of the sample, from its inputs to its answers. If it goes without `add`, it is not logged.
class LoggedRequest {
 public:
  ~LoggedRequest();
  LoggedRequest(const LoggedRequest&) = delete;
  LoggedRequest& operator=(const LoggedRequest&) = delete;

  /// Call it at most once, after the answer was sent. Never waits for the store.
  void add(const BatchAnswers& answers);

 private:
  friend class RequestLog;
  LoggedRequest(RequestLog& log, std::string_view model, std::int64_t version,
                const ServedSignature& signature, Bytes request);

  RequestLog& log_;
  const std::string model_;
  const std::int64_t version_;
  const ServedSignature& signature_;
  const Bytes request_;
};

/// Thread-safe. It must outlive its LoggedRequests. One log for each model, at "<folder>/<model>/<writer>",
/// in segments (log/segment_log.h).
class RequestLog {
 public:
  RequestLog(Location folder, RequestLogOptions options);
  /// Drops what `close` has not written.
  ~RequestLog();

  /// Copies the inputs of a request that is in the sample, before they are committed. Null: the request is
  /// not in the sample, or too much waits for the store. Never waits for the store. `signature` must outlive
  /// the result.
  std::shared_ptr<LoggedRequest> draw(std::string_view model, std::int64_t version,
                                      const ServedSignature& signature, const ReservedRows& rows);

  /// Writes everything, after the requests in flight have ended or the deadline has passed. Writing itself
  /// takes until the deadline, and close_time if less is left. Requests that come meanwhile are not logged.
  /// Remarks what is lost.
  void close(std::chrono::steady_clock::time_point deadline);

  /// By model; those that had a request in the sample.
  std::map<std::string, ModelLog::Counts> counts() const;
  /// Sum over all models, with requests in flight.
  std::uint64_t waiting_bytes() const;

 private:
  friend class LoggedRequest;
  bool is_drawn();
  bool take_room(std::string_view model, std::uint64_t bytes);
  void tell(const std::string& remark) const;
  bool has_room(std::uint64_t bytes) const;
  const std::shared_ptr<ModelLog>& log_of(std::string_view model);
  std::uint64_t waiting_now() const;
  void append(std::string_view model, BytesView record);
  void drop(std::string_view model);
  void end_request(std::uint64_t bytes);

  const Location folder_;
  const RequestLogOptions options_;
  std::atomic<std::uint64_t> requests_ = 0;
  std::stop_source stop_;  // of everything that asks the store
  Background background_{2};

  mutable std::mutex mutex_;
  std::condition_variable none_in_flight_;
  std::map<std::string, std::shared_ptr<ModelLog>, std::less<>> logs_;
  std::uint64_t in_flight_ = 0;
  std::uint64_t in_flight_bytes_ = 0;
  bool is_closing_ = false;  // takes no new requests
  bool is_closed_ = false;   // takes no records
};

}  // namespace headrace
