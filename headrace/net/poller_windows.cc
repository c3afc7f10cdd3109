#include <winsock2.h>

#include <algorithm>
#include <array>
#include <limits>

#include "headrace/net/poller.h"
#include "headrace/net/winsock.h"

namespace headrace {

struct Poller::State {
  // The first entry is a datagram socket that is connected to itself: it receives what it sends, which ends a
  // wait.
  std::vector<WSAPOLLFD> polled;
  std::vector<std::uint64_t> tags;  // of the entries of `polled`
  FileDescriptor self;

  std::size_t place(int fd) const {
    const auto found = std::ranges::find(polled, static_cast<SOCKET>(fd), &WSAPOLLFD::fd);
    return static_cast<std::size_t>(found - polled.begin());
  }
};

Poller::Poller(std::unique_ptr<State> state) : state_(std::move(state)) {}
Poller::~Poller() = default;

Result<std::unique_ptr<Poller>> Poller::create() {
  HEADRACE_TRY(FileDescriptor self, open_winsock(AF_INET, SOCK_DGRAM, IPPROTO_UDP));
  const auto socket = static_cast<SOCKET>(self.get());
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
  int size = sizeof address;
  auto* const at = reinterpret_cast<sockaddr*>(&address);
  if (::bind(socket, at, size) != 0 || ::getsockname(socket, at, &size) != 0 ||
      ::connect(socket, at, size) != 0)
    return winsock_error().in("creating the socket that ends waits");
  auto state = std::make_unique<State>();
  state->polled.push_back({.fd = socket, .events = POLLRDNORM, .revents = 0});
  state->tags.push_back(0);
  state->self = std::move(self);
  return std::unique_ptr<Poller>(new Poller(std::move(state)));
}

Status Poller::watch(int fd, Interest interest, std::uint64_t tag) {
  const std::size_t place = state_->place(fd);
  if (place == state_->polled.size()) {
    state_->polled.emplace_back();
    state_->tags.emplace_back();
  }
  const int events = (interest.read ? POLLRDNORM : 0) | (interest.write ? POLLWRNORM : 0);
  state_->polled[place] = {.fd = static_cast<SOCKET>(fd), .events = static_cast<SHORT>(events), .revents = 0};
  state_->tags[place] = tag;
  return {};
}

void Poller::forget(int fd) {
  const std::size_t place = state_->place(fd);
  if (place == state_->polled.size()) return;
  state_->polled.erase(state_->polled.begin() + static_cast<std::ptrdiff_t>(place));
  state_->tags.erase(state_->tags.begin() + static_cast<std::ptrdiff_t>(place));
}

Result<std::span<const Poller::Ready>> Poller::wait(std::chrono::milliseconds at_most) {
  ready_.clear();
  const auto timeout = std::clamp<std::int64_t>(at_most.count(), 0, std::numeric_limits<int>::max());
  std::vector<WSAPOLLFD>& polled = state_->polled;
  if (::WSAPoll(polled.data(), static_cast<ULONG>(polled.size()), static_cast<int>(timeout)) < 0)
    return winsock_error().in("WSAPoll");
  if (polled.front().revents != 0) {
    std::array<char, 16> ignored;
    while (::recv(polled.front().fd, ignored.data(), ignored.size(), 0) > 0) continue;
  }
  for (std::size_t i = 1; i < polled.size(); ++i) {
    const int events = polled[i].revents;
    if (events == 0) continue;
    const bool broken = (events & (POLLERR | POLLHUP | POLLNVAL)) != 0;
    ready_.push_back({.tag = state_->tags[i],
                      .readable = broken || (events & POLLRDNORM) != 0,
                      .writable = broken || (events & POLLWRNORM) != 0});
  }
  return std::span<const Ready>(ready_);
}

void Poller::wake() const {
  const char one = 1;
  (void)::send(static_cast<SOCKET>(state_->self.get()), &one, sizeof one, 0);
}

}  // namespace headrace
