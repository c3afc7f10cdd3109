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
  /// Name of this server's files, different from that of every other server: "<start>-<random>".
  std::string writer;
  /// Share of the requests in the sample, from 0 to 1.
  double fraction = 0.01;
  /// Seed of the random choice of requests.
  HashKey seed{};
  /// Bound on the bytes that are not yet in the store, including those of requests in flight. As many again
  /// may be in use while they are written.
  std::uint64_t waiting_bytes_max = 64 << 20;
  /// Longest time until a new record is sent to the store.
  std::chrono::milliseconds flush_each{60'000};
  /// Time for writing the last records, if requests in flight have used up the time until the deadline.
  std::chrono::milliseconds close_time{5'000};
  /// Wall clock, for the time in each record.
  std::function<std::chrono::system_clock::time_point()> now = [] {
    return std::chrono::system_clock::time_point();
  };
  /// Clock that decides when the next segment is due. Tests pass their own.
  std::function<Background::Clock::time_point()> steady_now = Background::Clock::now;
  /// Tells an operator in a sentence what goes wrong. Called from any thread; it must not call the log.
  std::function<void(const std::string&)> remark = [](const std::string&) {};
};

class RequestLog;

/// A request in the sample. Holds its inputs until its answers are there. If it is destroyed without `add`,
/// the request is not logged.
class LoggedRequest {
 public:
  ~LoggedRequest();
  LoggedRequest(const LoggedRequest&) = delete;
  LoggedRequest& operator=(const LoggedRequest&) = delete;

  /// Logs the request with its answers. Call it at most once, after the answer was sent. Never waits for the
  /// store.
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

/// The log of a server's requests. Thread-safe. It must outlive its LoggedRequests. Each model has its own
/// log at "<folder>/<model>/<writer>", in segments (log/segment_log.h).
class RequestLog {
 public:
  RequestLog(Location folder, RequestLogOptions options);
  /// Drops what `close` has not written.
  ~RequestLog();

  /// Decides whether a request is in the sample, and copies its inputs if it is. Call it before the rows are
  /// committed. Null: the request is not in the sample, too many bytes wait for the store, or the log is
  /// closing. Never waits for the store. `signature` must outlive the result.
  std::shared_ptr<LoggedRequest> draw(std::string_view model, std::int64_t version,
                                      const ServedSignature& signature, const ReservedRows& rows);

  /// Waits until the requests in flight have ended or the deadline has passed, then writes all records.
  /// The writing may take until the deadline, or close_time if that is later. Requests that arrive meanwhile
  /// are not logged. Remarks what is lost.
  void close(std::chrono::steady_clock::time_point deadline);

  /// The counts of each model that had a request in the sample.
  std::map<std::string, ModelLog::Counts> counts() const;
  /// Bytes of all models that are not yet in the store, including those of requests in flight.
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
  std::stop_source stop_;  // cancels all requests to the store
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
