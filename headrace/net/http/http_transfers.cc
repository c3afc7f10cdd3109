#include <algorithm>
#include <deque>
#include <list>
#include <optional>
#include <stop_token>
#include <vector>

#include "headrace/base/text.h"
#include "headrace/net/http/http_client.h"
#include "headrace/net/http/http_transfer.h"

namespace headrace {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using Time = steady_clock::time_point;

// A line break in a request could smuggle a second request into it.
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

constexpr std::size_t kMostAttempts = 3;  // of one request at the same time

bool only_reads(const HttpRequest& request) { return request.method == "GET" || request.method == "HEAD"; }

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
    leave_queue();
    connections_.keep(*std::move(poller_));
  }

  void start(const HttpRequest& request, Done done) { waiting_.push_back({&request, std::move(done)}); }
  void after(milliseconds pause, std::function<void()> then) {
    pauses_.push_back({steady_clock::now() + pause, std::move(then)});
  }

  void leave_queue() {
    if (std::exchange(is_queued_, false)) connections_.withdraw((*poller_).get());
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
  };
  struct Attempt {
    std::uint64_t tag = 0;
    bool is_hedge = false;
    std::unique_ptr<HttpTransfer> transfer;
  };
  // A request in flight: one transfer, or several that race to the head of the answer.
  struct Running {
    const HttpRequest* request;
    Done done;
    HttpGovernor* governor;
    bool had_last_place;
    std::optional<Time::duration> hedge_after;  // after the latest attempt was sent
    std::vector<Attempt> attempts;              // at least one, in the order in which they began
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

  // Returns the time at which the first request stops waiting. The wait starts anew whenever a place is given
  // back.
  Time waiting_until() {
    const std::uint64_t given_back = connections_.places_given_back();
    if (!is_queued_ || std::exchange(seen_given_back_, given_back) != given_back)
      waits_since_ = steady_clock::now();
    return waits_since_ +
           std::min<milliseconds>(waiting_.front().request->stall_timeout, std::chrono::hours(24));
  }

  void begin_waiting() {
    while (!waiting_.empty()) {
      const HttpRequest& request = *waiting_.front().request;
      if (is_queued_ && !(queued_at_ == request.endpoint)) leave_queue();
      Status checked = check_request(request);
      std::optional<HttpConnections::Place> place =
          checked ? connections_.try_take(request.endpoint, poller_->get()) : std::nullopt;
      if (checked && !place) {
        const Time until = waiting_until();
        is_queued_ = true;
        queued_at_ = request.endpoint;
        if (steady_clock::now() < until) return;
        leave_queue();
        checked = Error{Code::kDeadlineExceeded,
                        concat("all ", connections_.governor(request.endpoint).counters().limit,
                               " concurrent requests to the server were busy for ",
                               request.stall_timeout.count(), " ms")};
      }
      const Waiting begun = std::move(waiting_.front());
      waiting_.pop_front();
      if (checked) {
        is_queued_ = false;  // a request that gets a place has left the queue
        begin(begun, *std::move(place));
      } else {
        end(*begun.request, begun.done, std::move(checked).error());
      }
    }
    leave_queue();
  }

  void begin(const Waiting& begun, HttpConnections::Place place) {
    const HttpRequest& request = *begun.request;
    const Time now = steady_clock::now();
    HttpGovernor& governor = connections_.governor(request.endpoint);
    std::optional<Time::duration> hedge_after;
    if (only_reads(request) && request.repeatable)
      hedge_after = governor.hedge_after(request.target_memory.size());
    const Position running = running_.insert(running_.end(), {.request = &request,
                                                              .done = begun.done,
                                                              .governor = &governor,
                                                              .had_last_place = place.is_last(),
                                                              .hedge_after = hedge_after,
                                                              .attempts = {}});
    attempt(running, std::move(place), now);
  }

  // `running` may be gone afterwards.
  void attempt(Position running, HttpConnections::Place place, Time now) {
    const std::uint64_t tag = next_tag_++;
    const bool is_hedge = !running->attempts.empty();
    auto transfer = std::make_unique<HttpTransfer>(connections_, std::move(place), *running->request,
                                                   **poller_, tag, now);
    running->attempts.push_back({tag, is_hedge, std::move(transfer)});
    advance(running, running->attempts.size() - 1, false);
  }

  void hedge(Position running, Time now) {
    HttpGovernor& governor = *running->governor;
    auto place =
        governor.may_hedge(now) ? connections_.try_take_another(running->request->endpoint) : std::nullopt;
    if (!place) return running->hedge_after.reset();
    governor.hedged();
    attempt(running, *std::move(place), now);
  }

  // The other attempts end here. Their waiting times count as well: otherwise late answers, which lose, would
  // seem to become rarer.
  void win(Running& running, std::size_t at, Time now) {
    if (running.attempts[at].is_hedge) running.governor->hedge_won();
    for (std::size_t i = 0; i < running.attempts.size(); ++i) {
      const auto asked_at = running.attempts[i].transfer->asked_at();
      if (i != at && asked_at)
        running.governor->gave_up(running.request->target_memory.size(), now - *asked_at);
    }
    Attempt winner = std::move(running.attempts[at]);
    running.attempts.clear();
    running.attempts.push_back(std::move(winner));
  }

  // `running` may be gone afterwards.
  void advance(Position running, std::size_t at, bool readable) {
    const Time now = steady_clock::now();
    HttpTransfer& transfer = *running->attempts[at].transfer;
    transfer.advance(readable, now);
    const bool is_racing = running->attempts.size() > 1;
    if (is_racing && transfer.has_definite_head()) {
      win(*running, at, now);
    } else if (is_racing && (transfer.is_over() || transfer.head_after())) {
      if (transfer.is_overloaded()) running->governor->overloaded(now);
      running->attempts.erase(running->attempts.begin() + static_cast<std::ptrdiff_t>(at));
      return;  // another attempt may succeed
    }
    if (transfer.is_over()) finish(running, transfer, now);
  }

  void finish(Position running, HttpTransfer& transfer, Time now) {
    const auto first_byte = transfer.head_after();
    const bool is_overloaded = transfer.is_overloaded();
    Result<HttpResponse> response = transfer.take_response();
    const HttpRequest& request = *running->request;
    if (is_overloaded) {
      running->governor->overloaded(now);
    } else if (response && first_byte) {
      running->governor->answered({.is_read = only_reads(request),
                                   .had_last_place = running->had_last_place,
                                   .size_bytes = request.target_memory.size(),
                                   .moved_bytes = request.body.size() + response->body_bytes,
                                   .first_byte = *first_byte},
                                  now);
    }
    const Done done = std::move(running->done);
    running_.erase(running);  // releases the connection before another request is started
    end(request, done, std::move(response));
  }

  static std::optional<Time> hedge_at(const Running& running) {
    const HttpTransfer& latest = *running.attempts.back().transfer;
    const auto asked_at = latest.asked_at();
    const bool is_late = running.hedge_after && asked_at && !latest.head_after();
    if (!is_late || running.attempts.size() == kMostAttempts) return std::nullopt;
    return *asked_at + *running.hedge_after;
  }

  static Time wake_at(const Running& running) {
    Time at = hedge_at(running).value_or(Time::max());
    for (const Attempt& attempt : running.attempts) at = std::min(at, attempt.transfer->wake_at());
    return at;
  }

  void advance_late(Position running, Time now) {
    for (std::size_t i = 0; i < running->attempts.size(); ++i) {
      if (now < running->attempts[i].transfer->wake_at()) continue;
      // The request may be gone afterwards. Others that are late have their turn next time.
      return advance(running, i, false);
    }
    if (const auto at = hedge_at(*running); at && now >= *at) hedge(running, now);
  }

  // `running` may be gone afterwards.
  void advance_ready(const Poller::Ready& ready) {
    for (Position running = running_.begin(); running != running_.end(); ++running) {
      const auto found = std::ranges::find(running->attempts, ready.tag, &Attempt::tag);
      if (found == running->attempts.end()) continue;
      return advance(running, static_cast<std::size_t>(found - running->attempts.begin()), ready.readable);
    }
  }

  Status wait() {
    if (waiting_.empty() && running_.empty() && pauses_.empty()) return {};
    Time until = Time::max();
    if (!waiting_.empty()) until = std::min(until, waiting_until());
    for (const Running& running : running_) until = std::min(until, wake_at(running));
    for (const Pause& pause : pauses_) until = std::min(until, pause.until);
    const auto left = std::chrono::ceil<milliseconds>(until - steady_clock::now());
    HEADRACE_TRY(const std::span<const Poller::Ready> ready, (*poller_)->wait(left));
    for (const Poller::Ready& one : ready) advance_ready(one);
    const Time now = steady_clock::now();
    for (Position at = running_.begin(); at != running_.end();) {
      const Position running = at++;
      if (now >= wake_at(*running)) advance_late(running, now);
    }
    end_pauses(now);
    return {};
  }

  void end_pauses(Time now) {
    const auto over_begin =
        std::partition(pauses_.begin(), pauses_.end(), [&](const Pause& pause) { return pause.until > now; });
    const std::vector<Pause> over(std::make_move_iterator(over_begin),
                                  std::make_move_iterator(pauses_.end()));
    pauses_.erase(over_begin, pauses_.end());
    for (const Pause& pause : over) pause.then();
  }

  // Requests that start meanwhile fail in the next round.
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
  bool is_queued_ = false;  // for a place at `queued_at_`
  HttpEndpoint queued_at_;
  Time waits_since_{};
  std::uint64_t seen_given_back_ = 0;
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
void HttpTransfers::give_way() { loop_->leave_queue(); }
void HttpTransfers::run() { loop_->run(); }

}  // namespace headrace
