#include "headrace/net/host_addresses.h"

#include <algorithm>
#include <system_error>
#include <thread>

namespace headrace {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::seconds kLongestTrust{30};

std::vector<SocketAddress> rotated(std::vector<SocketAddress> addresses, std::size_t next) {
  const auto other_family = std::ranges::find_if(addresses, [&](const SocketAddress& address) {
    return address.is_ipv6() != addresses.front().is_ipv6();
  });
  const auto preferred = other_family - addresses.begin();
  std::rotate(addresses.begin(), addresses.begin() + static_cast<std::ptrdiff_t>(next) % preferred,
              other_family);
  return addresses;
}

bool is_number(const std::string& host) {
  return host.find(':') != host.npos || host.find_first_not_of("0123456789.") == host.npos;
}

bool is_ready(const std::future<HostAddresses::Answer>& answer) {
  return answer.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

}  // namespace

// The system's resolver can be neither stopped nor given a time limit, so it runs in a detached thread.
std::future<HostAddresses::Answer> HostAddresses::ask(const std::string& host, std::uint16_t port) const {
  std::packaged_task<Answer()> asking([resolver = resolve_, host, port] { return resolver(host, port); });
  std::future<Answer> answer = asking.get_future();
  if (is_number(host)) {
    asking();
    return answer;
  }
  try {
    std::thread(std::move(asking)).detach();
  } catch (const std::system_error&) {  // the system allows no further thread
    std::packaged_task<Answer()> here([this, &host, port] { return resolve_(host, port); });
    answer = here.get_future();
    here();
  }
  return answer;
}

std::optional<HostAddresses::Answer> HostAddresses::of(const std::string& host, std::uint16_t port) {
  const std::scoped_lock lock(mutex_);
  Known& known = known_[{host, port}];
  const bool is_fresh = known.is_trusted && steady_clock::now() - known.since < kLongestTrust;
  if (!is_fresh && !known.asked.valid()) known.asked = ask(host, port);
  if (known.asked.valid() && is_ready(known.asked)) {
    Answer answer = known.asked.get();
    if (!answer && !known.is_trusted) return answer;
    if (answer) {
      known.addresses = *std::move(answer);
      known.since = steady_clock::now();
      known.is_trusted = true;
    }
  }
  if (!known.is_trusted) return std::nullopt;
  return rotated(known.addresses, known.next++);
}

void HostAddresses::distrust(const std::string& host, std::uint16_t port) {
  const std::scoped_lock lock(mutex_);
  if (const auto found = known_.find({host, port}); found != known_.end()) found->second.is_trusted = false;
}

}  // namespace headrace
