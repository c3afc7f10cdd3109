#include "headrace/serve/request_log/request_log.h"

#include <algorithm>
#include <thread>
#include <utility>
#include <vector>

#include "headrace/record/tfrecord.h"
#include "headrace/serve/request_log/prediction_log.h"

namespace headrace {
namespace {

using Clock = std::chrono::steady_clock;

// Requests a stop at a given time, unless this object is destroyed before.
class StopAt {
 public:
  StopAt(std::stop_source source, Clock::time_point time)
      : thread_([source = std::move(source), time](const std::stop_token& over) mutable {
          std::mutex mutex;
          std::condition_variable_any ended;
          std::unique_lock lock(mutex);
          ended.wait_until(lock, over, time, [] { return false; });
          if (!over.stop_requested()) source.request_stop();
        }) {}

 private:
  std::jthread thread_;
};

}  // namespace

LoggedRequest::LoggedRequest(RequestLog& log, std::string_view model, std::int64_t version,
                             const ServedSignature& signature, Bytes request)
    : log_(log), model_(model), version_(version), signature_(signature), request_(std::move(request)) {}

LoggedRequest::~LoggedRequest() { log_.end_request(request_.size()); }

void LoggedRequest::add(const BatchAnswers& answers) {
  const auto since = log_.options_.now().time_since_epoch();
  const auto message = encode_prediction_log(
      request_, answers, signature_,
      {.model = model_,
       .version = version_,
       .fraction = log_.options_.fraction,
       .seconds_since_1970 = std::chrono::duration_cast<std::chrono::seconds>(since).count()});
  if (!message) return log_.drop(model_);
  Bytes record;
  append_record(record, *message);
  log_.append(model_, record);
}

RequestLog::RequestLog(Location folder, RequestLogOptions options)
    : folder_(std::move(folder)), options_(std::move(options)) {}

RequestLog::~RequestLog() { stop_.request_stop(); }

bool RequestLog::is_drawn() {
  constexpr double kAll = 18446744073709551616.0;  // 2^64
  if (options_.fraction >= 1) return true;
  const std::uint64_t drawn = siphash(options_.seed, requests_.fetch_add(1, std::memory_order_relaxed));
  return static_cast<double>(drawn) < options_.fraction * kAll;
}

std::shared_ptr<LoggedRequest> RequestLog::draw(std::string_view model, std::int64_t version,
                                                const ServedSignature& signature, const ReservedRows& rows) {
  if (!is_drawn()) return nullptr;
  if (!take_room(model, 0)) return nullptr;
  auto request = encode_predict_request(rows, signature, model);
  if (!request) {
    drop(model);
    return nullptr;
  }
  if (!take_room(model, request->size())) return nullptr;
  return std::shared_ptr<LoggedRequest>(
      new LoggedRequest(*this, model, version, signature, *std::move(request)));
}

// Reserves room for a request in flight. With 0 bytes, only checks that there is some room. If there is none,
// the request counts as dropped.
bool RequestLog::take_room(std::string_view model, std::uint64_t bytes) {
  std::string remark;
  {
    const std::scoped_lock lock(mutex_);
    if (is_closing_) return false;
    if (has_room(std::max<std::uint64_t>(bytes, 1))) {
      in_flight_ += bytes != 0;
      in_flight_bytes_ += bytes;
      return true;
    }
    remark = log_of(model)->drop();
  }
  tell(remark);
  return false;
}

// REQUIRES: mutex_ is not held; the reader of remarks may be slow
void RequestLog::tell(const std::string& remark) const {
  if (!remark.empty()) options_.remark(remark);
}

// REQUIRES: mutex_ is held
bool RequestLog::has_room(std::uint64_t bytes) const {
  return waiting_now() + bytes <= options_.waiting_bytes_max;
}

// REQUIRES: mutex_ is held
const std::shared_ptr<ModelLog>& RequestLog::log_of(std::string_view model) {
  const auto found = logs_.find(model);
  if (found != logs_.end()) return found->second;
  std::string name(model);
  auto opened = ModelLog::open(folder_.at(name).at(options_.writer), name,
                               {.flush_each = options_.flush_each,
                                .stop = stop_.get_token(),
                                .remark = options_.remark,
                                .now = options_.steady_now},
                               background_);
  return logs_.emplace(std::move(name), std::move(opened)).first->second;
}

// REQUIRES: mutex_ is held
std::uint64_t RequestLog::waiting_now() const {
  std::uint64_t waiting = in_flight_bytes_;
  for (const auto& [model, log] : logs_) waiting += log->waiting_bytes();
  return waiting;
}

void RequestLog::append(std::string_view model, BytesView record) {
  std::string remark;
  {
    const std::scoped_lock lock(mutex_);
    if (is_closed_) return;
    ModelLog& log = *log_of(model);
    remark = has_room(record.size()) ? log.append(record) : log.drop();
  }
  tell(remark);
}

void RequestLog::drop(std::string_view model) {
  std::string remark;
  {
    const std::scoped_lock lock(mutex_);
    remark = log_of(model)->drop();
  }
  tell(remark);
}

void RequestLog::end_request(std::uint64_t bytes) {
  const std::scoped_lock lock(mutex_);
  in_flight_bytes_ -= bytes;
  if (--in_flight_ == 0) none_in_flight_.notify_all();
}

void RequestLog::close(Clock::time_point deadline) {
  std::vector<std::shared_ptr<ModelLog>> logs;
  {
    std::unique_lock lock(mutex_);
    is_closing_ = true;
    none_in_flight_.wait_until(lock, deadline, [this] { return in_flight_ == 0; });
    is_closed_ = true;
    for (const auto& [model, log] : logs_) logs.push_back(log);
  }
  const StopAt stop(stop_, std::max(deadline, Clock::now() + options_.close_time));
  for (const auto& log : logs) log->close();
}

std::map<std::string, ModelLog::Counts> RequestLog::counts() const {
  const std::scoped_lock lock(mutex_);
  std::map<std::string, ModelLog::Counts> out;
  for (const auto& [model, log] : logs_) out.emplace(model, log->counts());
  return out;
}

std::uint64_t RequestLog::waiting_bytes() const {
  const std::scoped_lock lock(mutex_);
  return waiting_now();
}

}  // namespace headrace
