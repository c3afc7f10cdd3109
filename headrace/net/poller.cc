#include "headrace/net/poller.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <limits>
#include <system_error>

#include "headrace/base/text.h"
#include "headrace/os/file_descriptor.h"

namespace headrace {
namespace {

constexpr std::uint64_t kWakeTag = std::numeric_limits<std::uint64_t>::max();

Error exhausted(std::string_view what) {
  return {Code::kResourceExhausted, concat(what, ": ", std::generic_category().message(errno))};
}

}  // namespace

struct Poller::State {
  FileDescriptor epoll;
  FileDescriptor event;  // ends a wait
  std::vector<int> watched;
};

Poller::Poller(std::unique_ptr<State> state) : state_(std::move(state)) {}
Poller::~Poller() = default;

Result<std::unique_ptr<Poller>> Poller::create() {
  FileDescriptor epoll(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll.is_open()) return exhausted("epoll");
  FileDescriptor event(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!event.is_open()) return exhausted("eventfd");
  epoll_event wanted{.events = EPOLLIN, .data = {.u64 = kWakeTag}};
  if (::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, event.get(), &wanted) != 0) return exhausted("epoll");
  auto state = std::make_unique<State>();
  state->epoll = std::move(epoll);
  state->event = std::move(event);
  return std::unique_ptr<Poller>(new Poller(std::move(state)));
}

Status Poller::watch(int fd, Interest interest, std::uint64_t tag) {
  epoll_event wanted{.events = 0, .data = {.u64 = tag}};
  if (interest.read) wanted.events |= EPOLLIN | EPOLLRDHUP;
  if (interest.write) wanted.events |= EPOLLOUT;
  const bool is_new = std::ranges::find(state_->watched, fd) == state_->watched.end();
  if (::epoll_ctl(state_->epoll.get(), is_new ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, fd, &wanted) != 0)
    return exhausted("epoll");
  if (is_new) state_->watched.push_back(fd);
  return {};
}

void Poller::forget(int fd) {
  if (std::erase(state_->watched, fd) == 0) return;
  ::epoll_ctl(state_->epoll.get(), EPOLL_CTL_DEL, fd, nullptr);
}

Result<std::span<const Poller::Ready>> Poller::wait(std::chrono::milliseconds at_most) {
  ready_.clear();
  std::array<epoll_event, 64> events;
  const auto timeout = std::clamp<std::int64_t>(at_most.count(), 0, std::numeric_limits<int>::max());
  const int count =
      ::epoll_wait(state_->epoll.get(), events.data(), events.size(), static_cast<int>(timeout));
  if (count < 0 && errno != EINTR) return exhausted("epoll");
  for (int i = 0; i < count; ++i) {
    const epoll_event& event = events[static_cast<std::size_t>(i)];
    if (event.data.u64 == kWakeTag) {
      std::uint64_t ignored = 0;
      [[maybe_unused]] const ssize_t size = ::read(state_->event.get(), &ignored, sizeof ignored);
      continue;
    }
    const bool broken = (event.events & (EPOLLERR | EPOLLHUP)) != 0;
    ready_.push_back({.tag = event.data.u64,
                      .readable = broken || (event.events & (EPOLLIN | EPOLLRDHUP)) != 0,
                      .writable = broken || (event.events & EPOLLOUT) != 0});
  }
  return std::span<const Ready>(ready_);
}

void Poller::wake() const {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t size = ::write(state_->event.get(), &one, sizeof one);
}

}  // namespace headrace
