#include "headrace/net/http/http_connections.h"

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
      governor_(other.governor_),
      is_last_(other.is_last_) {}

HttpConnections::Place::~Place() {
  if (owner_ != nullptr) owner_->give_back(*this);
}

HttpConnections::Server& HttpConnections::server(const std::string& endpoint) {
  return servers_.try_emplace(endpoint, options_.max_connections).first->second;
}

HttpGovernor& HttpConnections::governor(const HttpEndpoint& endpoint) {
  const std::scoped_lock lock(mutex_);
  return server(name_of(endpoint)).governor;
}

std::optional<HttpConnections::Place> HttpConnections::try_take(const HttpEndpoint& endpoint, Poller* wake) {
  Place place(nullptr, name_of(endpoint));
  std::vector<Idle> closing;  // declared before the lock, so closed after the lock is released
  const std::scoped_lock lock(mutex_);
  Server& at = server(place.endpoint_);
  const bool is_my_turn = at.queue.empty() || at.queue.front() == wake;
  const auto begun =
      is_my_turn && in_use_ < options_.max_connections ? at.governor.try_begin() : HttpGovernor::Begun::kNo;
  if (begun == HttpGovernor::Begun::kNo) {
    if (std::ranges::find(at.queue, wake) == at.queue.end()) at.queue.push_back(wake);
    return std::nullopt;
  }
  if (!at.queue.empty()) at.queue.pop_front();
  if (!at.queue.empty()) at.queue.front()->wake();  // there may be room for two
  place.governor_ = &at.governor;
  place.is_last_ = begun == HttpGovernor::Begun::kInTheLastPlace;
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

// Removes the oldest idle connection if the limit of connections is reached.
void HttpConnections::make_room(std::vector<Idle>& closing) {
  if (in_use_ + idle_.size() < options_.max_connections) return;
  closing.push_back(std::move(idle_.front()));
  idle_.erase(idle_.begin());
}

void HttpConnections::withdraw(Poller* wake) {
  const std::scoped_lock lock(mutex_);
  for (auto& [name, at] : servers_) {
    std::erase(at.queue, wake);
    if (!at.queue.empty()) at.queue.front()->wake();
  }
}

void HttpConnections::give_back(Place& place) {
  std::vector<Idle> closing;
  const std::scoped_lock lock(mutex_);
  --in_use_;
  ++places_given_back_;
  if (place.governor_ != nullptr) place.governor_->end();
  if (place.connection) idle_.push_back({place.endpoint_, std::move(place.connection), steady_clock::now()});
  drop_expired(closing);
  for (auto& [name, at] : servers_) {
    if (!at.queue.empty()) at.queue.front()->wake();
  }
}

void HttpConnections::drop_expired(std::vector<Idle>& closing) {
  const auto oldest = steady_clock::now() - options_.idle_timeout;
  while (!idle_.empty() && idle_.front().since < oldest) {
    closing.push_back(std::move(idle_.front()));
    idle_.erase(idle_.begin());
  }
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
