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
  struct Running {
    std::uint64_t tag;
    const HttpRequest* request;
    Done done;
    std::unique_ptr<HttpTransfer> transfer;
  };
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
      const std::uint64_t tag = next_tag_++;
      running_.push_back({tag, begun.request, begun.done,
                          std::make_unique<HttpTransfer>(connections_, *std::move(place), *begun.request,
                                                         **poller_, tag, steady_clock::now())});
      advance(std::prev(running_.end()), false);
    }
    if (std::exchange(is_queued_, false)) connections_.withdraw(poller_->get());
  }

  void advance(std::list<Running>::iterator running, bool readable) {
    running->transfer->advance(readable, steady_clock::now());
    if (!running->transfer->is_over()) return;
    const HttpRequest& request = *running->request;
    const Done done = std::move(running->done);
    Result<HttpResponse> response = running->transfer->take_response();
    running_.erase(running);  // gives the connection back before anything else is started
    end(request, done, std::move(response));
  }

  Status wait() {
    if (waiting_.empty() && running_.empty() && pauses_.empty()) return {};
    Time until = Time::max();
    if (!waiting_.empty()) until = std::min(until, waiting_.front().until);
    for (const Running& running : running_) until = std::min(until, running.transfer->wake_at());
    for (const Pause& pause : pauses_) until = std::min(until, pause.until);
    const auto left = std::chrono::ceil<milliseconds>(until - steady_clock::now());
    HEADRACE_TRY(const std::span<const Poller::Ready> ready, (*poller_)->wait(left));
    for (const Poller::Ready& one : ready) {
      const auto found =
          std::ranges::find_if(running_, [&](const Running& running) { return running.tag == one.tag; });
      if (found != running_.end()) advance(found, one.readable);
    }
    const Time now = steady_clock::now();
    for (auto at = running_.begin(); at != running_.end();) {
      const auto running = at++;
      if (now >= running->transfer->wake_at()) advance(running, false);
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
