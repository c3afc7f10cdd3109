#include "headrace/io/http_socket.h"

#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <system_error>
#include <vector>

#include "headrace/base/text.h"

namespace headrace {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::size_t kProgressBytes = 32 << 10;

std::string system_message(int error_number) { return std::generic_category().message(error_number); }

// connect(2) to one address, within `timeout`.
Result<FileDescriptor> connect_to(const addrinfo& address, milliseconds timeout,
                                  const std::stop_token& stop) {
  const auto failed = [](int error_number) {
    return Error{Code::kUnavailable, system_message(error_number)};
  };
  FileDescriptor socket(::socket(address.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP));
  if (socket.get() < 0) return failed(errno);
  const int on = 1;
  setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (::connect(socket.get(), address.ai_addr, address.ai_addrlen) == 0) return socket;
  if (errno != EINPROGRESS) return failed(errno);
  IoWait wait(timeout, stop);
  HEADRACE_CHECK(wait.poll(socket.get(), POLLOUT));
  int error_number = 0;
  socklen_t size = sizeof error_number;
  getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error_number, &size);
  if (error_number != 0) return failed(error_number);
  return socket;
}

std::vector<const addrinfo*> in_order_of_trial(const addrinfo* list) {
  static std::atomic<std::size_t> next{0};
  std::vector<const addrinfo*> addresses;
  for (const addrinfo* entry = list; entry != nullptr; entry = entry->ai_next) addresses.push_back(entry);
  const auto other_family = std::ranges::find_if(
      addresses, [&](const addrinfo* entry) { return entry->ai_family != addresses[0]->ai_family; });
  const auto preferred = other_family - addresses.begin();
  if (preferred > 1) {
    std::rotate(addresses.begin(), addresses.begin() + static_cast<std::ptrdiff_t>(next++ % preferred),
                other_family);
  }
  return addresses;
}

class PlainStream final : public ByteStream {
 public:
  explicit PlainStream(FileDescriptor socket) : socket_(std::move(socket)) {}
  IoAttempt try_receive(MutableBytesView target) override {
    return receive_from_socket(socket_.get(), target);
  }
  IoAttempt try_send(BytesView data) override { return send_to_socket(socket_.get(), data); }
  int fd() const override { return socket_.get(); }

 private:
  FileDescriptor socket_;
};

}  // namespace

void IoWait::WakeUp::operator()() const {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(fd, &one, sizeof one);
}

IoWait::IoWait(milliseconds stall_timeout, std::stop_token stop)
    : stall_timeout_(std::clamp(stall_timeout, milliseconds(0), milliseconds(std::chrono::hours(24)))),
      stop_(std::move(stop)),
      limit_(steady_clock::now() + stall_timeout_) {}

void IoWait::phase_done() {
  limit_ = steady_clock::now() + stall_timeout_;
  moved_bytes_ = 0;
}

void IoWait::moved(std::size_t bytes) {
  moved_bytes_ += bytes;
  if (moved_bytes_ >= kProgressBytes) phase_done();
}

Result<short> IoWait::poll(int fd, short events, std::optional<milliseconds> at_most) {
  if (stop_.stop_possible() && wake_up_.get() < 0) {
    wake_up_ = FileDescriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (wake_up_.get() < 0)
      return Error{Code::kResourceExhausted, concat("eventfd: ", system_message(errno))};
    on_stop_.emplace(stop_, WakeUp{wake_up_.get()});
  }
  const auto until = at_most ? std::min(limit_, steady_clock::now() + *at_most) : limit_;
  while (true) {
    if (stop_.stop_requested()) return Error{Code::kCancelled, "stopped by the caller"};
    const auto left = std::chrono::ceil<milliseconds>(until - steady_clock::now());
    if (left <= milliseconds(0)) {
      if (until != limit_) return short{0};
      return Error{Code::kDeadlineExceeded, concat("no progress for ", stall_timeout_.count(), " ms")};
    }
    pollfd watched[2] = {{fd, events, 0}, {wake_up_.get(), POLLIN, 0}};
    const int ready = ::poll(watched, 2, static_cast<int>(left.count()));
    if (ready < 0 && errno != EINTR) return Error{Code::kInternal, concat("poll: ", system_message(errno))};
    if (ready > 0 && watched[0].revents != 0) return watched[0].revents;
  }
}

Result<FileDescriptor> connect_tcp(const HttpEndpoint& endpoint, milliseconds timeout,
                                   const std::stop_token& stop) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int resolved = ::getaddrinfo(endpoint.host.c_str(), concat(endpoint.port).c_str(), &hints, &found);
  if (resolved != 0 || found == nullptr) {
    return Error{Code::kUnavailable,
                 concat("cannot resolve \"", endpoint.host, "\": ", ::gai_strerror(resolved))};
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, ::freeaddrinfo);
  const std::vector<const addrinfo*> addresses = in_order_of_trial(found);
  const auto limit = steady_clock::now() + timeout;
  Error last{Code::kUnavailable, "no address"};
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    const auto left = std::chrono::ceil<milliseconds>(limit - steady_clock::now());
    const auto share = std::max(left / static_cast<int>(addresses.size() - i), milliseconds(1));
    Result<FileDescriptor> socket = connect_to(*addresses[i], share, stop);
    if (socket) return socket;
    last = std::move(socket).error();
    if (last.code == Code::kCancelled) return last;
  }
  return std::move(last).in(concat("cannot connect to ", endpoint.text()));
}

std::unique_ptr<ByteStream> plain_stream(FileDescriptor socket) {
  return std::make_unique<PlainStream>(std::move(socket));
}

IoAttempt receive_from_socket(int fd, MutableBytesView target) {
  while (true) {
    const ssize_t received = ::recv(fd, target.data(), target.size(), 0);
    if (received > 0) return {IoAttempt::State::kDone, static_cast<std::size_t>(received)};
    if (received == 0) return {IoAttempt::State::kEnd};
    if (errno == EAGAIN || errno == EWOULDBLOCK) return {IoAttempt::State::kWantRead};
    if (errno != EINTR) return {IoAttempt::State::kFailed, 0, system_message(errno)};
  }
}

IoAttempt send_to_socket(int fd, BytesView data) {
  while (true) {
    const ssize_t sent = ::send(fd, data.data(), data.size(), MSG_NOSIGNAL);
    if (sent >= 0) return {IoAttempt::State::kDone, static_cast<std::size_t>(sent)};
    if (errno == EAGAIN || errno == EWOULDBLOCK) return {IoAttempt::State::kWantWrite};
    if (errno != EINTR) return {IoAttempt::State::kFailed, 0, system_message(errno)};
  }
}

}  // namespace headrace
