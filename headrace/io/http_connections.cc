#include "headrace/io/http_connections.h"

#include <algorithm>

#include "headrace/base/text.h"

namespace headrace {

using std::chrono::steady_clock;

HttpConnections::Place::Place(Place&& other) noexcept
    : connection(std::move(other.connection)),
      owner_(std::exchange(other.owner_, nullptr)),
      endpoint_(std::move(other.endpoint_)),
      was_kept_(other.was_kept_) {}

HttpConnections::Place::~Place() {
  if (owner_ != nullptr) owner_->give_back(endpoint_, std::move(connection));
}

std::optional<HttpConnections::Place> HttpConnections::try_take(const HttpEndpoint& endpoint, Poller* wake) {
  Place place(nullptr, concat(endpoint.tls ? "https:" : "http:", endpoint.host_field()));
  std::vector<Idle> closing;  // declared before the lock: closed after it is released
  const std::scoped_lock lock(mutex_);
  if (in_use_ >= options_.max_connections) {
    if (std::ranges::find(waiting_, wake) == waiting_.end()) waiting_.push_back(wake);
    return std::nullopt;
  }
  drop_expired(closing);
  const auto found = std::find_if(idle_.rbegin(), idle_.rend(),
                                  [&](const Idle& idle) { return idle.endpoint == place.endpoint_; });
  if (found != idle_.rend()) {
    place.connection = std::move(found->connection);
    place.was_kept_ = true;
    idle_.erase(std::next(found).base());
  } else if (in_use_ + idle_.size() >= options_.max_connections) {
    closing.push_back(std::move(idle_.front()));  // another server's makes room
    idle_.erase(idle_.begin());
  }
  ++in_use_;
  place.owner_ = this;
  return place;
}

void HttpConnections::withdraw(Poller* wake) {
  const std::scoped_lock lock(mutex_);
  std::erase(waiting_, wake);
}

void HttpConnections::give_back(const std::string& endpoint, std::unique_ptr<HttpConnection> connection) {
  std::vector<Idle> closing;
  const std::scoped_lock lock(mutex_);
  --in_use_;
  if (connection) idle_.push_back({endpoint, std::move(connection), steady_clock::now()});
  drop_expired(closing);
  for (const Poller* poller : waiting_) poller->wake();
}

void HttpConnections::drop_expired(std::vector<Idle>& closing) {
  const auto oldest = steady_clock::now() - options_.idle_timeout;
  while (!idle_.empty() && idle_.front().since < oldest) {
    closing.push_back(std::move(idle_.front()));
    idle_.erase(idle_.begin());
  }
}

Result<const TlsContext*> HttpConnections::tls_context() {
  const std::scoped_lock lock(tls_mutex_);
  if (!tls_) {
    HEADRACE_TRY(tls_, TlsContext::create(options_.tls));
  }
  return tls_.get();
}

Result<std::unique_ptr<Poller>> HttpConnections::take_poller() {
  {
    const std::scoped_lock lock(mutex_);
    if (!pollers_.empty()) {
      auto poller = std::move(pollers_.back());
      pollers_.pop_back();
      return poller;
    }
  }
  return Poller::create();
}

void HttpConnections::keep(std::unique_ptr<Poller> poller) {
  const std::scoped_lock lock(mutex_);
  pollers_.push_back(std::move(poller));
}

}  // namespace headrace
