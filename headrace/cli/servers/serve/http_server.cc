#include "headrace/cli/servers/serve/http_server.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <system_error>
#include <thread>

#include "headrace/base/text.h"
#include "headrace/cli/servers/serve/event_loop.h"
#include "headrace/cli/servers/serve/listen_socket.h"
#include "headrace/cli/servers/serve/served_connection.h"
#include "headrace/cli/servers/serve/tls_files.h"

namespace headrace {
namespace {

// Deadlines are checked a few times within the shortest of them.
std::chrono::milliseconds tick_for(const HttpServerLimits& limits) {
  const auto shortest = std::min({limits.head_timeout, limits.idle_timeout, limits.transfer_timeout,
                                  limits.linger_timeout, limits.drain_idle_timeout});
  return std::clamp(shortest / 4, std::chrono::milliseconds(10), std::chrono::milliseconds(1'000));
}

Status check_options(const HttpServerOptions& options) {
  const HttpServerLimits& limits = options.limits;
  if (options.listen.empty())
    return Error{Code::kInvalidArgument,
                 "the server needs an address to listen at, for example 127.0.0.1:8501"};
  if (options.threads < 1 || options.threads > 1024) {
    return Error{Code::kInvalidArgument,
                 concat("the server cannot run ", options.threads, " threads; choose 1 to 1024")};
  }
  if (limits.connections < static_cast<std::size_t>(options.threads))
    return Error{Code::kInvalidArgument, "the server's connections must be at least as many as its threads"};
  if (limits.head_bytes < 1024 || limits.head_bytes > (16 << 20))
    return Error{Code::kInvalidArgument, "the head of a request must be allowed 1 KiB to 16 MiB"};
  return {};
}

}  // namespace

struct HttpServer::State {
  EventLoop& least_busy() const {
    return **std::min_element(loops.begin(), loops.end(), [](const auto& a, const auto& b) {
      return a->connections() < b->connections();
    });
  }
  Result<std::unique_ptr<EventLoop>> start_loop(const HttpServerOptions& options);
  Status watch_certificates(const HttpServerOptions& options);

  std::shared_ptr<SharedByConnections> shared;
  std::atomic<std::uint64_t> refused_connections{0};
  std::uint16_t port = 0;
  std::unique_ptr<TlsFiles> tls;
  std::vector<std::unique_ptr<EventLoop>> loops;  // the first listens
  std::jthread watcher;
};

HttpServer::HttpServer(std::unique_ptr<State> state) : state_(std::move(state)) {}

HttpServer::~HttpServer() {
  // The loop that listens gives connections to the others.
  state_->loops.front()->stop_listening();
}

Result<std::unique_ptr<EventLoop>> HttpServer::State::start_loop(const HttpServerOptions& options) {
  EventLoopOptions loop;
  const auto threads = static_cast<std::size_t>(options.threads);
  loop.tick = tick_for(options.limits);
  loop.connections_max = (options.limits.connections + threads - 1) / threads;
  HttpAnswer no_place = error_answer(503, "the server has reached its limit of connections; try again later");
  no_place.headers.emplace_back("Retry-After", concat(options.limits.retry_after_s));
  write_answer_head(no_place, ConnectionField::kClose, loop.no_place_answer);
  loop.no_place_answer += no_place.body;
  loop.on_round_end = options.on_round_end;
  if (tls) loop.tls = [this] { return tls->current(); };
  loop.make_user = [this](std::string remote_address) {
    auto connection = std::make_shared<ServedConnection>(shared, std::move(remote_address));
    return NewUser{connection, [connection](std::unique_ptr<Transport> transport) {
                     connection->attach(std::move(transport));
                   }};
  };
  loop.on_refused = [this] { ++refused_connections; };
  return EventLoop::start(std::move(loop));
}

Status HttpServer::State::watch_certificates(const HttpServerOptions& options) {
  if (!tls) return {};
  const auto every = std::max(options.tls->look_every, std::chrono::milliseconds(10));
  try {
    watcher = std::jthread([this, every, on_remark = options.on_remark](const std::stop_token& stop) {
      std::mutex mutex;
      std::condition_variable_any stopped;
      std::unique_lock lock(mutex);
      while (!stopped.wait_for(lock, stop, every, [&] { return stop.stop_requested(); })) {
        if (std::string remark = tls->look(); !remark.empty() && on_remark) on_remark(std::move(remark));
      }
    });
  } catch (const std::system_error& error) {
    return Error{Code::kResourceExhausted,
                 concat("cannot start a thread that looks at certificates: ", error.what())};
  }
  return {};
}

Result<std::unique_ptr<HttpServer>> HttpServer::start(HttpServerOptions options, OnHead on_head,
                                                      OnRequest on_request) {
  HEADRACE_CHECK(check_options(options));
  auto state = std::make_unique<State>();
  state->shared =
      std::make_shared<SharedByConnections>(options.limits, std::move(on_head), std::move(on_request));
  if (options.tls) {
    HEADRACE_TRY(state->tls, TlsFiles::open(*options.tls));
  }
  std::vector<ListenSocket> sockets;
  for (const std::string& address : options.listen) {
    HEADRACE_TRY(std::vector<ListenSocket> opened, listen_at(address));
    std::move(opened.begin(), opened.end(), std::back_inserter(sockets));
  }
  state->port = sockets.front().port;
  for (int i = 0; i < options.threads; ++i) {
    HEADRACE_TRY(std::unique_ptr<EventLoop> loop, state->start_loop(options));
    state->loops.push_back(std::move(loop));
  }
  HEADRACE_CHECK(state->watch_certificates(options));
  std::unique_ptr<HttpServer> server(new HttpServer(std::move(state)));
  State* const running = server->state_.get();
  for (ListenSocket& socket : sockets) {
    HEADRACE_CHECK(running->loops.front()->listen(
        std::move(socket), [running]() -> EventLoop& { return running->least_busy(); }));
  }
  return server;
}

std::uint16_t HttpServer::port() const { return state_->port; }

HttpServerCounts HttpServer::counts() const {
  return {.connections = state_->shared->connections(),
          .requests_in_flight = state_->shared->requests(),
          .bytes_in_flight = state_->shared->budget->used_bytes(),
          .refused_connections = state_->refused_connections,
          .refused_requests = state_->shared->refused_requests};
}

void HttpServer::stop_accepting() {
  state_->shared->is_draining = true;
  for (const auto& loop : state_->loops) loop->stop_listening();
}

bool HttpServer::wait_until_idle(std::chrono::steady_clock::time_point deadline) {
  return state_->shared->wait_until_idle(deadline);
}

}  // namespace headrace
