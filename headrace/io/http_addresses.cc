#include "headrace/io/http_addresses.h"

#include <algorithm>

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

}  // namespace

Result<std::vector<SocketAddress>> HttpAddresses::of(const std::string& host, std::uint16_t port) {
  const Name name{host, port};
  {
    const std::scoped_lock lock(mutex_);
    const auto found = known_.find(name);
    if (found != known_.end() && steady_clock::now() - found->second.since < kLongestTrust)
      return rotated(found->second.addresses, found->second.next++);
  }
  HEADRACE_TRY(std::vector<SocketAddress> addresses, resolve(host, port));
  const std::scoped_lock lock(mutex_);
  Known& known = known_[name];
  known.addresses = std::move(addresses);
  known.since = steady_clock::now();
  return rotated(known.addresses, known.next++);
}

void HttpAddresses::distrust(const std::string& host, std::uint16_t port) {
  const std::scoped_lock lock(mutex_);
  if (const auto found = known_.find({host, port}); found != known_.end()) found->second.since = {};
}

}  // namespace headrace
