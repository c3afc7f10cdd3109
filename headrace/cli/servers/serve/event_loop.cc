#include "headrace/cli/servers/serve/event_loop.h"

#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/system/system_error.hpp>
#include <cstring>
#include <future>
#include <mutex>
#include <thread>
#include <unordered_map>

#include "headrace/base/text.h"
#include "headrace/cli/servers/serve/tls_files.h"

namespace headrace {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;
// Names its executor's type, which saves an indirect call for each operation.
using TcpSocket = asio::basic_stream_socket<asio::ip::tcp, asio::io_context::executor_type>;
using TcpAcceptor = asio::basic_socket_acceptor<asio::ip::tcp, asio::io_context::executor_type>;
using LoopTimer =
    asio::basic_waitable_timer<std::chrono::steady_clock, asio::wait_traits<std::chrono::steady_clock>,
                               asio::io_context::executor_type>;
using TlsSocket = asio::ssl::stream<TcpSocket&>;
using SendBuffers = std::array<asio::const_buffer, 2>;

constexpr std::chrono::milliseconds kAcceptPause{100};  // while the system has no descriptor left
constexpr int kUnsentBytes = 128 << 10;
constexpr std::chrono::microseconds kRoundMax{200};

SendBuffers send_buffers(BytesView first, BytesView second) {
  return {asio::const_buffer(first.data(), first.size()), asio::const_buffer(second.data(), second.size())};
}

}  // namespace

struct EventLoop::State : std::enable_shared_from_this<EventLoop::State> {
  struct Listener {
    TcpAcceptor acceptor;
    LoopTimer pause;
    std::function<EventLoop&()> choose;
  };

  // While an object of this class exists, users may be called.
  class UserCalls {
   public:
    explicit UserCalls(State& loop) : loop_(loop) {}
    ~UserCalls() { loop_.user_was_called(); }
    UserCalls(const UserCalls&) = delete;
    UserCalls& operator=(const UserCalls&) = delete;

   private:
    State& loop_;
  };

  explicit State(EventLoopOptions with) : options(std::move(with)) {}

  void run();
  void tick();
  void adopt(TcpSocket socket);
  bool make_place();
  void accept(Listener& listener);
  void hand_over(TcpSocket socket, State& target);
  void drain(Listener& listener);
  void take_woken();
  void user_was_called();
  void end_round() const;

  const EventLoopOptions options;
  asio::io_context context{1};
  asio::executor_work_guard<asio::io_context::executor_type> work{context.get_executor()};
  LoopTimer timer{context};
  std::unordered_map<TransportUser*, std::shared_ptr<TransportUser>> users;
  std::vector<std::unique_ptr<Listener>> listeners;
  std::atomic<std::size_t> connections{0};
  bool is_ending = false;
  std::optional<TransportUser::Clock::time_point> round_since;  // none: the end of a round is not scheduled
  std::thread thread;

  std::mutex mutex;
  bool has_ended = false;
  std::vector<std::shared_ptr<TransportUser>> woken;
};

/// A socket of the loop, with TLS or without.
class AsioTransport final : public Transport {
 public:
  AsioTransport(std::shared_ptr<EventLoop::State> loop, TcpSocket socket, TransportUser& user)
      : loop_(std::move(loop)), user_(user), socket_(std::move(socket)) {}
  ~AsioTransport() override { AsioTransport::close(); }

  // With TLS, the handshake comes first.
  void open(const std::shared_ptr<SSL_CTX>& tls) {
    if (!tls) {
      asio::post(loop_->context, [this, user = user_.shared_from_this()] {
        const EventLoop::State::UserCalls calls(*loop_);
        if (!is_closed_) user->opened("");
      });
      return;
    }
    SSL_CTX_up_ref(tls.get());
    tls_context_.emplace(tls.get());
    tls_.emplace(socket_, *tls_context_);
    tls_->async_handshake(asio::ssl::stream_base::server,
                          [this, user = user_.shared_from_this()](error_code error) {
                            const EventLoop::State::UserCalls calls(*loop_);
                            if (is_closed_) return;
                            if (error) return user->receive_ended(false);
                            user->opened(client_subject(tls_->native_handle()));
                          });
  }

  void receive(MutableBytesView target) override {
    auto done = [this, user = user_.shared_from_this()](error_code error, std::size_t bytes) {
      const EventLoop::State::UserCalls calls(*loop_);
      if (is_closed_) return;
      if (bytes > 0) return user->received(bytes);
      user->receive_ended(error == asio::error::eof);
    };
    const asio::mutable_buffer buffer(target.data(), target.size());
    if (tls_) return tls_->async_read_some(buffer, std::move(done));
    socket_.async_read_some(buffer, std::move(done));
  }

  std::size_t send_now(BytesView first, BytesView second) override {
    if (tls_) return 0;
    error_code error;
    return socket_.write_some(send_buffers(first, second), error);  // send() reports the error again
  }

  void send(BytesView first, BytesView second) override {
    auto done = [this, user = user_.shared_from_this()](error_code error, std::size_t bytes) {
      const EventLoop::State::UserCalls calls(*loop_);
      if (is_closed_) return;
      if (bytes > 0) return user->sent(bytes);
      if (error) user->send_failed();
    };
    const SendBuffers buffers = send_buffers(first, second);
    if (tls_) return tls_->async_write_some(buffers, std::move(done));
    socket_.async_write_some(buffers, std::move(done));
  }

  void end_sending() override {
    error_code ignored;
    if (!tls_) {
      socket_.shutdown(TcpSocket::shutdown_send, ignored);
      return;
    }
    // The operation also waits for the peer's answer, which is of no interest: the user continues to receive.
    tls_->async_shutdown([user = user_.shared_from_this()](error_code) {});
  }

  void close() override {
    if (std::exchange(is_closed_, true)) return;
    error_code ignored;
    socket_.close(ignored);
    if (loop_->users.erase(&user_) > 0) --loop_->connections;
  }

  bool wake(std::shared_ptr<TransportUser> user) override {
    const std::lock_guard lock(loop_->mutex);
    if (loop_->has_ended) return false;
    loop_->woken.push_back(std::move(user));
    if (loop_->woken.size() == 1) asio::post(loop_->context, [loop = loop_.get()] { loop->take_woken(); });
    return true;
  }

  bool is_own_thread() const override { return loop_->context.get_executor().running_in_this_thread(); }

 private:
  const std::shared_ptr<EventLoop::State> loop_;
  TransportUser& user_;  // the user owns this transport
  TcpSocket socket_;
  std::optional<asio::ssl::context> tls_context_;
  std::optional<TlsSocket> tls_;
  bool is_closed_ = false;
};

void EventLoop::State::run() {
  for (bool is_done = false; !is_done;) {
    try {
      context.run();
      is_done = true;
    } catch (const std::bad_alloc&) {
      // The operation that found no memory is lost; its connection ends at its deadline.
    } catch (const boost::system::system_error&) {
    }
  }
  std::vector<std::shared_ptr<TransportUser>> left;
  {
    const std::lock_guard lock(mutex);
    has_ended = true;
    left.swap(woken);
  }
  for (const std::shared_ptr<TransportUser>& user : left) user->woken();
}

void EventLoop::State::take_woken() {
  std::vector<std::shared_ptr<TransportUser>> taken;
  {
    const std::lock_guard lock(mutex);
    taken.swap(woken);
  }
  for (const std::shared_ptr<TransportUser>& user : taken) {
    const UserCalls calls(*this);
    try {
      user->woken();
    } catch (const std::bad_alloc&) {
      // The end of its Responder answers this user's request; the others are still woken.
    }
  }
}

// The loop reaches the end of the round after everything that the system has reported already.
void EventLoop::State::user_was_called() {
  if (!options.on_round_end) return;
  const auto now = TransportUser::Clock::now();
  if (!round_since) {
    try {
      asio::post(context, [this] {
        round_since.reset();
        end_round();
      });
      round_since = now;
    } catch (const std::bad_alloc&) {
      end_round();
    }
  } else if (now - *round_since > kRoundMax) {
    round_since = now;
    end_round();
  }
}

void EventLoop::State::end_round() const {
  try {
    options.on_round_end();
  } catch (const std::bad_alloc&) {
    // The next round does what this one could not.
  }
}

void EventLoop::State::tick() {
  timer.expires_after(options.tick);
  timer.async_wait([this](error_code error) {
    if (error || is_ending) return;
    const auto now = TransportUser::Clock::now();
    std::vector<std::shared_ptr<TransportUser>> all;
    all.reserve(users.size());
    for (const auto& [key, user] : users) all.push_back(user);
    for (const std::shared_ptr<TransportUser>& user : all) {
      const UserCalls calls(*this);
      user->tick(now);
    }
    tick();
  });
}

// Closes the connection that has been idle for longest.
bool EventLoop::State::make_place() {
  std::shared_ptr<TransportUser> oldest;
  std::optional<TransportUser::Clock::time_point> since;
  for (const auto& [key, user] : users) {
    const auto idle = user->idle_since();
    if (!idle || (since && *since <= *idle)) continue;
    since = idle;
    oldest = user;
  }
  if (oldest) oldest->abandon();
  return oldest != nullptr;
}

void EventLoop::State::adopt(TcpSocket socket) {
  error_code error;
  const auto remote = socket.remote_endpoint(error);
  if (error || is_ending) {
    --connections;
    return;
  }
  if (users.size() >= options.connections_max && !make_place()) {
    --connections;
    options.on_refused();
    if (!options.tls) socket.write_some(asio::buffer(options.no_place_answer), error);
    socket.shutdown(TcpSocket::shutdown_both, error);
    return;
  }
  socket.set_option(asio::ip::tcp::no_delay(true), error);
  // Otherwise the progress of a slow client shows in steps of megabytes.
  ::setsockopt(socket.native_handle(), IPPROTO_TCP, TCP_NOTSENT_LOWAT, &kUnsentBytes, sizeof kUnsentBytes);
  const std::string host = remote.address().to_string();
  const NewUser made = options.make_user(remote.address().is_v6() ? concat("[", host, "]:", remote.port())
                                                                  : concat(host, ":", remote.port()));
  auto transport = std::make_unique<AsioTransport>(shared_from_this(), std::move(socket), *made.user);
  AsioTransport* const opened = transport.get();
  users.emplace(made.user.get(), made.user);
  made.attach(std::move(transport));
  opened->open(options.tls ? options.tls() : nullptr);
}

void EventLoop::State::hand_over(TcpSocket socket, State& target) {
  ++target.connections;
  error_code ignored;
  socket.non_blocking(true, ignored);
  if (&target == this) return adopt(std::move(socket));
  asio::post(target.context,
             [&target, socket = std::move(socket)]() mutable { target.adopt(std::move(socket)); });
}

void EventLoop::State::accept(Listener& listener) {
  State& target = *listener.choose().state_;
  listener.acceptor.async_accept(
      target.context, [this, &listener, &target](error_code error, TcpSocket socket) {
        if (!error) hand_over(std::move(socket), target);
        if (!listener.acceptor.is_open()) return;
        const bool is_short = error == asio::error::no_descriptors || error == asio::error::no_buffer_space ||
                              error == asio::error::no_memory || error.value() == ENFILE;
        if (!is_short) return accept(listener);
        make_place();
        listener.pause.expires_after(kAcceptPause);
        listener.pause.async_wait([this, &listener](error_code stopped) {
          if (!stopped && listener.acceptor.is_open()) accept(listener);
        });
      });
}

void EventLoop::State::drain(Listener& listener) {
  error_code error;
  listener.acceptor.cancel(error);
  listener.acceptor.non_blocking(true, error);
  while (true) {
    State& target = *listener.choose().state_;
    TcpSocket socket = listener.acceptor.accept(target.context, error);
    if (error) break;
    hand_over(std::move(socket), target);
  }
  listener.acceptor.close(error);
  listener.pause.cancel();
}

Result<std::unique_ptr<EventLoop>> EventLoop::start(EventLoopOptions options) {
  try {
    auto state = std::make_shared<State>(std::move(options));
    state->tick();
    state->thread = std::thread([loop = state.get()] { loop->run(); });
    return std::unique_ptr<EventLoop>(new EventLoop(std::move(state)));
  } catch (const std::system_error& error) {
    return Error{Code::kResourceExhausted, concat("cannot start a thread of the server: ", error.what())};
  } catch (const boost::system::system_error& error) {
    return Error{Code::kResourceExhausted, concat("cannot start a loop of the server: ", error.what())};
  }
}

EventLoop::~EventLoop() {
  stop_listening();
  asio::post(state_->context, [state = state_.get()] {
    state->is_ending = true;
    state->timer.cancel();
    const auto all = std::exchange(state->users, {});
    for (const auto& [key, user] : all) user->abandon();
    state->work.reset();
  });
  state_->thread.join();
}

Status EventLoop::listen(ListenSocket socket, std::function<EventLoop&()> choose) {
  auto listener = std::make_unique<State::Listener>(
      State::Listener{TcpAcceptor(state_->context), LoopTimer(state_->context), std::move(choose)});
  error_code error;
  listener->acceptor.assign(socket.is_ipv6 ? asio::ip::tcp::v6() : asio::ip::tcp::v4(), socket.socket.get(),
                            error);
  if (error) return Error{Code::kResourceExhausted, concat("cannot wait for connections: ", error.message())};
  socket.socket.release();
  asio::post(state_->context, [state = state_.get(), listener = std::move(listener)]() mutable {
    state->listeners.push_back(std::move(listener));
    state->accept(*state->listeners.back());
  });
  return {};
}

void EventLoop::stop_listening() {
  std::promise<void> stopped;
  asio::post(state_->context, [state = state_.get(), &stopped] {
    // The listeners stay, because cancelled operations still name them.
    for (const auto& listener : state->listeners) {
      if (listener->acceptor.is_open()) state->drain(*listener);
    }
    // Runs after the connections that the listeners have accepted were handed over.
    asio::post(state->context, [&stopped] { stopped.set_value(); });
  });
  stopped.get_future().wait();
}

std::size_t EventLoop::connections() const { return state_->connections; }

}  // namespace headrace
