#include "headrace/io/http_addresses.h"

#include <algorithm>
#include <future>
#include <memory>
#include <system_error>
#include <thread>

#include "headrace/base/text.h"

namespace headrace {
namespace {

using std::chrono::steady_clock;
using Answer = Result<std::vector<SocketAddress>>;

// The system's resolver can be neither stopped nor given a limit: a thread asks, and is left alone with it if
// that takes too long.
Answer ask(const HttpAddresses::Resolve& resolve, std::chrono::milliseconds longest_wait,
           const std::string& host, std::uint16_t port) {
  std::packaged_task<Answer()> asking([resolve, host, port] { return resolve(host, port); });
  std::future<Answer> answer = asking.get_future();
  try {
    std::thread(std::move(asking)).detach();
  } catch (const std::system_error&) {  // no further thread may be had
    return resolve(host, port);
  }
  if (answer.wait_for(longest_wait) == std::future_status::ready) return answer.get();
  return Error{Code::kUnavailable, concat("cannot resolve \"", host, "\": the resolver has not answered in ",
                                          std::chrono::ceil<std::chrono::seconds>(longest_wait).count(),
                                          " s; is the name server in /etc/resolv.conf reachable?")};
}

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
  HEADRACE_TRY(std::vector<SocketAddress> addresses, ask(resolve_, longest_wait_, host, port));
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
