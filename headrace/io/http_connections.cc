#include "headrace/io/http_connections.h"

#include <algorithm>

#include "headrace/base/text.h"

namespace headrace {

using std::chrono::steady_clock;

namespace {

std::string name_of(const HttpEndpoint& endpoint) {
  return concat(endpoint.tls ? "https:" : "http:", endpoint.host_field());
}

}  // namespace

HttpConnections::Place::Place(Place&& other) noexcept
    : connection(std::move(other.connection)),
      owner_(std::exchange(other.owner_, nullptr)),
      endpoint_(std::move(other.endpoint_)),
      governor_(other.governor_) {}

HttpConnections::Place::~Place() {
  if (owner_ != nullptr) owner_->give_back(*this);
}

HttpGovernor& HttpConnections::governor(const HttpEndpoint& endpoint) {
  const std::scoped_lock lock(mutex_);
  return governors_.try_emplace(name_of(endpoint), options_.max_connections).first->second;
}

std::optional<HttpConnections::Place> HttpConnections::try_take(const HttpEndpoint& endpoint, Poller* wake) {
  Place place(nullptr, name_of(endpoint));
  std::vector<Idle> closing;  // declared before the lock: closed after it is released
  const std::scoped_lock lock(mutex_);
  HttpGovernor& governor = governors_.try_emplace(place.endpoint_, options_.max_connections).first->second;
  if (in_use_ >= options_.max_connections || !governor.try_begin()) {
    if (std::ranges::find(waiting_, wake) == waiting_.end()) waiting_.push_back(wake);
    return std::nullopt;
  }
  place.governor_ = &governor;
  drop_expired(closing);
  const auto found = std::find_if(idle_.rbegin(), idle_.rend(),
                                  [&](const Idle& idle) { return idle.endpoint == place.endpoint_; });
  if (found != idle_.rend()) {
    place.connection = std::move(found->connection);
    idle_.erase(std::next(found).base());
  } else {
    make_room(closing);
  }
  ++in_use_;
  place.owner_ = this;
  return place;
}

std::optional<HttpConnections::Place> HttpConnections::try_take_another(const HttpEndpoint& endpoint) {
  Place place(nullptr, name_of(endpoint));
  std::vector<Idle> closing;
  const std::scoped_lock lock(mutex_);
  if (in_use_ >= options_.max_connections) return std::nullopt;
  make_room(closing);
  ++in_use_;
  place.owner_ = this;
  return place;
}

// The oldest idle connection goes, if there are as many as there may be.
void HttpConnections::make_room(std::vector<Idle>& closing) {
  if (in_use_ + idle_.size() < options_.max_connections) return;
  closing.push_back(std::move(idle_.front()));
  idle_.erase(idle_.begin());
}

void HttpConnections::withdraw(Poller* wake) {
  const std::scoped_lock lock(mutex_);
  std::erase(waiting_, wake);
}

void HttpConnections::give_back(Place& place) {
  std::vector<Idle> closing;
  const std::scoped_lock lock(mutex_);
  --in_use_;
  if (place.governor_ != nullptr) place.governor_->end();
  if (place.connection) idle_.push_back({place.endpoint_, std::move(place.connection), steady_clock::now()});
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
