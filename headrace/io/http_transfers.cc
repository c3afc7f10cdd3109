#include <algorithm>
#include <deque>
#include <list>
#include <optional>
#include <stop_token>
#include <vector>

#include "headrace/base/text.h"
#include "headrace/io/http_client.h"
#include "headrace/io/http_transfer.h"

namespace headrace {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using Time = steady_clock::time_point;

// Whoever can put a line break into a request can put a second request into it.
Status check_request(const HttpRequest& request) {
  const auto has_control = [](std::string_view text, unsigned char lowest) {
    return std::ranges::any_of(text, [&](char c) {
      return static_cast<unsigned char>(c) < lowest || static_cast<unsigned char>(c) == 0x7f;
    });
  };
  bool refused = request.method.empty() || !request.target.starts_with('/') ||
                 has_control(request.method, 0x21) || has_control(request.target, 0x21);
  for (const HttpHeader& header : request.headers) {
    refused =
        refused || header.name.empty() || has_control(header.name, 0x21) || has_control(header.value, 0x20);
  }
  if (refused) {
    return Error{Code::kInvalidArgument, "a control character in the method, target or a header field"};
  }
  return {};
}

struct WakeUp {
  Poller* poller;
  void operator()() const { poller->wake(); }
};

}  // namespace

class HttpTransfers::Loop {
 public:
  Loop(HttpConnections& connections, std::stop_token stop)
      : connections_(connections), stop_(std::move(stop)), poller_(connections.take_poller()) {
    if (poller_ && stop_.stop_possible()) on_stop_.emplace(stop_, WakeUp{poller_->get()});
  }
  ~Loop() {
    on_stop_.reset();
    running_.clear();
    if (!poller_) return;
    if (is_queued_) connections_.withdraw(poller_->get());
    connections_.keep(*std::move(poller_));
  }

  void start(const HttpRequest& request, Done done) {
    waiting_.push_back({&request, std::move(done), steady_clock::now() + request.stall_timeout});
  }
  void after(milliseconds pause, std::function<void()> then) {
    pauses_.push_back({steady_clock::now() + pause, std::move(then)});
  }

  void run() {
    while (!waiting_.empty() || !running_.empty() || !pauses_.empty()) {
      if (!poller_) {
        fail_all(poller_.error());
      } else if (stop_.stop_requested()) {
        fail_all({Code::kCancelled, "stopped by the caller"});
      } else {
        begin_waiting();
        if (const Status waited = wait(); !waited) fail_all(waited.error());
      }
    }
  }

 private:
  struct Waiting {
    const HttpRequest* request;
    Done done;
    Time until;
  };
  // A request in flight: one transfer, or two that race to the head of the answer.
  struct Running {
    const HttpRequest* request;
    Done done;
    HttpGovernor* governor;
    std::optional<Time> hedge_at;
    struct Attempt {
      std::uint64_t tag = 0;
      std::unique_ptr<HttpTransfer> transfer;
    };
    Attempt first;
    Attempt second;
  };
  using Position = std::list<Running>::iterator;
  struct Pause {
    Time until;
    std::function<void()> then;
  };

  void end(const HttpRequest& request, const Done& done, Result<HttpResponse> response) {
    if (!response) {
      response = std::move(response).error().in(concat(request.method, " to ", request.endpoint.text()));
    }
    done(std::move(response));
  }

  void begin_waiting() {
    while (!waiting_.empty()) {
      Waiting& first = waiting_.front();
      Status checked = check_request(*first.request);
      std::optional<HttpConnections::Place> place =
          checked ? connections_.try_take(first.request->endpoint, poller_->get()) : std::nullopt;
      if (checked && !place) {
        is_queued_ = true;
        if (steady_clock::now() < first.until) return;
        checked = Error{Code::kDeadlineExceeded,
                        concat("all ", connections_.options().max_connections, " connections were busy for ",
                               first.request->stall_timeout.count(), " ms")};
      }
      const Waiting begun = std::move(first);
      waiting_.pop_front();
      if (!checked) {
        end(*begun.request, begun.done, std::move(checked).error());
        continue;
      }
      begin(begun, *std::move(place));
    }
    if (std::exchange(is_queued_, false)) connections_.withdraw(poller_->get());
  }

  void begin(const Waiting& begun, HttpConnections::Place place) {
    const HttpRequest& request = *begun.request;
    const Time now = steady_clock::now();
    HttpGovernor& governor = connections_.governor(request.endpoint);
    std::optional<Time> hedge_at;
    if (request.method == "GET" || request.method == "HEAD") {
      if (const auto time = governor.hedge_after(request.target_memory.size())) hedge_at = now + *time;
    }
    const Position running = running_.insert(running_.end(), {.request = &request,
                                                              .done = begun.done,
                                                              .governor = &governor,
                                                              .hedge_at = hedge_at,
                                                              .first = {},
                                                              .second = {}});
    running->first = attempt(request, std::move(place), now);
    advance(running, running->first, false);
  }

  Running::Attempt attempt(const HttpRequest& request, HttpConnections::Place place, Time now) {
    const std::uint64_t tag = next_tag_++;
    return {tag,
            std::make_unique<HttpTransfer>(connections_, std::move(place), request, **poller_, tag, now)};
  }

  void hedge(Position running, Time now) {
    running->hedge_at.reset();
    if (running->second.transfer || running->first.transfer->head_after()) return;
    if (!running->governor->try_hedge(now)) return;
    auto place = connections_.try_take_another(running->request->endpoint);
    if (!place) return;
    running->second = attempt(*running->request, *std::move(place), now);
    advance(running, running->second, false);
  }

  // `running` may be gone afterwards.
  void advance(Position running, Running::Attempt& attempt, bool readable) {
    const Time now = steady_clock::now();
    attempt.transfer->advance(readable, now);
    Running::Attempt& other = &attempt == &running->first ? running->second : running->first;
    if (other.transfer && attempt.transfer->has_good_head()) {
      if (&attempt == &running->second) running->governor->hedge_won();
      other.transfer.reset();
    } else if (other.transfer && (attempt.transfer->is_over() || attempt.transfer->head_after())) {
      attempt.transfer.reset();  // the other may be luckier
      return;
    }
    if (!attempt.transfer->is_over()) return;
    const auto first_byte = attempt.transfer->head_after();
    Result<HttpResponse> response = attempt.transfer->take_response();
    if (response && first_byte) {
      running->governor->answered(response->status, running->request->target_memory.size(),
                                  response->body_bytes, *first_byte, now);
    }
    const HttpRequest& request = *running->request;
    const Done done = std::move(running->done);
    running_.erase(running);  // gives the connection back before anything else is started
    end(request, done, std::move(response));
  }

  static Time wake_at(const Running& running) {
    Time at = running.hedge_at.value_or(Time::max());
    if (running.first.transfer) at = std::min(at, running.first.transfer->wake_at());
    if (running.second.transfer) at = std::min(at, running.second.transfer->wake_at());
    return at;
  }

  void advance_late(Position running, Time now) {
    Running::Attempt* const late[] = {&running->first, &running->second};
    for (Running::Attempt* attempt : late) {
      if (!attempt->transfer || now < attempt->transfer->wake_at()) continue;
      advance(running, *attempt, false);
      return;  // it may be gone; what else is late comes next time
    }
    if (running->hedge_at && now >= *running->hedge_at) hedge(running, now);
  }

  Status wait() {
    if (waiting_.empty() && running_.empty() && pauses_.empty()) return {};
    Time until = Time::max();
    if (!waiting_.empty()) until = std::min(until, waiting_.front().until);
    for (const Running& running : running_) until = std::min(until, wake_at(running));
    for (const Pause& pause : pauses_) until = std::min(until, pause.until);
    const auto left = std::chrono::ceil<milliseconds>(until - steady_clock::now());
    HEADRACE_TRY(const std::span<const Poller::Ready> ready, (*poller_)->wait(left));
    for (const Poller::Ready& one : ready) {
      for (Position running = running_.begin(); running != running_.end(); ++running) {
        const bool is_first = running->first.transfer && running->first.tag == one.tag;
        if (!is_first && !(running->second.transfer && running->second.tag == one.tag)) continue;
        advance(running, is_first ? running->first : running->second, one.readable);
        break;
      }
    }
    const Time now = steady_clock::now();
    for (Position at = running_.begin(); at != running_.end();) {
      const Position running = at++;
      if (now >= wake_at(*running)) advance_late(running, now);
    }
    end_pauses(now);
    return {};
  }

  void end_pauses(Time now) {
    std::vector<Pause> over;
    const auto last = std::ranges::partition(pauses_, [&](const Pause& pause) { return pause.until > now; });
    std::ranges::move(last, std::back_inserter(over));
    pauses_.erase(last.begin(), pauses_.end());
    for (const Pause& pause : over) pause.then();
  }

  // What is started meanwhile fails in the next round.
  void fail_all(const Error& error) {
    while (!running_.empty()) {
      const HttpRequest& request = *running_.front().request;
      const Done done = std::move(running_.front().done);
      running_.pop_front();
      end(request, done, error);
    }
    for (const Waiting& waiting : std::exchange(waiting_, {})) end(*waiting.request, waiting.done, error);
    end_pauses(Time::max());
  }

  HttpConnections& connections_;
  const std::stop_token stop_;
  Result<std::unique_ptr<Poller>> poller_;
  std::optional<std::stop_callback<WakeUp>> on_stop_;
  bool is_queued_ = false;  // for a connection
  std::uint64_t next_tag_ = 0;
  std::deque<Waiting> waiting_;
  std::list<Running> running_;
  std::vector<Pause> pauses_;
};

HttpTransfers::HttpTransfers(HttpClient& client, std::stop_token stop)
    : loop_(std::make_unique<Loop>(*client.connections_, std::move(stop))) {}
HttpTransfers::~HttpTransfers() = default;

void HttpTransfers::start(const HttpRequest& request, Done done) { loop_->start(request, std::move(done)); }
void HttpTransfers::after(milliseconds pause, std::function<void()> then) {
  loop_->after(pause, std::move(then));
}
void HttpTransfers::run() { loop_->run(); }

}  // namespace headrace
